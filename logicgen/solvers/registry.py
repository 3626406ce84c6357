"""The registered solver plugins: their properties, and how they are called.

Solvers of other packages, and solvers that need a time limit, run in separate processes. If such a
plugin raises, prints, ends its process, never returns or returns a wrong value, only one problem is
lost. Its result is `unknown`, with the name of the solver. Witnesses of other packages' solvers are
checked by a solver of logicgen. Their results without a witness, and their verdicts, are not
checked.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any, ClassVar, Literal

from logicgen.errors import LogicgenError, at, nearest
from logicgen.extras import is_own, plugins
from logicgen.processes.pool import Failure, Pool
from logicgen.solvers.solver import Solution, Solver, Status, Verdict
from logicgen.syntax.answers import Assignment, Trace
from logicgen.syntax.formula import Formula


@cache
def solver_plugins() -> dict[str, EntryPoint]:
    """Return every registered solver plugin by name, without importing it."""
    return plugins("logicgen.solvers")


@dataclass(frozen=True)
class PluginFacts:
    """The logic and the description of a plugin, and the reason if it cannot run here."""

    logic: str = ""
    about: str = ""
    missing: str = ""  # how to install a missing dependency
    limit: str = "seconds"  # the kind of limit that stops the solver, as in `Solver.limit`
    broken: str = ""  # the fault, if the plugin is broken

    @property
    def state(self) -> str:
        """Return `available`, the dependency to install, or the fault."""
        return f"broken: {self.broken}" if self.broken else self.missing or "available"

    @property
    def line(self) -> str:
        """Return logic and description, with the dependency to install or the fault."""
        if self.broken:
            return self.state
        missing = f" (not available: {self.missing})" if self.missing else ""
        return f"{self.logic}: {self.about}{missing}"


def facts_of(load: Callable[[], Any]) -> PluginFacts:
    """Return the facts about the plugin class that `load` returns. Catches all errors."""
    try:
        plugin = load()
        missing = plugin.missing()
        said = (plugin.logic, plugin.about, missing or "", getattr(plugin, "limit", "seconds"))
        for method in (plugin.solve, plugin.check):
            if not callable(method):
                raise TypeError("solve and check have to be methods")
    except (Exception, SystemExit) as error:
        return PluginFacts(broken=in_words(error))
    if not all(isinstance(each, str) for each in said):
        return PluginFacts(broken="logic, about and what missing() returns have to be texts")
    return PluginFacts(*map(in_line, said))


def in_words(error: BaseException) -> str:
    """Return a description of any exception, in one line."""
    try:
        text = str(error)
    except Exception:  # a plugin's exception may fail to produce its text
        text = "which says nothing"
    return f"{type(error).__name__}: {in_line((text.splitlines() or [''])[0])}"


def in_line(text: str) -> str:
    """Return a text in one line, cut to a maximum length."""
    return " ".join(text[:1000].split())[:300]


Question = tuple[Literal["solve", "check"], Formula, Any]

# Seconds in which another process has to return the facts of a plugin.
PATIENCE = 30.0

WITNESS: dict[str, Any] = {"propositional": Assignment, "ltl": Trace}


class SeparateSolver(Solver):
    """A registered solver, called in a separate process.

    judge: the solver that checks the witnesses. None means that witnesses are not checked.
    seconds: the limit for a problem, after which the result is `unknown`. None means no limit.
    """

    name: str  # type: ignore[misc]
    logic: str  # type: ignore[misc]
    about: ClassVar[str] = "in a process of its own"

    def __init__(
        self, name: str, logic: str, judge: Solver | None, seconds: float | None = None
    ) -> None:
        self.name, self.logic = name, logic
        self._judge, self._seconds = judge, seconds
        count = os.cpu_count() or 1
        self._pool: Pool[Question, Any] = Pool(_serving, (name, logic), count=count)

    def solve(self, problem: Formula) -> Solution:
        """Return the plugin's solution; `unknown` if it failed or its witness is wrong."""
        found = self._asked("solve", problem)
        if isinstance(found, Failure):
            return self._unknown(found.reason)
        status, text, reason = found
        if status is Status.UNKNOWN:
            return self._unknown(reason)
        if text is None:
            return Solution(status, reason=reason)
        try:
            # The process of the plugin sends text, not objects. Reading the text gives a witness
            # of this logic or raises LogicgenError.
            witness = WITNESS[self.logic].read_prefix(text)
            if strangers := set(witness.symbols) - set(problem.symbols):
                raise LogicgenError(f"{min(strangers)} is not a symbol of the problem")
            if self._judge and not self._judge.check(problem, witness).is_right:
                return self._unknown("a witness that does not satisfy the problem")
        except LogicgenError as error:
            return self._unknown(f"a wrong witness: {str(error).splitlines()[0]}")
        return Solution(status, witness, reason)

    def check(self, problem: Formula, answer: Any) -> Verdict:
        found = self._asked("check", problem, answer)
        return Verdict.UNKNOWN if isinstance(found, Failure) else found

    def _asked(self, what: Literal["solve", "check"], problem: Formula, answer: Any = None) -> Any:
        with at(f"solver {self.name}"):
            return self._pool.call((what, problem, answer), self._seconds)

    def _unknown(self, reason: str) -> Solution:
        return Solution(Status.UNKNOWN, reason=f"solver {self.name}: {reason}")


