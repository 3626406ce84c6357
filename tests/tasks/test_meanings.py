"""Probabilities of meanings: sums over the answers that say the same."""

from __future__ import annotations

from math import inf, log

import pytest

from logicgen.tasks.meanings import by_meaning


def test_the_probabilities_of_equal_answers_are_added():
    answers = [("b", log(0.3)), ("a", log(0.2)), ("A", log(0.2))]
    found = by_meaning(answers, str.lower)
    assert list(found) == ["a", "b"]
    assert found["a"] == ("a", pytest.approx(log(0.4)))


def test_improbable_answers_keep_their_order():
    found = by_meaning([("a", -800.0), ("b", -750.0), ("c", -inf)], str)
    assert list(found) == ["b", "a", "c"]
    assert found["a"] == ("a", pytest.approx(-800.0))
    assert found["c"] == ("c", -inf)
    assert by_meaning([("a", -inf)], str) == {"a": ("a", -inf)}
