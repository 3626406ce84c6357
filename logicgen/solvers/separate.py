"""Solvers in processes of their own: those of other packages, and those that need a time limit.

Whatever such a plugin does (raises, prints, ends its process, goes on for ever, returns anything),
it costs one problem, whose result is `unknown` with its name. A witness of another package's solver
counts once one of ours has checked it. That a problem has none, and verdicts, have to be believed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, Literal

from logicgen.errors import LogicgenError, at
from logicgen.processes.pool import Failure, Pool
from logicgen.solvers.registry import PluginFacts, facts_of, in_line, in_words, solver_plugins
from logicgen.solvers.solver import Solution, Solver, Status, Verdict
from logicgen.syntax.answers import Assignment, Trace
from logicgen.syntax.formula import Formula

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
        """Return its verdict, `unknown` where it failed."""
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
