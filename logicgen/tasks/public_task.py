"""A task as programs use it: `logicgen.task("ltl")`."""

from __future__ import annotations

from typing import Any, Literal

from logicgen.errors import LogicgenError
from logicgen.solvers import Solution, Verdict
from logicgen.syntax import notations
from logicgen.syntax.formula import Formula
from logicgen.syntax.trace import Trace
from logicgen.tasks import limited, load_task
from logicgen.tasks.problem_samples import ProblemSamples

Notation = Literal["infix", "prefix", "unicode", "latex"]


class PublicTask:
    """Problems and answers of a task, each given as text in any notation or as a value.

    Values are what `read`, `read_answer`, `sample` and solutions give: formulas, traces,
    assignments, strings of symbols. `str()` of an answer is what people write.
    """

    def __init__(self, name: str) -> None:
        self._task = load_task(name)
        self.name, self.about = self._task.name, self._task.about

    def __repr__(self) -> str:
        return f"logicgen.task({self.name!r})"

    def sample(self, *, seed: int = 0, index: int = 0, **how: Any) -> Any:
        """Return one random problem: `samples(seed=seed, **how)[index]`."""
        return ProblemSamples(self._task, seed=seed, **how)[index]

    def samples(self, **how: Any) -> ProblemSamples:
        """Return endless random problems: `ProblemSamples` of `symbols`, `length`, ..."""
        return ProblemSamples(self._task, **how)

    def read(self, problem: str) -> Any:
        """Return the problem of a text. Raises FormatError with line and column."""
        return self._task.read_problem(problem)

    def read_answer(self, answer: str) -> Any:
        """Return the answer of a text. Raises FormatError with line and column."""
        return self._task.read_answer(answer)

    def write(self, value: Any, notation: Notation = "infix") -> str:
        """Return a problem or an answer as text.

        notation: `infix`, as people write it; `prefix`, as data sets hold it; and of formulas and
            traces `unicode` or `latex` (for math mode).

        Raises LogicgenError for a notation that there is not.
        """
        if notation == "prefix":
            return self._task.encode(value)
        is_formula = isinstance(value, Formula)
        infix = self._task.show_problem(value) if is_formula else self._task.show(value)
        if notation == "infix":
            return infix
        ways = {"unicode": notations.unicode, "latex": notations.latex}
        if notation not in ways:
            raise LogicgenError(
                f"notation: {notation!r}; there are infix, prefix, unicode and latex"
            )
        if not (is_formula or isinstance(value, Trace)):
            raise LogicgenError(f"notation {notation} is of formulas and traces: write infix")
        return ways[notation](infix)

    def solve(
        self, problem: Any, *, solver: str | None = None, timeout: float | None = None
    ) -> Solution:
        """Return the canonical answer to a problem, as `logicgen.solve`."""
        return limited.solve(self.name, self._text(problem), solver, timeout)

    def verify(
        self,
        problem: Any,
        answer: Any,
        *,
        solver: str | None = None,
        timeout: float | None = None,
    ) -> Verdict:
        """Return the verdict on an answer, as `logicgen.verify`."""
        texts = self._text(problem), self._text(answer)
        try:
            return limited.verify(self.name, *texts, solver, timeout)[0]
        except limited.AnswerError:
            return Verdict.INVALID

    def _text(self, value: Any) -> str:
        return value if isinstance(value, str) else self._task.encode(value)
