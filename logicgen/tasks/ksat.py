"""Uniform random k-SAT: clauses of k literals over n variables, `ratio` clauses for each variable.

Problems of three literals are hardest near the ratio 4.26, where about half of them are
satisfiable. A solver rejects the other problems.

Source: Mitchell, Selman, Levesque, Hard and easy distributions of SAT problems (AAAI 1992).
"""

from __future__ import annotations

from random import Random

from logicgen.syntax.clauses import Clause
from logicgen.tasks.cnf import CNFSource, tokens_of


class KSATSource(CNFSource):
    """A source of random clauses of equal length in which all variables occur.

    literals: the number of literals in each clause. ratio: the number of clauses for each variable.
    """

    def __init__(self, symbols: tuple[int, int], literals: int, ratio: float) -> None:
        super().__init__(symbols)
        self.literals, self.ratio, self.fewest = literals, ratio, literals

    def clauses(self, rng: Random, variables: int, longest: int) -> list[Clause] | None:
        numbers = range(1, variables + 1)
        clauses = [
            [
                number if rng.random() < 0.5 else -number
                for number in rng.sample(numbers, self.literals)
            ]
            for _ in range(round(self.ratio * variables))
        ]
        return clauses if sum(map(tokens_of, clauses)) - 1 <= longest else None
