"""The collapse of the rows of unseen symbols: its measure, and redrawn rows.

A symbol that never occurs in training is an output of the softmax but never a target. Every step
pushes its row away from the features, in nearly the same direction for all such symbols. So these
rows become alike (Lazić, Fowl, György, Szepesvári, "To See the Unseen", 2026). Because of weight
tying, they are alike as inputs, too.

Three numbers measure how alike rows are, for symbols that occur in training and for other symbols:

    cosine           mean over all pairs: 0 for rows in all directions, 1 for one direction
    spread           root mean square distance from the mean row, divided by the root mean square
                     norm: 1 for rows around 0, 0 for equal rows
    effective_rank   exponential of the entropy of the singular values, divided by their sum
                     (Roy, Vetterli, EUSIPCO 2007): 1 for rows on one line

Rows are measured as they are stored. Redrawn rows are a baseline for alpha-renaming: they have not
collapsed, and need no further training.
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
    """How alike some rows are; the numbers are None for fewer than two rows."""

    rows: int
    cosine: float | None = None
    spread: float | None = None
    effective_rank: float | None = None


def row_spread(rows: Tensor) -> RowSpread:
    """Return how alike rows (R, width) are."""
    count = len(rows)
    if count < 2:
        return RowSpread(count)
    rows = rows.detach().cpu().double()
    directions = F.normalize(rows, dim=1)
    # The squared norm of the sum contains each pair twice, and each row with itself once.
    pairs = directions.sum(dim=0).square().sum() - directions.square().sum()
    smallest = torch.finfo(rows.dtype).tiny  # rows that are all 0 are equal, and of rank 1
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
    """Return how alike rows (R, width) are, for symbols `seen` in training and for unseen symbols.

    seen: bool (R,).
    """
    mask = torch.from_numpy(seen).to(rows.device)
    return {"seen": row_spread(rows[mask]), "never": row_spread(rows[~mask])}


@torch.no_grad()
def reset_rows(rows: Tensor, seen: np.ndarray, seed: int) -> int:
    """Redraw, in place, the rows (R, width) of symbols that training never showed.

    They are drawn from the normal distribution with the mean and the covariance of the seen rows.
    seen: bool (R,). Returns the number of redrawn rows. Raises LogicgenError if all symbols were
    seen, or fewer than two.
    """
    never = int((~seen).sum())
    if not never:
        raise LogicgenError("no row to reset: every symbol occurs in training; omit --reset-rows")
    if seen.sum() < 2:
        raise LogicgenError("no rows to draw from: fewer than two symbols occur in training")
    mask = torch.from_numpy(seen).to(rows.device)
    known = rows[mask]
    mean = known.mean(dim=0)
    # Sum the deviations of n rows with independent normal weights of variance 1 / (n - 1). The sum
    # has the covariance of the rows, and no matrix must be decomposed.
    weights = torch.randn(never, len(known), generator=torch.Generator().manual_seed(seed))
    weights = (weights * (len(known) - 1) ** -0.5).to(rows)
    rows[~mask] = mean + weights @ (known - mean)
    return never


def trained_rows(run: Path, model: Model, data: Dataset | Corpus) -> tuple[Tensor, np.ndarray]:
    """Return a model's trained rows (R, width), and which of them occur in the data, (R,).

    data: the training data. Raises LogicgenError if the model was trained on other data, or if its
    rows do not belong to symbols.
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
    """Write how alike a model's rows are as JSON; return a table in lines, and the file."""
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
