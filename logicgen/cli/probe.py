"""`logicgen measure probe`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from logicgen.cli.options import DEVICE, PATH, SEED, data_option, integer_option, out_option
from logicgen.cli.terminal import put, say


@click.command("probe")
@click.argument("run", type=PATH)
@data_option("Folder of a corpus of ciphers, or of an automaton's strings.")
@click.option("--split", default="test", show_default=True, help="Whose rows are deciphered.")
@integer_option("--steps", 2000, help="Of training the probe.")
@integer_option("--hidden", 256, help="Width of the probe's inner layer.")
@integer_option(
    "--layer",
    help="Probe the hidden states after this layer of a Transformer alone; after every layer if not"
    " given.",
)
@integer_option(
    "--last", help="Let the probe learn from so many last positions of a row; all if not given."
)
@integer_option("--context", least=2, help="Tokens of a row that are read; all if not given.")
@integer_option("--window", 100, help="Characters whose occurrences vote together.")
@integer_option("--limit", 1000, help="At most so many rows.")
@SEED
@out_option("Folder; RUN/DATA-probe if not given.")
@DEVICE
def command(
    run: Path,
    data: Path,
    split: str,
    steps: int,
    hidden: int,
    layer: int | None,
    last: int | None,
    seed: int,
    out: Path | None,
    **options: Any,
) -> None:
    """Ask the language model in RUN, left as it is, for the keys of ciphers.

    Trains a probe for each layer, a network of two layers, to say from the model's hidden states
    what each character stands for, or takes those that are in the folder. Shown is the probe with
    the least loss in training. Key precision is the share of the
    symbols in a window whose majority is right; [low, high] is a 95% interval over rows. Below
    stand the controls: what can be found without a model. Writes windows.csv, summary.json and
    pictures of the precision, of a key and of a symbol.
    """
    from logicgen.cli.terminal import stage_bars
    from logicgen.data.corpus import Corpus
    from logicgen.measures.keys import find_keys
    from logicgen.measures.keys_figures import PRECISION, write_keys
    from logicgen.measures.probe import ProbeSettings
    from logicgen.model.checkpoint import scores_folder
    from logicgen.report.tables import percent_interval

    corpus = Corpus(data)
    part = "probe" if split == "test" else f"{split}-probe"
    folder = out or scores_folder(run, f"{corpus.name}-{part}")
    settings = ProbeSettings(steps=steps, hidden=hidden, layer=layer, last=last, seed=seed)
    name = run.resolve().name
    options |= {"split": split}
    with stage_bars("") as bars:
        found = find_keys(run, name, corpus, folder, settings, progress=bars, **options)
    write_keys(found, corpus.tokens, folder)
    put(f"{'window':>6}  {'positions':<12} {'key precision':<24} {'votes so far':<24} occurrences")
    for each in found.windows:
        within = percent_interval(each.precision, each.low, each.high)
        so_far = percent_interval(each.so_far, each.so_far_low, each.so_far_high)
        positions = f"{each.first}-{each.last}"
        put(f"{each.window:>6}  {positions:<12} {within:<24} {so_far:<24} {each.occurrence:.1%}")
    if len(found.layers) > 1:
        shares = ", ".join(f"{n}: {some[-1].precision:.1%}" for n, some in found.layers.items())
        put(f"layer {found.about['layer']}; last window by layer: {shares}")
    for by, some in found.controls.items():
        end = some[-1]
        put(
            f"control, {by}: {end.precision:.1%} of the last window, {end.so_far:.1%} with votes"
            f" so far, {end.occurrence:.1%} of occurrences"
        )
    say(f"by window: {folder / PRECISION}.png")
