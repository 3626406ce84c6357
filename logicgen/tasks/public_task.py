"""The public interface to a task: the object that `logicgen.task("ltl")` returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from logicgen.errors import FormatError, LogicgenError, shown
from logicgen.solvers import Solution, Verdict
from logicgen.syntax import rewriting
from logicgen.syntax.answers import Assignment, NoAnswer, Trace
from logicgen.syntax.formula import Formula
from logicgen.tasks import judge, load_task
from logicgen.tasks.problem_samples import ProblemSamples, Range

Notation = Literal["infix", "prefix", "unicode", "latex"]


class PublicTask:
    """A task that draws, parses, writes, solves and verifies problems.

    Arguments can be texts in any notation, or values of the task: formulas, traces, assignments, or
    strings of symbols. `read`, `read_answer`, `sample` and `solve` return values. `write` turns a
    value into text; for traces and assignments `str()` does, too.
    """

    def __init__(self, name: str) -> None:
        self._task = load_task(name)
        self.name, self.about = self._task.name, self._task.about

    def __repr__(self) -> str:
        return f"logicgen.task({self.name!r})"

    def sample(
        self, *, symbols: Range, length: Range, seed: int = 0, index: int = 0, **how: Any
    ) -> Any:
        """Return one random problem: item `index` of `samples`, with the same arguments."""
        return self.samples(symbols=symbols, length=length, seed=seed, **how)[index]

    def samples(
        self, *, symbols: Range, length: Range, seed: int = 0, **how: Any
    ) -> ProblemSamples:
        """Return random problems without end. `how` is passed to `ProblemSamples`."""
        return ProblemSamples(self._task, symbols, length, seed, **how)

    def read(self, problem: str) -> Any:
        """Parse a problem. Raises FormatError with line and column."""
        return self._task.read_problem(problem)

    def read_answer(self, answer: str) -> Any:
        """Parse an answer. Raises FormatError with line and column."""
        return self._task.read_answer(answer)

    def write(self, value: Any, notation: Notation = "infix") -> str:
        """Return a problem or an answer as text.

        value: a value of the task, or a text. A text is read as a problem, or else as an answer.
        notation: `infix` for people, or `prefix` as in data sets. Formulas and traces also have
            `unicode` and `latex` (for math mode), which leave assignments in `infix`.

        Raises LogicgenError for an unknown notation and for a value of another type. Raises
        FormatError for a text that does not parse.
        """
        if isinstance(value, str):
            try:
                value = self.read(value)
            except FormatError:
                value = self.read_answer(value)
        if notation == "prefix":
            return self._written(self._task.encode, value)
        is_formula = isinstance(value, Formula)
        infix = self._written(self._task.show_problem if is_formula else self._task.show, value)
        if notation == "infix":
            return infix
        ways = {"unicode": rewriting.unicode, "latex": rewriting.latex}
        if notation not in ways:
            raise LogicgenError(
                f"notation: {notation!r}; there are infix, prefix, unicode and latex"
            )
        if isinstance(value, NoAnswer | Assignment):
            return infix
        if not (is_formula or isinstance(value, Trace)):
            raise LogicgenError(
                f"notation {notation} exists only for formulas and traces: write infix"
            )
        return ways[notation](infix)

    def solve(
        self, problem: Any, *, solver: str | None = None, timeout: float | None = None
    ) -> Solution:
        """Return the canonical answer to a problem; see `logicgen.solve`."""
        return judge.solve(self.name, self._problem(problem), solver, timeout)

    def verify(
        self, problem: Any, answer: Any, *, solver: str | None = None, timeout: float | None = None
    ) -> Verdict:
        """Return the verdict on an answer; see `logicgen.verify`."""
        said = answer if isinstance(answer, str) else self._written(self._task.show, answer)
        return judge.verify(self.name, self._problem(problem), said, solver, timeout)[0]

    def _problem(self, value: Any) -> str:
        """Return a problem as text: a text unchanged, a value in prefix notation."""
        return value if isinstance(value, str) else self._written(self._task.encode, value)

    def _written(self, write: Callable[[Any], str], value: Any) -> str:
        """Return a value as text. Raises LogicgenError if it is not a value of the task."""
        try:
            return write(value)
        except (AttributeError, TypeError):
            said = "nothing" if value is None else shown(value)
            raise LogicgenError(f"{said} is not a problem or an answer of {self.name}") from None
