"""A small data set, a small suite, and a model that answers as a test wants it to."""

from __future__ import annotations

import pytest

from logicgen.data.suite import open_suite
from logicgen.measures.predictions import About
from tests.asking import only
from tests.data.data_sets import opened

SMALL = """
description = "Two small parts"

[[parts]]
name = "formulas"
about = "formulas"
data = "propositional-mini"
split = "test"
seed = 5
set = { "sizes.train" = 0, "sizes.validation" = 0, "sizes.test" = 40, "grid.per_cell" = 1 }
limit = 30

[[parts]]
name = "strings"
about = "strings"
data = "copying-mini"
split = "test"
seed = 6
set = { "sizes.train" = 0, "sizes.validation" = 0, "sizes.test" = 20, "grid.per_cell" = 1 }
"""


class Parrot:
    """Stands in for a model: knows the stored answers, and spoils some of them on purpose.

    Answers to problems of even length are stored ones; of odd length, by embedding seed: empty, not
    parsing, contradictory.
    """

    canonical, votes, shots, trained_on_task, reorders = False, 1, 0, True, False

    def __init__(self, data, split):
        self.task_name = data.task.name
        self.vocabulary = data.vocabulary
        self.alphabet = 2
        encoded = data.encoded(split)
        self.check = lambda symbols, ensemble=1: None
        self.answers = {
            tuple(encoded.problems[i]): encoded.answers[i].tolist() for i in range(len(encoded))
        }
        self.calls = []

    def predict(self, request):
        problems, symbols, seed = request.problems, request.symbols, request.embedding_seed
        self.calls.append((symbols, seed, request.max_length, len(problems)))
        spoilt = ["", "0 0", "a 1 a 0"][seed]
        assert all(max(p) < len(self.vocabulary) + symbols for p in problems)
        return only(
            [
                self.answers[tuple(p)] if len(p) % 2 == 0 else self.vocabulary.encode(spoilt)
                for p in problems
            ]
        )


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    recipe = {
        "task": "propositional",
        "problem": {"operators": {"!": 1, "&": 1}},
        "region": {"symbols": [1, 2], "length": [2, 5]},
        "grid": {"symbols": [1, 4], "length": [1, 9], "per_cell": 4},
    }
    return opened(tmp_path_factory.mktemp("data") / "some", recipe)


@pytest.fixture(scope="module")
def about(data):
    return About("propositional", "parrot", "some", "grid", (1, 2), (2, 5))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the file of a small suite, and the folder of its problems."""
    folder = tmp_path_factory.mktemp("a suite")
    (folder / "small.toml").write_text(SMALL)
    return folder / "small.toml", folder / "problems"


@pytest.fixture(scope="module")
def suite(place):
    return open_suite(str(place[0]), place[1])
