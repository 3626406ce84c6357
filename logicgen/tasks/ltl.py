"""LTL trace prediction: given a formula, predict a symbolic trace that satisfies it.

Source: Hahn et al., Teaching Temporal Logics to Neural Networks (ICLR 2021).
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from logicgen.solvers import Status, load_solver
from logicgen.solvers.embedded import EmbeddedSolver
from logicgen.solvers.word import Word
from logicgen.syntax.answers import NO_ANSWER, NoAnswer, Trace, says_none, trace_language
from logicgen.syntax.formula import Formula
from logicgen.syntax.formula_language import propositional
from logicgen.syntax.language import Language
from logicgen.syntax.rewriting import plain
from logicgen.tasks.formula_task import FormulaSettings, FormulaTask, Weight
from logicgen.tasks.specification_patterns import PatternSource


class LTLSettings(FormulaSettings):
    """Keys of `[problem]` as of propositional problems, with the operators of the literature."""

    of_all_sources: ClassVar = frozenset({"source", "conjunctions"})

    # `random` formulas, by `operators` and `distribution`; or conjunctions of the published
    # specification `patterns`, over the core operators
    source: Literal["random", "patterns"] = "random"
    # How a trace with several literals at a position is written: `& & a b c`, nested to the left,
    # or `& a & b c`, which can be written from left to right without counting the literals before
    conjunctions: Literal["left", "right"] = "left"
    # Weight of each operator, and of each constant that may occur
    operators: dict[str, Weight] = Field(
        default={"1": 1, "0": 1, "!": 1, "&": 1, "X": 1, "U": 1}, min_length=1
    )


class LTL(FormulaTask):
    """The task of LTL: formula in, symbolic trace out; right if all its words satisfy it."""

    name: ClassVar = "ltl"
    about: ClassVar = "an LTL formula -> a symbolic trace all of whose words satisfy it"
    Settings: ClassVar = LTLSettings
    solver: ClassVar = "embedded"
    logic: ClassVar = "ltl"
    refutation: ClassVar = NO_ANSWER
    other_source: ClassVar = PatternSource

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
        if settings.conjunctions == "left" or isinstance(answer, NoAnswer):
            return answer
        return answer.nested_right()

    def same(self, answer: Trace | NoAnswer, other: Trace | NoAnswer) -> bool:
        """Return whether both have the same shape and equivalent formulas, position by position.

        Not so where the effort of the task (`limited`) does not suffice to tell.
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
        """Return the answer of a text: `unsat`, `0`, or a trace in any notation."""
        none = says_none(text) or text.strip() == NO_ANSWER.prefix
        return NO_ANSWER if none else Trace.read_either(plain(text))

    def decode_answer(self, text: str) -> Trace | NoAnswer:
        return NO_ANSWER if text.strip() == NO_ANSWER.prefix else Trace.read_prefix(text)

    def show(self, answer: Trace | NoAnswer) -> str:
        return answer.infix

    def picture(self, answer: Trace | NoAnswer) -> str:
        return answer.table() if isinstance(answer, Trace) else ""
