"""Random problems with checked answers and names, for data sets.

A slot is the place of an example in its split. A cell is the problems of one number of symbols and
one range of lengths. A `Drawer` draws problems for a slot until an attempt succeeds. An attempt
fails, for example, if an earlier example has the same problem. The problem that an attempt draws
depends only on the rules, the seed, the slot and the number of the attempt. A key is a number that
is equal for problems that count as the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from itertools import permutations
from random import Random
from typing import Any, NamedTuple, Protocol

from logicgen.errors import LogicgenError
from logicgen.solvers import Status, Verdict
from logicgen.tasks.conditions import ANY, Conditions, Meter
from logicgen.tasks.task import Cell, Draw, Settings, Source, Task, rename, symbols_of
from logicgen.tokens import symbol_name

# After this number of attempts, the place of an example stays empty.
MOST_ATTEMPTS = 1000

# If a solver could not decide this number of problems for one place, the place stays empty.
MOST_GIVEN_UP = 20

# A place for an unsatisfiable problem accepts a satisfiable problem after this number of attempts.
# There may be few unsatisfiable problems with this number of symbols and this length.
PATIENCE = 200

# If there are few problems, each held-out split may only take problems with `key % RESERVED` equal
# to its number below. So every split gets its share of every kind of problem, also if cells
# overlap. Cells of copying overlap: the number of symbols is the size of an alphabet, and a string
# may use a part of the alphabet.
REMAINDERS = {"grid": 0, "test": 1, "validation": 2}
RESERVED = 15

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
    reserved: bool  # whether only problems that are reserved for this split may fill the slot


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
    return fingerprint(renamed(problem, symbols, map(symbol_name, range(len(symbols)))))


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


def renamed(text: str, symbols: Iterable[str], names: Iterable[str] | None) -> str:
    """Return a text with each of `symbols` renamed to its name; unchanged if `names` is None."""
    return text if names is None else rename(text, dict(zip(symbols, names, strict=True)))


def random_names(rng: Random, letters: int, wanted: int) -> tuple[str, ...]:
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
        task: a task with limits for its solvers (`Task.limited`).
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
        self._sizes = cache(rules.source.sizes)

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
        taken = _taken(seen, REMAINDERS[slot.split] if slot.reserved else None)
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

    def _size(self, rng: Random, cell: Cell) -> Cell:
        """Draw the size of a problem: a part of a cell from which the source can draw."""
        sizes = self._sizes(cell)
        # A random number for other cells would change all earlier data sets.
        return sizes[0] if len(sizes) == 1 else rng.choice(sizes)

    def listed(
        self, cell: Cell, split: str, remainder: int | None, seen: RandomKeys
    ) -> Iterator[Example]:
        """Yield all new examples of a cell, in an order given by the seed.

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
        problem = renamed(canonical, symbols, names)
        if not (self.alpha or by_answer) and taken(fingerprint(problem)):
            return None  # exclude the problem before it is solved
        value = self._answer(draw.problem, canonical, wanted)
        if value is None:
            return None
        answer = self.task.encode(value)
        if by_answer:
            symbols = _by_answer(symbols, answer)
            names = tuple(map(symbol_name, range(len(symbols))))
            problem = renamed(canonical, symbols, names)
        key = alpha_class if self.alpha else fingerprint(problem)
        if taken(key):
            return None
        difficulty = self._meter.measured(draw.problem, value, problem, cell.bands)
        if difficulty is None:
            return None
        answer, length = renamed(answer, symbols, names), problem.count(" ") + 1
        return Example(problem, answer, draw.symbols, length, alpha_class, key, difficulty)

    def _names(self, draw: Draw, rng: Random, cell: Cell, wanted: int) -> tuple[str, ...] | None:
        """Return names for `wanted` symbols of a problem; None if the recipe does not rename."""
        if self.rules.names not in RENAMED:
            return None
        if self.rules.names == "drawn" and draw.names:
            return draw.names
        return random_names(rng, self.rules.letters(cell), wanted)

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
    """Return a problem's symbols: first the answer's symbols in order, then the other symbols."""
    in_answer = [name for name in symbols_of(answer) if name in symbols]
    return list(dict.fromkeys([*in_answer, *symbols]))
