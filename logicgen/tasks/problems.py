"""Random problems with checked answers and names, for data sets and for endless sampling.

A slot is the place of an example in its split. A cell is the problems of one number of symbols and
one range of lengths. A `Drawer` draws problems for a slot until an attempt succeeds. An attempt
fails, for example, if an earlier example has the same problem. What an attempt draws depends only
on the rules, the seed, the slot and the number of the attempt. A key is a number that is equal for
problems that count as the same.

`ProblemSamples` is an endless sequence of problems. It uses other random seeds than a `Drawer`, and
draws each problem by its number, without drawing the problems before it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import blake2b
from itertools import count, permutations, product
from operator import index as as_index
from random import Random
from typing import Any, Literal, NamedTuple, Protocol

from logicgen.errors import LogicgenError
from logicgen.recipes import validate
from logicgen.solvers import Status, Verdict
from logicgen.tasks.conditions import ANY, Conditions, Meter, read_controls
from logicgen.tasks.task import Cell, Draw, Settings, Source, Task, rename, symbols_of
from logicgen.tokens import symbol_name

# After this number of attempts, the place of an example stays empty. `ProblemSamples` raises an
# error after the same number.
MOST_ATTEMPTS = 1000

# If a solver could not decide this number of problems for one place, the place stays empty.
MOST_GIVEN_UP = 20

# A place for an unsatisfiable problem accepts a satisfiable problem after this number of attempts.
# There may be few unsatisfiable problems with this number of symbols and this length.
PATIENCE = 200

# If there are few problems, each held-out split may only take the problems whose key, divided by
# RESERVED, leaves the remainder below. So every split gets its share of every kind of problem, also
# if cells overlap. Cells of copying overlap: the number of symbols is the size of an alphabet, and
# a string may use a part of the alphabet.
REMAINDERS = {"grid": 0, "test": 1, "validation": 2}
RESERVED = 15

EFFORT = 1_000_000
"""The number of solver steps after which `ProblemSamples` abandons a problem and draws another."""

Range = int | tuple[int, int]
Names = Literal["shuffled", "first-occurrence"]
RENAMED = ("shuffled", "drawn")
"""The values of `names` in recipes for which a problem can get several names."""


class Example(NamedTuple):
    """One row of a data set."""

    problem: str  # prefix notation
    answer: str  # prefix notation
    symbols: int
    length: int
    alpha_class: int  # equal for problems that are equal up to renaming
    key: int  # equal for problems that must not both occur in the data set
    difficulty: tuple[int | float | str | None, ...] = ()  # see `difficulty_columns`

    @property
    def row(self) -> tuple[int | float | str | None, ...]:
        """Return the values of the columns of a data set."""
        return (*self[:5], *self.difficulty)


class Slot(NamedTuple):
    """The place of an example in its split."""

    split: str
    round: int
    number: int  # the number of the slot within its round
    cell: Cell
    rationed: bool  # whether only problems that are reserved for this split may fill the slot


@dataclass
class Drawn:
    """The examples for a list of slots (places of examples in a split).

    Attributes:
        examples: an example for each slot, or None if the slot stays empty.
        attempts: the number of the random attempt that gave each example.
        given_up: the number of problems that a solver could not decide within its limits.
    """

    examples: list[Example | None]
    attempts: list[int]
    given_up: int = 0


def fingerprint(text: str) -> int:
    """Return a 63-bit number that is equal for equal texts and stable across machines."""
    digest = blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def alpha_class_of(problem: str) -> int:
    """Return the fingerprint of a problem in prefix notation, equal for all its renamings."""
    symbols = symbols_of(problem)
    return fingerprint(_renamed(problem, symbols, map(symbol_name, range(len(symbols)))))


def alphabet(names: str, most: int, symbols: int | None) -> int:
    """Return the size of the alphabet from which the names of a problem's symbols are drawn.

    names: the key `names` of the recipe.
    most: the most symbols of a training problem.
    symbols: the number of symbols of the problem's cell.
    """
    if names == "drawn" and symbols is not None:
        return symbols
    # In grid cells beyond the training region, problems may have more than `most` symbols.
    return max(most, symbols or 0)


def _renamed(text: str, symbols: Iterable[str], names: Iterable[str] | None) -> str:
    """Return a text with each of `symbols` renamed to its name; unchanged if `names` is None."""
    return text if names is None else rename(text, dict(zip(symbols, names, strict=True)))


def _random_names(rng: Random, letters: int, wanted: int) -> tuple[str, ...]:
    """Return `wanted` different random names, drawn from the first `letters` symbol names."""
    return tuple(map(symbol_name, rng.sample(range(letters), wanted)))


class RandomKeys(Protocol):
    """A set of integer keys of the examples that were already found."""

    def __contains__(self, key: object, /) -> bool: ...

    def add(self, key: int, /) -> None:
        """Add a key."""


@dataclass(frozen=True)
class Rules:
    """The rules of a data set: how its problems are distinguished, named, answered and checked.

    Attributes:
        task: a task whose solvers have limits (`Task.limited`).
        symbols: the fewest and the most symbols of a training problem.
        alpha: whether problems that are equal up to renaming count as the same problem.
        names, unsatisfiable, solver, verifier: the values of these keys of the recipe.
        conditions: the conditions on the difficulty of problems.
    """

    task: Task
    settings: Settings
    source: Source
    symbols: tuple[int, int]
    alpha: bool
    names: str
    unsatisfiable: float
    solver: str | None
    verifier: str | None
    conditions: Conditions = ANY

    def letters(self, cell: Cell) -> int:
        """Return the size of the alphabet for the symbols of a cell's problems; see `alphabet`."""
        return alphabet(self.names, self.symbols[1], cell.symbols)


