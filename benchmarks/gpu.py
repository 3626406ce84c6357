"""The Python part of `benchmarks/gpu.sh`: print a recipe, check for remaining steps, report."""

from __future__ import annotations

import argparse
import json
import time
from itertools import islice
from pathlib import Path
from statistics import median

import torch
from precision_accuracy import rates  # benchmarks/precision_accuracy.py
from torch.utils.flop_counter import FlopCounterMode

from logicgen.data.opening import load_dataset
from logicgen.model.checkpoint import CARD, load_json, load_model
from logicgen.model.encoder_decoder import EncoderDecoder
from logicgen.model.recipe import read_model_recipe
from logicgen.nn.linear import bfloat16_products
from logicgen.training.fit import training_data
from logicgen.training.learner import ModelLearner

# FLOP/s of dense bf16 matrices. A key is a part of a card's name; the longer keys come first.
PEAK = {
    "H100 PCIe": 756e12,
    "H100 NVL": 835e12,
    "H100": 989e12,
    "H200 NVL": 835e12,
    "H200": 989e12,
    "A100": 312e12,
}


def write_recipe(model: str, file: Path, steps: int | None, batch_size: int | None) -> None:
    """Write a shipped recipe in bf16, perhaps smaller, as a file to train from."""
    if file.exists():
        return
    changes = {"steps": steps, "batch_size": batch_size, "precision": "bf16"}
    given = {f"training.{key}": value for key, value in changes.items() if value is not None}
    if steps is not None:
        given |= {"training.warmup_steps": max(1, steps // 10), "training.log_every": 2}
    recipe = read_model_recipe(model, given)
    tables = recipe.model_dump(mode="json", exclude_none=True)
    plain = [key for key, value in tables.items() if not isinstance(value, dict)]
    lines = [f"{key} = {json.dumps(tables.pop(key))}" for key in plain]
    for name, table in tables.items():  # their values are written alike in JSON and in TOML
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    file.write_text("\n".join(lines) + "\n")


def report(folder: Path, data: Path, device: torch.device) -> None:
    """Print how fast a model was trained, and how right it is."""
    run = folder / "run"
    model = load_model(run, str(device)).train()
    assert isinstance(model, EncoderDecoder)
    examples = training_data(model.recipe, load_dataset(data))
    learner = ModelLearner(model, examples)
    batches = [batch.to(device) for batch in islice(learner.batches(0), 30)]

    def step(batch) -> None:
        cuda = device.type == "cuda"
        with torch.autocast("cuda", torch.bfloat16) if cuda else bfloat16_products():
            loss, _ = learner.loss(batch, torch.Generator().manual_seed(0), False)
        loss.backward()
        model.zero_grad()

    def rate() -> float:
        for batch in batches[:10]:
            step(batch)
        if device.type == "cuda":
            torch.cuda.synchronize()
        begun = time.perf_counter()
        for batch in batches[10:]:
            step(batch)
        if device.type == "cuda":
            torch.cuda.synchronize()
        seconds = time.perf_counter() - begun
        return sum(len(batch.problems) for batch in batches[10:]) / seconds

    with FlopCounterMode(display=False) as counter:
        for batch in batches:  # of different lengths
            step(batch)
    each = counter.get_total_flops() / sum(len(batch.problems) for batch in batches)
    card = torch.cuda.get_device_name() if device.type == "cuda" else "CPU"
    training = model.recipe.training
    assert training is not None
    speed = median(rates(run, training.batch_size, training.log_every))
    line = f"{folder.name}: {speed:,.0f} examples/s ({card}), {speed * each / 1e12:.3g} TFLOP/s"
    if (peak := next((value for name, value in PEAK.items() if name in card), None)) is not None:
        line += f", {speed * each / peak:.1%} of the peak"
    plain = rate()
    try:
        model.transformer.compile(dynamic=True)
        line += f"; torch.compile: {rate() / plain:.2f} times the forward and backward pass"
    except Exception as error:  # the compiler can raise any error
        line += f"; torch.compile fails ({type(error).__name__})"
    found = json.loads((folder / "test" / "summary.json").read_text())["overall"]
    print(f"{line}; right {found['accuracy']:.1%} of {found['examples']:,}")


def main() -> None:
    """Run the part that the shell script asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    recipe = commands.add_parser("recipe")
    recipe.add_argument("model")
    recipe.add_argument("file", type=Path)
    recipe.add_argument("--steps", type=int)
    recipe.add_argument("--batch-size", type=int)
    commands.add_parser("left", help="print 1 where steps are left, else 0").add_argument(
        "run", type=Path
    )
    shown = commands.add_parser("report")
    shown.add_argument("folder", type=Path)
    shown.add_argument("--data", type=Path, required=True)
    shown.add_argument("--device", type=torch.device, required=True)
    given = parser.parse_args()
    if given.command == "recipe":
        write_recipe(given.model, given.file, given.steps, given.batch_size)
    elif given.command == "left":
        card = load_json(given.run / CARD)
        print(int(card["steps"] < card["recipe"]["training"]["steps"]))
    else:
        report(given.folder, given.data, given.device)


if __name__ == "__main__":
    main()
