"""The protocol of every decision procedure, and the results that it returns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Literal, Protocol


class Verdict(StrEnum):
    """The judgement on an answer."""

    EXACT = "exact"  # correct, and equal to the stored answer
    CORRECT = "correct"
    INCORRECT = "incorrect"
    INVALID = "invalid"  # the answer does not parse, or nothing can satisfy it
    UNKNOWN = "unknown"  # a limit was reached

    @property
    def is_right(self) -> bool:
        """Return whether the answer solves the problem."""
        return self in (Verdict.EXACT, Verdict.CORRECT)

    @property
    def reward(self) -> float | None:
        """Return 1.0 for a right answer, 0.0 for a wrong answer, None for an unknown verdict."""
        return None if self is Verdict.UNKNOWN else float(self.is_right)


class Status(StrEnum):
    """The result of solving a problem."""

    SAT = "sat"
    UNSAT = "unsat"
    UNKNOWN = "unknown"  # a limit was reached
    INVALID = "invalid"  # the problem does not parse


@dataclass(frozen=True)
class Solution:
    """The result of solving: a status, a witness if the status is `sat`, else often a reason."""

    status: Status
    witness: Any = None
    reason: str = ""

    @staticmethod
    def sat(witness: Any) -> Solution:
        """Return a solution with a witness."""
        return Solution(Status.SAT, witness)

    @staticmethod
    def unsat(reason: str) -> Solution:
        """Return an unsatisfiable solution with its reason."""
        return Solution(Status.UNSAT, reason=reason)


UNSAT = Solution(Status.UNSAT)


class Solver(Protocol):
    """A decision procedure for one logic.

    A plugin is a class without required constructor arguments, registered in the entry-point group
    `logicgen.solvers`. A solver must be deterministic. Renaming the symbols of a problem must
    rename its witness and change nothing else.

    A solver runs until it is done or its effort is spent. The caller enforces limits of time and
    memory in a process that can be killed (`logicgen.processes`), because native code does not
    react to signals.
    """

    name: ClassVar[str]
    logic: ClassVar[str]  # "propositional" or "ltl"
    about: ClassVar[str]  # one line for `logicgen list solvers`.
    # The limit of a long search: "effort" (a number of steps, an argument of the constructor),
    # "seconds", or "nothing" for a solver that always ends soon.
    limit: ClassVar[Literal["effort", "seconds", "nothing"]] = "seconds"

    @classmethod
    def missing(cls) -> str | None:
        """Return the dependency to install, or None if the solver can run here."""
        return None

    def solve(self, problem: Any) -> Solution:
        """Return a solution. Only the status `sat` can have a witness."""

    def check(self, problem: Any, answer: Any) -> Verdict:
        """Return the verdict on an answer, but never `exact`: a solver knows no stored answer."""
