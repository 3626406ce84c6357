"""`logicgen complete`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from logicgen.cli.number import Number
from logicgen.errors import LogicgenError


@click.command("complete")
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@click.argument("prompt", required=False)
@click.option(
    "--tokens",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="At most so many.",
)
@click.option("--temperature", type=Number(min=0, min_open=True), help="Of random draws [1].")
@click.option("--top-k", type=click.IntRange(min=1), help="Draw from the K likeliest tokens.")
@click.option(
    "--top-p",
    type=Number(min=0, max=1, min_open=True),
    help="Draw from the nucleus: the fewest tokens with this probability.",
)
@click.option("--greedy", is_flag=True, help="Write the likeliest token each time; draw nothing.")
@click.option(
    "--count",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="So many texts; several as JSON lines with text and log_probability (nats).",
)
@click.option(
    "--vote",
    is_flag=True,
    help="Only the most frequent of --count texts; of several, that of most probability in total.",
)
@click.option("--until", metavar="TEXT", help="Stop before TEXT.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True
)
def command(
    run: Path,
    prompt: str | None,
    tokens: int,
    temperature: float | None,
    top_k: int | None,
    top_p: float | None,
    greedy: bool,
    count: int,
    vote: bool,
    until: str | None,
    seed: int,
    device: str,
) -> None:
    """Write what follows PROMPT, or standard input, by the language model in RUN.

    A text ends before --until, at the end of a document, or after --tokens. A line break at the
    end of standard input is no part of the prompt.

    \b
    logicgen complete runs/english "A list is" --temperature 0.8
    logicgen complete runs/lookup "a -> b c -> d a ->" --count 20 --vote
    """
    random = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    random = {name: value for name, value in random.items() if value is not None}
    if greedy and random:
        name = next(iter(random)).replace("_", "-")
        raise LogicgenError(f"--greedy and --{name}: nothing is drawn; leave one out")
    if vote and count == 1:
        raise LogicgenError("--vote: one text has nothing to be compared with; give --count N")

    from logicgen.evaluate.completion import complete
    from logicgen.model.checkpoint import load_language_model
    from logicgen.model.votes import elect
    from logicgen.nn.decoding import Sampling

    model = load_language_model(run, device)
    if greedy and count > 1 and not model.random:
        raise LogicgenError(
            f"--greedy and --count {count}: this model draws no rows, so that all texts would be"
            " the same; leave one out"
        )
    found = complete(
        model,
        _read() if prompt is None else prompt,
        tokens,
        sampling=None if greedy else Sampling(**random, seed=seed),  # type: ignore[arg-type]
        count=count,
        until=until,
        seed=seed,
    )
    if vote:
        winner = elect([each.text for each in found], [each.log_probability for each in found])
        click.echo(winner.answer)
        click.echo(f"{winner.votes} of {count} texts ({winner.votes / count:.0%})", err=True)
    elif count == 1:
        click.echo(found[0].text)
    else:
        for each in found:
            click.echo(json.dumps(each._asdict(), ensure_ascii=False))


def _read() -> str:
    try:
        text = sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise LogicgenError(
            f"standard input: not UTF-8 at byte {error.start}; convert it"
        ) from None
    return text.removesuffix("\n").removesuffix("\r")
