"""The rows of symbols that training never showed: whether they have collapsed, and redrawing them.

A row that is an output of a softmax and never a target is pushed away from the features at every
step, in nearly the same direction whatever symbol it belongs to. So the rows of symbols that never
occur in training become alike (Lazić, Fowl, György, Szepesvári, "To See the Unseen", 2026). Models
here use one matrix for inputs and outputs, so that these rows are alike as inputs, too.

How alike rows are, of those that occur in training and of those that never do:

    cosine           mean over all pairs: 0 for rows in all directions, 1 for one direction
    spread           root of the mean squared distance from the mean row, by that of the mean
                     squared norm: 1 for rows around 0, 0 for equal rows
    effective_rank   the exponential of the entropy of the singular values as shares of their sum
                     (Roy, Vetterli, EUSIPCO 2007): 1 for rows on one line

Rows are measured as they are stored. Redrawn rows are the baseline beside alpha-renaming: what is
to be had of rows that have not collapsed, without any further training.
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
    """How alike some rows are; None where fewer than two rows leave that open."""

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
    # The squared norm of the sum holds each pair twice, and each row with itself.
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
    """Return how alike the rows (R, width) of symbols are, `seen` in training (R,) and `never`."""
    mask = torch.from_numpy(seen).to(rows.device)
    return {"seen": row_spread(rows[mask]), "never": row_spread(rows[~mask])}


@torch.no_grad()
def reset_rows(rows: Tensor, seen: np.ndarray, seed: int) -> int:
    """Redraw, in place, the rows (R, width) of symbols never seen in training; return how many.

    They are drawn from the normal distribution with the mean and the covariance of the seen rows.
    seen: bool (R,). Raises LogicgenError where there are none to redraw, or too few to draw from.
    """
    never = int((~seen).sum())
    if not never:
        raise LogicgenError("no row to reset: every symbol occurs in training; leave it out")
    if seen.sum() < 2:
        raise LogicgenError("no rows to draw from: fewer than two symbols occur in training")
    mask = torch.from_numpy(seen).to(rows.device)
    known = rows[mask]
    mean = known.mean(dim=0)
    # A sum of the deviations of n rows, with independent normal weights of variance 1 / (n - 1),
    # has their covariance; no matrix has to be decomposed.
    weights = torch.randn(never, len(known), generator=torch.Generator().manual_seed(seed))
    weights = (weights * (len(known) - 1) ** -0.5).to(rows)
    rows[~mask] = mean + weights @ (known - mean)
    return never


def trained_rows(run: Path, model: Model, data: Dataset | Corpus) -> tuple[Tensor, np.ndarray]:
    """Return the trained rows of a run's model, (R, width), and which the training data show, (R,).

    Raises LogicgenError where no row belongs to a symbol, or the model was trained on other data.
    """
    trained = load_json(find_run(run) / CARD).get("data")
    if trained != data.fingerprint:
        raise LogicgenError(
            f"{run} was trained on other data ({trained}) than {data.folder}"
            f" ({data.fingerprint}), so that it is not known which symbols it has seen: give the"
            " data it was trained on"
        )
    return model.trained_rows(model.training_data(model.recipe, data), str(run))


def measure_collapse(
    run: Path, data: Dataset | Corpus, out: Path | None, device: str
) -> tuple[list[str], Path]:
    """Write the collapse of a model's rows as JSON; return it in words, and the file."""
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
