"""SAT engines of PySAT that react to Ctrl-C and can have a limited effort."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock, Thread

import pysolvers
from pysat.solvers import Solver as PySATEngine

# The engine for formulas. It starts and stops faster than the other engines of PySAT.
ENGINE = "minisat22"

# The engine for large sets of clauses, such as 100,000. It simplifies clauses during the search.
STRONG_ENGINE = "cadical153"

# The most conflicts of a search that cannot be interrupted. It takes at most about 0.1 s.
SHORT = 1_000

# The strong engine checks for signals after this number of conflicts. A smaller number would make
# the search slower.
PIECE = 5_000

NO_LIMIT = 1 << 62


class EffortError(Exception):
    """The search has spent its effort. The message contains the number of steps."""


class Effort:
    """A number of steps that a search may take: calls of its SAT engines, and their conflicts.

    Unlike seconds, steps are the same on a fast and on a slow machine.
    """

    def __init__(self, steps: int) -> None:
        self.steps = self.left = steps

    @staticmethod
    def of(steps: int | None) -> Effort | None:
        """Return an effort that allows `steps` steps of search; None means no limit."""
        return None if steps is None else Effort(steps)

    def spend(self, steps: int) -> None:
        """Count steps of the search. Raises EffortError if the limit is exceeded."""
        self.left -= steps
        if self.left < 0:
            raise EffortError(f"more than {self.steps:,} steps of search")


class SatEngine(PySATEngine):  # type: ignore[misc]
    """A SAT engine with clauses. Use it as a context manager, or call `delete`.

    In the main thread, PySAT installs its own handler of SIGINT. The handler jumps out of native
    code, which may hold a lock of malloc. The process may then crash or wait for ever. This class
    prevents that. The last two arguments of its native calls are `main_thread=0`, so that PySAT
    installs no handler, and `expect_interrupt=0`, which keeps Python's global lock. A short search
    is not interrupted. A long search runs in a thread; the caller waits for it and can be
    interrupted. The steps of searches are counted by `effort`.
    """

    def __init__(
        self,
        clauses: Sequence[Sequence[int]] = (),
        name: str = ENGINE,
        effort: Effort | None = None,
    ) -> None:
        self._effort, self._conflicts = effort, 0
        self._strong = name == STRONG_ENGINE
        self._busy = Lock()  # held while a thread searches
        super().__init__(name=name, bootstrap_with=clauses)
        self._allow(SHORT)

    def solve(self, assumptions: Sequence[int] = ()) -> bool:
        """Return whether the clauses can be satisfied. Raises EffortError, KeyboardInterrupt."""
        if self._effort is not None:
            self._effort.spend(1)
        found = None
        if not self._strong:  # the strong engine always runs in a thread
            found = pysolvers.minisat22_solve_lim(self.solver.minisat, assumptions, 0, 0)
            self.solver.status = found  # PySAT returns a model only if its status is set
            self._spend()
        while found is None:
            found = self._solve_in_a_thread(assumptions)
            self._spend()
            self._allow(SHORT)
        return bool(found)

    def propagate(self, assumptions: Sequence[int] = ()) -> tuple[bool, list[int]]:
        """Return whether unit propagation meets no conflict, and the literals that it implies."""
        found, implied = pysolvers.minisat22_propagate(self.solver.minisat, assumptions, 0, 0)
        return bool(found), list(implied or ())

    def delete(self) -> None:
        """Free the native memory. If a thread still searches, wait for its end."""
        self._stop()
        with self._busy:
            super().delete()

    def _solve_in_a_thread(self, assumptions: Sequence[int]) -> bool | None:
        """Return whether the clauses can be satisfied, or None if that is not yet known."""
        # The strong engine cannot be stopped, so it searches in pieces and continues each time. The
        # other engine would forget a part of its learned clauses between pieces.
        self._allow(PIECE if self._strong else NO_LIMIT)
        found: list[bool | None] = []

        def search() -> None:
            with self._busy:
                if self.solver is not None:  # None after the engine was deleted
                    found.append(self.solver.solve_limited(assumptions, expect_interrupt=True))

        thread = Thread(target=search, daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(0.1)  # wake regularly: a signal to another thread does not wake this thread
        return found[0]

    def _stop(self) -> None:
        if self.solver is not None and not self._strong:
            self.solver.interrupt()

    def _allow(self, conflicts: int) -> None:
        """Set the number of conflicts of the next search, within the effort."""
        if self._effort is not None:
            conflicts = min(conflicts, self._effort.left + 1)  # 0 would mean no limit
        self.solver.conf_budget(conflicts)

    def _spend(self) -> None:
        """Count the conflicts since the last call as steps. Raises EffortError at the limit."""
        if self._effort is not None:
            before, self._conflicts = self._conflicts, self.solver.accum_stats()["conflicts"]
            self._effort.spend(self._conflicts - before)


def first_model(engine: SatEngine, count: int, assumed: Sequence[int] = ()) -> list[int] | None:
    """Return the literals of the variables 1 to `count` in the lexicographically first model.

    True comes before false. Returns None if no model contains the literals `assumed`.
    """
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
