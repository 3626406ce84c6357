"""The most memory of a training step of the shipped LTL model, for larger and larger problems.

    OMP_NUM_THREADS=1 python benchmarks/memory.py        about four minutes

Each line is a new process: a forward and a backward pass over a batch of random formulas, which are
answered with the traces of the control `place`. `--limit GIB` changes the limit above which a batch
is trained in parts.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

SIZES = [(5, 35, 64), (10, 60, 64), (25, 100, 64), (100, 199, 1), (100, 199, 8)]
"""Symbols, tokens and problems of each batch."""


def measured(symbols: int, tokens: int, problems: int, limit: float) -> str:
    """Return the seconds of one pass, and the most memory of this process."""
    import torch

    from logicgen.data.dataset import Ragged
    from logicgen.library import load_model
    from logicgen.model import capacity
    from logicgen.model.batches import padded_batch
    from logicgen.tasks import load_task
    from logicgen.tasks.controls import load_control
    from logicgen.tasks.problem_samples import ProblemSamples

    task, model = load_task("ltl"), load_model("ltl", "cpu")
    capacity.MOST_KEPT = int(limit * 2**30)
    reward = model.recipe.reward.model_copy(update={"symbols": (1, symbols)})
    model.recipe = model.recipe.model_copy(update={"reward": reward})
    operators = {"!": 1, "&": 1, "X": 1, "U": 1}
    drawn = ProblemSamples(task, symbols, tokens, satisfiable=None, operators=operators)
    texts = [task.encode(drawn[number]) for number in range(problems)]
    control = load_control(task, "place")
    answers = [control.answers(text, 1)[0] for text in texts]
    encode = model.vocabulary.encode
    batch = padded_batch(
        Ragged.of(list(map(encode, texts))), Ragged.of(list(map(encode, answers))), model.vocabulary
    )
    model.train()
    started = time.monotonic()
    loss, _ = model.training_loss(batch, torch.Generator().manual_seed(0), False)
    loss.backward()
    seconds = time.monotonic() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return f"{seconds:.1f} s, {peak:.1f} GiB in all"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=2.0, metavar="GIB")
    parser.add_argument("--size", type=int, nargs=3, help="symbols, tokens and problems")
    options = parser.parse_args()
    if options.size:
        print(measured(*options.size, options.limit))
        return
    for size in SIZES:
        arguments = [sys.executable, __file__, "--limit", str(options.limit), "--size"]
        done = subprocess.run(
            [*arguments, *map(str, size)], check=True, capture_output=True, text=True
        )
        print("{} symbols, {} tokens, {} problems: ".format(*size) + done.stdout.strip())


if __name__ == "__main__":
    main()
