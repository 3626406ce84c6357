"""Random formulas: exact length, exact symbols, the right distribution."""

from __future__ import annotations

import math
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.errors import LogicgenError
from logicgen.syntax import Formula, propositional
from logicgen.syntax.sampling import (
    FormulaSampler,
    all_partitions,
    partition_of,
    random_partition,
    stirling,
)
from logicgen.tokens import symbol_name

LANGUAGE = propositional()
OPERATORS = {"!": 1, "&": 1, "|": 2, "<->": 0.5}
NAMES = [symbol_name(i) for i in range(10)]


def every_formula(length, operators, names):
    """All formulas of a length, by brute force over operand lengths."""
    if length < 1:
        return []
    if length == 1:
        return [Formula(n) for n in names] + [Formula(c) for c in "01" if c in operators]
    found = []
    if "!" in operators:
        found += [~f for f in every_formula(length - 1, operators, names)]
    for left in range(1, length - 1):
        firsts = every_formula(left, operators, names)
        seconds = every_formula(length - 1 - left, operators, names)
        for op in operators:
            if op in ("&", "|", "^", "->", "<->"):
                found += [Formula(op, (f, g)) for f in firsts for g in seconds]
    return found


def chi_square_is_plausible(counts, expected):
    """Pearson's statistic within six standard deviations of its mean: one false alarm in 10**8."""
    statistic = sum((counts.get(k, 0) - e) ** 2 / e for k, e in expected.items())
    freedom = len(expected) - 1
    return abs(statistic - freedom) < 6 * math.sqrt(2 * freedom) + 6


@pytest.mark.parametrize("distribution", ["uniform", "tree"])
@given(length=st.integers(1, 60), seed=st.integers(0, 10**6))
def test_length_is_exact(distribution, length, seed):
    sampler = FormulaSampler(LANGUAGE, OPERATORS, distribution, 10)
    assert sampler.sample(Random(seed), length, NAMES).length == length


