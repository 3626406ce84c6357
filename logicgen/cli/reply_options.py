"""Options of commands that also judge what other models wrote, from a file of replies."""

from __future__ import annotations

from collections.abc import Collection

import click

from logicgen.cli import options as opt
from logicgen.errors import LogicgenError

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


def check_options(replies: bool, allowed: Collection[str]) -> None:
    """Raise LogicgenError for an option that does not go with replies, or only with them.

    allowed: names of parameters that go with replies.
    """
    for parameter in opt.changed():
        name = str(parameter.name)
        if replies and name not in allowed and name not in OF_REPLIES:
            raise LogicgenError(
                f"{opt.flag(name)}: replies are given, and no model is asked; leave it out"
            )
        if not replies and name in OF_REPLIES:
            raise LogicgenError(f"{opt.flag(name)}: goes with a file of replies; leave it out")