class Drawer:
    """Draws, answers and names the examples of a data set."""

    def __init__(self, rules: Rules, seed: int) -> None:
        self.rules, self.task, self.source, self.seed = rules, rules.task, rules.source, seed
        self.given_up = 0  # the number of problems that a solver could not decide
        self.alpha, self._meter = rules.alpha, Meter(rules.task, rules.conditions)
        self._known: dict[Cell, list[Cell]] = {}  # the result of `Source.sizes` for cells

    def unit(self, slots: Iterable[Slot]) -> Drawn:
        """Draw an example for each slot. No two examples have the same problem."""
        seen: set[int] = set()
        exhausted: set[Cell] = set()
        drawn = Drawn([], [])
        before = self.given_up
        for slot in slots:
            skip = slot.cell in exhausted
            example, attempt = (None, 0) if skip else self.slot(slot, 0, seen)
            if example is None:
                exhausted.add(slot.cell)
            drawn.examples.append(example)
            drawn.attempts.append(attempt)
        drawn.given_up = self.given_up - before
        return drawn

    def slot(self, slot: Slot, attempt: int, seen: RandomKeys) -> tuple[Example | None, int]:
        """Draw an example for one slot, the place of an example in its split.

        attempt: the number of the first attempt.
        seen: keys of earlier problems, which are not drawn again. The new key is added.

        Returns the example and the number of the attempt that gave the example. Returns (None,
        `MOST_ATTEMPTS`) if no attempt succeeds.
        """
        share = self.rules.unsatisfiable
        stem = f"{self.seed}/{slot.split}/{slot.round}/{slot.number}/"
        refuted = Random(f"{stem}refuted").random() < share
        taken = _taken(seen, REMAINDERS[slot.split] if slot.rationed else None)
        before = self.given_up
        for number in range(attempt, MOST_ATTEMPTS):
            if self.given_up - before >= MOST_GIVEN_UP:
                break
            if number == PATIENCE and share < 1:
                refuted = False
            rng = Random(f"{stem}{number}")
            cell = self._size(rng, slot.cell)
            draw = self.source.sample(rng, cell)
            if draw is None:
                continue
            wanted = {Status.UNSAT} if refuted else {Status.SAT}
            example = self._example(draw, rng, cell, taken, wanted)
            if example is not None:
                seen.add(example.key)
                return example, number
        return None, MOST_ATTEMPTS

    def is_accepted(self, rng: Random, cell: Cell) -> bool:
        """Draw a problem of a cell; return whether a data set without examples may contain it."""
        cell = self._size(rng, cell)
        draw, share = self.source.sample(rng, cell), self.rules.unsatisfiable
        wanted = {Status.SAT} if share < 1 else set()
        wanted |= {Status.UNSAT} if share > 0 else set()
        if draw is None:
            return False
        return self._example(draw, rng, cell, _taken((), None), wanted) is not None

    def _sizes(self, cell: Cell) -> list[Cell]:
        """Return the cells of one size into which a cell divides; see `Source.sizes`."""
        if cell not in self._known:
            self._known[cell] = self.source.sizes(cell)
        return self._known[cell]

    def _size(self, rng: Random, cell: Cell) -> Cell:
        """Draw the size of a problem: a part of a cell from which the source can draw."""
        sizes = self._sizes(cell)
        # A random number for other cells would change all earlier data sets.
        return sizes[0] if len(sizes) == 1 else rng.choice(sizes)

    def listed(
        self, cell: Cell, split: str, remainder: int | None, seen: RandomKeys
    ) -> Iterator[Example]:
        """Yield all new examples of a cell, in an order given by the seed.

        A cell is the problems of one number of symbols and one range of lengths.

        remainder: if given, yield only the examples that are reserved for a split (`REMAINDERS`).
        seen: keys of earlier examples, which are not yielded again.
        """
        rng = Random(f"{self.seed}/{split}/{cell.symbols}/{cell.length}")
        named = [(size, *pair) for size in self._sizes(cell) for pair in self._all(size)]
        rng.shuffle(named)
        share, found, refuted = self.rules.unsatisfiable, 0, 0
        refutation = self.task.refutation and self.task.encode(self.task.refutation)
        taken = _taken(seen, remainder)
        for size, draw, names in named:
            # Nearly all problems of the cell may be needed. So a satisfiable problem is accepted
            # even if the share of unsatisfiable problems is still too small.
            wanted = {Status.SAT} if share < 1 else set()
            if refuted < share * (found + 1):
                wanted.add(Status.UNSAT)
            example = self._example(draw, rng, size, taken, wanted, names)
            if example is not None:
                seen.add(example.key)
                found += 1
                refuted += example.answer == refutation
                yield example

    def _all(self, cell: Cell) -> Iterator[tuple[Draw, tuple[str, ...] | None]]:
        """Yield pairs of a problem and the names of its symbols, for all problems of a cell.

        If renamed problems count as different, a problem occurs with every choice of names.
        Otherwise it occurs once, with None instead of names, which are chosen later.
        """
        if self.alpha or self.rules.names not in RENAMED:
            yield from ((draw, None) for draw in self.source.all(cell))
            return
        names = [symbol_name(i) for i in range(self.rules.letters(cell))]
        for draw in self.source.all(cell):
            for chosen in permutations(names, len(symbols_of(self.task.encode(draw.problem)))):
                yield draw, chosen

    def _example(
        self,
        draw: Draw,
        rng: Random,
        cell: Cell,
        taken: Callable[[int], bool],
        wanted: Collection[Status],
        names: tuple[str, ...] | None = None,
    ) -> Example | None:
        """Return the drawn problem with its answer, or None if it may not be used.

        taken: returns whether problems with a key are excluded.
        wanted: the accepted results of the solver.
        names: the names of the problem's symbols, if they are already chosen.
        """
        low, high = self.rules.symbols
        if cell.symbols is None and not low <= draw.symbols <= high:
            return None
        canonical = self.task.encode(draw.problem)
        alpha_class = fingerprint(canonical)
        if self.alpha and taken(alpha_class):
            return None
        symbols, by_answer = symbols_of(canonical), self.rules.names == "perturbed"
        if names is None:
            names = self._names(draw, rng, cell, len(symbols))
        problem = _renamed(canonical, symbols, names)
        if not (self.alpha or by_answer) and taken(fingerprint(problem)):
            return None  # exclude the problem before it is solved
        value = self._answer(draw.problem, canonical, wanted)
        if value is None:
            return None
        answer = self.task.encode(value)
        if by_answer:
            symbols = _by_answer(symbols, answer)
            names = tuple(map(symbol_name, range(len(symbols))))
            problem = _renamed(canonical, symbols, names)
        key = alpha_class if self.alpha else fingerprint(problem)
        if taken(key):
            return None
        difficulty = self._meter.measured(draw.problem, value, problem, cell.bands)
        if difficulty is None:
            return None
        answer, length = _renamed(answer, symbols, names), problem.count(" ") + 1
        return Example(problem, answer, draw.symbols, length, alpha_class, key, difficulty)

    def _names(self, draw: Draw, rng: Random, cell: Cell, wanted: int) -> tuple[str, ...] | None:
        """Return names for `wanted` symbols of a problem; None if the recipe does not rename."""
        if self.rules.names not in RENAMED:
            return None
        if self.rules.names == "drawn" and draw.names:
            return draw.names
        return _random_names(rng, self.rules.letters(cell), wanted)

    def _answer(self, problem: Any, canonical: str, wanted: Container[Status]) -> Any:
        """Return the checked answer to a problem, or None if the solver's result is not `wanted`.

        canonical: the text of the problem. Raises LogicgenError if a solver is wrong.
        """
        rules, task = self.rules, self.task
        solution = task.solve(problem, rules.solver or task.solver)
        if solution.status is Status.UNKNOWN:
            self.given_up += 1
        if solution.status not in wanted:
            return None
        if solution.status is Status.SAT and solution.witness is None:
            raise LogicgenError(
                f"solver {rules.solver} gives no witness ({solution.reason}), but an example"
                " needs an answer: give another solver"
            )
        found = solution.witness if solution.status is Status.SAT else task.refutation
        found = task.arranged(problem, found, rules.settings)
        verdict = task.check(problem, found, rules.verifier or task.solver)
        if verdict is Verdict.UNKNOWN:
            self.given_up += 1
            return None
        if not verdict.is_right:
            default = task.solver or f"the task {task.name}"
            raise LogicgenError(
                f"{rules.solver or default} answers {canonical!r} with {task.encode(found)!r},"
                f" which {rules.verifier or default} finds wrong: please report this with the"
                " recipe and the seed"
            )
        return found


