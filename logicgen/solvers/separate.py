"""Solvers in processes of their own: those of other packages, and those that need a time limit.

Whatever such a plugin does (raises, prints, ends its process, goes on for ever, returns anything),
it costs one problem, whose result is `unknown` with its name. A witness of another package's solver
counts once one of ours has checked it. That a problem has none, and verdicts, have to be believed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, Literal

from logicgen.errors import LogicgenError
from logicgen.solvers.registry import Facts, facts_of, in_words, solver_plugins
from logicgen.solvers.solver import Solution, Solver, Status, Verdict
from logicgen.syntax.assignment import Assignment
from logicgen.syntax.formula import Formula
from logicgen.syntax.trace import Trace
from logicgen.workers import Calls, Failure

Question = tuple[Literal["solve", "check"], Formula, Any]

WITNESS: dict[str, type] = {"propositional": Assignment, "ltl": Trace}


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
        self._calls: Calls[Question, Any] = Calls(_serving, (name, logic))

    def solve(self, problem: Formula) -> Solution:
        """Return its solution, `unknown` where it failed or its witness is wrong."""
        found = self._calls(("solve", problem, None), self._seconds)
        if isinstance(found, Failure):
            return self._unknown(found.reason)
        if self._judge and found.witness is not None:
            try:
                right = self._judge.check(problem, found.witness).is_right
            except LogicgenError as error:
                return self._unknown(f"a witness that cannot be checked: {error}")
            if not right:
                return self._unknown("a witness that does not satisfy the problem")
        return found if found.status is not Status.UNKNOWN else self._unknown(found.reason)

    def check(self, problem: Formula, answer: Any) -> Verdict:
        """Return its verdict, `unknown` where it failed."""
        found = self._calls(("check", problem, answer), self._seconds)
        return Verdict.UNKNOWN if isinstance(found, Failure) else found

    def _unknown(self, reason: str) -> Solution:
        return Solution(Status.UNKNOWN, reason=f"solver {self.name}: {reason}")


def _serving(name: str, logic: str) -> Callable[[Question], Any]:
    """Return the function that asks the plugin, in its process."""
    try:
        plugin = solver_plugins()[name].load()()
    except Exception as error:
        raise LogicgenError(f"solver {name} cannot be made: {in_words(error)}") from error

    def ask(question: Question) -> Any:
        what, problem, answer = question
        try:
            if what == "solve":
                return _plain(plugin.solve(problem), WITNESS[logic])
            return Verdict(plugin.check(problem, answer))
        except MemoryError:
            raise  # which the worker reports
        except Exception as error:
            failed = in_words(error)
            return Solution(Status.UNKNOWN, reason=failed) if what == "solve" else Verdict.UNKNOWN

    return ask


def _plain(found: Any, kind: type) -> Solution:
    """Return a solution as ours. Raises TypeError or ValueError where it is none."""
    if not isinstance(found, Solution):
        raise TypeError(f"solve returned a {type(found).__name__}, not a Solution")
    status = Status(found.status)
    if status is Status.INVALID:
        raise ValueError("solve returned the status invalid, which is for what does not parse")
    if status is not Status.SAT:
        return Solution(status, reason=str(found.reason))
    if found.witness is not None and not isinstance(found.witness, kind):
        raise TypeError(f"the witness is a {type(found.witness).__name__}, not a {kind.__name__}")
    if found.witness is None and not found.reason:
        raise ValueError("satisfiable, without a witness or a reason why there is none")
    return Solution(status, found.witness, str(found.reason))


@cache
def foreign_facts(name: str) -> Facts:
    """Return the facts of a plugin, which are asked for in another process, where it is imported.

    Nothing that it does while it is imported can then end or disturb this one.
    """
    calls: Calls[str, Facts] = Calls(_describing)
    found = calls(name)
    calls.close()
    return Facts(broken=found.reason) if isinstance(found, Failure) else found


def _describing() -> Callable[[str], Facts]:
    return lambda name: facts_of(solver_plugins()[name].load)
