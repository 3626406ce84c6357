"""The command `logicgen complete`, and `probability` and `tightness` of `logicgen measure`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from logicgen import library
from logicgen.cli import options as opt
from logicgen.cli.options import DATA, DEVICE, PATH, integer_option
from logicgen.cli.terminal import put, read_text, say
from logicgen.errors import LogicgenError


@click.command("complete")
@click.argument("run", metavar="RUN", type=opt.PATH)
@click.argument("prompt", required=False)
@opt.integer_option("--tokens", 100, help="Greatest number of tokens to write.")
@opt.sampling_options("random draws")
@click.option("--greedy", is_flag=True, help="Greedy decoding instead of random draws.")
@click.option(
    "--beams",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Beam search with N beams instead of random draws.",
)
@opt.integer_option(
    "--count",
    1,
    help="Number of texts; with --beams, the best texts found. Several texts are printed as JSON"
    " lines with text and log_probability (nats).",
)
@click.option(
    "--vote",
    is_flag=True,
    help="Print only the most frequent of --count texts. Total probability breaks ties.",
)
@click.option("--until", metavar="TEXT", help="Stop before TEXT.")
@opt.SEED
@opt.DEVICE
def complete(
    run: Path,
    prompt: str | None,
    tokens: int,
    greedy: bool,
    beams: int | None,
    count: int,
    vote: bool,
    **options: Any,
) -> None:
    """Continue PROMPT, or standard input, with the language model in RUN.

    A text ends before --until, at the end of a document, or after --tokens. A line break at the
    end of standard input is not part of the prompt.

    \b
    logicgen complete runs/english "A list is" --temperature 0.8
    logicgen complete runs/english "A list is" --beams 10 --until .
    logicgen complete runs/lookup "a -> b c -> d a ->" --count 20 --vote
    """
    random = opt.given(options, opt.RANDOM)
    if greedy and random:
        raise LogicgenError(
            f"--greedy and {opt.flag(*random)}: greedy decoding draws nothing at random; leave one"
            " out"
        )
    others = [*random, *["greedy"] * greedy, *["vote"] * vote]
    if beams is not None and others:
        raise LogicgenError(
            f"--beams and {opt.flag(*others)}: a beam search chooses the text itself; leave one out"
        )
    if vote and count == 1:
        raise LogicgenError("--vote: needs several texts; give --count N")

    asked = read_text() if prompt is None else prompt
    settings = {name: options[name] for name in options if name not in opt.RANDOM}
    settings |= {"beams": beams, "sampling": None if greedy else random}
    texts, winner = library.complete(run, asked, tokens, count=count, vote=vote, **settings)
    if winner is not None:
        put(winner.answer)
        say(f"{winner.votes} of {count} texts ({winner.votes / count:.0%})")
    elif count == 1:
        put(texts[0].text)
    else:
        for each in texts:
            put(json.dumps(each._asdict(), ensure_ascii=False))


@click.command("probability")
@click.argument("run", metavar="RUN", type=opt.PATH)
@click.argument("text", required=False)
@click.option(
    "--after", metavar="TEXT", default="", help="The text before TEXT; a new document if not given."
)
@click.option("--whole", is_flag=True, help="Include that the document ends after the text.")
@opt.integer_option(
    "--samples", least=2, help="Samples for an estimate if there are too many tokenizations."
)
@opt.SEED
@opt.DEVICE
def probability(
    run: Path,
    text: str | None,
    after: str,
    whole: bool,
    samples: int | None,
    seed: int,
    device: str,
) -> None:
    """Print the log2-probability of TEXT, or standard input, under the language model in RUN.

    Byte pairs can write a text in many ways. The canonical tokenization is the tokenizer's own. The
    marginal probability is the sum over all tokenizations. A line break at the end of standard
    input does not count.

    \b
    logicgen measure probability runs/english "A list is"
    logicgen measure probability runs/english " a sequence" --after "A list is" --samples 1000
    """
    asked = read_text() if text is None else text
    settings = {"after": after, "whole": whole, "samples": samples, "seed": seed}
    for line in library.text_probability(run, asked, device=device, **settings):
        put(line)


@click.command("tightness")
@click.argument("run", type=PATH)
@click.option(
    "--data", type=DATA, help="Folder of a corpus, to find the least probability of <end> there."
)
@click.option("--split", help="Split of the corpus; test if not given.")
@integer_option(
    "--limit", 256, help="Greatest number of sequences, and of draws of random embeddings."
)
@integer_option("--context", least=2, help="Tokens in a sequence; as in training if not given.")
@DEVICE
def tightness(
    run: Path, data: Path | None, split: str | None, limit: int, context: int | None, device: str
) -> None:
    """Compute whether the language model in RUN ends every text with probability 1.

    Prints a lower bound of the probability of <end> after any text, computed from the weights. Also
    prints an upper bound of the mean number of tokens that follow. A model with random embeddings
    has a bound for each draw; the least bound is printed.
    """
    for option, value in (("--split", split), ("--context", context)):
        if value is not None and data is None:
            raise LogicgenError(f"{option} goes with a corpus: give --data, too")
    settings = {"split": split or "test", "limit": limit, "context": context}
    for line in library.tightness(run, data, device=device, **settings):
        put(line)
