"""Random problems without end, drawn by number: `ProblemSamples`.

A cell is the problems of one number of symbols and one length. Unlike a `Drawer` of `problems`, an
endless sequence draws each problem without drawing the problems before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import count, product
from operator import index as as_index
from random import Random
from typing import Any, Literal

from logicgen.errors import LogicgenError
from logicgen.recipes import validate
from logicgen.solvers import Status
from logicgen.tasks.conditions import BEYOND, Conditions, Meter
from logicgen.tasks.problems import MOST_ATTEMPTS, random_names, renamed
from logicgen.tasks.task import Cell, Task, symbols_of

EFFORT = 1_000_000
"""The number of solver steps after which `ProblemSamples` abandons a problem and draws another."""

RARE = 20
"""How many times more draws are made for a problem in ranges of difficulty, which are rarer."""

Range = int | tuple[int, int]
Names = Literal["shuffled", "first-occurrence"]


class ProblemSamples:
    """Random problems without end. `samples[i]` and iteration give the same problems.

    Problem `i` depends only on the arguments and on `i`. A cell is a number of symbols with a
    length. All cells with problems are equally likely. Problems are independent, so a problem may
    occur twice.

    Args:
        task: the task that the problems belong to.
        symbols: the number of symbols of a problem: a number, or the fewest and the most.
        length: the number of tokens of a problem: a number, or the fewest and the most.
        seed: another seed gives other problems.
        names: the names of symbols. `shuffled` draws them from n letters, if n is the upper
            limit of `symbols`. `first-occurrence` takes a, b, c, ... in order.
        satisfiable: whether problems have an answer, or the share of problems with an answer. For
            formulas, False draws unsatisfiable problems; None draws any formulas, without a solver.
        curriculum: the number of problems until all cells are used. The shortest cells with the
            fewest symbols are used first. If not given, all cells are used from the beginning.
        beyond: controls that have to give a wrong first answer, so that problems cannot be guessed.
        difficulty: the table `[difficulty]` of recipes, such as `{"positions": [2, 6]}`.
        settings: keys of the `[problem]` table of recipes, such as `operators`.

    Raises LogicgenError for an invalid setting. An item raises it if no cell has a problem.
    """

    def __init__(
        self,
        task: Task,
        symbols: Range,
        length: Range,
        seed: int = 0,
        *,
        names: Names = "shuffled",
        satisfiable: float | None = True,
        curriculum: int | None = None,
        beyond: Sequence[str] = (),
        difficulty: Mapping[str, Sequence[Any]] | None = None,
        **settings: Any,
    ) -> None:
        self.symbols = _range("symbols", symbols, 0)
        self.length = _range("length", length, 1)
        if names not in ("shuffled", "first-occurrence"):
            raise LogicgenError(f"names: {names!r}; it is 'shuffled' or 'first-occurrence'")
        if curriculum is not None and curriculum < 1:
            raise LogicgenError(f"curriculum: {curriculum}; it has to be at least 1")
        if satisfiable is not None and not 0 <= satisfiable <= 1:
            raise LogicgenError(f"satisfiable: {satisfiable}; a share is between 0 and 1")
        if satisfiable is not None and satisfiable < 1 and task.logic is None:
            raise LogicgenError(
                f"satisfiable: {satisfiable}; only formulas can have no answer, and the problems of"
                f" {task.name} are not formulas"
            )
        self.seed, self.names, self.satisfiable = seed, names, satisfiable
        self.curriculum = curriculum
        self.task, self._settings = task.limited(EFFORT), settings
        self._difficulty = {**(difficulty or {})}
        self._difficulty[BEYOND] = [*self._difficulty.get(BEYOND, ()), *beyond]
        unsatisfiable = 1 - (1 if satisfiable is None else satisfiable)
        self._meter = Meter(self.task, Conditions.of(task, self._difficulty, unsatisfiable))
        table = validate(task.Settings, settings, f"samples of {task.name}", "settings")
        self._source = task.source(table, self.symbols)
        self._known: dict[Cell, bool] = {}  # whether a cell has problems
        self._obstacle = ""  # the obstacle in the last cell without problems
        self._last: tuple[int, Any, Cell] | None = None  # number, problem and cell of the last item

    def __reduce__(self) -> Any:
        """Return the arguments, from which another process makes the same problems."""
        named: dict[str, Any] = {"names": self.names, "satisfiable": self.satisfiable}
        named |= {"curriculum": self.curriculum, "difficulty": self._difficulty}
        named |= self._settings
        return partial(ProblemSamples, **named), (self.task, self.symbols, self.length, self.seed)

    @cached_property
    def _cells(self) -> list[Cell]:
        """Return the (number of symbols, length) pairs that have problems, shortest first."""
        lengths, symbols = (range(low, high + 1) for low, high in (self.length, self.symbols))
        return [cell for n, k in product(lengths, symbols) if self._holds(cell := Cell(k, n))]

    def __getitem__(self, index: int) -> Any:
        """Return problem number `index`, counted from 0."""
        return self._item(index)[0]

    def __iter__(self) -> Iterator[Any]:
        """Yield the problems in order, without end."""
        return map(self.__getitem__, count())

    def cell(self, index: int) -> Cell:
        """Return the cell of problem number `index`: its number of symbols and its length."""
        return self._item(index)[1]

    def _item(self, index: int) -> tuple[Any, Cell]:
        """Return a problem with its number of symbols and length. The last problem is cached."""
        index = as_index(index)
        last = self._last  # a copy, because another thread may change the attribute
        if last is None or last[0] != index:
            self._last = last = index, *self._drawn(index)
        return last[1:]

    def _drawn(self, index: int) -> tuple[Any, Cell]:
        if index < 0:
            raise IndexError(f"sample {index}: samples are numbered from 0, without end")
        wanted = self._status(index)
        most = MOST_ATTEMPTS * (RARE if self._meter.conditions.bands else 1)
        for attempt in range(most):
            rng = Random(f"{self.seed}/{index}/{attempt}")
            cell = self._drawn_cell(index, rng)
            if cell is None:
                continue
            draw = self._source.sample(rng, cell)
            if draw is None:
                continue
            text = self.task.encode(draw.problem)
            problem = self._named(text, rng)
            if self._wanted(problem, wanted):
                return problem, Cell(draw.symbols, text.count(" ") + 1)
        kind = {Status.SAT: " with an answer", Status.UNSAT: " without an answer", None: ""}[wanted]
        kind += " of this difficulty" if self._meter.conditions.bands else ""
        raise LogicgenError(
            f"{most:,} draws found no problem{kind} of {_said(self.symbols)} symbols and"
            f" {_said(self.length)} tokens: {self._obstacle or 'widen a range'}"
        )

    def _drawn_cell(self, index: int, rng: Random) -> Cell | None:
        """Draw a number of symbols and a length for a problem that the curriculum has opened.

        Returns None if no problem has this number of symbols and this length.
        """
        if self.curriculum is None:
            (few, many), (short, long) = self.symbols, self.length
            length = rng.randint(short, long)
            cell = Cell(rng.randint(few, many), length)
            return cell if self._holds(cell) else None
        done = min(index + 1, self.curriculum)
        # Round up, so that at least one cell is open.
        open_cells = -(-len(self._cells) * done // self.curriculum)
        return rng.choice(self._cells[:open_cells]) if open_cells else None

    def _holds(self, cell: Cell) -> bool:
        """Return whether a problem has the cell's number of symbols and length.

        If the cell is empty, remember the reason.
        """
        if cell not in self._known:
            obstacle = self._source.obstacle(cell)
            self._obstacle = obstacle or self._obstacle
            self._known[cell] = obstacle is None and sum(self._source.count(cell).values()) > 0
        return self._known[cell]

    def _status(self, index: int) -> Status | None:
        """Return the solver's verdict that a problem needs; None if any verdict is accepted."""
        share = self.satisfiable
        if share is None:
            return None
        if 0 < share < 1:
            share = Random(f"{self.seed}/{index}").random() < share
        return Status.SAT if share else Status.UNSAT

    def _wanted(self, problem: Any, status: Status | None) -> bool:
        conditions = self._meter.conditions
        if conditions.beyond and not self._meter.resists(self.task.encode(problem)):
            return False
        if status is None and not conditions.bands:
            return True
        found = self.task.solve(problem)
        if found.status is Status.UNKNOWN or status not in (None, found.status):
            return False
        answer = found.witness if found.status is Status.SAT else self.task.refutation
        return self._meter.within(problem, answer)

    def _named(self, text: str, rng: Random) -> Any:
        """Return the problem of a prefix text, with its symbols renamed as `names` requires."""
        if self.names == "shuffled":
            symbols = symbols_of(text)
            letters = max(self.symbols[1], len(symbols))
            text = renamed(text, symbols, random_names(rng, letters, len(symbols)))
        return self.task.decode_problem(text)


def _range(name: str, given: Range, least: int) -> tuple[int, int]:
    """Return the bounds (fewest, most) of a range. Raises LogicgenError if it is not valid."""
    bounds = (given, given) if isinstance(given, int) else given
    match bounds:
        case (int(low), int(high)) if least <= low <= high:
            return low, high
    raise LogicgenError(
        f"{name}: {given!r}; it has to be a number, or the fewest and the most, from {least}"
    )


def _said(bounds: tuple[int, int]) -> str:
    low, high = bounds
    return f"{low}" if low == high else f"{low} to {high}"
