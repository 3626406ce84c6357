"""Random satisfiable sets of clauses, SR(n).

Clauses over n variables are added until the set is unsatisfiable; then one literal of the last one
is flipped. The result is satisfiable (every model of the others makes the last clause false, so it
makes the flipped literal true) and one literal away from a set that is not, so that no statistic of
it gives the answer away.

Source: Selsam et al., Learning a SAT Solver from Single-Bit Supervision (ICLR 2019).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache
from random import Random

from logicgen.errors import LogicgenError
from logicgen.solvers.sat_engine import SatEngine
from logicgen.syntax.clauses import Clause, formula_of
from logicgen.tasks.task import Cell, Draw, Source
from logicgen.tokens import symbol_name

# A clause has 1 + Bernoulli(LONGER) + Geometric(END) literals, the geometric part from 1 on: a
# little over four in the mean, and few of two, which would make problems easy.
LONGER = 0.7
END = 0.4

# A problem's length is random. A cell is in reach if one problem in RARE has a length of it.
RARE = 50
PILOT = 4 * RARE

# Problems longer than a recipe can ask for are given up.
LONGEST = 10_000

# With more variables than these no problem is that short: it takes about 40 tokens for each.
MOST_VARIABLES = 300


def clause_length(rng: Random) -> int:
    """Return a random number of literals for a clause, if there are as many variables."""
    length = 2 + (rng.random() < LONGER)
    while rng.random() >= END:
        length += 1
    return length


def random_clauses(rng: Random, variables: int, longest: int = LONGEST) -> list[Clause] | None:
    """Return a problem of SR(n): satisfiable, but not with the last clause's first literal flipped.

    Variables are drawn without repetition, so that is a random one. None above `longest` tokens.
    """
    numbers = range(1, variables + 1)
    model = list(numbers)
    clauses: list[Clause] = []
    with SatEngine() as engine:
        tokens = -1  # every clause brings an & but the first
        while tokens <= longest:
            drawn = rng.sample(numbers, min(variables, clause_length(rng)))
            clause = [number if rng.random() < 0.5 else -number for number in drawn]
            engine.add_clause(clause)
            clauses.append(clause)
            tokens += tokens_of(clause)
            # The engine is asked only where the model it gave before fails.
            if any(model[abs(literal) - 1] == literal for literal in clause):
                continue
            if not engine.solve():
                tokens += 1 if clause[0] > 0 else -1
                clause[0] = -clause[0]
                return clauses if tokens <= longest else None
            known = engine.get_model()
            model = [*known, *numbers[len(known) :]]  # variables without a clause have any value
    return None


def tokens_of(clause: Clause) -> int:
    """Return the length that a clause adds to a formula: literals, `!`, `|`, an `&` before it."""
    return 2 * len(clause) + sum(literal < 0 for literal in clause)


class CNFSource(Source):
    """Problems of SR(n) in which all n variables occur."""

    exact = False

    def sample(self, rng: Random, cell: Cell) -> Draw | None:
        reached = list(self.count(cell)) if cell.symbols is None else [cell.symbols]
        if not reached or reached[0] < 2:
            raise LogicgenError(f"no set of clauses is drawn with {cell}")
        symbols = rng.choice(reached)
        clauses = random_clauses(rng, symbols, cell.lengths[-1])
        if clauses is None or sum(map(tokens_of, clauses)) - 1 not in cell.lengths:
            return None
        order = dict.fromkeys(abs(literal) for clause in clauses for literal in clause)
        if len(order) < symbols:
            return None
        names = {number: symbol_name(i) for i, number in enumerate(order)}
        return Draw(formula_of(clauses, names.__getitem__), symbols)

    def count(self, cell: Cell) -> Mapping[int, float]:
        """Return infinity for each number of symbols with which a problem in 50 is in the cell.

        There are too many to count; the other ones would take too long to find, and count as none.
        """
        symbols = self.symbols(cell)
        return {
            k: math.inf
            for k in range(max(2, symbols.start), min(symbols.stop, MOST_VARIABLES + 1))
            if sum(length in cell.lengths for length in _pilot(k)) * RARE >= PILOT
        }

    def all(self, cell: Cell) -> Iterator[Draw]:
        return iter(())

    def obstacle(self, cell: Cell) -> str | None:
        least = self.symbols(cell)[0]
        if least <= MOST_VARIABLES:
            return None
        return (
            f"random clauses over {least} variables are longer than {LONGEST:,} tokens: lower"
            f" symbols to {MOST_VARIABLES} at most"
        )


@cache
def _pilot(symbols: int) -> list[int]:
    """Return the lengths of some problems, always the same."""
    rng = Random(f"SR({symbols})")
    drawn = (random_clauses(rng, symbols) for _ in range(PILOT))
    return [sum(map(tokens_of, clauses)) - 1 for clauses in drawn if clauses is not None]
