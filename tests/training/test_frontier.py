"""How the ranges of new problems grow, and what they leave in a run."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
import torch

from logicgen import library
from logicgen.model.checkpoint import load_model
from logicgen.training import frontier as growth
from logicgen.training.attempts import last_round
from logicgen.training.frontier import Frontier
from tests.training.test_acceptance import accepting, interrupted_after, trained, weights

SMALL, GOAL = (3, 10), (5, 18)


def problems(symbols, tokens, solved, count=20):
    """Return problems of one size, a share of which is solved."""
    return [((symbols, tokens), number < solved * count) for number in range(count)]


def test_each_side_grows_if_half_of_its_largest_problems_are_solved():
    first = Frontier(SMALL, GOAL)
    assert first.after(problems(3, 5, 0.5)).sizes == (4, 10)
    assert first.after(problems(2, 6, 0.5)).sizes == (3, 15)  # an edge is five lengths wide
    assert first.after(problems(3, 10, 1)).sizes == (4, 15)
    assert first.after(problems(3, 10, 0.45)).sizes == SMALL
    assert first.after(problems(2, 5, 1)).sizes == SMALL  # no problem is at an edge


def test_growth_waits_for_enough_problems_and_forgets_early_failures():
    one = Frontier(SMALL, GOAL).after(problems(3, 5, 1, count=6))
    assert (one.sizes, one.still) == (SMALL, 1)
    assert one.after(problems(3, 5, 1, count=6)).sizes == (4, 10)
    slow = Frontier(SMALL, GOAL).after(problems(3, 5, 0))
    rounds = 0
    while slow.sizes == SMALL:
        slow, rounds = slow.after(problems(3, 5, 0.75)), rounds + 1
    assert 1 < rounds < 10
    assert slow.still == 0


def test_it_ends_at_the_goal_and_says_how_far_it_came():
    now = Frontier(SMALL, GOAL)
    for _ in range(9):
        now = now.after(problems(*now.sizes, 1))
    assert now.sizes == GOAL
    assert now.report() == "new problems have grown to 5 symbols and 18 tokens, the goal"
    stuck = Frontier(SMALL, GOAL)
    for _ in range(3):
        stuck = stuck.after(problems(3, 10, 0.25))
    assert stuck.report() == (
        "new problems have grown to 3 symbols and 10 tokens, of 5 symbols and 18 tokens; no growth"
        " in the last 3 rounds; solved at the edge: 25% (symbols), 25% (tokens), needed 50%"
    )


def test_a_file_holds_it():
    now = Frontier(SMALL, GOAL).after(problems(3, 5, 0.2))
    assert Frontier.of(json.loads(json.dumps(asdict(now)))) == now


def test_growth_without_a_goal_is_refused():
    with pytest.raises(ValueError, match="grow: without symbols or length"):
        accepting(grow=True)


def growing():
    return accepting(grow=True, symbols=(1, 7), length=(1, 20))


def test_problems_grow_from_round_to_round_and_a_stop_changes_nothing(
    learnt, tmp_path, monkeypatch
):
    monkeypatch.setattr(growth, "PAYS", 0.0)  # every edge with enough problems grows
    monkeypatch.setattr(growth, "ENOUGH", 1.0)
    whole, run = trained(learnt, tmp_path / "whole", growing()), tmp_path / "run"
    region, sizes = learnt.data.recipe.region, []
    for file in sorted((whole / "rounds").iterdir()):
        content = json.loads(file.read_text())
        (most, longest) = content["frontier"]["sizes"]
        sizes.append((most, longest))
        for problem, _ in content["problems"]:
            tokens = problem.split()
            assert len(tokens) <= longest
            assert len({each for each in tokens if each.isalpha()}) <= most
    assert sizes[0] == (region.symbols[1], region.length[1])
    assert sizes[1] > sizes[0]
    for stop in (2, 4):  # the second round, the larger one, begins with step 4
        interrupted_after(stop, monkeypatch, learnt, run, growing(), resume=True)
    trained(learnt, run, growing(), resume=True)
    for name, value in weights(whole).items():
        assert torch.equal(value, weights(run)[name]), name
    for file in (whole / "rounds").iterdir():
        assert (run / "rounds" / file.name).read_bytes() == file.read_bytes()
    model = load_model(run, "cpu")
    assert model.grown == last_round(run).frontier.sizes == sizes[-1]
    assert model.largest == sizes[-1]  # beyond it, `solve --model` warns


def test_a_frontier_that_never_pays_is_reported(learnt, tmp_path, monkeypatch):
    monkeypatch.setattr(growth, "PAYS", 2.0)
    said = []
    recipe, out = tmp_path / "model.toml", tmp_path / "run"
    tables = growing().model_dump(exclude_none=True)
    lines = []
    for name in ("embedding", "network", "loss", "training", "reward"):
        values = (f"{key} = {json.dumps(value)}" for key, value in tables[name].items())
        lines += [f"[{name}]", *values]
    recipe.write_text("\n".join(lines))
    library.train(recipe, learnt.data.folder, out, start=learnt.run, say=said.append)
    assert "no growth in the last 1 rounds" in said[0]
    assert load_model(out, "cpu").grown == (3, 9)
