"""The commands of `logicgen measure grammar`.

They show, cut and sample the grammar of an inductive Transformer.
"""

from __future__ import annotations

from pathlib import Path

import click

from logicgen import library
from logicgen.cli.options import PATH, SEED, out_option
from logicgen.cli.terminal import put, say


@click.group("grammar")
def command() -> None:
    """Show, cut and sample the grammars of inductive Transformers.

    RUN is a trained model, a grammar file, or a folder with a grammar.toml: a data set of the task
    production, or the output folder of `cut`. The name of a unit is the word that it writes, or
    LAYER.NUMBER.

    \b
    logicgen generate three-sentences -o data/three-sentences
    logicgen train inductive --data data/three-sentences -o runs/three
    logicgen measure grammar show runs/three
    logicgen measure grammar cut runs/three big dog
    logicgen measure grammar generate runs/three/cut-big-dog --prompt big
    """


RUN = click.argument("run", metavar="RUN", type=PATH)
OUT = out_option("Folder for the files.")


@command.command("show")
@RUN
@OUT
def show(run: Path, out: Path | None) -> None:
    """Print all weights of at least 1%, and draw them as a layered graph.

    Writes weights.png, weights.svg and the page report.html into --out, or into RUN if that is a
    folder.
    """
    weights, files = library.show_grammar(run, out)
    put(weights)
    say(files)


@command.command("cut")
@RUN
@click.argument("above")
@click.argument("below")
@OUT
def cut_connection(run: Path, above: str, below: str, out: Path | None) -> None:
    """Remove the connection from unit ABOVE to unit BELOW from RUN's grammar.

    Writes the remaining grammar as grammar.toml, and a picture and a page that compare both
    grammars, into --out or RUN/cut-ABOVE-BELOW. For a trained model, weights of 0.001 or less are
    removed, too. Prints the sentences that lose more than half of their probability.
    """
    lines, file = library.cut_grammar(run, above, below, out)
    for line in lines:
        put(line)
    say(file)


@command.command("generate")
@RUN
@click.option("--prompt", default="", help="Words of the sentences; _ is any word.")
@click.option("--count", type=click.IntRange(1, 1_000_000), default=10, show_default=True)
@SEED
@click.option(
    "--exact", is_flag=True, help="Print the most probable sentences with their probabilities."
)
def generate(run: Path, prompt: str, count: int, seed: int, exact: bool) -> None:
    """Draw sentences that match --prompt, with the probabilities of RUN's grammar."""
    for line in library.sentence_lines(run, prompt, count=count, seed=seed, exact=exact):
        put(line)
