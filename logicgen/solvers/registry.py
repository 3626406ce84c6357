"""Which solver plugins are registered, what each says of itself, and how it is called.

Solvers of other packages, and those that need a time limit, run in processes of their own. Whatever
such a plugin does (raises, prints, ends its process, goes on for ever, returns anything), it costs
one problem, whose result is `unknown` with its name. A witness of another package's solver counts
once one of ours has checked it. That a problem has none, and verdicts, have to be believed.
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
    """Return every registered solver plugin by name; nothing is imported yet."""
    return plugins("logicgen.solvers")


@dataclass(frozen=True)
class PluginFacts:
    """The logic and the line of a plugin, and why it cannot run here."""

    logic: str = ""
    about: str = ""
    missing: str = ""  # what to install
    limit: str = "seconds"  # as `Solver.limit`
    broken: str = ""  # what is wrong with it

    @property
    def state(self) -> str:
        """Return `available`, what to install, or what is wrong."""
        return f"broken: {self.broken}" if self.broken else self.missing or "available"

    @property
    def line(self) -> str:
        """Return logic and description, with what to install, or what is wrong."""
        if self.broken:
            return self.state
        missing = f" (not available: {self.missing})" if self.missing else ""
        return f"{self.logic}: {self.about}{missing}"


def facts_of(load: Callable[[], Any]) -> PluginFacts:
    """Return the facts of the class that `load` returns, whatever it raises or is."""
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
    """Return an exception in one line, whatever it is."""
    try:
        text = str(error)
    except Exception:  # the error is a plugin's, and so is what makes its text
        text = "which says nothing"
    return f"{type(error).__name__}: {in_line((text.splitlines() or [''])[0])}"


def in_line(text: str) -> str:
    """Return a text in one line that is not too long."""
    return " ".join(text[:1000].split())[:300]


Question = tuple[Literal["solve", "check"], Formula, Any]

# Seconds in which a package has to say what its solver is.
PATIENCE = 30.0

WITNESS: dict[str, Any] = {"propositional": Assignment, "ltl": Trace}


class SeparateSolver(Solver):
    """A registered solver, called in a process of its own.

    judge: of its witnesses; None believes them.
    seconds: after which a problem is given up as `unknown`; None is no limit.
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
        """Return its solution, `unknown` where it failed or its witness is wrong."""
        found = self._asked("solve", problem)
        if isinstance(found, Failure):
            return self._unknown(found.reason)
        status, text, reason = found
        if status is Status.UNKNOWN:
            return self._unknown(reason)
        if text is None:
            return Solution(status, reason=reason)
        try:
            # As a text, in which only what the language has can be said.
            witness = WITNESS[self.logic].read_prefix(text)
            if strangers := set(witness.symbols) - set(problem.symbols):
                raise LogicgenError(f"{min(strangers)} is no symbol of the problem")
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
    """Return the function that asks the plugin, in its process."""
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
            raise  # which the worker reports
        except BaseException as error:  # also what ends a process
            return Failure(in_words(error))

    return ask


def _plain(found: Any, kind: Any) -> tuple[Status, str | None, str]:
    """Return status, witness in prefix notation, and reason of a solution.

    Raises TypeError or ValueError where it is none.
    """
    if not isinstance(found, Solution):
        raise TypeError(f"solve returned a {type(found).__name__}, not a Solution")
    status, reason = Status(found.status), in_line(str(found.reason))
    if status is Status.INVALID:
        raise ValueError("solve returned the status invalid, which is for what does not parse")
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
    """Return the facts of a plugin, which are asked for in another process, where it is imported.

    Nothing that it does while it is imported can then end or disturb this one.
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
"""Who checks the witnesses of other packages' solvers, by logic."""


@cache
def solver_facts(name: str) -> PluginFacts:
    """Return what a registered plugin says of itself, or why it is broken."""
    point = solver_plugins()[name]
    if is_own(point):
        return facts_of(point.load)
    return foreign_facts(name)


@cache
def load_solver(
    name: str, logic: str, effort: int | None = None, seconds: float | None = None
) -> Solver:
    """Return the solver plugin, made once; raise LogicgenError if unknown, missing or unfit.

    effort, seconds: where to give up, for a solver that counts its steps, and for one that may not
    end and does not (`Solver.limit`).
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
