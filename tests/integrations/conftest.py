"""The small data set as each trainer reads it, and a scorer that knows no verdict."""

from __future__ import annotations

import pytest

from logicgen.data.opening import load_dataset
from logicgen.data.prompts import write_prompts
from logicgen.integrations import scorers
from logicgen.scoring import Judgement
from logicgen.solvers import Verdict
from tests.data.data_sets import make
from tests.integrations.small import small


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """Return a function that exports the small data set for a trainer, and the folder it wrote."""
    folder = tmp_path_factory.mktemp("exported")
    make(folder / "d", {"sizes": {"train": 60, "validation": 0, "test": 0}, "grid": None})
    for kind in ("trl", "verl", "openrlhf"):
        write_prompts(load_dataset(folder / "d"), folder / kind, kind, examples=2)
    return folder


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """Return a small data set, opened."""
    return small(tmp_path_factory.mktemp("made") / "d")


UNKNOWN = Judgement(Verdict.UNKNOWN, "a=1", "time limit of 1 s")


class Undecided(scorers.Scorer):
    """Reach the time limit on every completion."""

    def score(self, problem, completion):
        return UNKNOWN

    def score_batch(self, problems, completions):
        return [UNKNOWN for _ in problems]

    async def score_async(self, problem, completion):
        return UNKNOWN


@pytest.fixture
def undecided(monkeypatch):
    """Make every verdict of the test unknown."""
    monkeypatch.setattr(scorers, "Scorer", Undecided)
    monkeypatch.setattr(scorers, "_SCORERS", {})
