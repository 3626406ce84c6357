"""`logicgen measure probability`."""

from __future__ import annotations

from pathlib import Path

import click

from logicgen.cli import options as opt
from logicgen.cli.terminal import put, read_text


@click.command("probability")
@click.argument("run", metavar="RUN", type=opt.PATH)
@click.argument("text", required=False)
@click.option(
    "--after", metavar="TEXT", default="", help="What stands before; if not given, <end>."
)
@click.option("--whole", is_flag=True, help="The document ends behind the text.")
@opt.integer_option(
    "--samples", least=2, help="Estimate from so many where there are more tokenisations."
)
@opt.SEED
@opt.DEVICE
def command(
    run: Path,
    text: str | None,
    after: str,
    whole: bool,
    samples: int | None,
    seed: int,
    device: str,
) -> None:
    """Give the log2-probability of TEXT, or standard input, by the language model in RUN.

    Byte pairs can write a text in many ways. The canonical one is the model's own; marginal is the
    probability of all of them together. A line break at the end of standard input does not count.

    \b
    logicgen measure probability runs/english "A list is"
    logicgen measure probability runs/english " a sequence" --after "A list is" --samples 1000
    """
    from logicgen.measures.tokenisations import magnitude, text_probability
    from logicgen.model.checkpoint import as_language_model, load_model

    model = as_language_model(load_model(run, device), run)
    asked = read_text() if text is None else text
    found = text_probability(model, asked, after=after, whole=whole, samples=samples, seed=seed)
    error = f" (standard error {found.standard_error:.4f})" if found.standard_error else ""
    # Both are -inf where the model excludes the text.
    above = 0.0 if found.marginal == found.canonical else found.marginal - found.canonical
    put(f"tokenisations  {magnitude(found.tokenisations)}")
    put(f"canonical      {found.canonical:.4f}")
    put(f"marginal       {found.marginal:.4f}{error}")
    put(f"difference     {above:.4f}")
