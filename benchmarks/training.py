"""Training throughput: our full-size LTL model against a straightforward implementation of it.

    python benchmarks/training.py                     on a CPU, about three minutes
    python benchmarks/training.py --device cuda       in bf16, with the share of the card's peak

Both train the recipe `ltl-interchangeable-published` on the same examples of `ltl-35`, in turns, in
one process. The ratio is the median over the turns. The recipe has 8 + 8 layers of width 128 with
feed-forward 1,024, tree positions, a rotary decoder, interchangeable embeddings, AdaCos, dropout,
AdamW and clipped gradients.

The straightforward implementation follows the papers: post-norm layers, attention as in the
formula, and every batch padded to 36 and 20 tokens. All else is PyTorch's default. Its tree
positions are computed before the measurement, node by node in Python. On a shared machine use one
thread: OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from logicgen.data.dataset import EncodedSplit, Ragged
from logicgen.data.generate import generate
from logicgen.data.opening import load_dataset, read_data_recipe
from logicgen.model.batches import Batch, BatchStream, make_batch
from logicgen.model.encoder_decoder import EncoderDecoder
from logicgen.model.model import find_device
from logicgen.model.recipe import ModelRecipe, read_model_recipe
from logicgen.model.training_data import problem_data
from logicgen.syntax.formula_language import ltl
from logicgen.training.learner import ModelLearner
from logicgen.training.loop import Steps

PROBLEM, ANSWER = 36, 20  # tokens that the straightforward one pads to, <end> included
PEAK = {"H100": 989e12, "H200": 989e12, "A100": 312e12}  # FLOP/s of dense bf16 matrices

# -- the straightforward implementation ----------------------------------------------------------


class PlainAttention(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float, rotary: bool) -> None:
        super().__init__()
        self.heads, self.rotary = heads, rotary
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value, self.output = nn.Linear(width, width), nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, y: Tensor, hidden: Tensor) -> Tensor:
        """hidden: (B, 1, T or 1, S), True where a query must not look."""
        query, key, value = (
            layer(z).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for layer, z in ((self.query, x), (self.key, y), (self.value, y))
        )
        if self.rotary:
            query, key = self.rotate(query), self.rotate(key)
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        weights = self.dropout(scores.masked_fill(hidden, -1e9).softmax(-1))
        return self.output((weights @ value).transpose(1, 2).flatten(2))

    def rotate(self, x: Tensor) -> Tensor:
        time, width = x.shape[-2:]
        frequencies = 10_000 ** -(torch.arange(0, width, 2, device=x.device) / width)
        angles = torch.arange(time, device=x.device)[:, None] * frequencies
        left, right = x.chunk(2, -1)
        cos, sin = angles.cos(), angles.sin()
        return torch.cat([left * cos - right * sin, right * cos + left * sin], -1)


class PlainLayer(nn.Module):
    """A layer of the encoder, or with `cross` of the decoder."""

    def __init__(self, width: int, heads: int, hidden: int, dropout: float, cross: bool) -> None:
        super().__init__()
        self.attention = PlainAttention(width, heads, dropout, rotary=cross)
        self.cross = PlainAttention(width, heads, dropout, rotary=False) if cross else None
        self.feed_forward = nn.Sequential(
            nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3 if cross else 2))
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        hidden: Tensor,
        encoded: Tensor | None = None,
        padding: Tensor | None = None,
    ) -> Tensor:
        x = self.norms[0](x + self.dropout(self.attention(x, x, hidden)))
        if self.cross is not None:
            assert encoded is not None and padding is not None  # noqa: PT018
            x = self.norms[1](x + self.dropout(self.cross(x, encoded, padding)))
        return self.norms[-1](x + self.dropout(self.feed_forward(x)))


class Plain(nn.Module):
    def __init__(self, recipe: ModelRecipe, fixed: int, symbols: int) -> None:
        super().__init__()
        table, width = recipe.network, recipe.network.width
        self.width, self.symbols = width, symbols
        self.random = getattr(recipe.embedding, "random_width", 0)
        self.fixed = nn.Parameter(torch.randn(fixed, width - self.random) * width**-0.5)
        self.shared = nn.Parameter(torch.randn(1, width - self.random) * width**-0.5)
        sizes = width, table.heads, table.feed_forward, table.dropout
        self.encoder = nn.ModuleList(PlainLayer(*sizes, False) for _ in range(table.encoder_layers))
        self.decoder = nn.ModuleList(PlainLayer(*sizes, True) for _ in range(table.decoder_layers))
        self.dropout = nn.Dropout(table.dropout)
        self.scale = math.sqrt(2) * math.log(fixed + symbols - 1)  # of AdaCos

    def matrix(self) -> Tensor:
        random = torch.randint(-1, 2, (self.symbols, self.random)).float().to(self.shared.device)
        shared = F.normalize(self.shared, dim=-1).expand(self.symbols, -1)
        symbols = torch.cat([shared, F.normalize(random, dim=-1)], -1)
        return F.normalize(torch.cat([F.pad(self.fixed, (0, self.random)), symbols]), dim=-1)

    def forward(self, batch: Batch, tree: Tensor) -> Tensor:
        matrix = self.matrix()
        padding = (batch.problems == 0)[:, None, None]  # (B, 1, 1, S)
        x = self.dropout(F.embedding(batch.problems, matrix) * self.width**0.5 + tree)
        for layer in self.encoder:
            x = layer(x, padding)
        future = torch.ones(ANSWER, ANSWER, dtype=torch.bool, device=x.device).triu(1)
        y = self.dropout(F.embedding(batch.inputs, matrix) * self.width**0.5)
        for layer in self.decoder:
            y = layer(y, future, x, padding)
        return self.loss((F.normalize(y, dim=-1) @ matrix.T).float(), batch.targets)

    def loss(self, cosines: Tensor, targets: Tensor) -> Tensor:
        """AdaCos."""
        with torch.no_grad():
            real = targets.flatten() != 0
            flat, hit = cosines.flatten(0, 1)[real], targets.flatten()[real]
            others = (self.scale * flat).exp().scatter(1, hit[:, None], 0)
            theta = flat.gather(1, hit[:, None]).clamp(-1, 1).acos().median()
            log_b = (others.sum() / len(hit)).log()
            self.scale = min(100.0, float(log_b / theta.clamp(max=math.pi / 4).cos()))
        return F.cross_entropy(
            self.scale * cosines.flatten(0, 1), targets.flatten(), ignore_index=0
        )


def plain_tree(tokens: list[str], width: int) -> np.ndarray:
    """Paths from the root, node by node; (tokens, width)."""
    vectors = np.zeros((len(tokens), width), np.float32)
    open_places = [np.zeros(width, np.float32)]
    for number, token in enumerate(tokens):
        vectors[number] = here = open_places.pop()
        for operand in reversed(range(ltl().arity.get(token, 0))):
            step = np.zeros(2, np.float32)
            step[operand] = 1
            open_places.append(np.concatenate([step, here[:-2]]))
    return vectors


def plain_batches(
    split: EncodedSplit, size: int, width: int, device: torch.device
) -> Iterator[tuple[Batch, Tensor]]:
    """Shuffled, padded to one size, with their tree positions; all made before the first."""
    rows = np.random.default_rng(0).permutation(len(split))
    made = []
    for start in range(0, len(rows) - size + 1, size):
        part = rows[start : start + size]
        batch = make_batch(split, part)
        trees = torch.zeros(size, PROBLEM, width)
        for number, row in enumerate(part):
            tokens = split.vocabulary.decode(split.problems[row]).split()
            trees[number, : len(tokens)] = torch.from_numpy(plain_tree(tokens, width))
        made.append((padded(batch, device), trees.to(device)))
    while True:
        yield from made


def padded(batch: Batch, device: torch.device) -> Batch:
    def wide(ids: Tensor, length: int) -> Tensor:
        return F.pad(ids, (0, length - ids.shape[1])).to(device)

    return batch._replace(
        problems=wide(batch.problems, PROBLEM),
        inputs=wide(batch.inputs, ANSWER),
        targets=wide(batch.targets, ANSWER),
    )


# -- both, in turns ------------------------------------------------------------------------------


def plain_step(
    recipe: ModelRecipe, split: EncodedSplit, size: int, device: torch.device
) -> Callable[[], int]:
    model = Plain(recipe, len(split.vocabulary), split.alphabet).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.98))
    batches = plain_batches(split, size, recipe.network.width, device)

    def step() -> int:
        batch, trees = next(batches)
        with autocast(device):
            loss = model(batch, trees)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return len(batch.problems)

    return step


def our_step(steps: Steps, batches: Iterator[Batch]) -> Callable[[], int]:
    """One step of the training loop."""

    def step() -> int:
        batch = next(batches)
        steps.step(batch)
        return len(batch.problems)

    return step


def autocast(device: torch.device) -> Any:
    return torch.autocast("cuda", torch.bfloat16) if device.type == "cuda" else nullcontext()


def rate(step: Callable[[], int], steps: int, device: torch.device) -> float:
    """Return the examples a second over a number of steps."""
    start = time.perf_counter()
    done = sum(step() for _ in range(steps))
    if device.type == "cuda":
        torch.cuda.synchronize()
    return done / (time.perf_counter() - start)


def flop(recipe: ModelRecipe, problem: float, answer: float, rows: int) -> float:
    """Return the FLOP of training on an example: three times the forward pass's matrix products.

    problem, answer: numbers of tokens.
    """
    table, width = recipe.network, recipe.network.width
    feed_forward = 2 * width * table.feed_forward
    encoder = problem * (4 * width**2 + feed_forward + 2 * width * problem)
    decoder = answer * (6 * width**2 + feed_forward + width * answer + 2 * width * problem)
    decoder += problem * 2 * width**2  # keys and values of the problem
    layers = table.encoder_layers * encoder + table.decoder_layers * decoder
    return 3 * 2 * (layers + answer * width * rows)


def without_long_answers(split: EncodedSplit) -> EncodedSplit:
    """The examples that fit into the padding of the straightforward implementation."""
    kept = np.flatnonzero(split.answers.lengths < ANSWER)

    def chosen(ragged: Ragged) -> Ragged:
        offsets = np.concatenate([[0], np.cumsum(ragged.lengths[kept])])
        return Ragged(np.concatenate([ragged[row] for row in kept]), offsets)

    problems, answers = chosen(split.problems), chosen(split.answers)
    cells = split.symbols[kept], split.length[kept]
    return EncodedSplit(split.vocabulary, problems, answers, *cells, split.alphabet)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="An ltl-35 data set; made if not given.")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--batch-size", type=int, help="64 on a CPU, the recipe's 768 on a GPU.")
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--steps", type=int, help="In a turn: 4 on a CPU, 20 on a GPU.")
    options = parser.parse_args()
    device = find_device(options.device)
    on_gpu = device.type == "cuda"

    recipe = read_model_recipe("ltl-interchangeable-published")
    size = options.batch_size or (recipe.training.batch_size if on_gpu else 64)
    steps = options.steps or (20 if on_gpu else 4)
    silent = recipe.training.model_copy(update={"batch_size": size, "log_every": 10**9})
    recipe = recipe.model_copy(update={"training": silent})
    with tempfile.TemporaryDirectory() as folder:
        if options.data is None:
            options.data = Path(folder, "ltl-35")
            small = read_data_recipe("ltl-35").resized(100_000 if on_gpu else 5_000)
            generate(small, options.data, name="ltl-35", workers=os.cpu_count() or 1)
        data = problem_data(load_dataset(options.data))
    split = without_long_answers(data.train)
    problem, answer = (float(part.lengths.mean()) + 1 for part in (split.problems, split.answers))
    card = torch.cuda.get_device_name() if on_gpu else platform.processor() or platform.machine()
    print(f"{date.today()}, {card}, {torch.get_num_threads()} threads, PyTorch {torch.__version__}")
    print(f"{len(split):,} examples, {problem:.1f} and {answer:.1f} tokens on average, with <end>")

    torch.manual_seed(0)
    model = EncoderDecoder(recipe, split.vocabulary, split.alphabet, data.task_name, data.region)
    fitting = Steps(ModelLearner(model, data), device, bf16=device.type == "cuda")
    stream = BatchStream(split, size, 0).starting_at(0)
    ways = {
        "straightforward": plain_step(recipe, split, size, device),
        "ours": our_step(fitting, stream),
    }
    for step in ways.values():
        rate(step, 2, device)  # warm up
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(options.turns):
        for name, step in ways.items():
            rates[name].append(rate(step, steps, device))
    for name in ways:
        print(f"{name:<20} {median(rates[name]):>10,.1f} examples/s")
    ratio = median(o / p for o, p in zip(rates["ours"], rates["straightforward"], strict=True))
    print(f"{'ratio':<20} {ratio:>10.2f}")
    rows = len(split.vocabulary) + split.alphabet
    useful = flop(recipe, problem, answer, rows) * median(rates["ours"])
    print(f"{'ours, arithmetic':<20} {useful / 1e12:>10.3f} TFLOP/s, padding not counted")
    for name, peak in PEAK.items():
        if name in card:
            print(f"{'  of the peak':<20} {100 * useful / peak:>10.1f} %")


if __name__ == "__main__":
    main()
