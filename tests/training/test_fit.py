import copy
import json
import signal
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from logicgen.data.dataset import EncodedSplit
from logicgen.errors import LogicgenError
from logicgen.model.batches import make_batch, moved
from logicgen.model.checkpoint import load_model, load_tree, save_tree
from logicgen.model.encoder_decoder import EncoderDecoder
from logicgen.model.training_data import TrainingData, TrainingRegion
from logicgen.nn.embedding import Embedding
from logicgen.tasks import load_task
from logicgen.training.fit import fit
from logicgen.training.learner import ModelLearner
from logicgen.training.loop import Steps, step_seeds
from logicgen.training.optimizer import Schedule
from logicgen.training.run_folder import training_minutes
from tests.asking import likeliest
from tests.forked import training
from tests.training.conftest import REGION, copying, made, recipe_with


def losses(run: Path) -> dict[int, float]:
    """The loss of each step, from all logs of a run."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found: dict[int, float] = {}
    for path in sorted((run / "logs").glob("events*")):
        events = EventAccumulator(str(path)).Reload()
        if "loss" in events.Tags()["scalars"]:
            found.update({event.step: event.value for event in events.Scalars("loss")})
    return found


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_model(run, "cpu").state_dict()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """30 steps without a break."""
    data = made(copying(400, 5, 6, 0), copying(40, 5, 6, 1))
    return fit(recipe_with(), data, tmp_path_factory.mktemp("whole") / "run", quiet=True)


def test_a_run_folder(whole: Path) -> None:
    assert len(losses(whole)) == 30
    model = load_model(whole)
    assert (model.task_name, model.alphabet, len(model.vocabulary)) == ("copying", 5, 3)
    assert (model.recipe, model.region) == (recipe_with(), REGION)
    # Nothing in a run is a pickle: a zip archive, or the pickle protocol's first byte.
    for path in whole.rglob("*"):
        if path.is_file():
            assert path.read_bytes()[:2] not in (b"PK", b"\x80\x02", b"\x80\x04", b"\x80\x05")


def test_minutes_are_those_of_all_calls_without_pauses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two calls of 30 minutes, with a pause of 30 minutes. A step takes ten minutes."""
    from torch.utils.tensorboard import SummaryWriter

    assert training_minutes(tmp_path) is None
    for begun in (1e9, 1e9 + 3600):
        monkeypatch.setattr("time.time", lambda begun=begun: begun)  # of the file's first entry
        with SummaryWriter(str(tmp_path / "logs"), filename_suffix=str(begun)) as writer:
            for step in range(3):
                writer.add_scalar("loss", 1.0, step, walltime=begun + 600 * (step + 1))
    monkeypatch.undo()
    assert training_minutes(tmp_path) == 60


