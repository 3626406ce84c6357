"""LTL trace prediction: given a formula of linear temporal logic, a symbolic trace that satisfies
it.

Source: Hahn et al., Teaching Temporal Logics to Neural Networks (ICLR 2021).
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from logicgen.solvers import Solution, Status, Verdict, load_solver
from logicgen.syntax.formula import Formula
from logicgen.syntax.formula_language import ltl
from logicgen.syntax.language import Language
from logicgen.syntax.trace import Trace, trace_language
from logicgen.tasks.propositional import FormulaSettings, FormulaSource
from logicgen.tasks.task import Task


class LTLSettings(FormulaSettings):
    """Keys of `[problem]`: those of propositional problems, with the operators of the literature.

    Attributes:
        operators: weight of each operator, and of each constant that may occur.
    """

    operators: dict[str, Annotated[float, Field(ge=0)]] = Field(
        default={"1": 1, "0": 1, "!": 1, "&": 1, "X": 1, "U": 1}, min_length=1
    )


class LTL(Task):
    """Formula in, symbolic trace out; right if it denotes words and all satisfy the formula."""

    name: ClassVar = "ltl"
    about: ClassVar = "an LTL formula -> a symbolic trace all of whose words satisfy it"
    Settings: ClassVar = LTLSettings
    distinct: ClassVar = "alpha"
    solver: ClassVar = "embedded"
    logic: ClassVar = "ltl"

    def source(self, settings: LTLSettings, symbols: tuple[int, int]) -> FormulaSource:
        """Formulas over the operators of the settings."""
        return FormulaSource(ltl(), settings, symbols)

    def solve(self, problem: Formula, solver: str | None = None) -> Solution:
        """A trace with few positions and subset-minimal literals, or unsat."""
        return load_solver(solver or self.solver, self.logic).solve(problem)

    def check(self, problem: Formula, answer: Trace, solver: str | None = None) -> Verdict:
        """Whether all words of the trace satisfy the formula; one that denotes none is invalid."""
        return load_solver(solver or self.solver, self.logic).check(problem, answer)

    def same(self, answer: Trace, other: Trace) -> bool:
        """Whether both have the same shape and, position by position, equivalent formulas."""
        if answer == other:
            return True
        if (len(answer.stem), len(answer.period)) != (len(other.stem), len(other.period)):
            return False
        differs = load_solver("pysat", "propositional").solve
        pairs = zip(answer.positions, other.positions, strict=True)
        return all(p is q or differs(p ^ q).status is Status.UNSAT for p, q in pairs)

    @property
    def problem_language(self) -> Language:
        """`ltl.lark`."""
        return ltl().language

    @property
    def answer_language(self) -> Language:
        """`trace.lark`."""
        return trace_language()

    def read_problem(self, text: str) -> Formula:
        """From `a U !b` or `U a ! b`."""
        return ltl().read_either(text)

    def decode_problem(self, text: str) -> Formula:
        """From `U a ! b`."""
        return ltl().read_prefix(text)

    def read_answer(self, text: str) -> Trace:
        """From `a ; {b ; !a}`, Spot's `a; cycle{b; !a}`, or `a ; { b ; ! a }`."""
        return Trace.read_either(text)

    def decode_answer(self, text: str) -> Trace:
        """From `a ; { b ; ! a }`."""
        return Trace.read_prefix(text)

    def encode(self, value: Formula | Trace) -> str:
        """Prefix notation."""
        return value.prefix

    def show(self, answer: Trace) -> str:
        """`a ; {b ; !a}`."""
        return answer.infix

    def picture(self, answer: Trace) -> str:
        """A table: a row per proposition, a column per position, the period between bars."""
        return answer.table()
