"""`logicgen compare`."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("compare")
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), help="Folder.")
def command(folders: tuple[Path, ...], out: Path) -> None:
    """Set evaluations of the same examples side by side.

    FOLDERS are what logicgen evaluate wrote, such as RUN/grid. Writes a table, heat maps with one
    scale, maps of the difference to the first evaluation, and accuracy by number of symbols.
    """
    from logicgen.evaluate.compare import compare, markdown

    rows = compare(list(folders), out)
    click.echo(markdown(rows))
    click.echo(f"figures: {out / 'heatmaps.png'}, differences.png, symbols.png", err=True)
