"""SAT engines of PySAT that answer Ctrl-C, and can be given an effort."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock, Thread

import pysolvers
from pysat.solvers import Solver as PySATEngine

# The fastest of PySAT's solvers to start and stop, which decides the time of a million formulas.
ENGINE = "minisat22"

# Simplifies clauses while it searches, which pays for one problem of a hundred thousand clauses.
STRONG_ENGINE = "cadical153"

# Conflicts of a search that nothing interrupts: a tenth of a second where they are hard to find.
SHORT = 1_000

# Conflicts after which the strong engine looks up: with more pieces it would take longer in all.
PIECE = 5_000

NO_LIMIT = 1 << 62


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

    PySAT's own answer to SIGINT, which it gives in the main thread, leaves native code by a jump,
    whatever that code holds: the process may crash, or wait for ever for a lock of malloc. So that
    answer is never asked for: the last numbers of native calls say that this is another thread, and
    that Python is kept. A short search ends by itself; a long one runs in a thread, while the one
    that asked waits for it and can be interrupted. The engine's searches spend `effort`.
    """

    def __init__(
        self,
        clauses: Sequence[Sequence[int]] = (),
        name: str = ENGINE,
        effort: Effort | None = None,
    ) -> None:
        self._effort, self._conflicts = effort, 0
        self._strong = name == STRONG_ENGINE
        self._busy = Lock()  # while a thread searches
        super().__init__(name=name, bootstrap_with=clauses)
        self._allow(SHORT)

    def solve(self, assumptions: Sequence[int] = ()) -> bool:
        """Return whether the clauses can be satisfied. Raises EffortError, KeyboardInterrupt."""
        if self._effort is not None:
            self._effort.spend(1)
        found = None
        if not self._strong:  # which takes long anyway
            found = pysolvers.minisat22_solve_lim(self.solver.minisat, assumptions, 0, 0)
            self.solver.status = found  # without which it gives no model
            self._spend()
        while found is None:
            found = self._solve_in_a_thread(assumptions)
            self._spend()
            self._allow(SHORT)
        return bool(found)

    def propagate(self, assumptions: Sequence[int] = ()) -> tuple[bool, list[int]]:
        """Return whether unit propagation meets no conflict, and what literals it implies."""
        found, implied = pysolvers.minisat22_propagate(self.solver.minisat, assumptions, 0, 0)
        return bool(found), list(implied or ())

    def delete(self) -> None:
        """Free the native memory, after the end of a search that was left in its thread."""
        self._stop()
        with self._busy:
            super().delete()

    def _solve_in_a_thread(self, assumptions: Sequence[int]) -> bool | None:
        """Return whether the clauses can be satisfied, or None if that is still open."""
        # The strong engine cannot be stopped, so it searches piece by piece. It goes on where it
        # was; the other one would begin to forget what it has learnt.
        self._allow(PIECE if self._strong else NO_LIMIT)
        found: list[bool | None] = []

        def search() -> None:
            with self._busy:
                if self.solver is not None:  # it is None after the engine was deleted
                    found.append(self.solver.solve_limited(assumptions, expect_interrupt=True))

        thread = Thread(target=search, daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(0.1)  # the system may give a signal to any thread, which wakes no other
        return found[0]

    def _stop(self) -> None:
        if self.solver is not None and not self._strong:
            self.solver.interrupt()

    def _allow(self, conflicts: int) -> None:
        """Let the next search run into so many conflicts, within the effort."""
        if self._effort is not None:
            conflicts = min(conflicts, self._effort.left + 1)  # a budget of 0 would be none
        self.solver.conf_budget(conflicts)

    def _spend(self) -> None:
        """Spend the conflicts since this was last called. Raises EffortError."""
        if self._effort is not None:
            before, self._conflicts = self._conflicts, self.solver.accum_stats()["conflicts"]
            self._effort.spend(self._conflicts - before)


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
