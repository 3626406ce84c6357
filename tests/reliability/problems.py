"""Problems and answers of every task: read or refused, written, and read as Lark reads them."""

from __future__ import annotations

from functools import partial
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from logicgen.errors import FormatError
from logicgen.syntax import Formula, Trace, ltl, propositional
from logicgen.syntax.answers import trace_language
from logicgen.syntax.formula_language import FormulaLanguage
from logicgen.tasks import TASKS, Task, load_task
from tests.reliability.mutation import mutated
from tests.reliability.target import Target, value_or_refusal

SYMBOLS = st.sampled_from([*"abcde", "p0", "req", "a1", "z12"])
WORDS = ["->", "<->", "cycle{", "true", "false", "xor", "p0", "X0", "<end>", "<pad>"]
PIECES = [*"&|^!XFGURWM(){};,=>01abA_é", *WORDS]


def formulas(language: FormulaLanguage, leaves: int = 8) -> SearchStrategy[Formula]:
    """Return formulas over the operators of a language."""
    atoms = st.one_of(SYMBOLS, st.sampled_from("01")).map(Formula)
    operators = sorted(token for token, operands in language.arity.items() if operands)

    def applied(parts: SearchStrategy[Formula]) -> SearchStrategy[Formula]:
        return st.sampled_from(operators).flatmap(
            lambda token: st.tuples(*[parts] * language.arity[token]).map(partial(Formula, token))
        )

    return st.recursive(atoms, applied, max_leaves=leaves)


def deep(language: FormulaLanguage) -> SearchStrategy[Formula]:
    """Return formulas nested a few thousand times."""

    def nested(formula: Formula, depth: int) -> Formula:
        for number in range(depth):
            formula = ~formula if number % 3 else formula & Formula("a")
        return formula

    return st.builds(nested, formulas(language, 2), st.sampled_from([1000, 3000]))


def formula_texts(language: FormulaLanguage) -> SearchStrategy[str]:
    """Return both notations of formulas."""
    shallow = formulas(language)
    return st.one_of(
        shallow.map(language.write),
        shallow.map(lambda formula: formula.prefix),
        st.lists(st.sampled_from(PIECES), max_size=8).map(" ".join),
        st.lists(st.sampled_from(PIECES), max_size=8).map("".join),
    )


SYMBOL_LISTS = st.lists(SYMBOLS, max_size=6)
ASSIGNMENTS = st.lists(st.tuples(SYMBOLS, st.sampled_from("01")), max_size=5)
TRACES = st.builds(
    Trace,
    st.lists(formulas(propositional(), 3), max_size=3).map(tuple),
    st.lists(formulas(propositional(), 3), min_size=1, max_size=3).map(tuple),
)


def _of_pairs(between: str, after: str) -> SearchStrategy[str]:
    """Return texts of pairs and what is asked for: `a b > b a ; c d >`, `a -> b c ->`."""
    sides = SYMBOL_LISTS.map(" ".join)
    shown = st.lists(st.tuples(sides, sides).map(f" {between} ".join), max_size=3)
    return st.builds(lambda pairs, asked: after.join([*pairs, f"{asked} {between}"]), shown, sides)


PROBLEM_TEXTS: dict[str, SearchStrategy[str]] = {
    "propositional": formula_texts(propositional()),
    "ltl": formula_texts(ltl()),
    "copying": SYMBOL_LISTS.map(" ".join),
    "lookup": _of_pairs("->", " "),
    "permutation": _of_pairs(">", " ; "),
}
ANSWER_TEXTS: dict[str, SearchStrategy[str]] = {
    "propositional": st.one_of(
        ASSIGNMENTS.map(lambda pairs: ", ".join(f"{name}={value}" for name, value in pairs)),
        ASSIGNMENTS.map(lambda pairs: " ".join(f"{name} {value}" for name, value in pairs)),
        st.lists(st.builds(str.__add__, st.sampled_from(["", "!"]), SYMBOLS)).map(" & ".join),
    ),
    "ltl": st.one_of(
        TRACES.map(lambda trace: trace.infix),
        TRACES.map(lambda trace: trace.prefix),
        TRACES.map(lambda trace: trace.spot),
        st.just("0"),
    ),
    "copying": SYMBOL_LISTS.map(" ".join),
    "lookup": SYMBOL_LISTS.map(" ".join),
    "permutation": SYMBOL_LISTS.map(" ".join),
}


def _by_lark(read: Any, text: str, notation: str) -> Any:
    try:
        return read(text, notation)
    except FormatError:
        return None


def check_problem(task: Task, text: str) -> None:
    """A text is refused, or the problem is written and read back in both notations."""
    problem = value_or_refusal(lambda: task.read_problem(text))
    language = getattr(task, "formulas", None)
    if language is not None:
        check_agreement(language, text)
    if problem is None:
        return
    written = task.encode(problem)
    assert task.decode_problem(written) == problem
    assert task.read_problem(written) == problem
    if language is not None:
        shown = language.write(problem)
        assert language.read(shown) is language.language.read(shown) is problem


def check_agreement(language: FormulaLanguage, text: str) -> None:
    """The fast readers accept nothing that Lark refuses, and read what they accept as Lark does."""
    infix = _by_lark(language.language.read, text, "infix")
    prefix = _by_lark(language.language.read, text, "prefix")
    assert language.reader.read(text) in (infix, None)
    assert language.parse_prefix(text) in (prefix, None)
    assert value_or_refusal(lambda: language.read(text)) is infix
    if infix is not None and prefix is not None:  # no text is both, but for a single token
        assert infix is prefix


def check_answer(task: Task, text: str) -> None:
    """A text is refused, or the answer is written and read back in all notations."""
    answer = value_or_refusal(lambda: task.read_answer(text))
    if task.name == "ltl":
        by_lark = _by_lark(trace_language().read, text, "infix")
        traced = value_or_refusal(lambda: Trace.read(text))
        assert traced == (by_lark if isinstance(by_lark, Trace) else None)
    if answer is None:
        return
    assert task.decode_answer(task.encode(answer)) == answer
    assert task.same(task.read_answer(task.show(answer)), answer)
    task.picture(answer)
    if isinstance(answer, Trace):
        assert Trace.read(answer.infix) == Trace.read(answer.spot) == answer


def _targets() -> list[Target]:
    found = []
    for name in TASKS:
        task = load_task(name)
        problems = mutated(PROBLEM_TEXTS[name], PIECES)
        answers = mutated(ANSWER_TEXTS[name], PIECES)
        if name in ("propositional", "ltl"):
            long = deep(task.formulas)
            problems = st.one_of(*[problems] * 8, long.map(task.formulas.write), long.map(str))
        found.append(Target(f"{name}-problems", problems, partial(check_problem, task)))
        found.append(Target(f"{name}-answers", answers, partial(check_answer, task)))
    return found


TARGETS = _targets()
