"""Random formulas of an exact length, driven by a language's prefix grammar.

A formula of `n` tokens is drawn top down: first the root operator and the number of tokens of its
left operand, then the operands. The two distributions give these choices different weights:
- `uniform`: the sum of the weights of all formulas that are still possible after the choice. The
  weight of a formula is the product of its tokens' weights. With equal weights, all formulas of the
  length are equally likely.
- `tree`: the weight of the root operator; the remaining length is split uniformly. The data sets of
  the literature were made in this way (Hahn et al., ICLR 2021, with Spot's `randltl`).

Both distributions can draw formulas with an exact number of distinct symbols, without rejection.
The sampler first draws the number of holes (leaves with a symbol), then a tree with these holes,
then a partition of the holes into blocks. Holes of the same block get the same symbol. A partition
is a list with the number of the block of each place (hole). Blocks are numbered in order of first
occurrence (a restricted growth string).

The mass of a set of formulas is the sum of their weights.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, cached_property
from itertools import accumulate
from math import comb, lcm
from random import Random
from typing import Literal

from logicgen.errors import LogicgenError
from logicgen.syntax.formula import Formula
from logicgen.syntax.formula_language import FormulaLanguage

Partition = list[int]


LARGE = 10**250  # numbers above it are not converted to float

_stirling: list[list[int]] = [[1]]


def stirling(places: int, blocks: int) -> int:
    """Return the Stirling number of the second kind.

    It is the number of partitions of `places` places into exactly `blocks` blocks.
    """
    if places > 0 and blocks in (1, places):
        return 1  # without this case, long problems over one symbol would need a large table
    if blocks > places or (places > 0 and blocks == 0):
        return 0
    while len(_stirling) <= places:
        last = [*_stirling[-1], 0]
        _stirling.append([0, *(k * last[k] + last[k - 1] for k in range(1, len(last)))])
    return _stirling[places][blocks]


@cache
def _completions(places: int, used: int, blocks: int) -> int:
    """Return the number of ways to complete a partition that already has `used` blocks.

    `places` places have no block yet. The complete partition has exactly `blocks` blocks.
    """
    if places < blocks - used:
        return 0
    if places == 0:
        return 1
    again = used * _completions(places - 1, used, blocks) if used else 0
    return again + (_completions(places - 1, used + 1, blocks) if used < blocks else 0)


@cache
def _chance_of_new(places: int, used: int, blocks: int) -> float:
    """Return the probability that the next place begins a new block.

    The arguments are as in `_completions`. All completions of the partition are equally likely.
    """
    if used == blocks:
        return 0.0
    return _completions(places - 1, used + 1, blocks) / _completions(places, used, blocks)


def random_partition(rng: Random, places: int, blocks: int) -> Partition:
    """Return a uniform random partition of `places` places into exactly `blocks` blocks.

    Raises ValueError if there are too few places.
    """
    if not _completions(places, 0, blocks):
        raise ValueError(f"{places} places cannot hold exactly {blocks} different symbols")
    random = rng.random
    partition, used = [], 0
    for remaining in range(places, 0, -1):
        if used < blocks and random() < _chance_of_new(remaining, used, blocks):
            partition.append(used)
            used += 1
        else:
            partition.append(int(random() * used))
    return partition


def all_partitions(places: int, blocks: int) -> Iterator[Partition]:
    """Yield every partition of `places` places into exactly `blocks` blocks, each once."""
    pending: list[tuple[Partition, int]] = [([], 0)] if blocks <= places else []
    while pending:
        partition, used = pending.pop()
        if len(partition) == places:
            yield partition
            continue
        remaining = places - len(partition) - 1
        for block in reversed(range(min(used + 1, blocks))):
            now_used = max(used, block + 1)
            if remaining >= blocks - now_used:
                pending.append(([*partition, block], now_used))


def partition_of(labels: Iterable[int]) -> Partition:
    """Return the partition in which places with equal labels are in the same block."""
    blocks: dict[int, int] = {}
    return [blocks.setdefault(label, len(blocks)) for label in labels]


Distribution = Literal["uniform", "tree"]
Number = int | float

# Computing the weights of `tree` takes time in the fourth power of the length: seconds at 256.
LONGEST = 256


def most_symbols(length: int) -> int:
    """Return the largest number of symbols in a formula of `length` tokens."""
    return (length + 1) // 2


HOLE = ""
Shape = list[str]
"""The prefix tokens of a formula, with an empty text (a hole) for each symbol."""

Pattern = tuple[Shape, Partition]
"""A formula up to alpha-renaming: its shape, and the partition of its holes by symbol."""


class FormulaSampler:
    """A sampler of formulas of exact length over `symbols` symbols.

    weights: the weight of each operator and constant that may occur, by token. The key `symbol`
    gives the weight of each single symbol; it is 1 if the key is missing. Operators have at most
    two operands.
    """

    def __init__(
        self,
        language: FormulaLanguage,
        weights: Mapping[str, float],
        distribution: Distribution = "uniform",
        symbols: int = 1,
    ) -> None:
        for token, weight in weights.items():
            if token != "symbol" and token not in language.arity:
                known = " ".join([*language.arity, "symbol"])
                raise LogicgenError(f"{token!r} is not a token of {language.name}; known: {known}")
            if not 0 <= weight < float("inf"):
                raise LogicgenError(f"the weight of {token!r} is {weight}; it must be 0 or more")
        self.language = language
        self.distribution = distribution
        self.symbols = symbols
        exact = {"symbol": Fraction(1)}
        exact |= {token: Fraction(str(weight)) for token, weight in weights.items()}
        # All formulas of one length have the same number of tokens, so a common factor cancels out.
        scale = lcm(*(weight.denominator for weight in exact.values()))
        self.weights = {token: int(weight * scale) for token, weight in exact.items() if weight}
        tokens: list[dict[str, int]] = [{}, {}, {}]
        for token, weight in self.weights.items():
            if token != "symbol":
                tokens[language.arity[token]][token] = weight
        self._tokens = [list(of_arity) for of_arity in tokens]
        self._cumulative = [list(accumulate(of_arity.values())) for of_arity in tokens]
        self._total = [sum(of_arity.values()) for of_arity in tokens]
        self._hole = self.weights.get("symbol", 0) * symbols
        self._mass: list[list[Number]] = [[]]
        self._splits: dict[int, list[float]] = {}
        self._splits_with_holes: dict[tuple[int, int], list[float]] = {}
        self._holes: dict[tuple[int, int], list[float]] = {}

    def mass(self, length: int) -> list[Number]:
        """Return the total weight of the formulas of a length, by number of holes.

        A hole is a leaf with a symbol. The list is empty if no formula has this length. Weights are
        exact integers for `uniform`, probabilities for `tree`. Raises LogicgenError for a length
        above LONGEST.
        """
        if length > LONGEST:
            raise LogicgenError(
                f"formulas of {length} tokens are too long to be drawn; the limit is {LONGEST}"
            )
        while len(self._mass) <= length:
            self._mass.append(self._next_mass())
        return self._mass[length]

    def _next_mass(self) -> list[Number]:
        n = len(self._mass)
        mass = self._counted_mass(n) if self.distribution == "uniform" else self._split_mass(n)
        while mass and not mass[-1]:
            mass.pop()
        return mass

    def _counted_mass(self, n: int) -> list[Number]:
        """Return the mass of formulas of n tokens for `uniform`, by counting trees.

        The number of trees with u unary and b binary operators is the binomial coefficient
        C(u + 2 b, u) times the b-th Catalan number. Each tree has b + 1 leaves.
        """
        constants, unary, binary = self._total
        leaves = [1]  # weight of the leaves, by the number of holes (places for symbols)
        mass: list[Number] = [0] * (n // 2 + 2)
        for b in range((n + 1) // 2):
            longer = [*leaves, 0]
            leaves = [constants * weight for weight in longer]
            for m in range(1, len(leaves)):
                leaves[m] += self._hole * longer[m - 1]
            u = n - 1 - 2 * b
            trees = comb(n - 1, u) * comb(2 * b, b) // (b + 1) * unary**u * binary**b
            for m, weight in enumerate(leaves) if trees else ():
                mass[m] += trees * weight
        return mass

    def _split_mass(self, n: int) -> list[Number]:
        """Return the total weight of formulas of n tokens, for the distribution `tree`.

        It is computed from the weights of shorter formulas, which can be operands.
        """
        leaf, unary, binary = self._factors(n)
        if n == 1:
            return [leaf * self._total[0], leaf * self._hole]
        import numpy as np  # takes 0.1 s, which solving a formula does not need

        size = n // 2 + 2
        mass = np.zeros(size)
        mass[: len(self._mass[n - 1])] = self._mass[n - 1]
        mass *= unary
        arrays = [np.array(each, dtype=float) for each in self._mass]
        for left in range(1, n - 1) if binary else ():
            first, second = arrays[left], arrays[n - 1 - left]
            # Row i is the contribution of first[i], shifted by i places. NumPy adds the rows one
            # after another. The order matters: data sets depend on the last bits of these sums.
            rows = np.zeros((len(first), size + 1))
            np.multiply.outer(binary * first, second, out=rows[:, : len(second)])
            shifted = rows.ravel()[: len(first) * size].reshape(len(first), size)
            mass = np.add.reduce(np.vstack([mass, shifted]), axis=0)
        return list(mass.tolist())

    def _factors(self, n: int) -> tuple[Number, Number, Number]:
        """Return three factors for the root of a formula of n tokens: leaf, unary, binary.

        The mass of a choice of the root is its factor times the masses of the operands.
        """
        _, unary, binary = self._total
        if self.distribution == "uniform":
            return 1, unary, binary
        if n == 1:
            leaves = self._total[0] + self._hole
            return (1 / leaves if leaves else 0), 0, 0
        splits = sum(bool(self._mass[i] and self._mass[n - 1 - i]) for i in range(1, n - 1))
        either = (unary if self._mass[n - 1] else 0) + (binary if splits else 0)
        return 0, unary / max(either, 1), binary / max(either, 1) / max(splits, 1)

    def exists(self, length: int) -> bool:
        """Return whether any formula has `length` tokens."""
        return length >= 1 and bool(self.mass(length))

    def sample(self, rng: Random, length: int, names: Sequence[str]) -> Formula:
        """Return a random formula over symbols from `names`, which has `symbols` entries."""
        shape, partition = self.pattern(rng, length)
        return self.formula((shape, partition), rng.sample(names, max(partition, default=-1) + 1))

    def pattern(self, rng: Random, length: int, distinct: int | None = None) -> Pattern:
        """Return a random formula up to renaming, with `distinct` symbols if this is given.

        Raises LogicgenError if no such formula exists.
        """
        if distinct is None:
            shape = self._shape(rng, length)
            random, symbols = rng.random, self.symbols
            return shape, partition_of([int(random() * symbols) for t in shape if t == HOLE])
        holes = self._draw_holes(rng, length, distinct)
        return self._shape_with_holes(rng, length, holes), random_partition(rng, holes, distinct)

    def _shape(self, rng: Random, length: int) -> Shape:
        if not self.exists(length):
            raise LogicgenError(f"no formula over these tokens has length {length}")
        random, tokens, cumulative, total = rng.random, self._tokens, self._cumulative, self._total
        tables = self._splits
        shape: Shape = []
        todo = [length]
        while todo:
            n = todo.pop()
            table = tables.get(n) or self._split_table(n)
            choice = bisect(table, random() * table[-1])
            if n == 1:
                if choice:
                    shape.append(HOLE)
                    continue
                arity = 0
            elif choice == 0:
                arity = 1
                todo.append(n - 1)
            else:
                arity = 2
                todo.append(n - 1 - choice)
                todo.append(choice)
            shape.append(tokens[arity][bisect(cumulative[arity], random() * total[arity])])
        return shape

    def _split_table(self, n: int) -> list[float]:
        """Return the cumulative weights of the choices at the root of a formula of n tokens.

        Choice 0 is a unary operator. Choice i is a binary operator with a left operand of i tokens.
        For n = 1 the choices are a constant and a symbol.
        """
        leaf, unary, binary = self._factors(n)
        if n == 1:
            weights = [leaf * self._total[0], leaf * self._hole]
        else:
            whole = [sum(self.mass(i)) for i in range(n)]
            weights = [unary * whole[n - 1]]
            weights += [binary * whole[i] * whole[n - 1 - i] for i in range(1, n - 1)]
        table = self._splits[n] = _cumulative_shares(weights)
        return table

    def _draw_holes(self, rng: Random, length: int, distinct: int) -> int:
        table = self._holes.get((length, distinct))
        if table is None:
            mass = self.mass(length) if length >= 1 else []
            # In `mass` a hole weighs as much as all symbols together. There are symbols ** m ways
            # to label m holes. In stirling(m, distinct) * symbols! / (symbols - distinct)! of them,
            # exactly `distinct` symbols occur. The factorials do not depend on m: omit them.
            symbols = max(self.symbols, 1)
            exact = symbols ** len(mass) > LARGE  # a float would overflow, or become 0
            weights = [
                Fraction(w) * stirling(m, distinct) / symbols**m
                if exact or isinstance(w, int)
                else w * stirling(m, distinct) / symbols**m
                for m, w in enumerate(mass)
            ]
            table = _cumulative_shares(weights)
            if not table or not table[-1]:
                raise LogicgenError(
                    f"no formula over these tokens has length {length} and {distinct} symbols"
                )
            self._holes[length, distinct] = table
        return bisect(table, rng.random() * table[-1])

    def _shape_with_holes(self, rng: Random, length: int, holes: int) -> Shape:
        random, tokens, cumulative, total = rng.random, self._tokens, self._cumulative, self._total
        tables = self._splits_with_holes
        shape: Shape = []
        todo = [(length, holes)]
        while todo:
            place = todo.pop()
            n, m = place
            if n == 1:
                if m:
                    shape.append(HOLE)
                    continue
                arity = 0
            else:
                table = tables.get(place) or self._split_table_with_holes(n, m)
                choice = bisect(table, random() * table[-1])
                if choice == 0:
                    arity = 1
                    todo.append((n - 1, m))
                else:
                    arity = 2
                    left, left_holes = divmod(choice - 1, m + 1)
                    todo.append((n - 2 - left, m - left_holes))
                    todo.append((left + 1, left_holes))
            shape.append(tokens[arity][bisect(cumulative[arity], random() * total[arity])])
        return shape

    def _split_table_with_holes(self, n: int, m: int) -> list[float]:
        """Return the cumulative weights of the choices at the root of a formula.

        n: the number of tokens of the formula. m: the number of its holes (leaves with a symbol).

        The first choice is a unary operator. All other choices are binary operators, ordered by the
        tokens and then by the holes of the left operand.
        """
        _, unary, binary = self._factors(n)

        def at(length: int, holes: int) -> Number:
            mass = self._mass[length]
            return mass[holes] if holes < len(mass) else 0

        weights = [unary * at(n - 1, m)]
        for left in range(1, n - 1):
            weights += [binary * at(left, i) * at(n - 1 - left, m - i) for i in range(m + 1)]
        table = self._splits_with_holes[n, m] = _cumulative_shares(weights)
        return table

    def formula(self, pattern: Pattern, names: Sequence[str]) -> Formula:
        """Return the formula of a pattern. `names` are used in order of first occurrence."""
        shape, partition = pattern
        arity = self.language.arity
        labels = reversed(partition)
        stack: list[Formula] = []
        for token in reversed(shape):
            if token == HOLE:
                stack.append(Formula(names[next(labels)]))
            elif arity[token] == 2:
                stack.append(Formula(token, (stack.pop(), stack.pop())))
            elif arity[token] == 1:
                stack.append(Formula(token, (stack.pop(),)))
            else:
                stack.append(Formula(token))
        return stack[0]

    def patterns(self, length: int, distinct: int) -> Iterator[Pattern]:
        """Yield every formula of `length` tokens with `distinct` symbols, up to renaming."""
        for shape in self._shapes(length):
            for partition in all_partitions(shape.count(HOLE), distinct):
                yield shape, partition

    def _shapes(self, length: int) -> Iterator[Shape]:
        constants, unary, binary = self._tokens
        if length == 1:
            yield from ([token] for token in constants)
            if self._hole:
                yield [HOLE]
            return
        for below in self._shapes(length - 1) if unary and self.exists(length - 1) else ():
            yield from ([token, *below] for token in unary)
        for left in range(1, length - 1) if binary else ():
            if self.exists(left) and self.exists(length - 1 - left):
                for first in self._shapes(left):
                    for second in self._shapes(length - 1 - left):
                        yield from ([token, *first, *second] for token in binary)

    def count_patterns(self, length: int, distinct: int) -> int:
        """Return the number of formulas with this length and number of symbols, up to renaming."""
        if length < 1 or distinct > most_symbols(length):
            return 0
        counts = self._counter.mass(length)
        return sum(int(count) * stirling(m, distinct) for m, count in enumerate(counts))

    @cached_property
    def _counter(self) -> FormulaSampler:
        return FormulaSampler(
            self.language, {"symbol": 0} | dict.fromkeys(self.weights, 1), "uniform", symbols=1
        )


def _cumulative_shares(weights: Sequence[Number | Fraction]) -> list[float]:
    """Return running sums of weights as shares of the total; integers are rounded only once."""
    whole = sum(weights)
    return [float(running / whole) if whole else 0.0 for running in accumulate(weights)]
