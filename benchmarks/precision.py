"""Examples a second of a training step in float32 and in bfloat16, for each shipped kind of model.

    python benchmarks/precision.py [MODEL ...] [--device cuda] [--threads 1]

A model makes each step twice, from the same weights on the same batch: once in float32, once in
bfloat16. So other work on the machine slows both down. Figures are medians over steps. The ratio is
the speed in bfloat16 divided by the speed in float32. The last column is the `precision` of the
recipe. `precision_accuracy.py` compares the accuracy after training in both precisions.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from contextlib import AbstractContextManager
from pathlib import Path
from statistics import median

import torch

from logicgen.data.opening import load_dataset, make, read_data_recipe
from logicgen.data.recipe import DataRecipe
from logicgen.model.kinds import new_model, training_data
from logicgen.model.model import find_device
from logicgen.model.recipe import read_model_recipe
from logicgen.nn.linear import bfloat16_instructions, bfloat16_products, faster_in_bfloat16
from logicgen.training.ahead import moved
from logicgen.training.optimizer import make_optimizer

SIZE, WARM_UP = 1000, 2
DATA = {
    "copying-interchangeable": "copying-20",
    "copying-symbol-invariant": "copying-20",
    "propositional-interchangeable": "propositional-35",
    "propositional-symbol-invariant": "propositional-35",
    "ltl-interchangeable": "ltl-35",
    "ltl-symbol-invariant": "ltl-35",
    "language-elman": "automaton-5",
    "language-neural-trigram": "automaton-5",
    "language-lexinvariant-names": "lookup-128",
    "inductive": "big-cat-small-dog",
}


def in_precision(bf16: bool, device: torch.device) -> AbstractContextManager[object]:
    """Return the context in which a training computes its products."""
    if device.type == "cuda":
        return torch.autocast("cuda", torch.bfloat16, enabled=bf16)
    return bfloat16_products(bf16)


def speeds(name: str, data: Path, steps: int, device: torch.device) -> tuple[float, float, float]:
    """Return examples a second in float32 and in bfloat16, and the median of their ratios."""
    if not data.is_dir():
        made = read_data_recipe(data.name)
        if isinstance(made, DataRecipe):
            made = made.resized(SIZE, data.name)
        make(made, data, name=data.name, seed=0, workers=1)
    recipe = read_model_recipe(name)
    examples = training_data(recipe, load_dataset(data))
    torch.manual_seed(0)
    model = new_model(recipe, examples).to(device)
    assert recipe.training is not None
    optimizer, batches = make_optimizer(model, recipe.training), model.batches(examples, 0)
    seconds: list[tuple[float, ...]] = []
    for step in range(WARM_UP + steps):
        batch, pair = moved(next(batches), device), []
        for bf16 in (False, True):
            begun = time.perf_counter()
            with in_precision(bf16, device):
                generator = torch.Generator().manual_seed(step)
                loss = model.training_loss(batch, generator, False).value
            with in_precision(bf16, device):
                loss.backward()
            if bf16:
                optimizer.step()
            optimizer.zero_grad()
            if device.type == "cuda":
                torch.cuda.synchronize()
            pair.append(time.perf_counter() - begun)
        seconds.append(tuple(pair))
    full, rounded = zip(*seconds[WARM_UP:], strict=True)
    size = recipe.training.batch_size
    ratio = median(a / b for a, b in zip(full, rounded, strict=True))
    return size / median(full), size / median(rounded), ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("models", nargs="*", default=list(DATA), metavar="MODEL")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    device = find_device(options.device)
    auto = "bf16" if faster_in_bfloat16(device) else "fp32"
    cpu = torch.cpu.get_capabilities()["cpu_name"]
    names = ", ".join(bfloat16_instructions()) or "no instructions for bfloat16"
    print(f"{cpu} ({names}), {device}, {options.threads} threads")
    print(f"{'':<32}{'float32':>9}{'bfloat16':>10}{'ratio':>7}{'shipped as':>15}")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models:
            data = Path(folder) / DATA[name]
            full, rounded, ratio = speeds(name, data, options.steps, device)
            training = read_model_recipe(name).training
            assert training is not None
            asked = training.precision if training.precision != "auto" else f"auto: {auto}"
            print(f"{name:<32}{full:>9.1f}{rounded:>10.1f}{ratio:>7.2f}{asked:>15}", flush=True)


if __name__ == "__main__":
    main()