def test_resuming_gives_the_losses_and_weights_of_an_uninterrupted_run(
    whole: Path, data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    for stop in (11, 24):
        with pytest.raises(KeyboardInterrupt, match=rf"after step {stop} of 30.*--resume"):
            interrupted_after(stop, data, run, monkeypatch)
        with pytest.raises(LogicgenError, match=r"interrupted before it ended.*--resume"):
            load_model(run)
    fit(recipe_with(), data, run, resume=True, quiet=True)
    assert losses(run) == losses(whole)
    for name, value in weights(whole).items():
        assert torch.equal(value, weights(run)[name]), name


def interrupted_after(
    step: int, data: TrainingData, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Send SIGINT to ourselves in the midst of a step."""
    original = Steps.step

    def stopped(self: Steps, batch: object) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        if batch.step == step - 1:
            signal.raise_signal(signal.SIGINT)
        return original(self, batch)

    with monkeypatch.context() as patch:
        patch.setattr(Steps, "step", stopped)
        fit(recipe_with(), data, run, resume=True, quiet=True)


@pytest.mark.slow
def test_a_crash_goes_on_from_the_last_checkpoint(
    whole: Path, data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Steps, batch: object) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        if batch.step == 17:
            raise OSError("the machine is gone")
        return original(self, batch)

    original = Steps.step
    run = tmp_path / "run"
    monkeypatch.setattr(Steps, "step", broken)
    with pytest.raises(OSError, match="gone"):
        fit(recipe_with(), data, run, quiet=True)
    monkeypatch.setattr(Steps, "step", original)
    assert load_tree(run / "checkpoint" / "last.safetensors")["global_step"] == 14
    fit(recipe_with(), data, run, resume=True, quiet=True)
    for name, value in weights(whole).items():
        assert torch.equal(value, weights(run)[name]), name


@pytest.mark.parametrize("method", ["interchangeable", "alpha-renaming"])
def test_rows_drawn_for_each_sequence(
    data: TrainingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    embedding = {"resample": "sequence"}
    if method == "alpha-renaming":
        parts = {"random_part": None, "random_width": None, "normalize_parts": None}
        embedding |= {"method": method, "max_symbols": 20} | parts
    recipe = recipe_with(embedding=embedding)
    drawn: dict[str, list[torch.Tensor]] = {"whole": [], "resumed": []}
    where = "whole"

    def matrix(self: Embedding, symbols: int, *arguments: object) -> torch.Tensor:
        rows = original(self, symbols, *arguments)
        if self.training and rows.dim() == 3:
            drawn[where].append(rows.detach())
        return rows

    original = Embedding.matrix
    monkeypatch.setattr(Embedding, "matrix", matrix)
    fit(recipe, data, tmp_path / "whole", steps=6, quiet=True)
    where = "resumed"
    fit(recipe, data, tmp_path / "resumed", steps=2, quiet=True)
    fit(recipe, data, tmp_path / "resumed", steps=6, quiet=True, resume=True)
    assert [rows.shape[0] for rows in drawn["whole"]] == [16] * 6
    for one, other in zip(drawn["whole"], drawn["resumed"], strict=True):
        assert torch.equal(one, other)
        assert len({str(rows.tolist()) for rows in one}) == 16
    assert losses(tmp_path / "whole") == losses(tmp_path / "resumed")
    assert not torch.equal(drawn["whole"][0], drawn["whole"][1])


@pytest.mark.parametrize("loss", ["adacos", "cross-entropy"])
def test_leaving_out_padding_changes_neither_loss_nor_gradients(
    data: TrainingData, loss: str
) -> None:
    recipe = recipe_with(
        network={"dropout": 0.0, "normalize_features": loss == "adacos"}, loss={"method": loss}
    )
    torch.manual_seed(0)
    model = EncoderDecoder(recipe, data.vocabulary, 5, "copying", REGION).train()
    batch = make_batch(data.train, np.arange(16))
    assert len(batch.places) < batch.inputs.numel()
    outcomes = []
    scale = copy.deepcopy(model.loss.state_dict())
    for places in (None, batch.places):
        model.loss.load_state_dict(scale)
        matrix = model.inference_matrix(5, 0)
        logits = model.transformer(matrix, batch.problems, batch.inputs, places)
        value = model.loss(logits, batch.targets)
        gradients = torch.autograd.grad(value, list(model.transformer.parameters()))
        outcomes.append([value, *gradients])
    for dense, packed in zip(*outcomes, strict=True):
        assert torch.allclose(dense, packed, atol=1e-6)


@pytest.mark.parametrize(
    ("encoder", "decoder", "method"),
    [
        ("tree", "rotary", "interchangeable"),
        ("relative", "relative", "alpha-renaming"),
        ("sinusoidal", "none", "learned"),
    ],
)
def test_no_value_of_a_step_leaves_the_device(
    encoder: str, decoder: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A meta tensor has no values: to ask for one, as a GPU would have to wait for, is an error."""
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: nullcontext())  # knows no meta device
    ltl = load_task("ltl").vocabulary
    region = TrainingRegion((1, 5), (1, 6))
    options: dict[str, object] = {"resample": "sequence"}
    if method != "interchangeable":
        options = dict.fromkeys(("random_part", "random_width", "normalize_parts"))
        options |= {"method": method, "max_symbols": 5}
        options |= {"resample": "sequence"} if method == "alpha-renaming" else {}
    recipe = recipe_with(
        embedding=options,
        network={"encoder_positions": encoder, "decoder_positions": decoder},
        training={"log_every": 1000},
    )
    strings = copying(16, 5, 6, 0)
    split = EncodedSplit(ltl, strings.problems, strings.problems, strings.length, strings.length, 5)
    data = TrainingData(split, None, ltl, "ltl", "x", region)
    model = EncoderDecoder(recipe, ltl, 5, "ltl", region)
    fitting = Steps(ModelLearner(model, data), torch.device("meta"))
    fitting.optimizer = torch.optim.SGD(model.parameters(), 0.1)  # AdamW's kernel knows no meta
    with pytest.raises((RuntimeError, NotImplementedError)):
        bool(model.loss.scale > 0)
    batch = moved(make_batch(split, np.arange(16)), torch.device("meta"))
    loss, _ = fitting.step(batch)
    assert loss.device.type == "meta"
    assert all(weight.grad is not None for weight in model.transformer.parameters())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_never_waits_inside_a_step(data: TrainingData) -> None:
    recipe = recipe_with(
        embedding={"resample": "sequence"}, training={"log_every": 1000, "precision": "bf16"}
    )
    model = EncoderDecoder(recipe, data.vocabulary, 5, "copying", REGION)
    fitting = Steps(ModelLearner(model, data), torch.device("cuda"), bf16=True)
    batches = [make_batch(data.train, np.arange(16), step) for step in range(3)]
    for batch in [moved(batch, torch.device("cuda")) for batch in batches]:
        if batch.step == 1:  # the first step sets up what later ones use
            torch.cuda.set_sync_debug_mode("error")
        try:
            fitting.step(batch)
        finally:
            torch.cuda.set_sync_debug_mode("default")


def train_for_long(run: Path) -> None:
    """Train for longer than anybody waits: a process that is killed."""
    fit(recipe_with(), made(copying(400, 5, 6, 0), None), run, steps=100_000, quiet=True)


def test_kill_in_the_middle_leaves_a_run_that_resumes(tmp_path: Path, data: TrainingData) -> None:
    run = tmp_path / "run"
    process = training.start("tests.training.test_fit:train_for_long", [run])
    while not (run / "checkpoint" / "last.safetensors").is_file():
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.wait()
    with pytest.raises(LogicgenError, match="interrupted before it ended"):
        load_model(run)
    done = load_tree(run / "checkpoint" / "last.safetensors")["global_step"]
    fit(recipe_with(), replace(data, validation=None), run, steps=done + 3, resume=True, quiet=True)
    assert load_model(run).alphabet == 5


def test_out_of_time_leaves_a_model_that_can_be_used_and_resumed(
    data: TrainingData, tmp_path: Path
) -> None:
    run = fit(recipe_with(), data, tmp_path / "run", max_minutes=0, quiet=True)
    assert load_tree(run / "checkpoint" / "last.safetensors")["global_step"] == 1
    assert likeliest(load_model(run), [[3, 4]], 5, 0, 4)
    fit(recipe_with(), data, run, steps=4, resume=True, quiet=True)
    before = (run / "model.json").read_bytes()
    described = recipe_with().model_copy(update={"description": "of a newer version"})
    fit(described, data, run, steps=4, resume=True, quiet=True)  # nothing left to do
    assert (run / "model.json").read_bytes() == before
    card = json.loads(before)
    (run / "model.json").write_text(json.dumps({**card, "steps": 1}))  # the model before the last
    other = recipe_with(training={"precision": "fp32"})
    fit(other, data, run, steps=4, resume=True, quiet=True)  # the precision may change
    assert json.loads((run / "model.json").read_text())["steps"] == 4
    (run / "model.json").unlink()  # killed between the last step and the model
    fit(recipe_with(), data, run, steps=4, resume=True, quiet=True)
    assert (run / "model.json").is_file()
    with pytest.raises(LogicgenError, match="has 4 steps already: give --steps 4 or more"):
        fit(recipe_with(), data, run, steps=3, resume=True, quiet=True)


def test_folders_and_runs_that_are_not_ours(
    whole: Path, data: TrainingData, tmp_path: Path
) -> None:
    before = {path: path.stat().st_mtime_ns for path in whole.rglob("*")}
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.tex").write_text("", encoding="utf-8")
    other = recipe_with(network={"heads": 4})
    for arguments, message in [
        ((recipe_with(), data, foreign, False), "not empty and not a run"),
        ((recipe_with(), data, foreign, True), "not empty and not a run"),
        ((recipe_with(), data, whole, False), "holds a run already.*--resume"),
        ((other, data, whole, True), "another recipe"),
        ((recipe_with(), replace(data, fingerprint="x"), whole, True), "another data"),
        ((recipe_with(), replace(data, task_name="x"), whole, True), "another task"),
        ((recipe_with(), data, foreign / "thesis.tex" / "run", False), "written: Not a dir"),
    ]:
        recipe, some_data, folder, resume = arguments
        with pytest.raises(LogicgenError, match=message):
            fit(recipe, some_data, folder, resume=resume, quiet=True)
    assert before == {path: path.stat().st_mtime_ns for path in whole.rglob("*")}


def test_bad_arguments(data: TrainingData, tmp_path: Path) -> None:
    few = recipe_with(embedding={"method": "interchangeable", "random_width": 1})
    with pytest.raises(LogicgenError, match="has only 2"):
        fit(few, data, tmp_path / "few", quiet=True)
    with pytest.raises(LogicgenError, match="--steps 0"):
        fit(recipe_with(), data, tmp_path / "run", steps=0)
    with pytest.raises(LogicgenError, match="no training examples"):
        fit(recipe_with(), replace(data, train=copying(0, 1, 1, 0)), tmp_path / "run")
    with pytest.raises(LogicgenError, match="use auto, cpu or cuda"):
        fit(recipe_with(), data, tmp_path / "run", device="tpu")
    if not torch.cuda.is_available():
        with pytest.raises(LogicgenError, match=r"no CUDA device.*--device cpu"):
            fit(recipe_with(), data, tmp_path / "run", device="cuda")
    assert not (tmp_path / "run").exists()


def test_training_leaves_the_callers_random_numbers_and_signals_alone(
    data: TrainingData, tmp_path: Path
) -> None:
    state, handler = torch.get_rng_state(), signal.getsignal(signal.SIGINT)
    thread = threading.Thread(
        target=fit, args=(recipe_with(), data, tmp_path / "run"), kwargs={"quiet": True, "steps": 2}
    )
    thread.start()
    thread.join()
    fit(recipe_with(), data, tmp_path / "again", steps=2, quiet=True)
    assert torch.equal(state, torch.get_rng_state())
    assert signal.getsignal(signal.SIGINT) is handler


def test_what_a_step_depends_on() -> None:
    assert step_seeds(0, 5) == step_seeds(0, 5)
    assert len({seed for step in range(100) for seed in step_seeds(1, step)}) == 200
    schedule = Schedule.of(recipe_with().training)
    rates = [schedule.learning_rate(step) for step in range(31)]
    assert rates[:5] == pytest.approx([0.0006, 0.0012, 0.0018, 0.0024, 0.003])
    assert rates[5:] == sorted(rates[5:], reverse=True)
    assert rates[30] == pytest.approx(0, abs=1e-12)
    slow = Schedule.of(recipe_with(training={"schedule": "inverse-sqrt"}).training)
    assert slow.learning_rate(19) == pytest.approx(0.003 * (5 / 20) ** 0.5)


@pytest.mark.slow
def test_a_short_training_copies_symbols_it_has_never_seen(tmp_path: Path) -> None:
    data = made(copying(5_000, 5, 5, 0), None)
    recipe = recipe_with(
        embedding={"random_width": 32},
        network={
            "width": 64,
            "feed_forward": 128,
            "encoder_layers": 2,
            "decoder_layers": 2,
            "dropout": 0.0,
            "decoder_positions": "sinusoidal",
        },
        loss={"least_scale": 8.0},  # so few rows would settle far below
        training={
            "steps": 1000,
            "batch_size": 32,
            "warmup_steps": 50,
            "learning_rate": 5e-3,
            "log_every": 100,
            "checkpoint_every": 500,
        },
    )
    model = load_model(fit(recipe, data, tmp_path / "run", quiet=True), "cpu")
    strings = copying(500, 40, 5, 9)
    problems = [strings.problems[row].tolist() for row in range(500)]
    answers = likeliest(model, problems, symbols=40, embedding_seed=3, max_length=8)
    exact = sum(map(list.__eq__, problems, answers)) / 500
    assert exact > 0.9


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: {"global_step": tree["global_step"]},
        lambda tree: {**tree, "weights": {}},
        lambda tree: {**tree, "weights": [3]},
        lambda tree: {**tree, "optimizer": {}},
        lambda tree: {**tree, "optimizer": 7},
        lambda tree: {**tree, "optimizer": {**tree["optimizer"], "param_groups": []}},
        lambda tree: {**tree, "global_step": "2"},
    ],
)
def test_a_checkpoint_that_somebody_made_up(
    change: Callable[[Any], Any], data: TrainingData, tmp_path: Path
) -> None:
    """Resuming says so in one line, and what the run holds stays."""
    run = fit(recipe_with(), data, tmp_path / "run", steps=2, quiet=True)
    path = run / "checkpoint" / "last.safetensors"
    save_tree(change(load_tree(path)), path)
    before = path.read_bytes()
    with pytest.raises(LogicgenError, match=r"last.safetensors: not a checkpoint") as caught:
        fit(recipe_with(), data, run, steps=4, resume=True, quiet=True)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


def test_a_training_that_diverges_says_so_and_leaves_no_model(
    data: TrainingData, tmp_path: Path
) -> None:
    wild = recipe_with(training={"learning_rate": 1e30, "gradient_clip": 1e30})
    with pytest.raises(LogicgenError, match=r"diverged.*learning_rate"):
        fit(wild, data, tmp_path / "seen", quiet=True)
    assert not (tmp_path / "seen" / "model.json").exists()
    unseen = {"log_every": 1000, "validate_every": 1000}
    wild = recipe_with(training={"learning_rate": 1e30, "gradient_clip": 1e30, **unseen})
    with pytest.raises(LogicgenError, match="weights are no numbers"):
        fit(wild, data, tmp_path / "unseen", quiet=True)
    assert not (tmp_path / "unseen" / "model.json").exists()


@pytest.mark.parametrize("value", ["inf", "nan", "1e999"])
def test_a_recipe_holds_finite_numbers(value: str) -> None:
    with pytest.raises(ValidationError, match="finite"):
        recipe_with(training={"learning_rate": float(value)})
