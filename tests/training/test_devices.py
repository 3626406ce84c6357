"""Several devices: the losses of one, whatever is drawn for a batch, and on any number later."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from logicgen.data.generate import generate
from logicgen.data.opening import load_dataset
from logicgen.data.recipe import DataRecipe
from logicgen.errors import LogicgenError
from logicgen.model.batches import BatchStream, Rank, Share, make_batch
from logicgen.model.checkpoint import LAST, load_model, load_tree
from logicgen.model.kinds import new_model
from logicgen.model.recipe import ModelRecipe, read_model_recipe
from logicgen.model.sequences import TokenBatch
from logicgen.nn.loss import CrossEntropy
from logicgen.tokens import NOTHING
from logicgen.training import devices as several
from logicgen.training.fit import fit, training_data
from logicgen.training.learner import ModelLearner
from tests.cli.test_commands import appeared
from tests.cli.test_commands import run as run_command
from tests.data.data_sets import make
from tests.reliability.command import Command
from tests.reliability.scene import MODEL
from tests.training.conftest import copying, recipe_with
from tests.training.test_fit import losses

CORES = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))(0)
pytestmark = pytest.mark.skipif(len(CORES) < 2, reason="one core")

# Steps on batches of which the last of an epoch is small and odd.
STEPS = 40
LONG = {"steps": STEPS, "batch_size": 32, "validate_every": 25, "checkpoint_every": 15}
SIZES = {"sizes": {"train": 167, "validation": 20, "test": 20}, "grid": None}


COSINES = {
    **{"loss.method": "adacos", "embedding.normalize_rows": True, "embedding.random_width": 8},
    "network.normalize_features": True,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """166 or 167 problems of propositional logic."""
    made = tmp_path_factory.mktemp("several") / "data"
    make(made, SIZES)
    return made


@pytest.fixture(scope="module")
def looked_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Look-ups, which language models read."""
    made = tmp_path_factory.mktemp("several") / "lookup"
    region = {"symbols": [2, 16], "length": [8, 32], "step": 3, "balance": "symbols-and-length"}
    recipe = {"task": "lookup", "region": region, "sizes": SIZES["sizes"]}
    generate(DataRecipe.model_validate(recipe), made, name="some")
    return made


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Problems of LTL."""
    made = tmp_path_factory.mktemp("several") / "ltl"
    region = {"symbols": [1, 3], "length": [4, 12], "balance": "length"}
    recipe = {"task": "ltl", "region": region, "sizes": SIZES["sizes"]}
    generate(DataRecipe.model_validate(recipe), made, name="some")
    return made


def encoder_decoder(**embedding: Any) -> ModelRecipe:
    return recipe_with(training=LONG, network={"dropout": 0.0}, embedding=embedding)


LANGUAGE = {
    "network": {
        **{"kind": "language-model", "architecture": "transformer", "width": 32, "heads": 2},
        **{"layers": 1, "feed_forward": 32, "positions": "relative"},
    },
    "embedding": {"method": "lexinvariant"},
    "training": {
        **{"context": 64, "learning_rate": 3e-3, "warmup_steps": 5, "log_every": 1},
        **{"schedule": "cosine", **LONG, "batch_size": 32},
    },
}

MODELS = {
    "rows for each sequence, AdaCos": lambda: encoder_decoder(resample="sequence"),
    "symbol-invariant": lambda: recipe_with(
        training=LONG,
        network={"dropout": 0.0, "normalize_features": False, "kind": "symbol-invariant"},
        embedding={**dict.fromkeys(recipe_with().model_dump()["embedding"])}
        | {"method": "symbol-invariant", "normalize_rows": True},
        loss={"method": "cross-entropy"},
    ),
    "language model": lambda: ModelRecipe.model_validate(LANGUAGE),
}


def trained(recipe: ModelRecipe, data: Path, run: Path, devices: int, **settings: Any) -> Path:
    opened = training_data(recipe, load_dataset(data))
    return fit(recipe, opened, run, device="cpu", devices=devices, quiet=True, **settings)


def differences(one: Path, other: Path) -> float:
    first, second = losses(one), losses(other)
    assert first.keys() == second.keys() == set(range(STEPS))
    return max(abs(first[step] - second[step]) for step in first)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name == "language model" else [pytest.mark.slow])
        for name in MODELS
    ],
)
def test_two_devices_have_the_losses_of_one(name, folder, looked_up, tmp_path):
    recipe, data = MODELS[name](), looked_up if name == "language model" else folder
    one = trained(recipe, data, tmp_path / "one", 1)
    two = trained(recipe, data, tmp_path / "two", 2)
    assert differences(one, two) < 2e-3
    # Not by learning nothing: the loss falls, and differs from step to step.
    assert losses(one)[STEPS - 1] < losses(one)[0] - 0.2
    weights = load_model(two, "cpu").state_dict()
    for key, value in load_model(one, "cpu").state_dict().items():
        torch.testing.assert_close(value, weights[key], atol=0.05, rtol=0)


@pytest.mark.slow
def test_a_run_goes_on_with_another_number(folder, tmp_path):
    recipe = encoder_decoder()
    for steps, devices in ((10, 2), (25, 1), (STEPS, 2)):
        trained(recipe, folder, tmp_path / "run", devices, steps=steps, resume=True)
        trained(recipe, folder, tmp_path / "alone", 1, steps=steps, resume=True)
        assert max(losses(tmp_path / "run")) == steps - 1
    assert differences(tmp_path / "alone", tmp_path / "run") < 2e-3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "tables"),
    [
        # The rows of fixed tokens come with an empty table of symbols, which has no gradient.
        ("ltl-lexinvariant", {}),
        # The two shares of a batch have answers of different lengths.
        ("ltl-interchangeable", {"answer_form": "backward", **COSINES}),
        ("ltl-interchangeable", {"answer_form": "planned", **COSINES}),
    ],
)
def test_two_devices_train_other_recipes(name, tables, traces, tmp_path):
    small = {"network.width": 32, "network.feed_forward": 32, "training.batch_size": 8}
    recipe = read_model_recipe(name, {**small, **tables})
    losses_of = {}
    for devices in (1, 2):
        run = trained(recipe, traces, tmp_path / str(devices), devices, steps=12)
        losses_of[devices] = losses(run)
    assert losses_of[1].keys() == losses_of[2].keys()
    for step, loss in losses_of[1].items():
        assert losses_of[2][step] == pytest.approx(loss, abs=2e-2)


def test_shares_make_up_the_batch():
    """Weighted means of the shares are the mean of the batch, also where rows only fill up."""
    split = copying(37, 5, 6, 0)
    loss, pad = CrossEntropy(), split.vocabulary.pad
    for size in (1, 2, 5, 16):
        for step in range(4):
            batch = BatchStream(split, size, 0).batch(step)
            logits = torch.randn(*batch.targets.shape, 8)
            for devices in (1, 2, 3, 7):
                shares = [batch.shared(Rank(n, devices), pad) for n in range(devices)]
                assert len({len(each.problems) for each in shares}) == 1
                total = sum(
                    each.share.weight * loss(logits[each.share.rows], each.targets)
                    for each in shares
                )
                torch.testing.assert_close(total / devices, loss(logits, batch.targets))
                real = torch.cat([each.targets for each in shares]) != pad
                assert real.sum() == (batch.targets != pad).sum()
                for each in shares:
                    at = each.inputs.flatten()[each.places]
                    assert (at != pad).all()
                    assert len(at) == (each.inputs != pad).sum()


def test_a_share_of_text():
    tokens = torch.arange(12).view(3, 4)
    batch = TokenBatch(5, tokens, tokens[:, 1:].clone())
    first, second = (batch.shared(Rank(n, 2)) for n in range(2))
    assert first.tokens.tolist() == tokens[:2].tolist()
    assert second.tokens.tolist() == tokens[[2, 0]].tolist()
    assert second.targets.tolist() == [[9, 10, 11], [NOTHING] * 3]
    assert (first.share.weight, second.share.weight) == (2 * 6 / 9, 2 * 3 / 9)
    nothing, _ = Share.of(torch.zeros(2, dtype=torch.int64), Rank(0, 2))
    assert nothing.weight == 0


def test_what_cannot_be(folder, tmp_path, monkeypatch):
    recipe, run = encoder_decoder(), tmp_path / "run"

    def refused(said: str, recipe: ModelRecipe, devices: int) -> None:
        with pytest.raises(LogicgenError, match=said):
            trained(recipe, folder, run, devices)
        assert not run.exists()

    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0}, raising=False)
    refused(r"--devices 3: this process may use 1 CPU core: ask for no more", recipe, 3)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
    refused(r"--devices 3: training.batch_size 32 is not divisible by it", recipe, 3)
    refused(
        r"with training.learn 'right' a model learns on one device", recipe.learning("right"), 2
    )
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(LogicgenError, match=r"--devices 2: this process may use 1 CUDA device: "):
        several.check_devices(2, torch.device("cuda"))


@pytest.mark.slow
def test_a_process_that_ends_or_cannot_begin(folder, tmp_path, monkeypatch):
    started: list[subprocess.Popen[bytes]] = []
    start = several.start_helper

    def kept(*arguments: Any, **settings: Any) -> Any:
        started.append(start(*arguments, **settings))
        return started[-1]

    monkeypatch.setattr(several, "start_helper", kept)
    recipe, run = recipe_with(training={**LONG, "steps": 100_000, "checkpoint_every": 5}), tmp_path

    def kill_later() -> None:
        while not (run / "run" / LAST).exists():
            time.sleep(0.1)
        started[0].send_signal(signal.SIGKILL)

    watch = threading.Thread(target=kill_later, daemon=True)
    watch.start()
    with pytest.raises(
        LogicgenError, match=r"^device 1 of 2: its process ended with status -9: continue from"
    ):
        trained(recipe, folder, run / "run", 2)
    watch.join()
    # What is left can be gone on with.
    trained(recipe, folder, run / "run", 1, steps=40, resume=True)
    # Data that are no longer those with which the training began.
    data = training_data(recipe, load_dataset(folder))
    changed = type(data)(**{**vars(data), "fingerprint": "0" * 64})
    with pytest.raises(LogicgenError, match=r"data: changed since the training began"):
        fit(recipe, changed, tmp_path / "other", device="cpu", devices=2, quiet=True)
    assert all(each.returncode is not None for each in started)


def test_a_failure_before_the_checkpoint_is_read_does_not_blame_it(folder, tmp_path, monkeypatch):
    recipe = encoder_decoder()
    trained(recipe, folder, tmp_path / "run", 1, steps=5)

    def failing(*_: Any, **__: Any) -> None:
        raise RuntimeError("the device is gone")

    monkeypatch.setattr(ModelLearner, "optimizer", failing)
    with pytest.raises(RuntimeError, match="the device is gone"):
        trained(recipe, folder, tmp_path / "run", 1, steps=9, resume=True)


def test_a_device_with_fillers_alone_measures_nothing(folder):
    recipe = encoder_decoder()
    data = training_data(recipe, load_dataset(folder))
    model = new_model(recipe, data)
    batch = make_batch(data.train, np.arange(1)).shared(Rank(1, 2), data.vocabulary.pad)
    assert batch.share.weight == 0
    loss, measures = model.training_loss(batch, torch.Generator().manual_seed(0), True)
    assert loss == measures["token_accuracy"] == 0


def test_a_process_group_of_the_caller_is_left_alone(folder, tmp_path):
    """Whoever calls `fit` in one of several processes of theirs trains alone all the same."""
    store = torch.distributed.FileStore(str(tmp_path / "store"), 1)
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    gathered = torch.distributed.all_gather
    try:
        torch.distributed.all_gather = None
        trained(encoder_decoder(), folder, tmp_path / "run", 1, steps=3)
        assert torch.distributed.is_initialized()
    finally:
        torch.distributed.all_gather = gathered
        torch.distributed.destroy_process_group()


def launched(
    model: Path, data: Path, run: Path, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """`logicgen train` in two processes of torchrun."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    launcher += ["--nproc-per-node=2", "--no-python"]
    command = [Path(sys.executable).with_name("logicgen"), "train", model, "--data", data]
    command += ["-o", run, "--device=cpu"]
    return subprocess.run(
        [*launcher, *map(str, command), *arguments],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.slow
def test_torchrun_has_the_weights_of_two_devices(folder, tmp_path):
    """To the last bit; the first process alone writes and prints."""
    (model := tmp_path / "model.toml").write_text(MODEL)
    runs = [tmp_path / "own", tmp_path / "torchrun"]
    trained(read_model_recipe(str(model)), folder, runs[0], 2)
    ended = launched(model, folder, runs[1])
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("try logicgen evaluate") == 1
    ours, theirs = ((run / "model.safetensors").read_bytes() for run in runs)
    assert ours == theirs
    assert losses(runs[0]) == losses(runs[1])
    assert len(list((runs[1] / "logs").iterdir())) == 1


@pytest.mark.slow
def test_torchrun_goes_on_and_ends_where_nothing_is_left_or_fits(folder, tmp_path):
    (model := tmp_path / "model.toml").write_text(MODEL)
    recipe, runs = read_model_recipe(str(model)), [tmp_path / "own", tmp_path / "torchrun"]
    for run in runs:
        trained(recipe, folder, run, 2, steps=10)
    trained(recipe, folder, runs[0], 2, resume=True)
    for _ in range(2):  # the second time nothing is left
        ended = launched(model, folder, runs[1], "--resume")
        assert ended.returncode == 0, ended.stderr
        ours, theirs = ((run / "model.safetensors").read_bytes() for run in runs)
        assert ours == theirs
    model.write_text(MODEL.replace("batch_size = 8", "batch_size = 9"))
    ended = launched(model, folder, tmp_path / "other")
    assert ended.returncode != 0
    assert "torchrun 2: training.batch_size 9 is not divisible by it" in ended.stderr


def helpers_of(process: int) -> list[int]:
    """Return the processes that a process has started."""
    tasks = Path(f"/proc/{process}/task").iterdir()
    return [int(each) for task in tasks for each in (task / "children").read_text().split()]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_sigterm_saves_the_step_and_ends_all(folder, tmp_path):
    """As schedulers do; those of one helper are ignored: the first process decides."""
    run = tmp_path / "run"
    (tmp_path / "model.toml").write_text(MODEL.replace("steps = 30", "steps = 100_000"))
    arguments = ["train", tmp_path / "model.toml", "--data", folder, "-o", run, "--device", "cpu"]
    arguments = [*map(str, arguments), "--devices", "2"]
    command = Command(arguments, tmp_path)
    while not appeared(run, "events*"):
        assert not command.wait(0.05), command.end()
    (helper,) = helpers_of(command.process.pid)
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(helper, number)
    time.sleep(2)
    assert not command.wait(0)
    command.send(signal.SIGTERM)
    ended = command.end()
    assert ended.status == 143, ended.said
    (step,) = re.findall(r"stopped after step (\d+) of", ended.said)
    assert load_tree(run / LAST)["global_step"] == int(step) > 0
    assert not Path(f"/proc/{helper}").exists()
    goes_on = run_command(*arguments, "--resume", "--steps", int(step) + 3)
    assert goes_on.returncode == 0, goes_on.stderr
    assert load_tree(run / LAST)["global_step"] == int(step) + 3
