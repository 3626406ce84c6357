"""Options of commands that also judge what other models wrote, from a file of replies."""

from __future__ import annotations

from collections.abc import Collection
from os.path import exists
from pathlib import Path

import click

from logicgen.cli import options as opt
from logicgen.errors import LogicgenError

SUFFIXES = (".jsonl", ".json", ".eval")
OF_REPLIES = ("mode", "mixed_prompts")
REPLIES = opt.together(
    click.option(
        "--mode",
        type=click.Choice(["strict", "tolerant"]),
        help="Of replies: which places of a completion may hold the answer [strict].",
    ),
    click.option(
        "--mixed-prompts",
        is_flag=True,
        help="Of replies: allow those to prompts of different versions.",
    ),
)
"""What is said of a file of replies alone."""


def check_options(allowed: Collection[str], why: str) -> None:
    """Raise LogicgenError for an option that is given and not allowed; `why` says why not."""
    for parameter in opt.changed():
        if (name := str(parameter.name)) not in allowed:
            raise LogicgenError(f"{opt.flag(name)}: {why}; leave it out")


def check_no_replies(run: Path) -> None:
    """Raise LogicgenError for what goes with replies alone, where there is no file of them."""
    if run.suffix in SUFFIXES and not exists(run):
        raise LogicgenError(f"{run}: no such file of replies")
    for parameter in opt.changed():
        if (name := str(parameter.name)) in OF_REPLIES:
            raise LogicgenError(f"{opt.flag(name)}: goes with a file of replies; leave it out")
