"""The choice of languages on which counting is not enough, at its smallest."""

from __future__ import annotations

import pytest

from logicgen.experiments.languages import EXPERIMENT, distance, measure

pytestmark = pytest.mark.usefixtures("undrawn")

SMALL = {
    "symbols": 3,
    "states": 2,
    "concentration": 0.5,
    "first": 4,
    "last": 12,
    "strings": 20,
    "fitted": 30,
    "seed": 0,
}
FOUND = {"truth": 1.0, "ideal": 1.1, "bigram": 1.9, "trigram": 1.5, "4-gram": 1.6}


@pytest.mark.slow
def test_nothing_is_better_than_the_truth_and_no_counter_than_the_ideal():
    found = measure(**SMALL, draw=1)
    assert found == measure(**SMALL, draw=1)
    assert found != measure(**SMALL, draw=2)
    counters = [found[name] for name in found if name not in ("truth", "ideal")]
    assert len(counters) == 4
    # Means over 20 strings, of probabilities that differ: not exactly in order.
    assert found["truth"] < found["ideal"] + 0.05
    assert found["ideal"] < min(counters) + 0.05
    assert distance(found) == min(counters) - found["ideal"]


def test_one_symbol_leaves_nothing_to_find():
    found = measure(**{**SMALL, "symbols": 1, "states": 1}, draw=0)
    assert all(bits == pytest.approx(0, abs=1e-4) for bits in found.values())


def test_the_first_that_are_far_enough_are_chosen():
    settings = EXPERIMENT.settings(experiment="languages", **SMALL, draws=5, chosen=2, distance=0.3)
    assert list(EXPERIMENT.trials(settings)) == [f"draw-{draw}" for draw in range(5)]
    found = {
        f"draw-{draw}": {**FOUND, "PPM of order 3": 1.1 + far}
        for draw, far in enumerate((0.35, 0.2, 0.31, 0.5, 0.1))
    }
    report = EXPERIMENT.report(settings, found)
    ((_, heads, rows),) = report.tables
    assert [row[heads.index("chosen")] for row in rows] == ["yes", "", "yes", "", ""]
    assert "3 of 5 have the required distance" in report.about


def test_positions_in_the_wrong_order_are_refused():
    wrong = {**SMALL, "first": 8, "last": 4}
    with pytest.raises(ValueError, match="first: 8 is greater than last, 4"):
        EXPERIMENT.settings(experiment="languages", **wrong, draws=5, chosen=2, distance=0.3)