def _taken(seen: Container[int], remainder: int | None) -> Callable[[int], bool]:
    """Return a function that returns whether problems with a key are excluded.

    Keys in `seen` are excluded. If there is a `remainder`, only keys with this remainder (see
    `REMAINDERS`) are not excluded.
    """
    return lambda key: key in seen or (remainder is not None and key % RESERVED != remainder)


def _by_answer(symbols: list[str], answer: str) -> list[str]:
    """Return a problem's symbols: first those of the answer in order, then the other symbols."""
    in_answer = [name for name in symbols_of(answer) if name in symbols]
    return list(dict.fromkeys([*in_answer, *symbols]))


class ProblemSamples:
    """Random problems without end. `samples[i]` and iteration give the same problems.

    Problem `i` depends only on the arguments and on `i`. A cell is a number of symbols with a
    length. All cells with problems are equally likely. Problems are independent, so a problem may
    occur twice.

    Args:
        task: the name of the task.
        symbols: the number of symbols of a problem: a number, or the fewest and the most.
        length: the number of tokens of a problem: a number, or the fewest and the most.
        seed: another seed gives other problems.
        names: the names of symbols. `shuffled` draws them from as many letters as the range of
            symbols allows. `first-occurrence` takes a, b, c, ... in order.
        satisfiable: whether problems have an answer. For formulas, False draws unsatisfiable
            formulas, and None draws all formulas without calling a solver.
        curriculum: the number of problems until all cells are used. The shortest cells with the
            fewest symbols are used first. If not given, all cells are used from the beginning.
        beyond: controls whose first answer has to be wrong, so that problems cannot be guessed.
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
        satisfiable: bool | None = True,
        curriculum: int | None = None,
        beyond: Sequence[str] = (),
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
                f"satisfiable: {satisfiable}; only formulas can have no answer, and the problems of"
                f" {task.name} are not formulas"
            )
        self.seed, self.names, self.satisfiable = seed, names, satisfiable
        self.curriculum = curriculum
        self.task, self._settings = task.limited(EFFORT, None), settings
        self._meter = Meter(self.task, Conditions(beyond=read_controls(task, beyond)))
        table = validate(task.Settings, settings, f"samples of {task.name}", "settings")
        self._source = task.source(table, self.symbols)
        self._known: dict[Cell, bool] = {}  # whether a cell has problems
        self._obstacle = ""  # the obstacle in the last cell without problems
        self._last: tuple[int, Any, Cell] | None = None  # number, problem and cell of the last item

    def __reduce__(self) -> Any:
        """Return the arguments, from which another process makes the same problems."""
        named: dict[str, Any] = {"names": self.names, "satisfiable": self.satisfiable}
        named |= {"curriculum": self.curriculum, "beyond": self._meter.conditions.beyond}
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
        for attempt in range(MOST_ATTEMPTS):
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
            f"{MOST_ATTEMPTS:,} draws found no problem{kind} of {_said(self.symbols)} symbols and"
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

    def _wanted(self, problem: Any) -> bool:
        beyond = self._meter.conditions.beyond
        if beyond and not self._meter.resists(self.task.encode(problem)):
            return False
        if self.satisfiable is None:
            return True
        wanted = Status.SAT if self.satisfiable else Status.UNSAT
        return self.task.solve(problem).status is wanted

    def _named(self, text: str, rng: Random) -> Any:
        """Return the problem of a prefix text, with its symbols renamed as `names` requires."""
        if self.names == "shuffled":
            symbols = symbols_of(text)
            letters = max(self.symbols[1], len(symbols))
            text = _renamed(text, symbols, _random_names(rng, letters, len(symbols)))
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
