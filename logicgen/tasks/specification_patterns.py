"""Conjunctions of the published specification patterns: problems as engineers write them.

Source: Dwyer, Avrunin, Corbett, Patterns in Property Specifications for Finite-State Verification
(ICSE 1999): eleven properties, each in five scopes. Hahn et al. (ICLR 2021) test models on
conjunctions of these patterns. They have up to 126 tokens and the core operators (`! & X U 0 1`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache, reduce
from itertools import combinations, permutations
from math import comb, perm
from random import Random

from logicgen.errors import LogicgenError
from logicgen.syntax.formula import Formula
from logicgen.syntax.formula_language import ltl
from logicgen.syntax.rewriting import to_core
from logicgen.tasks.task import Cell, Draw, Source
from logicgen.tokens import symbol_name

PATTERNS = {
    "absence": (
        "G!p0",
        "Fp0 -> (!p1 U p0)",
        "G(p0 -> G!p1)",
        "G((p0 & !p1 & Fp1) -> (!p2 U p1))",
        "G((p0 & !p1) -> (!p2 W p1))",
    ),
    "existence": (
        "Fp0",
        "!p0 W (!p0 & p1)",
        "G!p0 | F(p0 & Fp1)",
        "G((p0 & !p1) -> (!p1 W (!p1 & p2)))",
        "G((p0 & !p1) -> (!p1 U (!p1 & p2)))",
    ),
    "bounded existence": (  # a state occurs at most twice
        "!p0 W (p0 W (!p0 W (p0 W G!p0)))",
        "Fp0 -> ((!p0 & !p1) U (p0 | ((!p0 & p1) U (p0 | ((!p0 & !p1) U (p0 | ((!p0 & p1) U "
        "(p0 | (!p1 U p0)))))))))",
        "Fp0 -> (!p0 U (p0 & (!p1 W (p1 W (!p1 W (p1 W G!p1))))))",
        "G((p0 & Fp1) -> ((!p1 & !p2) U (p1 | ((!p1 & p2) U (p1 | ((!p1 & !p2) U (p1 | "
        "((!p1 & p2) U (p1 | (!p2 U p1))))))))))",
        "G(p0 -> ((!p1 & !p2) U (p2 | ((p1 & !p2) U (p2 | ((!p1 & !p2) U (p2 | ((p1 & !p2) U "
        "(p2 | (!p1 W p2) | Gp1)))))))))",
    ),
    "universality": (
        "Gp0",
        "Fp0 -> (p1 U p0)",
        "G(p0 -> Gp1)",
        "G((p0 & !p1 & Fp1) -> (p2 U p1))",
        "G((p0 & !p1) -> (p2 W p1))",
    ),
    "precedence": (
        "!p0 W p1",
        "Fp0 -> (!p1 U (p0 | p2))",
        "G!p0 | F(p0 & (!p1 W p2))",
        "G((p0 & !p1 & Fp1) -> (!p2 U (p1 | p3)))",
        "G((p0 & !p1) -> (!p2 W (p1 | p3)))",
    ),
    "response": (
        "G(p0 -> Fp1)",
        "Fp0 -> ((p1 -> (!p0 U (!p0 & p2))) U p0)",
        "G(p0 -> G(p1 -> Fp2))",
        "G((p0 & !p1 & Fp1) -> ((p2 -> (!p1 U (!p1 & p3))) U p1))",
        "G((p0 & !p1) -> ((p2 -> (!p1 U (!p1 & p3))) W p1))",
    ),
    "precedence chain, two causes": (
        "Fp0 -> (!p0 U (!p0 & p1 & X(!p0 U p2)))",
        "Fp0 -> (!p1 U (p0 | (!p1 & p2 & X(!p1 U p3))))",
        "G!p0 | (!p0 U ((p0 & Fp1) -> (!p1 U (!p1 & p2 & X(!p1 U p3)))))",
        "G((p0 & Fp1) -> (!p2 U (p1 | (!p2 & p3 & X(!p2 U p4)))))",
        "G(p0 -> (Fp1 -> (!p1 U (p2 | (!p1 & p3 & X(!p1 U p4))))))",
    ),
    "precedence chain, two effects": (
        "F(p0 & XFp1) -> (!p0 U p2)",
        "Fp0 -> (!(!p0 & p1 & X(!p0 U (!p0 & p2))) U (p0 | p3))",
        "G!p0 | (!p0 U (p0 & (F(p1 & XFp2) -> (!p1 U p3))))",
        "G((p0 & Fp1) -> (!(!p1 & p2 & X(!p1 U (!p1 & p3))) U (p1 | p4)))",
        "G(p0 -> ((!(!p1 & p2 & X(!p1 U (!p1 & p3))) U (p1 | p4)) | G!(p2 & XFp3)))",
    ),
    "response chain, two stimuli": (
        "G((p0 & XFp1) -> XF(p1 & Fp2))",
        "Fp0 -> (((p1 & X(!p0 U p2)) -> X(!p0 U (p2 & Fp3))) U p0)",
        "G(p0 -> G((p1 & XFp2) -> X(!p2 U (p2 & Fp3))))",
        "G((p0 & Fp1) -> (((p2 & X(!p1 U p3)) -> X(!p1 U (p3 & Fp4))) U p1))",
        "G(p0 -> (((p1 & X(!p2 U p3)) -> X(!p2 U (p3 & Fp4))) U (p2 | "
        "G((p1 & X(!p2 U p3)) -> X(!p2 U (p3 & Fp4))))))",
    ),
    "response chain, two responses": (
        "G(p0 -> F(p1 & XFp2))",
        "Fp0 -> ((p1 -> (!p0 U (!p0 & p2 & X(!p0 U p3)))) U p0)",
        "G(p0 -> G(p1 -> (p2 & XFp3)))",
        "G((p0 & Fp1) -> ((p2 -> (!p1 U (!p1 & p3 & X(!p1 U p4)))) U p1))",
        "G(p0 -> ((p1 -> (!p2 U (!p2 & p3 & X(!p2 U p4)))) U (p2 | G(p1 -> (p3 & XFp4)))))",
    ),
    "constrained response chain": (
        "G(p0 -> F(p1 & !p2 & X(!p2 U p3)))",
        "Fp0 -> ((p1 -> (!p0 U (!p0 & p2 & !p3 & X((!p0 & !p3) U p4)))) U p0)",
        "G(p0 -> G(p1 -> (p2 & !p3 & X(!p3 U p4))))",
        "G((p0 & Fp1) -> ((p2 -> (!p1 U (!p1 & p3 & !p4 & X((!p1 & !p4) U p5)))) U p1))",
        "G(p0 -> ((p1 -> (!p2 U (!p2 & p3 & !p4 & X((!p2 & !p4) U p5)))) U (p2 | "
        "G(p1 -> (p3 & !p4 & X(!p4 U p5))))))",
    ),
}
"""The formulas of each property, in five scopes: globally, before, after, between, after-until."""


@cache
def core_patterns() -> tuple[Formula, ...]:
    """Return all patterns, rewritten to the core operators `! & X U 0 1`.

    Their symbols are `a`, `b`, ... in order of first occurrence.
    """
    return tuple(
        to_core(ltl().read(text)).alpha_canonical() for row in PATTERNS.values() for text in row
    )


# The most tokens of a conjunction. Counting conjunctions takes time in the fourth power of this
# number. The published problems have up to 126 tokens.
LONGEST = 256

# If this number of random conjunctions do not have the cell's number of symbols, no problem is
# drawn.
TRIES = 10_000


class PatternSource(Source):
    """A source of conjunctions of patterns with an exact length.

    The number of patterns is drawn first, uniformly among the numbers that the length allows. All
    sequences of this number of patterns are then equally likely. The symbols of each pattern are
    drawn uniformly, without repetition; patterns can have symbols in common. A pattern has no `&`
    at its root, so a formula reveals its patterns.
    """

    def __init__(self, symbols: tuple[int, int]) -> None:
        super().__init__(symbols)
        self._arity = {pattern: len(pattern.symbols) for pattern in core_patterns()}
        self._shapes = Counter((pattern.length + 1, n) for pattern, n in self._arity.items())
        # Entry [n][k]: the number of conjunctions with k symbols and n - 1 tokens. In n, each
        # pattern counts an `&`, but the conjunction has no `&` for its last pattern.
        self._reached: list[list[int]] = [[1]]
        self._sequences = cache(self._count_sequences)
        self._ways = cache(self._count_ways)

    def sample(self, rng: Random, cell: Cell) -> Draw | None:
        alphabet = self.symbols(cell)[-1]
        if not any(self.count(cell).values()):
            raise LogicgenError(f"no conjunction of specification patterns is in {cell}")
        parts_allowed = [
            parts
            for parts in range(1, cell.length // 2 + 1)
            if self._sequences(parts, cell.length + 1, alphabet)
        ]
        for _ in range(TRIES):
            left = cell.length + 1
            formulas = []
            for parts in range(rng.choice(parts_allowed), 0, -1):
                weights = [
                    self._sequences(parts - 1, left - pattern.length - 1, alphabet)
                    if arity <= alphabet
                    else 0
                    for pattern, arity in self._arity.items()
                ]
                (pattern,) = rng.choices(core_patterns(), weights)
                left -= pattern.length + 1
                chosen = rng.sample(range(alphabet), self._arity[pattern])
                names = dict(zip(pattern.symbols, map(symbol_name, chosen), strict=True))
                formulas.append(pattern.rename(names))
            problem = _conjunction(formulas).alpha_canonical()
            distinct = len(problem.symbols)
            if cell.symbols in (None, distinct):
                return Draw(problem, distinct)
        return None

    def obstacle(self, cell: Cell) -> str | None:
        if cell.length <= LONGEST:
            return None
        return (
            f"conjunctions of {cell.length} tokens are too long to be counted: lower length to"
            f" {LONGEST}"
        )

    def count(self, cell: Cell) -> dict[int, int]:
        counts = self._counts(cell.length + 1)
        return {k: counts[k] for k in self.symbols(cell)[: len(counts)] if k < len(counts)}

    def all(self, cell: Cell) -> Iterator[Draw]:
        for k in self.count(cell):
            for formulas in self._conjuncts(cell.length + 1, 0, k):
                yield Draw(_conjunction(formulas), k)

    def _count_sequences(self, parts: int, tokens: int, alphabet: int) -> int:
        """Count sequences of `parts` patterns that have `tokens` tokens together.

        Each pattern counts one more token, for the `&` that joins it to the next pattern. Patterns
        with more than `alphabet` symbols are excluded.
        """
        if parts == 0 or tokens <= 0:
            return int(parts == 0 == tokens)
        return sum(
            self._sequences(parts - 1, tokens - pattern.length - 1, alphabet)
            for pattern, arity in self._arity.items()
            if arity <= alphabet
        )

    def _counts(self, tokens: int) -> list[int]:
        """Return the number of conjunctions of `tokens` tokens, by number of symbols.

        Each pattern counts one more token, for the `&` that joins it to the next pattern.
        """
        while len(self._reached) <= tokens:
            end = len(self._reached)
            counts = [0] * (end // 2 + 1)  # no conjunction has more symbols than operators
            for (length, arity), patterns in self._shapes.items():
                before = self._reached[end - length] if length <= end else ()
                for used, ways in enumerate(before):
                    for old in range(min(arity, used) + 1 if ways else 0):
                        choices = patterns * comb(arity, old) * perm(used, old)
                        counts[used + arity - old] += ways * choices
            self._reached.append(counts)
        return self._reached[tokens]

    def _count_ways(self, tokens: int, used: int, symbols: int) -> int:
        """Count the ways to add `tokens` tokens of patterns to a conjunction with `used` symbols.

        The whole conjunction then has exactly `symbols` symbols. In the sum, `old` is the number of
        symbols of the next pattern that were used before. The names of new symbols are not chosen:
        they follow from the order of occurrence.
        """
        if tokens <= 0:
            return int(tokens == 0 and used == symbols)
        return sum(
            comb(arity, old)
            * perm(used, old)
            * self._ways(tokens - pattern.length - 1, used + arity - old, symbols)
            for pattern, arity in self._arity.items()
            for old in range(arity + 1)
            if used + arity - old <= symbols
        )

    def _conjuncts(self, tokens: int, used: int, symbols: int) -> Iterator[list[Formula]]:
        if tokens == 0:
            yield []
            return
        for pattern, arity in self._arity.items():
            left = tokens - pattern.length - 1
            for old in range(arity + 1):
                after = used + arity - old
                if left < 0 or after > symbols or not self._ways(left, after, symbols):
                    continue
                for formula in _named(pattern, old, used):
                    for others in self._conjuncts(left, after, symbols):
                        yield [formula, *others]


def _named(pattern: Formula, old: int, used: int) -> Iterator[Formula]:
    """Yield each renaming of a pattern that uses exactly `old` of the first `used` symbols.

    The other symbols of the pattern become the symbols number `used`, `used` + 1 and so on.
    """
    for places in combinations(pattern.symbols, old):
        new = [name for name in pattern.symbols if name not in places]
        fresh = {name: symbol_name(used + i) for i, name in enumerate(new)}
        for chosen in permutations(range(used), old):
            known = dict(zip(places, map(symbol_name, chosen), strict=True))
            yield pattern.rename({**fresh, **known})


def _conjunction(formulas: list[Formula]) -> Formula:
    *others, last = formulas
    return reduce(lambda right, left: left & right, reversed(others), last)
