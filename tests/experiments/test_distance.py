"""The distance of the exact lexinvariant model from the truth, at its smallest."""

from __future__ import annotations

from math import factorial, log, sqrt
from typing import Any

import numpy as np
import pytest

from logicgen.experiments.distance import EXPERIMENT, bound, measure

pytestmark = pytest.mark.usefixtures("undrawn")

SMALL: dict[str, Any] = {"states": 3, "concentration": 1.0, "strings": 40, "length": 32, "seed": 0}


def test_the_distance_falls_and_stays_below_its_bound():
    found = np.array(measure(symbols=3, draw=1, **SMALL)["distances"])
    assert found.tolist() == measure(symbols=3, draw=1, **SMALL)["distances"]
    assert found.tolist() != measure(symbols=3, draw=2, **SMALL)["distances"]
    assert found.shape == (32,)
    assert found[:4].mean() > 3 * found[-4:].mean()
    means = found.cumsum() / np.arange(1, 33)
    assert all(mean <= bound(3, t) for t, mean in enumerate(means, 1))


def test_the_bound_follows_from_the_number_of_renamings():
    assert bound(5, 100) == pytest.approx(sqrt(2 * log(factorial(5)) / 100))


def test_the_report_shows_where_the_distance_is_small():
    settings = EXPERIMENT.settings(
        experiment="distance", symbols=[2, 4], languages=2, **{**SMALL, "length": 4}
    )
    assert list(EXPERIMENT.trials(settings)) == [
        "2-symbols-0", "2-symbols-1", "4-symbols-0", "4-symbols-1",
    ]  # fmt: skip
    found = {
        "2-symbols-0": {"distances": [0.26, 0.1, 0.0, 0.0]},
        "2-symbols-1": {"distances": [0.1, 0.1, 0.0, 0.0]},
        "4-symbols-1": {"distances": [1.0, 0.8, 0.6, 0.4]},
    }
    ((_, heads, rows),) = EXPERIMENT.report(settings, found).tables
    assert heads == ["symbols", "length 1", "length 4", "at most 0.1", "published order"]
    assert rows[0] == ["2", "0.180 (1.177)", "0.070 (0.589)", "3", "20,000"]
    assert rows[1] == ["4", "1.000 (2.000)", "0.700 (1.261)", "above 4", "40,000"]


def test_the_number_of_symbols_is_limited():
    with pytest.raises(ValueError, match="less than or equal to 8"):
        EXPERIMENT.settings(experiment="distance", symbols=[9], languages=1, **SMALL)
