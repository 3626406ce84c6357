"""Training speed of the embedding methods, each with the network and optimizer of its recipe.

    OMP_NUM_THREADS=1 python benchmarks/methods.py        about four minutes

The recipes take turns in one process, on the same batches of the small data sets. A ratio is the
median over the turns: the speed of a recipe relative to learned rows.
"""

from __future__ import annotations

import argparse
import platform
import tempfile
import time
from datetime import date
from pathlib import Path
from statistics import median

import torch

from logicgen.data.generate import generate
from logicgen.data.opening import load_dataset, read_data_recipe
from logicgen.model.kinds import new_model, training_data
from logicgen.model.recipe import read_model_recipe
from logicgen.training.learner import ModelLearner
from logicgen.training.loop import Steps

METHODS = ["learned", "alpha-renaming", "interchangeable", "lexinvariant", "symbol-invariant"]
EXAMPLES, STEPS = 5_000, 20


def timed(steps: Steps, batches: list) -> float:
    """Return the seconds of some training steps."""
    start = time.perf_counter()
    for batch in batches:
        steps.step(batch)
    return time.perf_counter() - start


def measured(task: str, turns: int) -> dict[str, list[float]]:
    """Return the seconds of STEPS training steps of each method, turn by turn."""
    with tempfile.TemporaryDirectory() as folder:
        recipe = read_data_recipe(f"{task}-mini").resized(EXAMPLES)
        generate(recipe, Path(folder, "data"), name=task)
        dataset = load_dataset(Path(folder, "data"))
        loops, batches = {}, []
        for method in METHODS:
            recipe = read_model_recipe(f"{task}-{method}", {"training.precision": "fp32"})
            data = training_data(recipe, dataset)
            torch.manual_seed(0)
            model = new_model(recipe, data)
            loops[method] = Steps(ModelLearner(model, data), torch.device("cpu"), bf16=False)
            if not batches:
                stream = model.batches(data, 0)
                batches = [next(stream) for _ in range(STEPS)]
    for steps in loops.values():
        timed(steps, batches[:2])  # warm up
    found: dict[str, list[float]] = {method: [] for method in METHODS}
    for _ in range(turns):
        for method, steps in loops.items():
            found[method].append(timed(steps, batches))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=7)
    options = parser.parse_args()
    print(
        f"{date.today()}, {platform.processor() or platform.machine()}, fp32,"
        f" {torch.get_num_threads()} threads, PyTorch {torch.__version__}"
    )
    for task in ("ltl", "propositional"):
        found = measured(task, options.turns)
        print(f"{task}-mini")
        for method, seconds in found.items():
            pairs = zip(found["learned"], seconds, strict=True)
            ratio = median(learned / own for learned, own in pairs)
            print(f"  {method:<20} {1000 * median(seconds) / STEPS:6.0f} ms per step  {ratio:5.2f}")


if __name__ == "__main__":
    main()
