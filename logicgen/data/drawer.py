"""Drawing examples: problem, answer, verdict, names.

What an attempt gives depends on the recipe, the seed, the slot and the attempt's number alone;
which attempt is taken, also on the examples before it (no two may be the same problem).

`ProblemSamples` has a random key of its own. Its problems have a number and no slot, and each can
be had without those before it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import permutations
from random import Random
from typing import Any, NamedTuple, Protocol

from logicgen.data.plan import REMAINDERS, RESERVED, Slot, Unit, alphabet, named_apart
from logicgen.data.recipe import DataRecipe
from logicgen.errors import LogicgenError
from logicgen.solvers import Status, Verdict
from logicgen.tasks import Cell, Draw
from logicgen.tasks.task import rename, symbols_of
from logicgen.tokens import symbol_name

# A slot that found nothing new in so many attempts stays empty: nothing loops for ever.
MOST_ATTEMPTS = 1000

# Nor does one for which a solver gave up so many problems, of which each may have taken a minute.
MOST_GIVEN_UP = 20

# A slot that is to get an unsatisfiable problem and finds none in so many attempts, because its
# cell has few or none, settles for a satisfiable one.
PATIENCE = 200


class Example(NamedTuple):
    """One row of a data set."""

    problem: str  # prefix notation
    answer: str  # prefix notation
    symbols: int
    length: int
    alpha_class: int  # equal for problems that are equal up to renaming
    key: int  # equal for problems that the recipe forbids together


@dataclass
class Drawn:
    """The examples that a worker found for a unit, and the attempt that gave each; or None.

    given_up: problems that a solver gave up meanwhile.
    """

    examples: list[Example | None]
    attempts: list[int]
    given_up: int = 0


def fingerprint(text: str) -> int:
    """Return a 63-bit number that is equal for equal texts and stable across machines."""
    digest = blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def alpha_class_of(problem: str) -> int:
    """Return the number that all renamings of a problem have; of one in prefix notation."""
    symbols = symbols_of(problem)
    names = map(symbol_name, range(len(symbols)))
    return fingerprint(rename(problem, dict(zip(symbols, names, strict=True))))


class Keys(Protocol):
    """Keys of examples that are there, to which further ones are added."""

    def __contains__(self, key: object, /) -> bool: ...

    def add(self, key: int, /) -> None:
        """Add a key."""


class Drawer:
    """The source of one recipe's examples, which it draws, answers and names."""

    def __init__(self, recipe: DataRecipe, seed: int) -> None:
        self.recipe, self.seed = recipe, seed
        self.task = recipe.solving_task()
        self.given_up = 0  # problems that a solver gave up
        self.alpha = (recipe.distinct or self.task.distinct) == "alpha"
        self.refuted = self.task.refutation and self.task.encode(self.task.refutation)
        self.settings = recipe.settings("recipe")
        self.source = recipe.source("recipe")

    def unit(self, unit: Unit) -> Drawn:
        """Return examples for all slots of a unit, no two of them the same problem."""
        seen: set[int] = set()
        exhausted: set[Cell] = set()
        drawn = Drawn([], [])
        before = self.given_up
        for place, cell in enumerate(unit.cells):
            skip = cell in exhausted
            example, attempt = (None, 0) if skip else self.slot(unit.slot(place), 0, seen)
            if example is None:
                exhausted.add(cell)
            drawn.examples.append(example)
            drawn.attempts.append(attempt)
        drawn.given_up = self.given_up - before
        return drawn

    def slot(self, slot: Slot, attempt: int, seen: Keys) -> tuple[Example | None, int]:
        """Return the first example from `attempt` on with a new key, which is added to `seen`."""
        cell, stem = slot.cell, f"{self.seed}/{slot.split}/{slot.round}/{slot.number}/"
        refuted = Random(f"{stem}refuted").random() < self.recipe.unsatisfiable
        remainder = REMAINDERS[slot.split] if slot.rationed else None
        before = self.given_up
        for number in range(attempt, MOST_ATTEMPTS):
            if self.given_up - before >= MOST_GIVEN_UP:
                break
            if number == PATIENCE and self.recipe.unsatisfiable < 1:
                refuted = False
            rng = Random(f"{stem}{number}")
            draw = self.source.sample(rng, cell)
            wanted = {Status.UNSAT} if refuted else {Status.SAT}
            if draw is None:
                continue
            example = self.example(draw, rng, cell, remainder, seen, wanted)
            if example is not None:
                seen.add(example.key)
                return example, number
        return None, MOST_ATTEMPTS

    def listed(
        self, cell: Cell, split: str, remainder: int | None, seen: Keys
    ) -> Iterator[Example]:
        """Yield all examples of a cell with new keys, in an order shuffled by the seed.

        With a `remainder`, only those reserved for a split (`plan.REMAINDERS`).
        """
        rng = Random(f"{self.seed}/{split}/{cell.symbols}/{cell.length}")
        named = list(self._named(cell))
        rng.shuffle(named)
        share, found, refuted = self.recipe.unsatisfiable, 0, 0
        for draw, names in named:
            # Nearly all problems of the cell may be wanted, so none is left for a better moment.
            wanted = {Status.SAT} if share < 1 else set()
            if refuted < share * (found + 1):
                wanted.add(Status.UNSAT)
            example = self.example(draw, rng, cell, remainder, seen, wanted, names)
            if example is not None:
                seen.add(example.key)
                found += 1
                refuted += example.answer == self.refuted
                yield example

    def _named(self, cell: Cell) -> Iterator[tuple[Draw, tuple[str, ...] | None]]:
        """Yield the problems of a cell, with all names where these make different problems."""
        if self.alpha or not named_apart(self.recipe):
            yield from ((draw, None) for draw in self.source.all(cell))
            return
        names = [symbol_name(i) for i in range(alphabet(self.recipe, cell.symbols))]
        for draw in self.source.all(cell):
            for chosen in permutations(names, len(symbols_of(self.task.encode(draw.problem)))):
                yield draw, chosen

    def example(
        self,
        draw: Draw,
        rng: Random,
        cell: Cell,
        remainder: int | None,
        seen: Container[int],
        wanted: Container[Status],
        names: tuple[str, ...] | None = None,
    ) -> Example | None:
        """Return the drawn problem with its answer; None where it or its status is not wanted."""

        def unwanted(key: int) -> bool:
            return key in seen or (remainder is not None and key % RESERVED != remainder)

        low, high = self.recipe.region.symbols
        if cell.symbols is None and not low <= draw.symbols <= high:
            return None
        canonical = self.task.encode(draw.problem)
        alpha_class = fingerprint(canonical)
        if self.alpha and unwanted(alpha_class):
            return None
        mapping = self._mapping(draw, canonical, rng, cell, names)
        named = canonical if mapping is None else rename(canonical, mapping)
        if mapping is not None and not self.alpha and unwanted(fingerprint(named)):
            return None
        answer = self._answer(draw.problem, canonical, wanted)
        if answer is None:
            return None
        if self.recipe.names == "perturbed":
            mapping = _by_answer(canonical, answer)
        problem = canonical
        if mapping is not None:
            problem, answer = rename(canonical, mapping), rename(answer, mapping)
        key = alpha_class if self.alpha else fingerprint(problem)
        if unwanted(key):
            return None
        return Example(problem, answer, draw.symbols, problem.count(" ") + 1, alpha_class, key)

    def _mapping(
        self, draw: Draw, canonical: str, rng: Random, cell: Cell, names: tuple[str, ...] | None
    ) -> dict[str, str] | None:
        """Return a name for each symbol of a problem; None where they keep their own.

        names: those to give, if they are chosen already.
        """
        if not named_apart(self.recipe):
            return None
        symbols = symbols_of(canonical)
        if names is None and self.recipe.names == "drawn":
            names = draw.names or None
        # In grid cells beyond the training region the alphabet grows just as far as needed.
        if names is None:
            numbers = rng.sample(range(alphabet(self.recipe, cell.symbols)), len(symbols))
            names = tuple(map(symbol_name, numbers))
        return dict(zip(symbols, names, strict=True))

    def _answer(self, problem: Any, canonical: str, wanted: Container[Status]) -> str | None:
        """Return the checked answer to a problem; None where its status is not wanted.

        canonical: the text of the problem. Raises LogicgenError where a solver is wrong.
        """
        recipe, task = self.recipe, self.task
        solution = task.solve(problem, recipe.solver or task.solver)
        if solution.status is Status.UNKNOWN:
            self.given_up += 1
        if solution.status not in wanted:
            return None
        if solution.status is Status.SAT and solution.witness is None:
            raise LogicgenError(
                f"solver {recipe.solver} gives no witness ({solution.reason}), and an example is a"
                " problem with its answer: give another solver"
            )
        found = solution.witness if solution.status is Status.SAT else task.refutation
        found = task.arranged(problem, found, self.settings)
        answer = task.encode(found)
        verdict = task.check(problem, found, recipe.verifier or task.solver)
        if verdict is Verdict.UNKNOWN:
            self.given_up += 1
            return None
        if not verdict.is_right:
            default = task.solver or f"the task {task.name}"
            raise LogicgenError(
                f"{recipe.solver or default} answers {canonical!r} with {answer!r}, which"
                f" {recipe.verifier or default} finds wrong: please report this with the recipe and"
                " the seed"
            )
        return answer


def _by_answer(problem: str, answer: str) -> dict[str, str]:
    """Return a name for each symbol of a problem, in order of first occurrence in the answer."""
    symbols = symbols_of(problem)
    in_answer = [name for name in symbols_of(answer) if name in symbols]
    order = dict.fromkeys([*in_answer, *symbols])
    return {name: symbol_name(i) for i, name in enumerate(order)}
