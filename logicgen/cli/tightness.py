"""`logicgen measure tightness`."""

from __future__ import annotations

import math
from pathlib import Path

import click

from logicgen.cli.options import DATA, DEVICE, PATH, integer_option
from logicgen.cli.terminal import put
from logicgen.errors import LogicgenError


@click.command("tightness")
@click.argument("run", type=PATH)
@click.option("--data", type=DATA, help="Folder of a corpus, to see what <end> has there at least.")
@click.option("--split", help="Of the corpus; test if not given.")
@integer_option("--limit", 256, help="At most so many sequences, and draws of random rows.")
@integer_option("--context", least=2, help="Tokens of a sequence; those of training if not given.")
@DEVICE
def command(
    run: Path, data: Path | None, split: str | None, limit: int, context: int | None, device: str
) -> None:
    """Say whether the language model in RUN ends every text with probability 1.

    Prints a lower bound of the probability of <end> after any text of any length, computed from the
    weights, and how many tokens follow on average at most. A model with random rows has a bound for
    each draw; the least is printed.
    """
    from logicgen.data.opening import as_corpus, open_data
    from logicgen.measures.tightness import least_end, tightness
    from logicgen.model.checkpoint import as_language_model, load_model

    for option, value in (("--split", split), ("--context", context)):
        if value is not None and data is None:
            raise LogicgenError(f"{option} says what is read of a corpus: give --data, too")
    model = as_language_model(load_model(run, device), run)
    corpus = None if data is None else as_corpus(open_data(data))
    found = tightness(model, range(limit))
    put(f"{'tight' if found.is_tight else 'not tight'}: {found.reason}")
    # Rows that are drawn have no bound together: theirs is that of so many draws.
    of_draws = f" (in {limit:,} draws of rows)" if model.random and model.any_tokens else ""
    if found.log_least > -math.inf:
        least_ever = power_of_ten(found.log_least)
        put(f"probability of <end> after any text: at least {least_ever}{of_draws}")
    if found.mean_length < math.inf:
        put(f"tokens that follow, on average: at most {found.mean_length:,.4g}{of_draws}")
    if corpus is not None:
        split = split or "test"
        least = least_end(model, corpus, str(run), split=split, limit=limit, context=context)
        put(
            f"least in {least.sequences:,} sequences of {corpus.name}, {split}:"
            f" {power_of_ten(least.log_probability)}, after {least.position:,} tokens of number"
            f" {least.sequence:,}"
        )


def power_of_ten(log: float) -> str:
    """Return the number whose natural logarithm is given, also where it is below all floats."""
    if log == -math.inf:
        return "0"
    return f"{math.exp(log):.3g}" if log > -600 else f"1e{log / math.log(10):.0f}"
