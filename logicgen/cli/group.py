"""The group of all commands, which are imported when they are called."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from logicgen import __version__
from logicgen.cli.terminal import OutputClosedError

# Name and first help line of every command; the line stands here so that `logicgen --help` imports
# nothing.
COMMANDS = {
    "list": "Show what ships: tasks, data-set recipes, model recipes, studies, solvers.",
    "generate": "Make a data set from a recipe; every answer is verified.",
    "train": "Train a model on a data set.",
    "evaluate": "Score a model's answers with the solver, cell by cell.",
    "complete": "Go on from a text with a language model.",
    "probability": "Give the probability of a text, by a language model.",
    "compare": "Set evaluations of the same examples side by side.",
    "report": "Show an evaluation or a data set as one HTML file.",
    "covariance": "Measure whether renaming a problem renames the answer.",
    "collapse": "Tell how alike the rows of symbols are that training never showed.",
    "probe": "Ask a frozen language model for the keys of ciphers.",
    "tightness": "Say whether a language model ends every text, and how soon.",
    "inductive": "Read and cut what inductive Transformers learnt; experiments about them.",
    "study": "Train and score many models; one table and its figures.",
    "solve": "Answer problems.",
    "verify": "Check answers to problems.",
    "audit": "Report which wrong completions a verifier pays.",
    "export": "Write a model to be passed on, or a data set as prompts.",
    "convert": "Turn examples into DeepLTL-style text or DIMACS, or back.",
    "demo": "The main job from recipe to heat map, in minutes.",
    "doctor": "Show versions, devices and which solvers can run.",
}


class LazyGroup(click.Group):
    """A group of commands that imports `logicgen.cli.NAME` when command NAME runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order in which they are used."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return the command called `name`, or None if there is none."""
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(f"logicgen.cli.{name}").command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Raises OutputClosedError where nobody reads its output."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:  # for which click ends the process with status 1
            raise OutputClosedError from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands in `--help`, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="logicgen")
def group() -> None:
    """Formal-logic data sets verified by solvers, and Transformers whose vocabulary grows.

    Start with `logicgen demo`, or `logicgen list`.
    """
