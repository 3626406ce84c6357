"""LTL trace prediction: given a formula, predict a symbolic trace that satisfies it.

Source: Hahn et al., Teaching Temporal Logics to Neural Networks (ICLR 2021).
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from logicgen.solvers import Status, load_solver
from logicgen.solvers.embedded import EmbeddedSolver
from logicgen.solvers.positions import least_positions
from logicgen.solvers.word import Word
from logicgen.syntax.answers import NO_ANSWER, NoAnswer, Trace, says_none, trace_language
from logicgen.syntax.formula import Formula
from logicgen.syntax.formula_language import propositional
from logicgen.syntax.language import Language
from logicgen.syntax.rewriting import plain
from logicgen.tasks.difficulty import DifficultyColumn, Value
from logicgen.tasks.formula_task import CONNECTIVES, POLISH, FormulaSettings, FormulaTask, Weight
from logicgen.tasks.obligations import ObligationSource
from logicgen.tasks.right_traces import RightTraces
from logicgen.tasks.specification_patterns import PatternSource
from logicgen.tasks.task import Difficulty, Wording

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

TEMPORAL = frozenset("XFGURWM")


class LTLSettings(FormulaSettings):
    """Keys of `[problem]` for LTL. The default operators come from the literature."""

    of_all_sources: ClassVar = frozenset({"source", "conjunctions"})

    # `random`: random formulas, by `operators` and `distribution`. `patterns`: conjunctions of the
    # published specification patterns, over the core operators `! & X U 0 1`. `obligations`:
    # formulas over `! & X U 1` that no word of one repeated letter satisfies. `mixed`: `sources`
    source: Literal["random", "patterns", "obligations", "mixed"] = "random"
    # The nesting of several literals at a position of a trace: `left` is `& & a b c`, `right` is
    # `& a & b c`. For `right`, a model need not know the number of literals in advance
    conjunctions: Literal["left", "right"] = "left"
    # Weight of each operator, and of each constant that may occur
    operators: dict[str, Weight] = Field(
        default={"1": 1, "0": 1, "!": 1, "&": 1, "X": 1, "U": 1}, min_length=1
    )


class LTL(FormulaTask):
    """The task of LTL. A symbolic trace is right if all its words satisfy the formula."""

    name: ClassVar = "ltl"
    about: ClassVar = "an LTL formula -> a symbolic trace all of whose words satisfy it"
    Settings: ClassVar = LTLSettings
    solver: ClassVar = "embedded"
    logic: ClassVar = "ltl"
    candidates: ClassVar = 1.5
    refutation: ClassVar = NO_ANSWER
    other_sources: ClassVar = {"patterns": PatternSource, "obligations": ObligationSource}
    rated: ClassVar = ("vote", "rule")
    controls: ClassVar = {
        "constant": "logicgen.tasks.ltl_controls:ConstantTrace",
        "place": "logicgen.tasks.ltl_controls:Placer",
        "decide": "logicgen.tasks.ltl_controls:Decider",
        "propagate": "logicgen.tasks.ltl_controls:Propagator",
        "random": "logicgen.tasks.ltl_controls:RandomTraces",
        "rule": "logicgen.tasks.ltl_controls:Rule",
        "vote": "logicgen.tasks.ltl_controls:TraceVote",
        "walk": "logicgen.tasks.ltl_controls:LassoWalk",
    }
    difficulty: ClassVar = Difficulty(length=(5, 10, 20, 30, 40), few=(1, 2), short=(2, 7))
    difficulties: ClassVar = {
        "positions": DifficultyColumn(
            "The fewest positions of a word that satisfies the formula; empty if unsatisfiable.",
            whole=True,
            least=1,
            needs_witness=True,
        ),
        "depth": DifficultyColumn(
            "The deepest nesting of the temporal operators X F G U R W M.",
            whole=True,
            least=0,
        ),
    }
    wording: ClassVar = Wording(
        "Find a trace that satisfies a formula of linear temporal logic (LTL).",
        CONNECTIVES + _TEMPORAL,
        "A trace says what holds at each position, beginning with the first: positions are"
        " separated by semicolons, and it ends with a part in braces that repeats for ever, such as"
        " `a & !b ; {c ; 1}`. A position is a formula without X, F, G, U, R, W and M; 1 means that"
        " anything may hold there. Every sequence that fits the trace has to satisfy the formula,"
        " and no position may be contradictory. If no trace satisfies the formula, the answer is"
        " `unsat`.",
        "Formula",
        (("a U b & X !b", "b ; !b ; {1}"), ("G(a -> F b)", "{b}"), ("G a & F !a", "unsat")),
        _TEMPORAL_BINDING,
        POLISH,
    )

    def difficulty_of(self, column: str, problem: Formula, answer: Trace | NoAnswer) -> Value:
        if column == "depth":
            return temporal_depth(problem)
        if isinstance(answer, NoAnswer):
            return None
        return least_positions(problem, len(answer.positions), self.effort)

    def _contradiction(self, answer: Trace) -> str:
        can_hold = load_solver("pysat", "propositional").solve
        for number, position in enumerate(answer.positions):
            if can_hold(position).status is Status.UNSAT:
                return f"position {number} is contradictory: {propositional().write(position)}"
        return "a position is contradictory"

    def _counterexample(self, problem: Formula, answer: Trace) -> Trace | None:
        return EmbeddedSolver().counterexample(problem, answer)

    def _falsifying_word(self, problem: Formula, answer: Trace) -> Word | None:
        return EmbeddedSolver().falsifying_word(problem, answer)

    def _any_word(self, answer: Trace) -> Word:
        return Word.of(answer)

    def arranged(
        self, problem: Formula, answer: Trace | NoAnswer, settings: LTLSettings
    ) -> Trace | NoAnswer:
        return answer if settings.conjunctions == "left" else answer.in_order()

    def answer_limit(self, stored: int, symbols: int) -> int:
        # A solver writes only the literals that are needed, and a model often more of them.
        return super().answer_limit(2 * stored, symbols)

    def right_tokens(self, problem: Formula) -> RightTraces:
        return RightTraces(problem, self.effort)

    def same(self, answer: Trace | NoAnswer, other: Trace | NoAnswer) -> bool:
        """Return whether two answers are equal.

        Two traces are equal if they have the same shape and equivalent formulas at each position.
        Returns False if the effort of the task (`limited`) does not suffice to compare them.
        """
        if answer == other:
            return True
        if isinstance(answer, NoAnswer) or isinstance(other, NoAnswer):
            return False
        if (len(answer.stem), len(answer.period)) != (len(other.stem), len(other.period)):
            return False
        differs = load_solver("pysat", "propositional", self.effort).solve
        pairs = zip(answer.positions, other.positions, strict=True)
        return all(p is q or differs(p ^ q).status is Status.UNSAT for p, q in pairs)

    @property
    def answer_language(self) -> Language:
        return trace_language()

    def read_answer(self, text: str) -> Trace | NoAnswer:
        """Parse an answer: `unsat`, `0` (unsatisfiable), or a trace in any notation."""
        none = says_none(text) or text.strip() == NO_ANSWER.prefix
        return NO_ANSWER if none else Trace.read_either(plain(text))

    def decode_answer(self, text: str) -> Trace | NoAnswer:
        return NO_ANSWER if text.strip() == NO_ANSWER.prefix else Trace.read_prefix(text)

    def show(self, answer: Trace | NoAnswer) -> str:
        return answer.infix

    def picture(self, answer: Trace | NoAnswer) -> str:
        return answer.table() if isinstance(answer, Trace) else ""


def temporal_depth(formula: Formula) -> int:
    """Return the deepest nesting of temporal operators in a formula."""
    deepest, todo = 0, [(formula, 0)]
    while todo:
        node, depth = todo.pop()
        if node.token in TEMPORAL:
            depth += 1
            deepest = max(deepest, depth)
        for operand in node.operands:
            if operand.operands:  # leaves contain no operators
                todo.append((operand, depth))
    return deepest
