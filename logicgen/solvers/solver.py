"""The protocol that every decision procedure follows, and the results that it returns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Literal, Protocol


class Verdict(StrEnum):
    """The judgement on an answer."""

    EXACT = "exact"  # correct, and equal to the stored answer
    CORRECT = "correct"
    INCORRECT = "incorrect"
    INVALID = "invalid"  # does not parse, or denotes nothing
    UNKNOWN = "unknown"  # a limit was reached

    @property
    def is_right(self) -> bool:
        """Return whether the answer solves the problem."""
        return self in (Verdict.EXACT, Verdict.CORRECT)

    @property
    def reward(self) -> float | None:
        """Return 1.0 for a right answer, 0.0 for a wrong one, None where that is not known."""
        return None if self is Verdict.UNKNOWN else float(self.is_right)


class Status(StrEnum):
    """The result of solving a problem."""

    SAT = "sat"
    UNSAT = "unsat"
    UNKNOWN = "unknown"  # a limit was reached
    INVALID = "invalid"  # the problem does not parse


@dataclass(frozen=True)
class Solution:
    """A status, the witness where it is `sat`, and perhaps the reason where it is anything else."""

    status: Status
    witness: Any = None
    reason: str = ""

    @staticmethod
    def sat(witness: Any) -> Solution:
        """Return a solution with a witness."""
        return Solution(Status.SAT, witness)

    @staticmethod
    def unsat(reason: str) -> Solution:
        """Return a solution that says why there is no witness."""
        return Solution(Status.UNSAT, reason=reason)


UNSAT = Solution(Status.UNSAT)


class Solver(Protocol):
    """A decision procedure for one logic.

    Plugins register a class that needs no constructor arguments in the entry-point group
    `logicgen.solvers`. A solver runs until it is done, or has spent its effort if it was made with
    one: time and memory limits are enforced by whoever runs it, in a process that can be killed
    (`logicgen.processes`), because native code does not answer signals. It must be deterministic,
    and renaming a problem's symbols must rename its witness and change nothing else.
    """

    name: ClassVar[str]
    logic: ClassVar[str]  # "propositional" or "ltl"
    about: ClassVar[str]  # one line for `logicgen list solvers`
    # What ends a search that takes too long: a count of its steps (the argument `effort` of its
    # constructor), a clock, or "nothing" for a solver that always ends soon.
    limit: ClassVar[Literal["effort", "seconds", "nothing"]] = "seconds"

    @classmethod
    def missing(cls) -> str | None:
        """Return None if the solver can run here, else what to install."""
        return None

    def solve(self, problem: Any) -> Solution:
        """Return a solution with a witness, or one that says that there is none."""

    def check(self, problem: Any, answer: Any) -> Verdict:
        """Return `correct`, `incorrect` or `invalid`; the task decides whether it is `exact`."""
