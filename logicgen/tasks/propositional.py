"""Propositional assignment prediction: given a formula, a partial assignment that satisfies it.

Source: Hahn et al., Teaching Temporal Logics to Neural Networks (ICLR 2021).
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import model_validator

from logicgen.solvers import Verdict
from logicgen.syntax.assignment import Assignment, assignment_language
from logicgen.syntax.formula import Formula
from logicgen.syntax.language import Language, read_either
from logicgen.tasks.cnf import CNFSource
from logicgen.tasks.formula_task import FormulaSettings, FormulaSource, FormulaTask
from logicgen.tasks.task import Source


class PropositionalSettings(FormulaSettings):
    """Keys of `[problem]`.

    Attributes:
        source: `random` draws formulas over the operators; `cnf` draws conjunctions of clauses, as
            NeuroSAT does, for which the other keys mean nothing.
    """

    source: Literal["random", "cnf"] = "random"

    @model_validator(mode="after")
    def _fitting(self) -> PropositionalSettings:
        if self.source == "cnf" and (unused := self.model_fields_set - {"source"}):
            raise ValueError(f"{' and '.join(sorted(unused))} cannot be given with source cnf")
        return self


class Propositional(FormulaTask):
    """Formula in, partial assignment out; right if every completion satisfies the formula."""

    name: ClassVar = "propositional"
    about: ClassVar = "a formula -> a partial assignment all of whose completions satisfy it"
    Settings: ClassVar = PropositionalSettings
    solver: ClassVar = "pysat"
    logic: ClassVar = "propositional"

    def source(self, settings: PropositionalSettings, symbols: tuple[int, int]) -> Source:
        """Formulas over the operators of the settings, or satisfiable sets of clauses."""
        if settings.source == "cnf":
            return CNFSource(symbols)
        return FormulaSource(self.formulas, settings, symbols)

    def check(self, problem: Formula, answer: Assignment, solver: str | None = None) -> Verdict:
        """Whether every completion satisfies the formula; a contradictory assignment is invalid."""
        return self._solver(solver).check(problem, answer)

    def same(self, answer: Assignment, other: Assignment) -> bool:
        """Whether both give the same symbols the same values."""
        return answer.same_as(other)

    @property
    def answer_language(self) -> Language:
        """`assignment.lark`."""
        return assignment_language()

    def read_problem(self, text: str) -> Formula:
        """From `a & !b` or `& a ! b`."""
        formula: Formula = read_either(self.problem_language.read, text)
        return formula

    def read_answer(self, text: str) -> Assignment:
        """From `a=1, b=0`, `a & !b` or `a 1 b 0`."""
        answer: Assignment = read_either(self.answer_language.read, text)
        return answer

    def decode_answer(self, text: str) -> Assignment:
        """From `a 1 b 0`."""
        return Assignment.read_prefix(text)

    def show(self, answer: Assignment) -> str:
        """`a=1, b=0`, each literal once: a model may repeat itself."""
        return Assignment(tuple(dict.fromkeys(answer.literals))).infix
