"""The small data set as each trainer reads it, and a scorer that knows no verdict."""

from __future__ import annotations

import pytest

from logicgen.data.opening import load_dataset
from logicgen.data.prompts import write_prompts
from logicgen.integrations import scorers
from logicgen.scoring import Judgement
from logicgen.solvers import Verdict
from tests.data.data_sets import make


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """Return a function that exports the small data set for a trainer, and the folder it wrote."""
    folder = tmp_path_factory.mktemp("exported")
    make(folder / "d", {"sizes": {"train": 60, "validation": 0, "test": 0}, "grid": None})
    for kind in ("trl", "verl", "openrlhf"):
        write_prompts(load_dataset(folder / "d"), folder / kind, kind, examples=2)
    return folder


class Undecided(scorers.Scorer):
    """Reach the time limit on every completion."""

    def score_batch(self, problems, completions):
        return [Judgement(Verdict.UNKNOWN, reason="time limit of 1 s") for _ in problems]


@pytest.fixture
def undecided(monkeypatch):
    """Make every verdict of the test unknown."""
    monkeypatch.setattr(scorers, "Scorer", Undecided)
    monkeypatch.setattr(scorers, "_SCORERS", {})
