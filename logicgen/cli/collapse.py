"""`logicgen measure collapse`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from logicgen.cli.options import DEVICE, PATH, data_option, out_option
from logicgen.cli.terminal import put, say


@click.command("collapse")
@click.argument("run", type=PATH)
@data_option("Folder of the data that the model was trained on.")
@out_option("Folder; RUN/collapse if not given.")
@DEVICE
def command(run: Path, data: Path, out: Path | None, device: str) -> None:
    """Tell how alike the rows are of symbols that the training of RUN never showed.

    Such rows can become alike, as inputs and as outputs. Their mean cosine, relative spread and
    effective rank stand beside those of the symbols that occur in training. Writes collapse.json.
    """
    from logicgen.data.opening import load_dataset
    from logicgen.files import prepare_folder
    from logicgen.measures.collapse import collapse, trained_rows
    from logicgen.model.checkpoint import load_model, scores_folder
    from logicgen.report.tables import write_json

    rows, seen = trained_rows(run, load_model(run, device), load_dataset(data))
    found = collapse(rows, seen)
    folder = out or scores_folder(run, "collapse")
    prepare_folder(folder)
    write_json({name: asdict(part) for name, part in found.items()}, folder / "collapse.json")
    heads = ("cosine", 7), ("spread", 7), ("effective_rank", 14)
    put(f"{'in training':<12} {'rows':>6} " + " ".join(f"{name:>{width}}" for name, width in heads))
    for name, part in found.items():
        values = ((getattr(part, head), width) for head, width in heads)
        shown = [f"{'-' if value is None else f'{value:.3f}':>{width}}" for value, width in values]
        put(f"{name:<12} {part.rows:>6,} {' '.join(shown)}")
    say(f"as JSON: {folder / 'collapse.json'}")
