"""Frequencies of symbols."""

from __future__ import annotations

import platform
from collections import Counter
from math import sqrt
from random import Random

import pytest

from logicgen.tasks.frequencies import CHARACTERS, frequencies

KINDS = ["uniform", "characters", "zipf"]


def measured():
    """The characters of the text that the table was measured on, of the Python at hand."""
    from pydoc_data.topics import topics

    return Counter(c for text in topics.values() for c in text if ord(c) < 128)


@pytest.mark.skipif(platform.python_version() != "3.11.7", reason="measured on Python 3.11.7")
def test_the_table_is_what_was_measured():
    counts = measured()
    weight = frequencies("characters").weight
    assert [weight(k) - 1 for k in range(128)] == [counts[c] for c in CHARACTERS]


def test_every_python_carries_much_the_same_text():
    counts, weight = measured(), frequencies("characters").weight
    mass = sum(map(weight, range(128)))
    differences = (
        abs(counts[c] / counts.total() - weight(k) / mass) for k, c in enumerate(CHARACTERS)
    )
    assert sum(differences) < 0.1


def test_all_characters_are_there_once_and_the_most_frequent_come_first():
    assert sorted(CHARACTERS) == [chr(k) for k in range(128)]
    for kind in KINDS:
        weights = [frequencies(kind).weight(k) for k in range(128)]
        assert weights == sorted(weights, reverse=True)
        assert weights[-1] > 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("without", [(), (0,), (0, 1, 2, 3, 5)])
def test_symbols_come_in_proportion_to_their_weights(kind, without):
    """Within five standard deviations; also where so much is left out that it is added up."""
    drawn, rng = frequencies(kind), Random(0)
    left = [k for k in range(7) if k not in without]
    total = sum(map(drawn.weight, left))
    found = Counter(drawn.draw(rng, 7, without) for _ in range(4000))
    assert set(found) == set(left)
    for symbol in left:
        share = drawn.weight(symbol) / total
        assert abs(found[symbol] - 4000 * share) <= 5 * sqrt(4000 * share * (1 - share)) + 1e-9


def test_a_symbol_is_drawn_however_rare_it_is():
    assert frequencies("characters").draw(Random(0), 128, range(127)) == 127
    with pytest.raises(IndexError):
        frequencies("zipf").draw(Random(0), 3, range(3))


def test_what_was_drawn_before_from_more_symbols_changes_nothing():
    fresh, used = type(frequencies("zipf"))("zipf"), type(frequencies("zipf"))("zipf")
    used.draw(Random(1), 1000)
    first, second = Random(0), Random(0)
    assert [fresh.draw(first, 9) for _ in range(50)] == [used.draw(second, 9) for _ in range(50)]


def test_only_characters_are_few():
    assert frequencies("characters").obstacle(128) is None
    assert "has 128 symbols, fewer than 129" in frequencies("characters").obstacle(129)
    assert frequencies("zipf").obstacle(10**6) is None
