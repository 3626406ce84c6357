"""How the ranges of new problems grow, and what they leave in a run."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
import torch

from logicgen import library
from logicgen.errors import LogicgenError
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
    assert one.sizes == SMALL
    assert one.after(problems(3, 5, 1, count=6)).sizes == (4, 10)
    slow = Frontier(SMALL, GOAL).after(problems(3, 5, 0))
    rounds = 0
    while slow.sizes == SMALL:
        slow, rounds = slow.after(problems(3, 5, 0.75)), rounds + 1
    assert 1 < rounds < 10


def test_it_ends_at_the_goal_and_says_how_far_it_came():
    now = Frontier(SMALL, GOAL)
    for _ in range(9):
        now = now.after(problems(*now.sizes, 1))
    assert now.sizes == GOAL
    assert (
        now.report([]) == "new problems have grown to 5 symbols (the goal) and 18 tokens (the goal)"
    )
    stuck, last = Frontier(SMALL, GOAL), problems(3, 5, 0.25)
    for _ in range(3):
        stuck = stuck.after(last)
    assert stuck.report(last) == (
        "new problems have grown to 3 of 5 symbols (25% of the largest solved, 50% needed)"
        " and 10 of 18 tokens (too few of the largest to judge)"
    )
    early = problems(3, 5, 1)
    assert (
        Frontier(SMALL, GOAL)
        .report(early)
        .startswith("new problems have grown to 3 of 5 symbols (the training ended first)")
    )


def test_a_file_holds_it():
    now = Frontier(SMALL, GOAL).after(problems(3, 5, 0.2))
    assert Frontier.of(json.loads(json.dumps(asdict(now)))) == now


def test_growth_without_a_goal_is_refused():
    with pytest.raises(ValueError, match="grow: without symbols or length"):
        accepting(grow=True)


def test_goals_inside_the_training_region_are_refused(learnt, tmp_path):
    reward = accepting(grow=True, symbols=(1, 3), length=(1, 9))
    with pytest.raises(LogicgenError, match="the goals, are not beyond the training region"):
        trained(learnt, tmp_path / "run", reward)


def test_the_first_problems_have_room_for_their_symbols(learnt, tmp_path):
    reward = accepting(grow=True, symbols=(6, 8), length=(1, 40))
    # Problems are found, but the model cannot solve them yet.
    with pytest.raises(LogicgenError, match=r"nothing to learn from.* reward.length is \[1, 11\]"):
        trained(learnt, tmp_path / "run", reward)


def growing():
    return accepting(grow=True, symbols=(1, 7), length=(1, 20))


def test_problems_grow_from_round_to_round_and_a_stop_changes_nothing(
    learnt, tmp_path, monkeypatch
):
    monkeypatch.setattr(growth, "LEAST_SOLVED", 0.0)  # every edge with enough problems grows
    monkeypatch.setattr(growth, "LEAST_PROBLEMS", 1.0)
    whole, run = trained(learnt, tmp_path / "whole", growing()), tmp_path / "run"
    region, sizes, largest = learnt.data.recipe.region, [], []
    for file in sorted((whole / "rounds").iterdir()):
        content = json.loads(file.read_text())
        (most, longest) = content["frontier"]["sizes"]
        sizes.append((most, longest))
        texts = [problem.split() for problem, _ in content["problems"]]
        symbols = (len({token for token in text if token.isalpha()}) for text in texts)
        largest.append((max(symbols), max(map(len, texts))))
        assert largest[-1][0] <= most
        assert largest[-1][1] <= longest
    assert sizes[0] == (region.symbols[1], region.length[1]) == (3, 9)
    assert sizes[1] == (4, 14)
    assert largest[1][0] == 4 or largest[1][1] > 9
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
    monkeypatch.setattr(growth, "LEAST_SOLVED", 2.0)
    said = []
    recipe, out = tmp_path / "model.toml", tmp_path / "run"
    tables = growing().model_dump(exclude_none=True)
    lines = []
    for name in ("embedding", "network", "loss", "training", "reward"):
        values = (f"{key} = {json.dumps(value)}" for key, value in tables[name].items())
        lines += [f"[{name}]", *values]
    recipe.write_text("\n".join(lines))
    library.train(recipe, learnt.data.folder, out, start=learnt.run, say=said.append)
    assert "grown to 3 of 7 symbols (" in said[0]
    assert "and 9 of 20 tokens (" in said[0]
    assert load_model(out, "cpu").grown == (3, 9)


def test_a_resumed_run_with_no_step_left_knows_how_far_it_came(learnt, tmp_path, monkeypatch):
    interrupted_after(2, monkeypatch, learnt, tmp_path / "run", growing())
    trained(learnt, tmp_path / "run", growing().with_steps(2), resume=True)
    assert load_model(tmp_path / "run", "cpu").largest == (3, 9)
