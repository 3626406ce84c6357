"""Random satisfiable sets of clauses over n variables, by the method SR(n) of NeuroSAT.

Random clauses over n variables are added until the set is unsatisfiable. Then one literal of the
last clause is flipped. This makes the set satisfiable: every model of the other clauses makes the
last clause false, so it makes the flipped literal true. The set differs from an unsatisfiable set
in one literal only, so no statistic of the set reveals whether it is satisfiable.

Source: Selsam et al., Learning a SAT Solver from Single-Bit Supervision (ICLR 2019).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from random import Random

from logicgen.errors import LogicgenError
from logicgen.solvers.sat_engine import SatEngine
from logicgen.syntax.clauses import Clause, formula_of
from logicgen.tasks.task import Cell, Draw, Source
from logicgen.tokens import symbol_name

# A clause has 1 + B + G literals. B is 1 with probability LONGER, else 0. G has the geometric
# distribution on 1, 2, ... with parameter END. The mean is 4.2 literals. Clauses of two literals
# make problems easy, so they are rare.
LONGER = 0.7
END = 0.4

# The length of a problem is random. A range of lengths counts as empty if less than the share
# 1 / RARE of the problems has such a length. PILOT random problems serve to estimate this share.
RARE = 50
PILOT = 4 * RARE

# The most tokens of a problem. A longer problem is abandoned, because no recipe can request it.
LONGEST = 10_000

# With more variables, no problem is short enough: each variable takes about 40 tokens.
MOST_VARIABLES = 300


def clause_length(rng: Random) -> int:
    """Return a random number of literals for a clause. It may exceed the number of variables."""
    length = 2 + (rng.random() < LONGER)
    while rng.random() >= END:
        length += 1
    return length


def random_clauses(rng: Random, variables: int, longest: int = LONGEST) -> list[Clause] | None:
    """Return a random problem of SR(n) for n = `variables`.

    If the first literal of the last clause is flipped, the problem becomes unsatisfiable. The
    variables of a clause are distinct. Returns None if the problem exceeds `longest` tokens.
    """
    numbers = range(1, variables + 1)
    model = list(numbers)
    clauses: list[Clause] = []
    with SatEngine() as engine:
        tokens = -1  # `tokens_of` counts an `&` for each clause; the first clause has no `&`
        while tokens <= longest:
            drawn = rng.sample(numbers, min(variables, clause_length(rng)))
            clause = [number if rng.random() < 0.5 else -number for number in drawn]
            engine.add_clause(clause)
            clauses.append(clause)
            tokens += tokens_of(clause)
            # If the engine's last model satisfies the new clause, the set is still satisfiable.
            if any(model[abs(literal) - 1] == literal for literal in clause):
                continue
            if not engine.solve():
                tokens += 1 if clause[0] > 0 else -1
                clause[0] = -clause[0]
                return clauses if tokens <= longest else None
            known = engine.get_model()
            model = [*known, *numbers[len(known) :]]  # other variables may have any value
    return None


def tokens_of(clause: Clause) -> int:
    """Return the number of tokens that a clause adds to a formula.

    A clause adds its symbols, a `!` for each negative literal, the `|` between literals, and one
    `&` that joins it to the other clauses.
    """
    return 2 * len(clause) + sum(literal < 0 for literal in clause)


class CNFSource(Source):
    """A source of problems of SR(n) in which all n variables occur.

    Attributes:
        fewest: the fewest variables of a problem.
    """

    exact = False
    fewest = 2

    def __init__(self, symbols: tuple[int, int]) -> None:
        super().__init__(symbols)
        self._pilot = cache(self._pilot_lengths)

    def clauses(self, rng: Random, variables: int, longest: int) -> list[Clause] | None:
        """Return a random set of clauses; None if it exceeds `longest` tokens."""
        return random_clauses(rng, variables, longest)

    def sample(self, rng: Random, cell: Cell) -> Draw | None:
        reached = list(self.count(cell)) if cell.symbols is None else [cell.symbols]
        if not reached or reached[0] < self.fewest:
            raise LogicgenError(f"no set of clauses is drawn with {cell}")
        symbols = rng.choice(reached)
        clauses = self.clauses(rng, symbols, cell.lengths[-1])
        if clauses is None or sum(map(tokens_of, clauses)) - 1 not in cell.lengths:
            return None
        order = dict.fromkeys(abs(literal) for clause in clauses for literal in clause)
        if len(order) < symbols:
            return None
        names = {number: symbol_name(i) for i, number in enumerate(order)}
        return Draw(formula_of(clauses, names.__getitem__), symbols)

    def count(self, cell: Cell) -> Mapping[int, float]:
        """Return infinity for each number of symbols with which the cell counts as not empty.

        The problems are too many to be counted. A number of symbols is left out if less than the
        share 1 / RARE of its random problems has a length of the cell: drawing would take too long.
        """
        symbols = self.symbols(cell)
        return {
            k: math.inf
            for k in range(max(self.fewest, symbols.start), min(symbols.stop, MOST_VARIABLES + 1))
            if sum(length in cell.lengths for length in self._pilot(k)) * RARE >= PILOT
        }

    def obstacle(self, cell: Cell) -> str | None:
        least = self.symbols(cell)[0]
        if least <= MOST_VARIABLES:
            return None
        return (
            f"random clauses over {least} variables are longer than {LONGEST:,} tokens: lower"
            f" symbols to {MOST_VARIABLES} at most"
        )

    def _pilot_lengths(self, symbols: int) -> list[int]:
        """Return the lengths in tokens of PILOT random problems, always the same lengths."""
        rng = Random(f"SR({symbols})")
        drawn = (self.clauses(rng, symbols, LONGEST) for _ in range(PILOT))
        return [sum(map(tokens_of, clauses)) - 1 for clauses in drawn if clauses is not None]
