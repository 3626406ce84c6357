"""`logicgen complete`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from logicgen.cli import options as opt
from logicgen.cli.terminal import put, read_text, say
from logicgen.errors import LogicgenError


@click.command("complete")
@click.argument("run", metavar="RUN", type=opt.PATH)
@click.argument("prompt", required=False)
@opt.integer_option("--tokens", 100, help="At most so many.")
@opt.sampling_options("random draws")
@click.option("--greedy", is_flag=True, help="Write the likeliest token each time; draw nothing.")
@click.option(
    "--beams",
    type=click.IntRange(1, 1000),
    help="Write the most probable text that a beam search with so many beams finds; draw nothing.",
)
@opt.integer_option(
    "--count",
    1,
    help="So many texts, of --beams the best; several as JSON lines with text and"
    " log_probability (nats).",
)
@click.option(
    "--vote",
    is_flag=True,
    help="Only the most frequent of --count texts; of several, that of most probability in total.",
)
@click.option("--until", metavar="TEXT", help="Stop before TEXT.")
@opt.SEED
@opt.DEVICE
def command(
    run: Path,
    prompt: str | None,
    tokens: int,
    greedy: bool,
    beams: int | None,
    count: int,
    vote: bool,
    until: str | None,
    seed: int,
    device: str,
    **options: Any,
) -> None:
    """Write what follows PROMPT, or standard input, by the language model in RUN.

    A text ends before --until, at the end of a document, or after --tokens. A line break at the
    end of standard input is no part of the prompt.

    \b
    logicgen complete runs/english "A list is" --temperature 0.8
    logicgen complete runs/english "A list is" --beams 10 --until .
    logicgen complete runs/lookup "a -> b c -> d a ->" --count 20 --vote
    """
    random = opt.given(options, opt.RANDOM)
    if greedy and random:
        raise LogicgenError(f"--greedy and {opt.flag(*random)}: nothing is drawn; leave one out")
    others = [*random, *["greedy"] * greedy, *["vote"] * vote]
    if beams is not None and others:
        raise LogicgenError(
            f"--beams and {opt.flag(*others)}: a beam search has its own way to choose; leave one"
            " out"
        )
    if vote and count == 1:
        raise LogicgenError("--vote: one text has nothing to be compared with; give --count N")

    from logicgen.measures.completion import complete, most_probable
    from logicgen.model.checkpoint import as_language_model, load_model
    from logicgen.model.prompted import elect
    from logicgen.nn.samples import Sampling

    model = as_language_model(load_model(run, device), run)
    if greedy and count > 1 and not model.random:
        raise LogicgenError(
            f"--greedy and --count {count}: this model draws no rows, so that all texts would be"
            " the same; leave one out"
        )
    text = read_text() if prompt is None else prompt
    asked: dict[str, Any] = {"count": count, "until": until, "seed": seed}
    if beams is not None:
        found = most_probable(model, text, tokens, beams=beams, **asked)
    else:
        sampling = None if greedy else Sampling(**random, seed=seed)
        found = complete(model, text, tokens, sampling=sampling, **asked)
    if vote:
        winner = elect([each.text for each in found], [each.log_probability for each in found])
        put(winner.answer)
        say(f"{winner.votes} of {count} texts ({winner.votes / count:.0%})")
    elif count == 1:
        put(found[0].text)
    else:
        for each in found:
            put(json.dumps(each._asdict(), ensure_ascii=False))
