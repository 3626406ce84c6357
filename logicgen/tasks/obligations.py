"""Random LTL formulas with obligations that cannot share a position.

Most random formulas are satisfied by a word of one letter, repeated for ever. This source draws a
random word first, the plan (`planned_word.py`). Each position of the plan gets a goal: literals
that are true there, and that contradict the goals of all other positions. The formula is a
conjunction of requirements. A requirement leads from the first position to a goal through random
operators. All other operands are random formulas. So the plan satisfies the formula, and no word
with fewer positions does: it needs a different letter for each goal.

Literals cannot simply be read off, because a requirement may also be met at a position that is not
planned. The source prefers formulas that a placement of literals in one pass (`placement.py`) does
not satisfy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from itertools import accumulate
from random import Random
from typing import NamedTuple

from logicgen.errors import LogicgenError
from logicgen.solvers.lassos import all_or_some, evaluate, holds
from logicgen.solvers.ltl_graph import TRUE, Graph
from logicgen.syntax.formula import Formula
from logicgen.tasks.placement import Placement
from logicgen.tasks.planned_word import EVENTUALLY, ONE, TIGHT, PlannedWord, bits, weighted_choice
from logicgen.tasks.task import Cell, Draw, Source

# The weights of the numbers of positions of a plan, from 2 positions on.
POSITIONS = {2: 3, 3: 4, 4: 4, 5: 2, 6: 1}

# A plan has at most one position for this number of tokens, but at least two positions.
TOKENS_PER_POSITION = 5

# The probability of a further requirement while this number of tokens is left.
FURTHER, SPARE = 0.7, 6

# The roots of a requirement; `goal` means the literals of a goal. `_roots` has their weights.
ROOTS = ("goal", "X", "U", "&", "release")

# The length of a requirement that is not for the goal of a position, before spare tokens are added.
SHORT = 3

# The probability that a further requirement excludes two facts. Half of these exclusions hold for
# ever, if there are enough tokens.
EXCLUSION = 0.3

# The number of draws of a requirement before the whole formula is drawn again, and the number of
# draws of a formula before the source returns no problem.
RETRIES, TRIES = 6, 400
# If no formula is found in PATIENCE draws, the plan gets fewer positions.
PATIENCE = 40

# The source draws formulas until a formula is not satisfied by a placement, and is satisfied by at
# most the share SHARE of the words of SHAPES. After FORMULAS formulas, it returns the best.
FORMULAS, SHARE = 20, 0.1

# The number of positions of a word, and the position that follows the last position.
SHAPES = ((2, 0), (2, 1), (3, 2))

# The number of positions of the placement.
PLACED = 6

# The fewest tokens of a formula with k symbols are BASE + PER_SYMBOL * k.
BASE, PER_SYMBOL = 5, 3


class ObligationSource(Source):
    """A source of satisfiable formulas of exact length that need at least two positions."""

    def sample(self, rng: Random, cell: Cell) -> Draw | None:
        possible = [*self.count(cell)]
        if not possible:
            raise LogicgenError(f"no formula with obligations is in {cell}")
        symbols = rng.choice(possible)
        positions = _positions(rng, symbols, cell.length)
        easy: Formula | None = None
        hard: list[tuple[float, Formula]] = []
        formulas = 0
        for attempt in range(TRIES):
            if attempt % PATIENCE == PATIENCE - 1 and not formulas:
                positions = max(2, positions - 1)
            formula = Obligations(rng, symbols, positions).formula(cell.length)
            if formula is None or len(formula.symbols) != symbols:
                continue
            formulas += 1
            if placed(formula):
                easy = easy or formula
            else:
                hard.append((satisfying_share(formula), formula))
            if formulas == FORMULAS or (hard and hard[-1][0] <= SHARE):
                break
        best = min(hard, key=lambda pair: pair[0])[1] if hard else easy
        return None if best is None else Draw(best.alpha_canonical(), symbols)

    def count(self, cell: Cell) -> Mapping[int, float]:
        """Return infinity for each number of symbols that fits: the formulas are not counted."""
        most = (cell.length - BASE) // PER_SYMBOL
        return {k: math.inf for k in self.symbols(cell) if 1 <= k <= most}

    def obstacle(self, cell: Cell) -> str | None:
        symbols = max(self.symbols(cell)[0], 1)
        least = BASE + PER_SYMBOL * symbols
        if self.symbols(cell)[-1] < 1:
            return "a formula with obligations has at least one symbol: raise symbols"
        if cell.length < least:
            return (
                f"formulas with obligations over {symbols} symbols have at least {least} tokens,"
                f" not {cell.length}: raise length, or lower symbols"
            )
        return None


def _positions(rng: Random, symbols: int, length: int) -> int:
    most = max(2, min(2**symbols, length // TOKENS_PER_POSITION))
    possible = [positions for positions in POSITIONS if positions <= most]
    return rng.choices(possible, [POSITIONS[positions] for positions in possible])[0]


def satisfying_share(formula: Formula) -> float:
    """Return the mean share of words of some small shapes that satisfy a formula."""
    graph = Graph()
    root = graph.add(formula)
    if root <= 1:
        return float(root == TRUE)
    nodes, total = graph.reachable(root), 0.0
    for positions, loop in SHAPES:
        columns, full = all_or_some(len(graph.symbols), positions)
        values = evaluate(graph, nodes, columns, positions, loop, full)
        total += holds(values, root, full).bit_count() / full.bit_length()
    return total / len(SHAPES)


def placed(formula: Formula) -> bool:
    """Return whether the literals of a formula can be placed in one pass, without search."""
    graph = Graph()
    return Placement(graph, graph.add(formula), PLACED, PLACED - 1).fits


def conjunction(rng: Random, parts: list[Formula]) -> Formula:
    """Return the conjunction of some formulas in a random order, nested at random."""
    rng.shuffle(parts)
    while len(parts) > 1:
        place = rng.randrange(len(parts) - 1)
        parts[place : place + 2] = [parts[place] & parts[place + 1]]
    return parts[0]


class Goal(NamedTuple):
    """A position of the plan, and symbols: their literals have to hold at the position.

    tokens: the number of tokens of the conjunction of the literals.
    """

    position: int
    symbols: list[int]
    tokens: int


@cache
def _roots(away: bool, spare: int) -> list[float]:
    """Return, for each of `ROOTS`, the sum of its weight and of all weights before it.

    away: whether the goal is at another position.
    spare: the number of tokens that the literals of the goal leave.
    """
    weights = (0 if away else 2, away, 2 * (spare > 1), 0.6 * (away and spare > 2))
    return [*accumulate((*weights, spare > 3 + away))]


class Obligations:
    """Requirements of a random plan. A method returns None if its random choices do not fit."""

    def __init__(self, rng: Random, symbols: int, positions: int) -> None:
        self.rng, self.symbols = rng, symbols
        self.plan = PlannedWord(rng, symbols, positions)

    def formula(self, tokens: int) -> Formula | None:
        """Return a formula of `tokens` tokens that is true on the plan."""
        goals = self._goals()
        sizes = [goal.tokens + (goal.position > 0) for goal in goals]
        spare = tokens + 1 - sum(sizes) - len(sizes)
        if spare < 0:
            return None
        while spare > SPARE and self.rng.random() < FURTHER:
            sizes.append(SHORT)
            spare -= SHORT + 1
        for _ in range(spare):
            sizes[self.rng.randrange(len(sizes))] += 1
        parts: list[Formula] = []
        later = tokens
        for number, size in enumerate(sizes):
            later -= size
            part = self._part(size, goals[number] if number < len(goals) else None, later)
            if part is None:
                return None
            parts.append(part)
        return conjunction(self.rng, parts)

    def _goals(self) -> list[Goal]:
        """Return a goal for each position; the goals contradict each other.

        A symbol divides the positions into two groups, where it is true and where it is false. Each
        group is divided further until it has one position.
        """
        values, rng = self.plan.values, self.rng
        found: dict[int, list[int]] = {p: [] for p in range(self.plan.positions)}
        groups = [list(found)]
        while groups:
            group = groups.pop()
            if len(group) == 1:
                continue
            mask = bits(group)
            dividing = [i for i, true in enumerate(values) if true & mask not in (0, mask)]
            rng.shuffle(dividing)
            excess = [abs(2 * (values[i] & mask).bit_count() - len(group)) for i in dividing]
            chosen = dividing[excess.index(min(excess))]  # it needs the fewest literals
            for position in group:
                found[position].append(chosen)
            groups += ([p for p in group if values[chosen] >> p & 1 == true] for true in (0, 1))
        return [self._goal(position, symbols) for position, symbols in found.items()]

    def _goal(self, position: int, symbols: list[int]) -> Goal:
        literals = [self.plan.literal(i, position) for i in symbols]
        return Goal(position, symbols, sum(each.length + 1 for each in literals) - 1)

    def _part(self, tokens: int, goal: Goal | None, later: int) -> Formula | None:
        """Return a requirement that is true at the first position.

        goal: its goal; if it is None, the goal is random or the requirement excludes two facts.
        """
        missing = set(self.plan.missing)
        for _ in range(RETRIES):
            self.plan.missing = set(missing)
            if goal is None and tokens > SHORT and self.rng.random() < EXCLUSION:
                part = self._exclusion(tokens, later)
            else:
                part = self._requirement(tokens, 0, goal or self._random_goal(), later)
            if part is not None:
                return part
        return None

    def _random_goal(self) -> Goal:
        symbol = self.rng.choice([*sorted(self.plan.missing), self.rng.randrange(self.symbols)])
        return self._goal(self.rng.randrange(self.plan.positions), [symbol])

    def _exclusion(self, tokens: int, later: int) -> Formula | None:
        if tokens < 6 or self.rng.random() < 0.5:
            return self.plan.exclusion(tokens, 1, later)
        excluded = self.plan.exclusion(tokens - 2, self.plan.everywhere, later)
        return excluded and ~Formula("U", (ONE, excluded.operands[0]))

    def _requirement(self, tokens: int, place: int, goal: Goal, later: int) -> Formula | None:
        """Return a formula that is true at position `place` of the plan, and leads to a goal."""
        spare, away = tokens - goal.tokens, place != goal.position
        if spare < away or (spare == 1 and not away):
            return None
        root = weighted_choice(self.rng, ROOTS, _roots(away, spare))
        if root == "goal":
            return self._reached(tokens, goal, later)
        if root == "X":
            rest = self._requirement(tokens - 1, self.plan.after[place], goal, later)
            return rest and Formula("X", (rest,))
        if root == "U":
            return self._until(tokens, place, goal, later)
        return self._joined(root == "&", tokens, place, goal, later)

    def _reached(self, tokens: int, goal: Goal, later: int) -> Formula | None:
        """Return a conjunction of the literals of a goal with a random formula."""
        parts = [self.plan.literal(i, goal.position) for i in goal.symbols]
        self.plan.missing -= set(goal.symbols)
        if spare := tokens - goal.tokens:
            other = self.plan.formula(spare - 1, 1 << goal.position, 0, later)
            if other is None:
                return None
            parts.append(other)
        return conjunction(self.rng, parts)

    def _until(self, tokens: int, place: int, goal: Goal, later: int) -> Formula | None:
        """Return an until that waits from `place` to a random position on the way to the goal."""
        rng, plan = self.rng, self.plan
        way = plan.path(place)
        way = way[: way.index(goal.position) + 1]
        stop = rng.choice(way if len(way) == 1 or rng.random() < 0.5 else way[1:])
        most = tokens - 1 - goal.tokens - (stop != goal.position)
        if most < 1:
            return None
        size = rng.randint(1, most if rng.random() < 0.5 else min(most, 3))
        passed = bits(way[: way.index(stop)])
        if passed and size == 1 and rng.random() < EVENTUALLY:
            left: Formula | None = ONE
        else:
            no = 1 << stop if rng.random() < TIGHT else 0
            left = plan.formula(size, passed, no, later + tokens - 1 - size)
        rest = left and self._requirement(tokens - 1 - size, stop, goal, later)
        return left and rest and Formula("U", (left, rest))

    def _joined(
        self, both: bool, tokens: int, place: int, goal: Goal, later: int
    ) -> Formula | None:
        """Return a requirement with a random formula `a`: `a & rest` if both are true.

        Otherwise, `a` is false, and the result is `!(a U !rest)`.
        """
        rng, here = self.rng, 1 << place
        tokens -= 1 if both else 3
        size = rng.randint(1, tokens - goal.tokens - (place != goal.position))
        yes, no = (here, 0) if both else (0, here)
        other = self.plan.formula(size, yes, no, later + tokens - size)
        rest = other and self._requirement(tokens - size, place, goal, later)
        if other is None or rest is None:
            return None
        if both:
            return conjunction(rng, [other, rest])
        return ~Formula("U", (other, ~rest))
