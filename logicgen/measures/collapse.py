"""Collapse of embeddings: how alike the rows of unseen symbols are, and new random rows for them.

A symbol that never occurs in training is an output of the softmax but never a target. Every
training step pushes its embedding row away from the hidden states, in nearly the same direction for
all such symbols. So these rows become alike (Lazić, Fowl, György, Szepesvári, "To See the Unseen",
2026). With weight tying, the rows are also the symbols' inputs, so the inputs become alike, too.

Three numbers measure how alike a set of rows is. They are computed for the symbols that occur in
training, and for the unseen symbols:

    cosine           mean cosine over all pairs of rows: 0 for rows in all directions, 1 for rows in
                     one direction
    spread           root mean square distance from the mean row, divided by the root mean square
                     norm: 1 for rows around 0, 0 for equal rows
    effective_rank   exponential of the entropy of the singular values, which are scaled to sum 1
                     (Roy, Vetterli, EUSIPCO 2007): 1 for rows on one line

The numbers are computed from the stored rows. `reset_rows` draws new rows for the unseen symbols of
a trained model. The result is a baseline for training with renamed symbols: its rows have not
collapsed, and it needs no further training.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from logicgen.data.corpus import Corpus
from logicgen.data.dataset import Dataset
from logicgen.errors import LogicgenError
from logicgen.files import prepare_folder
from logicgen.model.checkpoint import CARD, find_run, load_json, load_model, scores_folder
from logicgen.model.model import Model
from logicgen.report.tables import write_json


@dataclass(frozen=True)
class RowSpread:
    """Three numbers that measure how alike embedding rows are.

    The module's docstring defines the numbers. They are None for fewer than two rows.
    """

    rows: int  # number of rows
    cosine: float | None = None
    spread: float | None = None
    effective_rank: float | None = None


def row_spread(rows: Tensor) -> RowSpread:
    """Measure how alike embedding rows are.

    rows: shape (number of rows, width).
    """
    count = len(rows)
    if count < 2:
        return RowSpread(count)
    rows = rows.detach().cpu().double()
    directions = F.normalize(rows, dim=1)
    # The squared norm of the sum contains the product of each pair of rows twice, and of each row
    # with itself once.
    pairs = directions.sum(dim=0).square().sum() - directions.square().sum()
    smallest = torch.finfo(rows.dtype).tiny  # avoids 0 / 0 if all rows are 0
    around = (rows - rows.mean(dim=0)).square().sum() / rows.square().sum().clamp(min=smallest)
    values = torch.linalg.svdvals(rows)
    shares = values / values.sum().clamp(min=smallest)
    return RowSpread(
        count,
        float(pairs / (count * (count - 1))),
        float(around.sqrt()),
        float(torch.special.entr(shares).sum().exp()),
    )


def collapse(rows: Tensor, seen: np.ndarray) -> dict[str, RowSpread]:
    """Measure how alike embedding rows are, for symbols seen in training and for unseen symbols.

    rows: the embedding rows, shape (number of symbols, width).
    seen: whether each symbol occurs in training, bool (number of symbols,).

    The keys of the result are `seen` and `never` (the unseen symbols).
    """
    mask = torch.from_numpy(seen).to(rows.device)
    return {"seen": row_spread(rows[mask]), "never": row_spread(rows[~mask])}


@torch.no_grad()
def reset_rows(rows: Tensor, seen: np.ndarray, seed: int) -> int:
    """Redraw, in place, the embedding rows of symbols that never occur in training.

    rows: shape (number of symbols, width).
    seen: whether each symbol occurs in training, bool (number of symbols,).

    New rows come from the normal distribution with the mean and the covariance of the seen rows.
    Returns the number of redrawn rows. Raises LogicgenError if all symbols were seen, or fewer than
    two.
    """
    never = int((~seen).sum())
    if not never:
        raise LogicgenError("no row to reset: every symbol occurs in training; omit --reset-rows")
    if seen.sum() < 2:
        raise LogicgenError("no rows to draw from: fewer than two symbols occur in training")
    mask = torch.from_numpy(seen).to(rows.device)
    known = rows[mask]
    mean = known.mean(dim=0)
    # A new row is the mean of the n seen rows plus a weighted sum of the rows' deviations from the
    # mean. With independent normal weights of variance 1 / (n - 1), new rows have the covariance of
    # the seen rows.
    weights = torch.randn(never, len(known), generator=torch.Generator().manual_seed(seed))
    weights = (weights * (len(known) - 1) ** -0.5).to(rows)
    rows[~mask] = mean + weights @ (known - mean)
    return never


def trained_rows(run: Path, model: Model, data: Dataset | Corpus) -> tuple[Tensor, np.ndarray]:
    """Return a model's trained embedding rows, and a mask of the symbols that occur in training.

    data: the training data.

    The shapes are (number of symbols, width) and (number of symbols,). Raises LogicgenError if the
    model was trained on other data, or if its rows do not belong to symbols.
    """
    trained = load_json(find_run(run) / CARD).get("data")
    if trained != data.fingerprint:
        raise LogicgenError(
            f"{run} was trained on other data ({trained}) than {data.folder}"
            f" ({data.fingerprint}), so its seen symbols are not known: give its training data"
        )
    return model.trained_rows(model.training_data(model.recipe, data), str(run))


def measure_collapse(
    run: Path, data: Dataset | Corpus, out: Path | None, device: str
) -> tuple[list[str], Path]:
    """Measure how alike a model's embedding rows are, and write the numbers to `collapse.json`.

    Returns a table as printed lines, and the path of the file.
    """
    found = collapse(*trained_rows(run, load_model(run, device), data))
    folder = out or scores_folder(run, "collapse")
    prepare_folder(folder)
    file = folder / "collapse.json"
    write_json({name: asdict(part) for name, part in found.items()}, file)
    heads = ("cosine", 7), ("spread", 7), ("effective_rank", 14)
    names = " ".join(f"{name:>{width}}" for name, width in heads)
    lines = [f"{'in training':<12} {'rows':>6} {names}"]
    for name, part in found.items():
        values = ((getattr(part, head), width) for head, width in heads)
        shown = [f"{'-' if value is None else f'{value:.3f}':>{width}}" for value, width in values]
        lines.append(f"{name:<12} {part.rows:>6,} {' '.join(shown)}")
    return lines, file
