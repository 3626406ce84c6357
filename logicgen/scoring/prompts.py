"""Write problems as text for language models, with notation and form of the answer explained.

A prompt is a function of task, problem, version, notation and number of worked examples alone. A
change of any wording is another version, so that scores of two wordings are never taken for one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from logicgen.errors import LogicgenError, nearest
from logicgen.tasks import load_task
from logicgen.tasks.formula_task import FormulaTask
from logicgen.tasks.task import Task

Notation = Literal["infix", "prefix"]

VERSION = 1
"""Number of the wording of all prompts: it rises whenever a word of them changes."""

_ANSWER = "Write your final answer between <answer> and </answer>, once, and nothing else in it."

_CONNECTIVES = (
    "Notation: ! is not, & is and, | is or, ^ is exclusive or, -> is implies, <-> is if and only"
    " if; 1 is true and 0 is false."
)
_BINDING = (
    " ! binds most tightly, then &, then ^, then |, then -> and <->, which group from the right."
)
_TEMPORAL = (
    " X f: f holds at the next position. F f: f holds now or at some later position. G f: f holds"
    " now and at all later positions. f U g: g holds now or later, and f at all positions before"
    " that. f W g: f U g, or G f. f R g: g holds up to and including the first position where f"
    " holds, or for ever if there is none. f M g: f R g, and f holds at some position."
)
_TEMPORAL_BINDING = (
    " !, X, F and G bind most tightly, then U, R, W and M, then &, then ^, then |, then -> and"
    " <->; U, R, W, M, -> and <-> group from the right."
)
_PREFIX = " The formula is written in Polish notation: each operator stands before its operands."


@dataclass(frozen=True)
class Wording:
    """What a prompt says of a task.

    Attributes:
        asks: what is to be found.
        notation: what problems are written with.
        binding: how tightly operators bind, where problems are written as people do.
        answer: what an answer is and how it is written.
        problem: what a problem is called.
        examples: problems and right answers, in people's notation.
    """

    asks: str
    notation: str
    answer: str
    problem: str
    examples: tuple[tuple[str, str], ...]
    binding: str = ""


WORDINGS = {
    "copying": Wording(
        "Copy a sequence of symbols.",
        "Symbols are separated by blanks.",
        "The answer is the same sequence: the same symbols in the same order, separated by blanks.",
        "Sequence",
        (("b a a c", "b a a c"), ("d d", "d d"), ("c a b e a", "c a b e a")),
    ),
    "lookup": Wording(
        "Look up the values of keys.",
        "Each pair `k -> v` shows the value v of the key k. After the pairs stand the keys that are"
        " asked for, and a last arrow.",
        "The answer is the values of these keys in the same order, separated by blanks.",
        "Pairs and keys",
        (
            ("a -> b c -> d c ->", "d"),
            ("e -> a b -> f e ->", "a"),
            ("a -> d b -> c a b ->", "d c"),
        ),
    ),
    "permutation": Wording(
        "Apply a permutation of positions that examples show.",
        "Each example `x y z > z x y` shows a sequence and how it comes out; all examples move the"
        " positions alike, and may leave out the same positions. Examples are separated by"
        " semicolons. The last sequence is the one that is asked for.",
        "The answer is how the last sequence comes out: its symbols, separated by blanks.",
        "Examples and sequence",
        (
            ("a b c > c a b ; d e f >", "f d e"),
            ("a b > b a ; c d >", "d c"),
            ("a b c > a c b ; d e f > d f e ; g h i >", "g i h"),
        ),
    ),
    "propositional": Wording(
        "Find an assignment that satisfies a formula of propositional logic.",
        _CONNECTIVES,
        "An answer gives values to symbols of the formula, such as `a=1, b=0`. It may leave symbols"
        " out if the formula is true whatever values they have. If no assignment satisfies the"
        " formula, the answer is `unsat`.",
        "Formula",
        (("(a -> b) & !b", "a=0, b=0"), ("a ^ b | c", "c=1"), ("a & !a", "unsat")),
        _BINDING,
    ),
    "ltl": Wording(
        "Find a trace that satisfies a formula of linear temporal logic (LTL).",
        _CONNECTIVES + _TEMPORAL,
        "A trace says what holds at each position, beginning with the first: positions are"
        " separated by semicolons, and it ends with a part in braces that repeats for ever, such as"
        " `a & !b ; {c ; 1}`. A position is a formula without X, F, G, U, R, W and M; 1 means that"
        " anything may hold there. Every sequence that fits the trace has to satisfy the formula,"
        " and no position may be contradictory. If no trace satisfies the formula, the answer is"
        " `unsat`.",
        "Formula",
        (("a U b & X !b", "b ; !b ; {1}"), ("G(a -> F b)", "{b}"), ("G a & F !a", "unsat")),
        _TEMPORAL_BINDING,
    ),
}
"""The wording of each task that has prompts."""


def prompt(
    task: str,
    problem: str,
    *,
    examples: int = 0,
    notation: Notation = "infix",
    version: int = VERSION,
) -> str:
    """Return a problem as a text that asks a language model for its answer.

    problem: in people's or in prefix notation.
    examples: how many worked examples stand before it, up to 3.
    notation: in which the problem is written; examples and answers are written as people do.

    Raises LogicgenError for a task, a version or a number of examples that there is not, and
    FormatError for a problem that does not parse.
    """
    chosen = load_task(task)
    wording = wording_of(task, version)
    return prompt_of(chosen, wording, chosen.read_problem(problem), examples, notation)


def prompt_of(
    task: Task, wording: Wording, problem: Any, examples: int = 0, notation: Notation = "infix"
) -> str:
    """Return the same as `prompt` of a value of the task."""
    if notation not in get_args(Notation):
        raise LogicgenError(f"notation: {notation!r}; prompts are in infix or prefix notation")
    if not 0 <= examples <= len(wording.examples):
        most = len(wording.examples)
        raise LogicgenError(f"examples: {examples}; of {task.name} there are 0 to {most}")
    polish = notation == "prefix" and isinstance(task, FormulaTask)
    explained = wording.notation + (_PREFIX if polish else wording.binding)
    parts = [wording.asks, explained, wording.answer, _ANSWER]
    for number, (asked, answer) in enumerate(wording.examples[:examples], start=1):
        shown = written_problem(task, task.read_problem(asked), notation)
        parts.append(f"Example {number}\n{wording.problem}: {shown}\n{answer_text(answer)}")
    written = written_problem(task, problem, notation)
    return "\n\n".join([*parts, f"{wording.problem}: {written}"])


def answer_text(answer: str) -> str:
    """Return an answer as a prompt asks for it."""
    return f"<answer>{answer}</answer>"


def written_problem(task: Task, problem: Any, notation: Notation = "infix") -> str:
    """Return a problem as a prompt writes it."""
    return task.show_problem(problem) if notation == "infix" else task.encode(problem)


def wording_of(task: str, version: int = VERSION) -> Wording:
    """Return what a prompt says of a task. Raises LogicgenError where there is no such wording."""
    if version != VERSION:
        raise LogicgenError(f"prompts of version {version!r}: there is version {VERSION} alone")
    if task not in WORDINGS:
        raise LogicgenError(f"task {task} has no prompts: {nearest(task, list(WORDINGS))}")
    return WORDINGS[task]
