"""Examples a second and accuracy of a recipe in fp32 and in bf16, side by side.

    python benchmarks/precision_accuracy.py [MODEL] [--steps N] [--data RECIPE] [--device cuda]

Two models are trained on the same data from the same weights by the public function. They take
turns of a minute, so that other work on the machine slows both down. Then both answer the same
held-out problems, and the solver judges. The time is the time of the steps in the logs.
"""

from __future__ import annotations

import argparse
import tempfile
from itertools import pairwise
from pathlib import Path
from statistics import median

import torch

import logicgen
from logicgen.data.opening import load_dataset
from logicgen.model.checkpoint import CARD, load_json
from logicgen.model.recipe import ModelRecipe, read_model_recipe
from logicgen.nn.linear import faster_in_bfloat16
from logicgen.training.fit import fit, training_data


def rates(run: Path, batch_size: int, every: int) -> list[float]:
    """Return the examples a second between the steps that a run has logged."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = []
    for path in sorted((run / "logs").glob("events*")):  # one for each turn
        events = EventAccumulator(str(path), size_guidance={"scalars": 0}).Reload()
        if "loss" not in events.Tags()["scalars"]:  # ended before its first logged step
            continue
        times = [each.wall_time for each in events.Scalars("loss")]
        found += [every * batch_size / (later - one) for one, later in pairwise(times)]
    return found


def main() -> None:
    """Train, measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", default="propositional-symbol-invariant")
    parser.add_argument("--data", default="propositional-35")
    parser.add_argument("--examples", type=int, default=100_000)
    parser.add_argument("--steps", type=int, default=1600)
    parser.add_argument("--limit", type=int, default=2000, help="held-out problems")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where to keep data and runs")
    options = parser.parse_args()
    device = torch.device(options.device)
    torch.set_num_threads(options.threads)
    print(
        f"{options.model}, {options.steps} steps, {torch.get_num_threads()} threads,"
        f" {torch.cpu.get_capabilities()['cpu_name'] if device.type == 'cpu' else device};"
        f' "auto" is {"bf16" if faster_in_bfloat16(device) else "fp32"} here'
    )
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        data = folder / "data"
        if not (data / "dataset.json").is_file():
            logicgen.generate(options.data, data, size=options.examples, workers=2)
        steps = {"training.steps": options.steps}
        recipes = {
            precision: read_model_recipe(options.model, {**steps, "training.precision": precision})
            for precision in ("fp32", "bf16")
        }
        train_in_turns(recipes, data, folder, options.device)
        print(f"{'':>6} {'examples/s':>11} {'exact':>7} {'right':>7}")
        for precision, recipe in recipes.items():
            assert recipe.training is not None
            run = folder / precision
            found = logicgen.evaluate(
                run, data, split="test", limit=options.limit, device=options.device, workers=2
            )["overall"]
            speed = median(rates(run, recipe.training.batch_size, recipe.training.log_every))
            exact = found["exact"] / found["examples"]
            print(f"{precision:>6} {speed:>11.0f} {exact:>7.1%} {found['accuracy']:>7.1%}")


def train_in_turns(recipes: dict[str, ModelRecipe], data: Path, folder: Path, device: str) -> None:
    """Train each recipe into a folder of its name, a minute at a time."""
    opened = load_dataset(data)
    left = dict(recipes)
    while left:
        for precision, recipe in list(left.items()):
            run = folder / precision
            examples = training_data(recipe, opened)
            fit(recipe, examples, run, device=device, resume=True, max_minutes=1, quiet=False)
            assert recipe.training is not None
            if load_json(run / CARD)["steps"] >= recipe.training.steps:
                del left[precision]


if __name__ == "__main__":
    main()
