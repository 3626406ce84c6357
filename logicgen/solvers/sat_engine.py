"""SAT engines of PySAT that answer Ctrl-C, and can be given an effort."""

from __future__ import annotations

import signal
from collections.abc import Sequence

from pysat.solvers import Solver as PySATEngine
from pysolvers import error as NativeError

# The fastest of PySAT's solvers to start and stop, which decides the time of a million formulas.
ENGINE = "minisat22"

# Simplifies clauses while it searches, which pays for one problem of a hundred thousand clauses.
STRONG_ENGINE = "cadical153"


class EffortError(Exception):
    """The search for an answer has taken more steps than it was given; the message says so."""


class Effort:
    """Steps that a search may take: calls of its SAT engines, and conflicts that these run into.

    Unlike seconds, they are the same on a fast and on a slow machine.
    """

    def __init__(self, steps: int) -> None:
        self.steps = self.left = steps

    @staticmethod
    def of(steps: int | None) -> Effort | None:
        """Return the effort of a number of steps; None, for no limit, of None."""
        return None if steps is None else Effort(steps)

    def spend(self, steps: int) -> None:
        """Take steps from those that are left. Raises EffortError if there are not so many."""
        self.left -= steps
        if self.left < 0:
            raise EffortError(f"more than {self.steps:,} steps of search")


class SatEngine(PySATEngine):  # type: ignore[misc]
    """A SAT engine with clauses, to be used as a context manager or deleted.

    PySAT catches SIGINT while native code runs, and raises an error of its own for it, from which
    Python's KeyboardInterrupt is made again here. The engine's searches spend `effort`.
    """

    def __init__(
        self,
        clauses: Sequence[Sequence[int]] = (),
        name: str = ENGINE,
        effort: Effort | None = None,
    ) -> None:
        super().__init__(name=name, bootstrap_with=clauses)
        self._effort, self._conflicts = effort, 0
        if effort is not None:
            self.solver.conf_budget(min(effort.left + 1, 1 << 62))  # a budget of 0 would be none

    def solve(self, assumptions: Sequence[int] = ()) -> bool:
        """Return whether the clauses can be satisfied. Raises EffortError, KeyboardInterrupt."""
        try:
            if self._effort is None:
                return bool(self.solver.solve(assumptions))
            return self._solve_within(self._effort, assumptions)
        except NativeError:
            raise _interrupted() from None

    def _solve_within(self, effort: Effort, assumptions: Sequence[int]) -> bool:
        found = self.solver.solve_limited(assumptions)
        conflicts = self.solver.accum_stats()["conflicts"]
        effort.spend(1 + conflicts - self._conflicts)
        self._conflicts = conflicts
        return bool(found)

    def propagate(
        self, assumptions: Sequence[int] = (), phase_saving: int = 0
    ) -> tuple[bool, list[int]]:
        """Return whether unit propagation meets no conflict, and what literals it implies."""
        try:
            found, implied = self.solver.propagate(assumptions, phase_saving)
        except NativeError:
            raise _interrupted() from None
        return bool(found), list(implied)


def _interrupted() -> KeyboardInterrupt:
    # PySAT leaves its handler by a jump, after which the system holds back every further Ctrl-C.
    if hasattr(signal, "pthread_sigmask"):  # not on Windows
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    return KeyboardInterrupt()


def first_model(engine: SatEngine, count: int, assumed: Sequence[int] = ()) -> list[int] | None:
    """Return the literals of `count` variables in the first model, true before false, or None."""
    fixed = list(assumed)
    if not engine.solve(fixed):
        return None
    model = engine.get_model()
    for variable in range(1, count + 1):
        if variable > len(model) or model[variable - 1] > 0:
            fixed.append(variable)
        elif engine.solve([*fixed, variable]):
            model = engine.get_model()
            fixed.append(variable)
        else:
            fixed.append(-variable)
    return fixed[len(assumed) :]