def _serving(name: str, logic: str) -> Callable[[Question], Any]:
    """Return the function by which a worker process calls the plugin."""
    try:
        plugin = solver_plugins()[name].load()()
    except Exception as error:
        raise LogicgenError(f"it cannot be made: {in_words(error)}") from error

    def ask(question: Question) -> Any:
        what, problem, answer = question
        try:
            if what == "solve":
                return _plain(plugin.solve(problem), WITNESS[logic])
            return Verdict(plugin.check(problem, answer))
        except MemoryError:
            raise  # the worker process reports that memory is exhausted
        except BaseException as error:  # includes exceptions that end a process
            return Failure(in_words(error))

    return ask


def _plain(found: Any, kind: Any) -> tuple[Status, str | None, str]:
    """Return a plugin's solution as plain values: status, witness in prefix notation, reason.

    found: the value that the plugin returned. kind: the required class of a witness. Raises
    TypeError or ValueError if the value is not a valid solution.
    """
    if not isinstance(found, Solution):
        raise TypeError(f"solve returned a {type(found).__name__}, not a Solution")
    status, reason = Status(found.status), in_line(str(found.reason))
    if status is Status.INVALID:
        raise ValueError("solve returned the status invalid, which is only for unreadable problems")
    if status is not Status.SAT:
        return status, None, reason
    if found.witness is None:
        if not reason:
            raise ValueError("satisfiable, without a witness or a reason why there is none")
        return status, None, reason
    if not isinstance(found.witness, kind):
        raise TypeError(f"the witness is a {type(found.witness).__name__}, not a {kind.__name__}")
    return status, str(found.witness.prefix), reason


@cache
def foreign_facts(name: str) -> PluginFacts:
    """Return the facts about a plugin of another package.

    Another process imports the plugin, so the import can neither end nor disturb this process.
    """
    try:
        with Pool[str, PluginFacts](_describing) as pool:
            found = pool.call(name, PATIENCE)
    except LogicgenError as error:
        return PluginFacts(broken=in_line(str(error)))
    return PluginFacts(broken=found.reason) if isinstance(found, Failure) else found


def _describing() -> Callable[[str], PluginFacts]:
    return lambda name: facts_of(solver_plugins()[name].load)


JUDGE = {"propositional": "pysat", "ltl": "embedded"}
"""The solver that checks the witnesses of other packages' solvers, by logic."""


@cache
def solver_facts(name: str) -> PluginFacts:
    """Return the facts about a registered plugin."""
    point = solver_plugins()[name]
    if is_own(point):
        return facts_of(point.load)
    return foreign_facts(name)


@cache
def load_solver(
    name: str, logic: str, effort: int | None = None, seconds: float | None = None
) -> Solver:
    """Return a solver plugin (cached).

    Raises LogicgenError if the solver is unknown, cannot run here, or decides another logic.

    effort: the number of steps after which a solver gives up, if it counts steps.
    seconds: the limit for a problem, if the solver may not end by itself (see `Solver.limit`).
    """
    plugins = solver_plugins()
    if name not in plugins:
        raise LogicgenError(f"no solver is called {name!r}: {nearest(name, list(plugins))}")
    facts = solver_facts(name)
    if facts.broken:
        raise LogicgenError(
            f"solver {name} cannot be loaded ({facts.broken}); see logicgen list environment"
            " for how to get it, or remove the package that registers it"
        )
    if facts.missing:
        raise LogicgenError(f"solver {name} is not available here: {facts.missing}")
    if facts.logic != logic:
        raise LogicgenError(f"solver {name} decides {facts.logic} problems, not {logic} ones")
    own = is_own(plugins[name])
    if not own or (facts.limit == "seconds" and seconds is not None):
        judge = None if own else load_solver(JUDGE[logic], logic)
        return SeparateSolver(name, logic, judge, seconds)
    try:
        plugin = plugins[name].load()
        counted = facts.limit == "effort" and effort is not None
        solver: Solver = plugin(effort=effort) if counted else plugin()
    except Exception as error:
        raise LogicgenError(f"solver {name} cannot be made: {in_words(error)}") from error
    return solver
