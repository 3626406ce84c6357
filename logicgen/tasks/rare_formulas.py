"""Random propositional formulas that few assignments satisfy.

Most random formulas are true for a large share of all assignments. This source draws conjunctions
of random formulas, mostly with `^` or `<->` at the root. About half of all assignments satisfy such
a formula, and no operand alone decides its value. A conjunction is kept if its truth table has few
models, but at least one model. No model is chosen in advance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random

from logicgen.errors import LogicgenError
from logicgen.solvers.truth_table import MOST_SYMBOLS, table_columns, truth_table
from logicgen.syntax.formula_language import propositional
from logicgen.syntax.sampling import HOLE, LONGEST, FormulaSampler, Shape, random_partition
from logicgen.tasks.task import Cell, Draw, Source
from logicgen.tokens import symbol_name

# A problem has at most this share of models. Problems of few symbols have one model.
SHARE = 1 / 128

# The weights of the operators inside the parts of a conjunction.
WEIGHTS = {"!": 2, "&": 1, "|": 1, "^": 2, "<->": 2}

# The probability that the root of a part is `^` or `<->`, and the fewest tokens of a part.
PARITY, SHORTEST = 0.95, 3

# The conjunction of p parts has about the share 1 / 2 ** p of models.
PARTS = 7

# The number of draws before the source returns no problem.
TRIES = 1000

# The fewest tokens of a problem with k symbols are BASE + PER_SYMBOL * k.
BASE, PER_SYMBOL = 4, 3


class RareSource(Source):
    """A source of satisfiable formulas of exact length with few models."""

    def __init__(self, symbols: tuple[int, int]) -> None:
        super().__init__(symbols)
        self._sampler = FormulaSampler(propositional(), WEIGHTS, "tree")

    def sample(self, rng: Random, cell: Cell) -> Draw | None:
        possible = [*self.count(cell)]
        if not possible:
            raise LogicgenError(f"no formula with few models is in {cell}")
        symbols = rng.choice(possible)
        names = [symbol_name(i) for i in range(symbols)]
        columns, full = table_columns(symbols)
        column = dict(zip(names, columns, strict=True))
        most = max(1, int(SHARE * 2**symbols))
        for _ in range(TRIES):
            shape = self._shape(rng, symbols, cell.length)
            holes = shape.count(HOLE)
            if holes < symbols:
                continue
            partition = random_partition(rng, holes, symbols)
            problem = self._sampler.formula((shape, partition), names)
            if 0 < truth_table(problem, column, full).bit_count() <= most:
                return Draw(problem, symbols)
        return None

    def _shape(self, rng: Random, symbols: int, tokens: int) -> Shape:
        """Return the shape of a conjunction of `tokens` tokens, nested at random."""
        most = max(1, (tokens + 1) // (SHORTEST + 1))
        count = min(most, rng.randint(min(PARTS, symbols), symbols + 1))
        sizes = [SHORTEST] * count
        for _ in range(tokens + 1 - count * (SHORTEST + 1)):
            sizes[rng.randrange(count)] += 1
        parts = [self._part(rng, size) for size in sizes]
        while len(parts) > 1:
            place = rng.randrange(len(parts) - 1)
            parts[place : place + 2] = [["&", *parts[place], *parts[place + 1]]]
        return parts[0]

    def _part(self, rng: Random, tokens: int) -> Shape:
        if rng.random() >= PARITY:
            return self._sampler.pattern(rng, tokens)[0]
        left = rng.randint(1, tokens - 2)
        operands = (self._sampler.pattern(rng, size)[0] for size in (left, tokens - 1 - left))
        return [rng.choice(("^", "<->")), *next(operands), *next(operands)]

    def count(self, cell: Cell) -> Mapping[int, float]:
        """Return infinity for each number of symbols that fits: the formulas are not counted."""
        if cell.length > LONGEST:
            return {}
        most = min(MOST_SYMBOLS, (cell.length - BASE) // PER_SYMBOL)
        return {k: math.inf for k in self.symbols(cell) if 1 <= k <= most}

    def obstacle(self, cell: Cell) -> str | None:
        symbols = self.symbols(cell)
        least = max(symbols[0], 1)
        shortest = BASE + PER_SYMBOL * least
        if symbols[-1] < 1 or least > MOST_SYMBOLS:
            return f"formulas with few models have 1 to {MOST_SYMBOLS} symbols: change symbols"
        if cell.length > LONGEST:
            return (
                f"formulas with few models have at most {LONGEST} tokens, not {cell.length}: lower"
                " length"
            )
        if cell.length < shortest:
            return (
                f"formulas over {least} symbols with few models have at least {shortest} tokens,"
                f" not {cell.length}: raise length, or lower symbols"
            )
        return None
