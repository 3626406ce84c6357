"""`logicgen probe`."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("probe")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--data", required=True, type=click.Path(path_type=Path), help="Folder of a corpus of ciphers."
)
@click.option("--split", default="test", show_default=True, help="Whose rows are deciphered.")
@click.option(
    "--steps",
    type=click.IntRange(min=1),
    default=2000,
    show_default=True,
    help="Of training the probe.",
)
@click.option(
    "--hidden",
    type=click.IntRange(min=1),
    default=256,
    show_default=True,
    help="Width of the probe's inner layer.",
)
@click.option(
    "--layer",
    type=click.IntRange(min=1),
    help="Probe the hidden states after this layer of a Transformer; the last if not given.",
)
@click.option(
    "--context",
    type=click.IntRange(min=2),
    help="Tokens of a row that are read; all if not given.",
)
@click.option(
    "--window",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Characters whose occurrences vote together.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="At most so many rows.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), help="Folder; RUN/DATA-probe if not given."
)
@click.option(
    "--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True
)
def command(
    run: Path,
    data: Path,
    split: str,
    steps: int,
    hidden: int,
    layer: int | None,
    context: int | None,
    window: int,
    limit: int,
    seed: int,
    out: Path | None,
    device: str,
) -> None:
    """Ask the language model in RUN, left as it is, for the keys of ciphers.

    Trains a probe, a network of two layers, to say from the model's hidden states what each
    character stands for, or takes the one that is in the folder. Key precision is the share of the
    symbols in a window whose majority is right; [low, high] is a 95% interval over rows. Writes
    windows.csv, summary.json and pictures of the precision, of a key and of a symbol.
    """
    from logicgen.cli.progress import stage_bars
    from logicgen.data.corpus import Corpus
    from logicgen.evaluate.keys import find_keys
    from logicgen.model.checkpoint import scores_folder
    from logicgen.report.key_files import PRECISION, write_keys
    from logicgen.report.tables import percent_interval
    from logicgen.train.probe import ProbeSettings

    corpus = Corpus(data)
    folder = out or scores_folder(
        run, f"{corpus.name}-probe" if split == "test" else f"{corpus.name}-{split}-probe"
    )
    settings = ProbeSettings(steps=steps, hidden=hidden, layer=layer, seed=seed)
    with stage_bars("") as progress:
        found = find_keys(
            run,
            run.resolve().name,
            corpus,
            folder,
            settings,
            split=split,
            context=context,
            window=window,
            limit=limit,
            device=device,
            progress=progress,
        )
    write_keys(found, corpus.tokens, folder)
    click.echo(
        f"{'window':>6}  {'positions':<12} {'key precision':<24} {'votes so far':<24} occurrences"
    )
    for each in found.windows:
        within = percent_interval(each.precision, each.low, each.high)
        so_far = percent_interval(each.so_far, each.so_far_low, each.so_far_high)
        positions = f"{each.first}-{each.last}"
        click.echo(
            f"{each.window:>6}  {positions:<12} {within:<24} {so_far:<24} {each.occurrence:.1%}"
        )
    click.echo(f"by window: {folder / PRECISION}.png", err=True)