@pytest.mark.parametrize("distribution", ["uniform", "tree"])
@given(data=st.data(), seed=st.integers(0, 10**6))
def test_length_and_number_of_symbols_are_exact(distribution, data, seed):
    sampler = FormulaSampler(LANGUAGE, OPERATORS, distribution, 10)
    length = data.draw(st.integers(1, 50))
    distinct = data.draw(st.integers(1, min(10, (length + 1) // 2)))
    formula = sampler.formula(sampler.pattern(Random(seed), length, distinct), NAMES)
    assert formula.length == length
    assert list(formula.symbols) == NAMES[:distinct]


@pytest.mark.parametrize("operators", [{"!": 1, "&": 1, "^": 1}, {"!": 1, "->": 1, "0": 1, "1": 1}])
@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
def test_uniform_is_uniform(operators, length):
    every = every_formula(length, operators, ["a", "b"])
    assert len(set(every)) == len(every)
    sampler = FormulaSampler(LANGUAGE, operators, "uniform", 2)
    draws, rng = 20 * len(every) + 2000, Random(7)
    counts = Counter(sampler.sample(rng, length, ["a", "b"]) for _ in range(draws))
    assert set(counts) <= set(every)
    assert chi_square_is_plausible(counts, dict.fromkeys(every, draws / len(every)))


def test_uniform_weighs_tokens():
    weights = {"!": 1, "&": 3, "symbol": 0.5}
    every = every_formula(5, weights, ["a", "b"])
    weight = {
        f: math.prod(weights.get(n.token, weights["symbol"]) for n in f.preorder()) for f in every
    }
    draws, rng = 40_000, Random(1)
    sampler = FormulaSampler(LANGUAGE, weights, "uniform", 2)
    counts = Counter(sampler.sample(rng, 5, ["a", "b"]) for _ in range(draws))
    whole = sum(weight.values())
    assert chi_square_is_plausible(counts, {f: draws * w / whole for f, w in weight.items()})


@pytest.mark.slow
def test_conditioned_on_symbols_is_the_unconditioned_distribution_restricted():
    for distribution in ("uniform", "tree"):
        sampler = FormulaSampler(LANGUAGE, {"!": 1, "&": 2, "1": 1}, distribution, 3)
        rng, length, distinct = Random(3), 6, 2
        free = Counter()
        while sum(free.values()) < 20_000:
            formula = sampler.formula(sampler.pattern(rng, length), NAMES)
            if len(formula.symbols) == distinct:
                free[formula] += 1
        given_two = Counter(
            sampler.formula(sampler.pattern(rng, length, distinct), NAMES) for _ in range(20_000)
        )
        assert set(free) == set(given_two)
        # Two samples of equal size from one distribution: the statistic is chi-square as well.
        statistic = sum((free[f] - given_two[f]) ** 2 / (free[f] + given_two[f]) for f in free)
        assert statistic < len(free) + 6 * math.sqrt(2 * len(free)) + 6


def test_tree_draws_the_root_by_weight_and_splits_uniformly():
    sampler = FormulaSampler(LANGUAGE, {"!": 1, "&": 3}, "tree", 2)
    rng, draws, length = Random(5), 20_000, 9
    shapes = [sampler.sample(rng, length, ["a", "b"]) for _ in range(draws)]
    roots = Counter(f.token for f in shapes)
    assert chi_square_is_plausible(roots, {"!": draws / 4, "&": 3 * draws / 4})
    splits = Counter(f.operands[0].length for f in shapes if f.token == "&")
    assert chi_square_is_plausible(splits, dict.fromkeys(range(1, 8), sum(splits.values()) / 7))


@pytest.mark.parametrize("operators", [{"!": 1, "&": 1}, {"^": 1, "->": 1, "1": 1}, {"&": 1}])
def test_patterns_are_counted_and_listed_exactly(operators):
    sampler = FormulaSampler(LANGUAGE, operators, "tree", 3)
    for length in range(1, 8):
        for distinct in range(4):
            listed = [sampler.formula(p, NAMES) for p in sampler.patterns(length, distinct)]
            every = {f.alpha_canonical() for f in every_formula(length, operators, NAMES[:3])}
            every = {f for f in every if len(f.symbols) == distinct}
            assert len(listed) == len(set(listed)) == sampler.count_patterns(length, distinct)
            assert set(listed) == every


def test_what_cannot_be_is_refused():
    sampler = FormulaSampler(LANGUAGE, {"&": 1}, "tree", 3)
    with pytest.raises(LogicgenError, match="length 4"):
        sampler.pattern(Random(0), 4)
    with pytest.raises(LogicgenError, match="length 5 and 4 symbols"):
        sampler.pattern(Random(0), 5, 4)
    with pytest.raises(LogicgenError, match="'U' is not a token"):
        FormulaSampler(LANGUAGE, {"U": 1})
    assert sampler.count_patterns(0, 0) == 0


@given(st.integers(0, 7), st.integers(0, 7))
def test_partitions_are_counted_and_listed(places, blocks):
    listed = [tuple(p) for p in all_partitions(places, blocks)]
    assert len(listed) == len(set(listed)) == stirling(places, blocks)
    assert all(partition_of(p) == list(p) and len(set(p)) == blocks for p in listed)


def test_partitions_of_many_places_into_one_block_or_as_many():
    for blocks in (1, 3000):
        assert len(list(all_partitions(3000, blocks))) == stirling(3000, blocks) == 1


def test_random_partitions_are_uniform():
    rng, draws = Random(2), 20_000
    every = [tuple(p) for p in all_partitions(6, 3)]
    counts = Counter(tuple(random_partition(rng, 6, 3)) for _ in range(draws))
    assert chi_square_is_plausible(counts, dict.fromkeys(every, draws / len(every)))
    with pytest.raises(ValueError, match="2 places"):
        random_partition(rng, 2, 3)


def mass_by_definition(sampler, n):
    """The mass of a length from those of shorter ones, term by term in the order of the sum."""
    leaf, unary, binary = sampler._factors(n)
    mass = [leaf * sampler._total[0], leaf * sampler._hole]
    if n > 1:
        mass = [unary * weight for weight in sampler.mass(n - 1)]
        mass += [0] * (n // 2 + 2 - len(mass))
    for left in range(1, n - 1):
        for i, a in enumerate(sampler.mass(left)):
            for j, b in enumerate(sampler.mass(n - 1 - left)):
                mass[i + j] += binary * a * b
    while mass and not mass[-1]:
        mass.pop()
    return mass


@pytest.mark.parametrize("distribution", ["uniform", "tree"])
@pytest.mark.parametrize(
    "weights", [OPERATORS, {"!": 1}, {"&": 2.5, "1": 0.3, "!": 1}, {"1": 1, "symbol": 0, "|": 3}]
)
def test_mass_is_that_of_the_definition_to_the_last_bit(distribution, weights):
    sampler = FormulaSampler(LANGUAGE, weights, distribution, 10)
    for n in range(1, 41):
        assert sampler.mass(n) == mass_by_definition(sampler, n)


def test_no_formula_has_more_symbols_than_leaves():
    sampler = FormulaSampler(LANGUAGE, OPERATORS, "uniform", 10**6)
    assert sampler.count_patterns(9, 5) > 0
    assert sampler.count_patterns(9, 6) == sampler.count_patterns(255, 10**6) == 0
