"""Endless random problems of a task, any of which can be had by its number."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial
from itertools import count, product
from operator import index as as_index
from random import Random
from typing import Any, Literal

from logicgen.errors import LogicgenError
from logicgen.recipes import validate
from logicgen.solvers import Status
from logicgen.tasks import load_task
from logicgen.tasks.task import Cell, Task, rename, symbols_of
from logicgen.tokens import symbol_name

Range = int | tuple[int, int]
Names = Literal["shuffled", "first-occurrence"]

ATTEMPTS = 1000
"""Problems that are drawn until one is as it should be; then there is none."""

EFFORT = 1_000_000
"""Steps of search after which a problem is given up, and another one drawn."""


class ProblemSamples:
    """Problems drawn at random, without end: `samples[i]` and iteration give the same ones.

    Problem `i` depends on the arguments and on `i` alone. All cells of the ranges that hold
    problems come alike often. Problems are independent, so one may come twice.

    Args:
        task: of which.
        symbols: how many symbols a problem has: a number, or the fewest and the most.
        length: how many tokens, likewise.
        seed: another one gives other problems.
        names: how symbols are called: `shuffled`, drawn from as many letters as the range allows,
            or `first-occurrence` (a, b, c, ...).
        satisfiable: whether problems have an answer; of formulas, False for those that have none,
            None for all, as they are drawn, without asking a solver.
        curriculum: number of problems over which the cells are added, from the shortest with the
            fewest symbols to all; all from the beginning if not given.
        settings: keys of the `[problem]` table of recipes, such as `operators`.

    Raises LogicgenError for a setting that cannot be; an item, where its cells hold no problem.
    """

    def __init__(
        self,
        task: Task,
        symbols: Range,
        length: Range,
        seed: int = 0,
        *,
        names: Names = "shuffled",
        satisfiable: bool | None = True,
        curriculum: int | None = None,
        **settings: Any,
    ) -> None:
        self.symbols = _range("symbols", symbols, 0)
        self.length = _range("length", length, 1)
        if names not in ("shuffled", "first-occurrence"):
            raise LogicgenError(f"names: {names!r}; it is 'shuffled' or 'first-occurrence'")
        if curriculum is not None and curriculum < 1:
            raise LogicgenError(f"curriculum: {curriculum}; it has to be at least 1")
        if satisfiable is False and task.logic is None:
            raise LogicgenError(
                f"satisfiable: {satisfiable}; that there is no answer is one to formulas alone, and"
                f" {task.name} asks none"
            )
        self.seed, self.names, self.satisfiable = seed, names, satisfiable
        self.curriculum = curriculum
        self.task, self._settings = task.limited(EFFORT, None), settings
        table = validate(task.Settings, settings, f"samples of {task.name}", "settings")
        self._source = task.source(table, self.symbols)
        self._known: dict[Cell, bool] = {}  # whether a cell holds problems
        self._obstacle = ""  # to problems of the cell that held none last
        self._last: tuple[int, Any, Cell] | None = None  # number, problem and cell

    def __reduce__(self) -> Any:
        """Return the arguments: another process makes the same problems from them."""
        named: dict[str, Any] = {"names": self.names, "satisfiable": self.satisfiable}
        named |= {"curriculum": self.curriculum, **self._settings}
        return partial(_again, **named), (self.task.name, self.symbols, self.length, self.seed)

    @cached_property
    def _cells(self) -> list[Cell]:
        """Return the cells that hold problems, shortest first."""
        (few, many), (short, long) = self.symbols, self.length
        cells = product(range(short, long + 1), range(few, many + 1))
        return [cell for n, k in cells if self._holds(cell := Cell(k, n))]

    def __getitem__(self, index: int) -> Any:
        """Return problem number `index`, from 0. `itertools.islice` gives several."""
        return self._item(index)[0]

    def __iter__(self) -> Iterator[Any]:
        """Yield the problems in order, without end."""
        return map(self.__getitem__, count())

    def cell(self, index: int) -> Cell:
        """Return the cell of problem number `index`: its number of symbols and its length."""
        return self._item(index)[1]

    def _item(self, index: int) -> tuple[Any, Cell]:
        """Return a problem and its cell; the last one is kept."""
        index = as_index(index)
        last = self._last  # another thread may write it meanwhile
        if last is None or last[0] != index:
            self._last = last = index, *self._drawn(index)
        return last[1:]

    def _drawn(self, index: int) -> tuple[Any, Cell]:
        if index < 0:
            raise IndexError(f"sample {index}: they are numbered from 0, without end")
        for attempt in range(ATTEMPTS):
            rng = Random(f"{self.seed}/{index}/{attempt}")
            cell = self._drawn_cell(index, rng)
            if cell is None:
                continue
            draw = self._source.sample(rng, cell)
            if draw is None or not self._wanted(draw.problem):
                continue
            text = self.task.encode(draw.problem)
            return self._named(text, rng), Cell(draw.symbols, text.count(" ") + 1)
        kind = {True: " with an answer", False: " without an answer", None: ""}[self.satisfiable]
        raise LogicgenError(
            f"{ATTEMPTS:,} draws found no problem{kind} of {_said(self.symbols)} symbols and"
            f" {_said(self.length)} tokens: {self._obstacle or 'widen a range'}"
        )

    def _drawn_cell(self, index: int, rng: Random) -> Cell | None:
        """Return a cell of those that are open to a problem; None after a miss."""
        if self.curriculum is None:
            (few, many), (short, long) = self.symbols, self.length
            length = rng.randint(short, long)
            cell = Cell(rng.randint(few, many), length)
            return cell if self._holds(cell) else None
        done = min(index + 1, self.curriculum)
        open_cells = -(-len(self._cells) * done // self.curriculum)  # rounded up: one at least
        return rng.choice(self._cells[:open_cells]) if open_cells else None

    def _holds(self, cell: Cell) -> bool:
        """Return whether a cell holds a problem; where it does not, remember why."""
        if cell not in self._known:
            obstacle = self._source.obstacle(cell)
            self._obstacle = obstacle or self._obstacle
            holds = obstacle is None and sum(self._source.count(cell).values()) > 0
            self._known[cell] = holds
        return self._known[cell]

    def _wanted(self, problem: Any) -> bool:
        if self.satisfiable is None:
            return True
        wanted = Status.SAT if self.satisfiable else Status.UNSAT
        return self.task.solve(problem).status is wanted

    def _named(self, text: str, rng: Random) -> Any:
        """Return the problem of a prefix text, with its symbols named."""
        if self.names == "shuffled":
            symbols = symbols_of(text)
            chosen = rng.sample(range(max(self.symbols[1], len(symbols))), len(symbols))
            text = rename(text, dict(zip(symbols, map(symbol_name, chosen), strict=True)))
        return self.task.decode_problem(text)


def _again(task: str, *arguments: Any, **named: Any) -> ProblemSamples:
    """Return the same problems again, from the arguments that a copy of them was sent."""
    return ProblemSamples(load_task(task), *arguments, **named)


def _range(name: str, given: Range, least: int) -> tuple[int, int]:
    """Return the fewest and the most. Raises LogicgenError for what is no range."""
    bounds = (given, given) if isinstance(given, int) else given
    match bounds:
        case (int(low), int(high)) if least <= low <= high:
            return low, high
    raise LogicgenError(
        f"{name}: {given!r}; it is a number, or the fewest and the most, from {least}"
    )


def _said(bounds: tuple[int, int]) -> str:
    low, high = bounds
    return f"{low}" if low == high else f"{low} to {high}"
