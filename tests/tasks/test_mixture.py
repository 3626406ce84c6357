"""A mixture draws from its sources by weight, where they have problems."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from logicgen.data.recipe import DataRecipe
from logicgen.errors import LogicgenError
from logicgen.tasks import Cell, load_task
from logicgen.tasks.mixture import Mixture
from logicgen.tasks.task import Draw, Source

SETTINGS = {"source": "mixed", "sources": {"random": 1, "obligations": 3}}


class Named(Source):
    """A source whose problems are its name, of at least some length."""

    def __init__(self, name, least):
        super().__init__((1, 2))
        self.name, self.least = name, least

    def sample(self, rng, cell):
        return Draw(self.name, 1)

    def count(self, cell):
        return {1: 5} if cell.length >= self.least else {1: 0}

    def all(self, cell):
        return iter(())

    def obstacle(self, cell):
        return f"{self.name} is short" if cell.length < self.least else None


def drawn(mixture, length, count=4000):
    rng = Random(0)
    return Counter(mixture.sample(rng, Cell(1, length)).problem for _ in range(count))


def test_problems_come_from_the_sources_by_weight():
    sources = {"a": (Named("a", 0), 1), "b": (Named("b", 9), 3), "c": (Named("c", 0), 0)}
    mixture = Mixture(sources, (1, 2))
    found = drawn(mixture, 9)
    assert 0.72 < found["b"] / 4000 < 0.78
    assert set(found) == {"a", "b"}
    assert drawn(mixture, 8) == {"a": 4000}
    assert mixture.count(Cell(1, 9)) == {1: float("inf")}
    assert mixture.obstacle(Cell(1, 8)) is None


def test_a_cell_without_problems_names_an_obstacle():
    mixture = Mixture({"b": (Named("b", 9), 3)}, (1, 2))
    assert mixture.obstacle(Cell(1, 8)) == "b is short"
    assert mixture.count(Cell(1, 8)) == {}
    with pytest.raises(LogicgenError, match="no source of b"):
        mixture.sample(Random(0), Cell(1, 8))


def test_a_mixture_of_formulas_has_problems_of_all_its_sources():
    task = load_task("ltl")
    source = task.source(task.Settings.model_validate(SETTINGS), (1, 3))
    rng = Random(1)
    found = [source.sample(rng, Cell(2, 20)) for _ in range(40)]
    assert {each.problem.length for each in found if each} == {20}
    # Random formulas contain the constant 0, formulas with obligations do not.
    zeros = sum("0" in each.problem.prefix.split() for each in found if each)
    assert 2 < zeros < 25


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        ({"source": "mixed"}, "mixed needs sources"),
        ({"source": "mixed", "sources": {"random": 0}}, "mixed needs sources"),
        ({"source": "mixed", "sources": {"obligation": 1}}, "'obligation': .*obligations"),
        (
            {"source": "random", "sources": {"random": 1}},
            "sources cannot be given .* only with mixed",
        ),
        (
            {"source": "mixed", "sources": {"patterns": 1}, "operators": {"!": 1}},
            "only with random",
        ),
    ],
)
def test_wrong_mixtures_are_refused(problem, message):
    content = {"task": "ltl", "problem": problem, "sizes": {"train": 1}}
    content["region"] = {"symbols": [1, 2], "length": [10, 20]}
    with pytest.raises(LogicgenError, match=message):
        DataRecipe.model_validate(content).check("some.toml")
