"""Learning that any right token is right."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from logicgen.data.opening import load_dataset
from logicgen.errors import LogicgenError
from logicgen.model import capacity
from logicgen.model.batches import make_batch
from logicgen.model.kinds import new_model
from logicgen.nn.loss import AdaCos, CrossEntropy
from logicgen.tasks import load_task
from logicgen.training import right_learner
from logicgen.training.fit import fit, training_data
from logicgen.training.right_learner import RightTokensLearner
from tests.data.data_sets import make
from tests.training.conftest import TABLES, copying, made, recipe_with
from tests.training.test_fit import weights


def learning(**changes):
    """Return a recipe that learns right tokens."""
    training = {"learn": "right", "steps": 20, "batch_size": 32, "validate_every": 100}
    return recipe_with(training={**training, **changes.pop("training", {})}, **changes)


@pytest.mark.slow
@pytest.mark.parametrize("canonical", [False, True])
def test_what_is_learnt_is_right_whatever_the_names(learnt, canonical, monkeypatch):
    recipe = learning(canonical=canonical)
    data = training_data(recipe, learnt.data)
    model = new_model(recipe, data).train()
    learner = RightTokensLearner(model, data)
    seen = []
    task = load_task("propositional")

    def any_of(logits, right):
        seen.append(right)
        return logits.sum() * 0

    monkeypatch.setattr(model.loss, "any_of", any_of)
    batches = []
    original = model._logits
    monkeypatch.setattr(
        model, "_logits", lambda batch, rng: batches.append(out := original(batch, rng)) or out
    )
    learner.loss(make_batch(data.train, np.arange(64)), torch.Generator(), True)
    (right,), ((batch, logits),) = seen, batches
    assert right.shape == logits.shape
    decode = data.vocabulary.decode
    for problem, answer, sets in zip(batch.problems, batch.targets, right, strict=True):
        expected = task.right_tokens(task.decode_problem(decode(problem.tolist())))
        path = decode(answer.tolist()).split()
        along = expected.along(path)
        assert len(along) == len(path) + 1  # the whole path is right
        for place, tokens in enumerate(along):
            ids = sets[place].nonzero()[:, 0].tolist()
            assert {data.vocabulary.token(i) for i in ids} == {*tokens}
        assert not sets[len(along) :].any()


def test_paths_are_stored_answers_or_drawn_ones(learnt, monkeypatch):
    recipe = learning()
    data = training_data(recipe, learnt.data)
    learner = RightTokensLearner(new_model(recipe, data), data)
    batch = make_batch(data.train, np.arange(300))

    def same(share):
        """Return the share of paths that are stored answers, where so many are to be."""
        paths = []
        monkeypatch.setattr(right_learner, "STORED", share)
        monkeypatch.setattr(learner.model, "right_loss", lambda batch, *_: paths.append(batch))
        learner.loss(batch, torch.Generator(), False)
        width = min(batch.targets.shape[1], paths[0].targets.shape[1])
        equal = (batch.targets[:, :width] == paths[0].targets[:, :width]).all(1)
        return float(equal.float().mean())

    assert same(1.0) == 1.0
    assert same(0.0) < same(0.5) < 1.0


def three_answers(kind):
    """Return a recipe that reads three random right answers to each problem."""
    network = {"dropout": 0.0, "normalize_features": False}
    changes = {"loss": {"method": "cross-entropy"}, "training": {"right_answers": 3}}
    if kind == "symbol-invariant":
        network = {**network, "kind": kind, "encoder_positions": "tree-relative"}
        unused = dict.fromkeys(TABLES["embedding"])
        changes["embedding"] = {**unused, "method": kind, "normalize_rows": True}
    return learning(canonical=kind == "canonical", network=network, **changes)


@pytest.mark.parametrize("in_pieces", [False, True])
@pytest.mark.parametrize("kind", ["plain", "canonical", "symbol-invariant"])
def test_several_answers_to_one_reading_are_one_answer_to_each_of_several(
    learnt, monkeypatch, kind, in_pieces
):
    recipe = three_answers(kind)
    data = training_data(recipe, learnt.data)
    model = new_model(recipe, data).train()
    learner = RightTokensLearner(model, data)
    stored = make_batch(data.train, np.flatnonzero(data.train.symbols == 3)[:30])
    batches = []
    original = model.right_loss

    def once_for_each_answer(batch, *others):
        assert len(batch.inputs) == 3 * len(batch.problems)
        batches.append(batch)
        batch = batch._replace(problems=batch.problems.repeat_interleave(3, 0))
        return original(batch, *others)

    def gradients():
        model.zero_grad()
        loss, _ = learner.loss(stored, torch.Generator().manual_seed(1), False)
        loss.backward()
        return [loss, *(each.grad for each in model.parameters() if each.grad is not None)]

    if in_pieces:
        monkeypatch.setattr(capacity, "MOST_KEPT", 2**18)
    together = gradients()
    assert (len(model.pieces(stored)[0]) > 1) == in_pieces
    monkeypatch.setattr(model, "right_loss", once_for_each_answer)
    apart = gradients()
    assert len({tuple(row) for row in batches[0].inputs.tolist()}) > 20
    for one, other in zip(together, apart, strict=True):
        assert torch.allclose(one, other, rtol=1e-4, atol=1e-5)


def test_several_answers_are_for_propositional_logic(tmp_path):
    with pytest.raises(ValueError, match="right_answers: is for learn = 'right'"):
        learning(training={"learn": "answers", "right_answers": 2})
    recipe = learning(training={"right_answers": 2})
    assert recipe.learning("answers").training.right_answers is None
    make(tmp_path / "ltl", {"task": "ltl", "solver": None, "verifier": None, "problem": {}})
    data = training_data(recipe, load_dataset(tmp_path / "ltl"))
    with pytest.raises(LogicgenError, match="right_answers: random right answers to"):
        fit(recipe, data, tmp_path / "run", quiet=True)


@pytest.mark.parametrize("right_answers", [None, 2])
def test_a_training_that_is_stopped_goes_on_exactly(learnt, tmp_path, right_answers):
    recipe = learning(training={"schedule": "constant", "right_answers": right_answers})
    data = training_data(recipe, learnt.data)
    run = fit(recipe, data, tmp_path / "run", quiet=True)
    fit(recipe, data, tmp_path / "again", steps=7, quiet=True)
    again = fit(recipe, data, tmp_path / "again", resume=True, quiet=True)
    for name, value in weights(run).items():
        assert torch.equal(value, weights(again)[name]), name


@pytest.mark.parametrize("loss", [CrossEntropy(0), AdaCos(6, 0)])
def test_one_right_token_is_a_target(loss):
    torch.manual_seed(0)
    logits = torch.rand(2, 3, 6) * 2 - 1
    targets = torch.tensor([[1, 2, 0], [5, 0, 0]])
    right = torch.zeros(2, 3, 6, dtype=torch.bool)
    right.scatter_(2, targets[..., None], targets[..., None] != 0)
    loss.eval()
    assert torch.allclose(loss.any_of(logits, right), loss(logits, targets))
    both = loss.log_probabilities(logits, targets)
    assert torch.allclose(-both.sum() / 3, loss(logits, targets))
    assert (both[targets == 0] == 0).all()
    loss.train()
    assert torch.isfinite(
        loss.any_of(logits, right | (torch.arange(6) == 3) & right.any(-1)[..., None])
    )
    assert loss.any_of(logits, torch.zeros_like(right)) == 0


def test_other_tasks_are_refused(tmp_path):
    data = made(copying(40, 5, 6, 0), None)
    with pytest.raises(LogicgenError, match=r"training\.learn: 'right': copying: .*propositional"):
        fit(learning(), data, tmp_path / "run", quiet=True)
