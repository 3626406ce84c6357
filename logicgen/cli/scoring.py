"""Options that `evaluate` and `covariance` share: the model, the data and the decoding."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = [
    click.argument("run", type=click.Path(path_type=Path)),
    click.option(
        "--data", required=True, type=click.Path(path_type=Path), help="Folder of a data set."
    ),
    click.option(
        "--embedding-seeds",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Repeat with so many draws of the random parts of the embedding.",
    ),
    click.option(
        "--beams",
        type=click.IntRange(1, 1000),
        help="Beam search with so many beams; 1 is greedy.",
    ),
    click.option(
        "--ensemble",
        type=click.IntRange(1, 1000),
        default=1,
        show_default=True,
        help="Average probabilities over so many draws of the random parts of the embedding.",
    ),
    click.option(
        "-o", "--out", type=click.Path(path_type=Path), help="Folder; RUN/SPLIT if not given."
    ),
    click.option(
        "--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True
    ),
    click.option(
        "--grammar/--no-grammar",
        default=True,
        help="Decode only answers that parse. [yes]",
    ),
]


def scoring_options(command: Command) -> Command:
    """Add the argument RUN and the shared options to a command, in this order."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
