"""Training steps a second of the CPU recipes of LTL, compared with another checkout.

    git worktree add ../before d91f514
    python benchmarks/steps.py --against ../before        about five minutes, one thread

Each checkout makes its own 20,000 examples of `ltl-35` once. A measurement runs in a new process:
40 warm-up steps, then 40 measured steps of the recipe. The checkouts take turns. The time of a step
includes batch, forward, backward, clipping and Muon. Both use the recipe of version 0.1 with Muon,
rows for each sequence and 16 random columns. This checkout computes products in the precision that
`precision = "auto"` chooses.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from statistics import median

STEPS, SIZE, TURNS = 40, 20_000, 3
MODELS = {
    "interchangeable": {"embedding.random_width": 16, "embedding.resample": "sequence"},
    "symbol-invariant": {},
}

CHILD = f"""
import json, sys, time
from pathlib import Path
from statistics import median
import torch
from logicgen.data.recipe import DataRecipe
from logicgen.data.opening import load_dataset
from logicgen.data.opening import make
from logicgen.model.kinds import new_model, training_data
from logicgen.model.recipe import read_model_recipe
from logicgen.training.optimizer import make_optimizer
from contextlib import nullcontext
try:
    from logicgen.nn.linear import bfloat16_products, faster_in_bfloat16
    products = bfloat16_products(faster_in_bfloat16(torch.device("cpu")))
except ImportError:
    products = nullcontext()
data, name, changes = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
torch.set_num_threads(1)
if not (data / "dataset.json").exists():
    make(DataRecipe.read("ltl-35").resized({SIZE}), data, name="ltl-35")
for called in (name + "-adamw", name):
    try:
        recipe = read_model_recipe(called, changes)
        break
    except Exception as error:
        problem = error
examples = training_data(recipe, load_dataset(data))
torch.manual_seed(0)
model = new_model(recipe, examples)
optimizer, batches = make_optimizer(model, recipe.training), model.batches(examples, 0)
generator, seconds = torch.Generator().manual_seed(0), []
with products:
    for step in range(2 * {STEPS}):
        begun = time.perf_counter()
        loss = model.training_loss(next(batches), generator, False)[0]
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        seconds.append(time.perf_counter() - begun)
print(recipe.training.batch_size / median(seconds[{STEPS}:]))
"""


def examples_a_second(checkout: Path, data: Path, model: str) -> float:
    """Return the median examples a second of a checkout."""
    changes = {"training.optimizer": "muon", "training.learning_rate": 2e-3, **MODELS[model]}
    environment = os.environ | {"PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", CHILD, str(data), f"ltl-{model}", json.dumps(changes)]
    said = subprocess.check_output(command, env=environment, cwd=checkout, text=True)
    return float(said.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--against", type=Path, required=True, metavar="CHECKOUT")
    against = parser.parse_args().against.resolve()
    here = Path(__file__).resolve().parents[1]
    print(f"{platform.machine()}, {os.cpu_count()} cores, {date.today()}: examples a second")
    with tempfile.TemporaryDirectory() as folder:
        for model in MODELS:
            turns = [
                tuple(
                    examples_a_second(checkout, Path(folder) / label, model)
                    for label, checkout in (("before", against), ("here", here))
                )
                for _ in range(TURNS)
            ]
            before, now = (median(each) for each in zip(*turns, strict=True))
            ratio = median(after / first for first, after in turns)
            print(f"{model}: {before:.0f} there, {now:.0f} here, {ratio:.2f} times")


if __name__ == "__main__":
    main()
