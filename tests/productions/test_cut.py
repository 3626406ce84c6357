"""Cuts against sums over the remaining paths."""

from dataclasses import replace

import numpy as np
import pytest

from logicgen.errors import LogicgenError
from logicgen.experiments import control
from logicgen.experiments.control import check, path_by_path, random_cuts
from logicgen.productions import cut, find_connection, pruned, random_grammar
from logicgen.productions.grammar_file import make_grammar
from tests.productions.small import listed

THREE = {
    "start": {"big": 2 / 3, "small": 1 / 3},
    "layer": [
        {
            "big": {"tokens": {"big": 1}, "below": {"cat": 0.5, "dog": 0.5}},
            "small": {"tokens": {"small": 1}, "below": {"dog": 1}},
        },
        {"cat": {"tokens": {"cat": 1}}, "dog": {"tokens": {"dog": 1}}},
    ],
}


def three():
    return make_grammar(THREE, "three")


def shares(grammar):
    return pytest.approx(listed(grammar))


def test_the_published_cut():
    grammar = three()
    assert shares(grammar) == {"big cat": 1 / 3, "big dog": 1 / 3, "small dog": 1 / 3}
    left = cut(grammar, "big", "dog")
    assert shares(left) == {"big cat": 0.5, "small dog": 0.5}
    assert listed(grammar)["big dog"] == pytest.approx(1 / 3)  # as it was


def test_a_unit_that_has_nowhere_to_go_is_never_on():
    left = cut(three(), "small", "dog")
    assert shares(left) == {"big cat": 0.5, "big dog": 0.5}
    assert left.reach[0].tolist() == [1, 0]
    again = cut(left, "big", "cat")
    assert shares(again) == {"big dog": 1}
    with pytest.raises(LogicgenError, match="every sentence needs big -> dog"):
        cut(again, "big", "dog")


def test_random_cuts_leave_what_they_should():
    found = random_cuts(25, 3, 0.15)["cuts"]
    assert len(found) > 100
    assert sum(each["vanished"] for each in found) > 100
    assert sum(each["untouched"] for each in found) > 100
    for each in found:
        assert each["wrong"] == 0
        assert each["deviation"] < 1e-12
        assert each["proportion"] < 1e-9


def test_the_check_sees_a_cut_that_is_wrong(monkeypatch):
    """If only the unit's own distribution were renormalised, other proportions would change."""

    def local(grammar, above, below):
        layer, unit, chosen = find_connection(grammar, above, below)
        left = [each.copy() for each in grammar.below]
        left[layer][chosen, unit] = 0
        left[layer][:, unit] /= left[layer][:, unit].sum()
        return replace(grammar, below=tuple(left))

    monkeypatch.setattr(control, "cut", local)
    found = check(three(), (0, 0, 1))
    assert found["wrong"] == 0
    assert found["deviation"] > 0.1
    assert found["proportion"] > 0.5


def test_conditional_on_not_using_the_connection():
    grammar = random_grammar(3, 3, 4, np.random.default_rng(0))
    ids, before = grammar.sentences()
    used = grammar.connection(ids, 1)[:, 2, 0]
    left = cut(grammar, "2.1", "3.3")
    expected = before * (1 - used)
    assert np.exp(left.log_probabilities(ids)) == pytest.approx(expected / expected.sum())
    assert path_by_path(grammar, ids, (1, 0, 2)) == pytest.approx(expected)


def test_connections_that_do_not_exist():
    grammar = three()
    with pytest.raises(LogicgenError, match=r"small -> cat: small leads to dog \(1\)"):
        cut(grammar, "small", "cat")
    with pytest.raises(LogicgenError, match=r"no unit is called 'dgo': did you mean dog\?"):
        cut(grammar, "big", "dgo")
    with pytest.raises(LogicgenError, match="big is not in the layer below cat"):
        cut(grammar, "cat", "big")


def test_pruned_of_what_is_improbable():
    grammar = random_grammar(3, 3, 5, np.random.default_rng(0), concentration=0.3)
    left = pruned(grammar, 0.1)
    for mine, whole in zip(
        (left.start[:, None], *left.tokens, *left.below),
        (grammar.start[:, None], *grammar.tokens, *grammar.below),
        strict=True,
    ):
        kept = whole > 0.1
        assert ((mine > 0) == kept).all()
        expected = np.where(kept, whole, 0)
        assert mine == pytest.approx(expected / expected.sum(axis=0))
    even = make_grammar({"layer": [{"a": {"tokens": {"x": 0.5, "y": 0.5}}}]}, "even")
    assert pruned(even, 0.6).tokens[0].tolist() == [[0.5], [0.5]]
    assert shares(pruned(cut(three(), "small", "dog"), 0.1)) == {"big cat": 0.5, "big dog": 0.5}


def test_units_of_several_layers_with_one_name():
    layer = {"a": {"tokens": {"x": 1}, "below": {"a": 0.5, "b": 0.5}}}
    layer["b"] = layer["a"]
    last = {name: {"tokens": {"x": 1}} for name in "ab"}
    grammar = make_grammar({"layer": [layer, layer, last]}, "g")
    with pytest.raises(LogicgenError, match="in layers 1 and 2: name its layer: 1:a"):
        cut(grammar, "a", "b")
    assert find_connection(grammar, "2:a", "b") == (1, 0, 1)
    assert find_connection(grammar, "a", "2:b") == (0, 0, 1)
