"""Models to be passed on: half the size, the same answers, a card that vouches for the weights."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
import torch
from torch.utils.tensorboard import SummaryWriter

from logicgen import recipes
from logicgen.errors import LogicgenError
from logicgen.measures.export import export
from logicgen.model.checkpoint import load_model, save_model, scores_folder, weights_digest
from logicgen.model.recipe_tables import RewardTable
from tests.asking import likeliest
from tests.model.test_encoder_decoder import PROBLEMS, new_model


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    save_model(new_model(), folder, steps=7, fingerprint="some")
    return folder


def test_weights_take_half_the_bytes_and_answer_alike(run: Path, tmp_path: Path) -> None:
    size = export(run, tmp_path / "out", "mine")
    assert size < 0.6 * (run / "model.safetensors").stat().st_size
    before, after = load_model(run, "cpu"), load_model(tmp_path / "out", "cpu")
    assert likeliest(after, PROBLEMS, 8, 0, 4) == likeliest(before, PROBLEMS, 8, 0, 4)
    for one, other in zip(before.parameters(), after.parameters(), strict=True):
        assert one.dtype == other.dtype
        assert (one - other).abs().max() < 2e-3
    assert (after.region, after.alphabet) == (before.region, before.alphabet)


def other_weights(folder: Path, seed: int) -> Path:
    """Save a model with random weights."""
    folder.mkdir()
    model, generator = new_model(), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weights in model.parameters():
            weights.normal_(generator=generator)
    save_model(model, folder, steps=7, fingerprint="some")
    return folder


def test_a_weighted_mean_of_models_is_written(run: Path, tmp_path: Path) -> None:
    others = [other_weights(tmp_path / str(seed), seed) for seed in (1, 2)]
    shares = [(str(others[0]), 0.25), (str(others[1]), 0.5)]
    (run / "grid").mkdir()
    (run / "grid" / "summary.json").write_text("{}")  # scores of the run, not of the mean
    export(run, tmp_path / "out", "mine", mean=shares)
    parts = [load_model(each, "cpu").state_dict() for each in (run, *others)]
    for key, weights in load_model(tmp_path / "out", "cpu").state_dict().items():
        wanted = 0.25 * parts[0][key] + 0.25 * parts[1][key] + 0.5 * parts[2][key]
        assert (weights - wanted).abs().max() < 2e-3


def test_means_of_unlike_models_or_of_impossible_shares_are_refused(
    run: Path, tmp_path: Path
) -> None:
    for shares in ([0.5, 0.5], [0.7, 0.4], [0.0], [-0.5], [1.0]):
        with pytest.raises(LogicgenError, match=r"^--mean: shares .* above 0 and below 1"):
            export(run, tmp_path / "out", "mine", mean=[(str(run), share) for share in shares])
    for name in ("copying", "ltl"):
        with pytest.raises(LogicgenError, match=rf"^--mean {name}: its task, its network or"):
            export(run, tmp_path / "out", "mine", mean=[(name, 0.5)])
    model = load_model("ltl", "cpu")
    for form in ("plain", "backward"):
        recipe = model.recipe.model_dump(exclude={"reward"}, exclude_none=True)
        recipe["training"]["learn"] = "answers"
        recipe |= {"answer_form": form} if form == "backward" else {}
        model.recipe = type(model.recipe).model_validate(recipe)
        (tmp_path / form).mkdir()
        save_model(model, tmp_path / form, steps=7, fingerprint="some")
    with pytest.raises(LogicgenError, match=r"^--mean .*: its task, its network or its answers"):
        export(tmp_path / "plain", tmp_path / "out", "mine", mean=[(str(tmp_path / form), 0.5)])
    assert not (tmp_path / "out").exists()


def test_a_description_stands_in_the_card_and_in_the_recipe(run: Path, tmp_path: Path) -> None:
    export(run, tmp_path / "out", "mine", "It learnt a lot.")
    assert "It learnt a lot." in (tmp_path / "out" / "README.md").read_text()
    assert load_model(tmp_path / "out", "cpu").recipe.description == "It learnt a lot."


def test_the_card_tells_scores(run: Path, tmp_path: Path) -> None:
    (run / "grid").mkdir()
    score = {"accuracy": 0.5, "accuracy_low": 0.4, "accuracy_high": 0.6, "examples": 90}
    summary = {"data": "some-data", "overall": score, "beyond_in_symbols_only": score}
    summary["by_difficulty"] = [{"label": "2 positions", **score}]
    (run / "grid" / "summary.json").write_text(json.dumps(summary))
    export(run, tmp_path / "out", "mine")
    card = (tmp_path / "out" / "README.md").read_text()
    assert card.startswith("# mine\n")
    assert "--model mine" in card
    assert "| more symbols | 50.0% [40.0, 60.0] | 90 |" in card
    assert "| 2 positions | 50.0% [40.0, 60.0] | 90 |" in card


def test_the_card_has_no_scores_of_redrawn_rows(run: Path, tmp_path: Path) -> None:
    (run / "grid-reset-rows-1").mkdir()
    score = {"accuracy": 0.5, "accuracy_low": 0.4, "accuracy_high": 0.6, "examples": 90}
    summary = {"data": "some-data", "reset_rows": 1, "overall": score}
    (run / "grid-reset-rows-1" / "summary.json").write_text(json.dumps(summary))
    export(run, tmp_path / "out", "mine")
    assert "some-data" not in (tmp_path / "out" / "README.md").read_text()


def test_the_card_tells_time_verified_scores_and_limits(run: Path, tmp_path: Path) -> None:
    (run / "grid").mkdir()
    (run / "grid-of-others").mkdir()
    score = {"accuracy": 0.5, "accuracy_low": 0.4, "accuracy_high": 0.6, "examples": 90}
    verified = {"verified_accuracy": 1, "verified_accuracy_low": 0.9, "verified_accuracy_high": 1}
    decoding = {"verified": {"draws": 16}}
    controls = {"best_control": "vote", "best_control_accuracy": 0.25}
    controls |= {"verified_best_control": "walk", "verified_best_control_accuracy": 0.75}
    both = {"data": "a", "split": "grid", "decoding": decoding}
    both["overall"] = score | verified | controls
    plain = {"data": "b", "split": "grid", "decoding": {}, "overall": score}
    (run / "grid-of-others" / "summary.json").write_text(json.dumps(plain))
    (run / "grid" / "summary.json").write_text(json.dumps(both))
    with SummaryWriter(str(run / "logs")) as logs:
        begun = time.time()
        for number, minute in enumerate([0, 1, 3.5]):
            logs.add_scalar("learning_rate", 0.1, number, walltime=begun + 60 * minute)
    export(run, tmp_path / "out", "mine")
    card = (tmp_path / "out" / "README.md").read_text()
    assert "7 steps in 4 minutes on problems" in card  # 3.5
    heads = "right, 95% interval | best control | best of 16, verified | best control"
    assert f"| where | {heads} | examples |" in card
    assert (
        "| all | 50.0% [40.0, 60.0] | vote 25.0% | 100.0% [90.0, 100.0] | walk 75.0% | 90 |" in card
    )
    assert "| where | right, 95% interval | examples |" in card
    assert card.index("on `a`, grid") < card.index("on `b`, grid")
    assert "\nLimits: " in card


def test_the_card_tells_how_it_learnt(run: Path, tmp_path: Path) -> None:
    export(run, tmp_path / "out", "mine")
    assert "its own answers" not in (tmp_path / "out" / "README.md").read_text()
    model = new_model()
    reward = {"symbols": (1, 9), "stored": 0.5}
    model.recipe = model.recipe.learning("accepted").model_copy(
        update={"reward": RewardTable(**reward)}
    )
    (tmp_path / "better").mkdir()
    save_model(model, tmp_path / "better", steps=7, fingerprint="some")
    export(tmp_path / "better", tmp_path / "out2", "mine")
    card = (tmp_path / "out2" / "README.md").read_text()
    low, high = model.region.length
    assert "The solver judged the answers (`expert-iteration`)" in card
    assert f"unsolved problems of 1 to 9 symbols and {low} to {high} tokens" in card
    assert "In each step, 50% of the answers were stored answers" in card
    model.grown = (7, 30)
    save_model(model, tmp_path / "better", steps=7, fingerprint="some")
    export(tmp_path / "better", tmp_path / "out3", "mine")
    card = (tmp_path / "out3" / "README.md").read_text()
    assert f"unsolved problems of 1 to 7 symbols and {low} to 30 tokens" in card


def test_what_is_there_is_kept(run: Path, tmp_path: Path) -> None:
    with pytest.raises(LogicgenError, match="not empty"):
        export(run, run, "mine")
    with pytest.raises(LogicgenError, match="no trained model"):
        export(tmp_path, tmp_path / "out", "mine")
    assert not (tmp_path / "out").exists()
    (tmp_path / "file").touch()
    with pytest.raises(LogicgenError, match="cannot be made"):
        export(run, tmp_path / "file" / "out", "mine")
    (run / "grid").mkdir()
    (run / "grid" / "summary.json").write_text("{}")
    with pytest.raises(LogicgenError, match="evaluate again"):
        export(run, tmp_path / "out", "mine")
    assert not (tmp_path / "out").exists()


def test_a_folder_of_its_name_does_not_hide_a_shipped_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = recipes.trained()[0]
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).mkdir()
    assert load_model(name, "cpu").parameters()
    assert scores_folder(name, "grid") == Path("runs", name, "grid")
    assert weights_digest(Path(name))
    export(Path(name), tmp_path / "out", "mine")
    with pytest.raises(LogicgenError, match="no trained model"):
        load_model("x" * 300)


@pytest.mark.parametrize("name", recipes.trained())
def test_shipped_weights_load_and_are_small(name: str) -> None:
    folder = recipes.folder("models") / "weights" / name
    assert sum(file.stat().st_size for file in folder.iterdir()) <= 8 * 2**20
    assert load_model(name, "cpu").task_name in name
    assert (folder / "README.md").read_text().startswith(f"# {name}\n")
