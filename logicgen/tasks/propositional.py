"""Assignment prediction: given a propositional formula, predict an assignment to satisfy it.

Source: Hahn et al., Teaching Temporal Logics to Neural Networks (ICLR 2021).
"""

from __future__ import annotations

from typing import ClassVar, Literal

from logicgen.solvers import Solver, Verdict
from logicgen.syntax.assignment import Assignment, assignment_language
from logicgen.syntax.formula import Formula
from logicgen.syntax.language import Language
from logicgen.tasks.cnf import CNFSource
from logicgen.tasks.formula_task import FormulaSettings, FormulaTask

# A truth table over so many symbols is faster than a SAT solver.
FEW = 10


class PropositionalSettings(FormulaSettings):
    """Keys of `[problem]`; source `cnf` draws clauses, as NeuroSAT does, and takes no other key."""

    source: Literal["random", "cnf"] = "random"


class Propositional(FormulaTask):
    """The task of assignments: formula in, a partial assignment out that satisfies it."""

    name: ClassVar = "propositional"
    about: ClassVar = "a formula -> a partial assignment all of whose completions satisfy it"
    Settings: ClassVar = PropositionalSettings
    solver: ClassVar = "pysat"
    logic: ClassVar = "propositional"
    other_source: ClassVar = CNFSource

    def check(self, problem: Formula, answer: Assignment, solver: str | None = None) -> Verdict:
        """Return `correct` if all completions satisfy the formula, `invalid` if there are none."""
        return self._solver(solver, problem).check(problem, answer)

    def _solver(self, name: str | None, problem: Formula) -> Solver:
        # Nobody asked for one, both give the same answers, and a small table is four times as fast.
        few = name is None and len(problem.symbols) <= FEW
        return super()._solver("truth-table" if few else name, problem)

    def same(self, answer: Assignment, other: Assignment) -> bool:
        return answer.same_as(other)

    @property
    def answer_language(self) -> Language:
        return assignment_language()

    def show(self, answer: Assignment) -> str:
        """Return a text such as `a=1, b=0`, each literal once: a model may repeat itself."""
        return Assignment(tuple(dict.fromkeys(answer.literals))).infix
