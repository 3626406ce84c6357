"""The group of all commands, which are imported when they are called."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from logicgen import __version__
from logicgen.cli.terminal import OutputClosedError
from logicgen.errors import LogicgenError

# Names and first help lines of all commands, by what they are for. The lines stand here so that
# `logicgen --help` imports no command.
COMMANDS = {
    "Begin": {
        "demo": "The main job from recipe to heat map, in minutes.",
        "list": "Show what ships, and with `environment` what can run here.",
    },
    "Data": {
        "generate": "Make a data set from a recipe; every answer is verified.",
        "convert": "Turn examples into other formats, formulas into other notations.",
        "export": "Write a model to be passed on, or a data set as prompts.",
    },
    "Models": {
        "train": "Train a model on a data set.",
        "evaluate": "Score a model's answers with the solver, cell by cell.",
        "measure": "Measure renaming, collapse, keys, ends, probability, grammars.",
        "report": "Show an evaluation or data set as one page, or compare several.",
        "study": "Train and score many models; one table and its figures.",
    },
    "Language models": {
        "complete": "Go on from a text with a language model.",
    },
    "Judging": {
        "solve": "Answer problems.",
        "verify": "Check answers to problems.",
        "audit": "Report which wrong completions a verifier pays.",
    },
}

# The same of the commands of `logicgen measure`.
MEASURES = {
    "Commands": {
        "covariance": "Measure whether renaming a problem renames the answer.",
        "collapse": "Compare the rows of symbols that training never showed.",
        "probe": "Train a probe of a frozen language model to find the keys of ciphers.",
        "tightness": "Measure whether a language model ends every text, and how soon.",
        "probability": "Compute the probability of a text under a language model.",
        "grammar": "Read and cut what inductive Transformers learnt.",
    }
}

# Other names of uses of these commands, which a user may try.
ELSEWHERE = {
    "compare": "logicgen report EVALUATION EVALUATION ... -o DIR",
    "doctor": "logicgen list environment",
    "inductive": "logicgen measure grammar",
}

# Modules that hold several commands, by their functions; other commands have one of their name.
MODULES = {
    "data": {"generate": "generate", "list": "list_", "convert": "convert", "export": "export"},
    "evaluate": {name: name for name in ("evaluate", "covariance", "collapse", "probe")},
    "judge": {"solve": "solve", "verify": "verify"},
    "language_models": {
        "complete": "complete",
        "probability": "probability",
        "tightness": "tightness",
    },
}


class LazyGroup(click.Group):
    """A group of commands that imports the module of a command when the command runs.

    sections: first help lines by name of the command, by section of the help.
    """

    def __init__(self, *, sections: dict[str, dict[str, str]], **settings: Any) -> None:
        super().__init__(**settings)
        self._sections = sections

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order of the help."""
        return [name for section in self._sections.values() for name in section]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return the command called `name`, or None if there is none.

        Raises LogicgenError for a name whose use belongs to another command.
        """
        if ctx.parent is None and name in ELSEWHERE:
            raise LogicgenError(f"no command {name}: use {ELSEWHERE[name]}")
        if name not in self.list_commands(ctx):
            return None
        if name == "measure":
            return measure
        for module, functions in MODULES.items():
            if name in functions:
                found = getattr(import_module(f"logicgen.cli.{module}"), functions[name])
                break
        else:
            found = import_module(f"logicgen.cli.{name}").command
        command: click.Command = found
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Raises OutputClosedError where nobody reads its output."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:  # for which click ends the process with status 1
            raise OutputClosedError from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands in `--help`, without importing them."""
        longest = max(map(len, self.list_commands(ctx)))
        for title, commands in self._sections.items():
            with formatter.section(title):
                rows = [(name.ljust(longest), line) for name, line in commands.items()]
                formatter.write_dl(rows)


@click.group(cls=LazyGroup, sections=MEASURES)
def measure() -> None:
    """Measure a trained model, or what it answered. `evaluate` scores answers."""


@click.group(
    cls=LazyGroup, sections=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="logicgen")
def group() -> None:
    """Formal-logic data sets verified by solvers, and Transformers whose vocabulary grows.

    Start with `logicgen demo`, or `logicgen list`.
    """
