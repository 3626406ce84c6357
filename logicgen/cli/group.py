"""The group of all commands. The module of a command is imported only when the command runs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from logicgen import __version__
from logicgen.cli.terminal import OutputClosedError, put
from logicgen.errors import LogicgenError

# The first help line of each command, by section of the help. The lines are repeated here, so that
# `logicgen --help` need not import the commands.
COMMANDS = {
    "Begin": {
        "demo": "Test shipped models and train a small model, in minutes.",
        "list": "List tasks, recipes, models and solvers; check this machine.",
    },
    "Data": {
        "generate": "Make a data set from a recipe; every answer is verified.",
        "convert": "Turn examples into other formats, formulas into other notations.",
        "export": "Write a model for publication, or a data set as prompts.",
    },
    "Models": {
        "train": "Train a model on a data set.",
        "evaluate": "Score a model's answers with the solver, cell by cell.",
        "measure": "Measure other properties of a trained model.",
        "report": "Show an evaluation or data set as a page, or compare evaluations.",
        "study": "Train and score many models; write a table and figures.",
        "suite": "Compare any program on a fixed suite of problems.",
    },
    "Language models": {
        "complete": "Continue a text with a language model.",
    },
    "Judging": {
        "solve": "Answer problems.",
        "verify": "Check answers to problems.",
        "audit": "Report which wrong completions a verifier rewards.",
    },
}

# The first help line of each command of `logicgen measure`.
MEASURES = {
    "Commands": {
        "covariance": "Measure whether renaming a problem renames the answer.",
        "collapse": "Measure how alike the embeddings of unseen symbols are.",
        "probe": "Train a probe on a frozen language model to find the keys of ciphers.",
        "tightness": "Compute whether a language model ends every text, and how soon.",
        "probability": "Compute the probability of a text under a language model.",
        "grammar": "Show, cut and sample the grammars of inductive Transformers.",
    }
}

# The first help line of each command of `logicgen suite`.
SUITES = {
    "Commands": {
        "make": "Make the problems of a suite, and check their fingerprints.",
        "run": "Ask a system every problem of a suite, and verify the answers.",
        "prompts": "Write the problems as prompts for a language model.",
        "check": "Verify all answers of results again.",
        "leaderboard": "Write the leaderboard of results.",
    }
}

# Names that are no commands but that a user may try, and the command to use instead.
ELSEWHERE = {
    "compare": "logicgen report EVALUATION EVALUATION ... -o DIR",
    "doctor": "logicgen list environment",
    "inductive": "logicgen measure grammar",
}

# The modules with several commands. A command is the function of its name (`list_` for `list`).
# Every other command is the function `command` of the module with its name.
MODULES = {
    "data": ("generate", "list", "convert", "export"),
    "evaluate": ("evaluate", "covariance", "collapse", "probe"),
    "judge": ("solve", "verify"),
    "suite": ("make", "run", "prompts", "check", "leaderboard"),
    "language_models": ("complete", "probability", "tightness"),
}


class LazyGroup(click.Group):
    """A group of commands that imports the module of a command when the command runs.

    sections: for each section of the help, the first help line of each command.
    """

    def __init__(self, *, sections: dict[str, dict[str, str]], **settings: Any) -> None:
        super().__init__(**settings)
        self._sections = sections

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order of the help."""
        return [name for section in self._sections.values() for name in section]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return the command called `name`, or None if no command has that name.

        Raises LogicgenError if `name` is in `ELSEWHERE`; the message names the command to use.
        """
        if ctx.parent is None and name in ELSEWHERE:
            raise LogicgenError(f"no command {name}: use {ELSEWHERE[name]}")
        if name not in self.list_commands(ctx):
            return None
        if ctx.parent is None and name in ("measure", "suite"):
            return measure if name == "measure" else suite
        module = next((module for module, names in MODULES.items() if name in names), None)
        function = "command" if module is None else "list_" if name == "list" else name
        command: click.Command = getattr(import_module(f"logicgen.cli.{module or name}"), function)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command.

        Raises OutputClosedError if the program that reads the output has closed it.
        """
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:  # click would end the process with status 1
            raise OutputClosedError from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands in `--help` without importing the commands."""
        longest = max(map(len, self.list_commands(ctx)))
        for title, commands in self._sections.items():
            with formatter.section(title):
                rows = [(name.ljust(longest), line) for name, line in commands.items()]
                formatter.write_dl(rows)


@click.group(cls=LazyGroup, sections=MEASURES)
def measure() -> None:
    """Measure properties of a trained model other than its scores (see `evaluate`)."""


@click.group(cls=LazyGroup, sections=SUITES)
def suite() -> None:
    """Compare any program on a fixed suite of problems, whose answers a solver has verified."""


def _print_version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    """Print the version and exit, if the option --version is given."""
    if asked and not ctx.resilient_parsing:
        from logicgen import library

        found = library.commit()
        put(f"logicgen, version {__version__}" + (f", commit {found}" if found else ""))
        ctx.exit()


@click.group(
    cls=LazyGroup, sections=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version, and in a source tree the commit.",
)
def group() -> None:
    """Make formal-logic data sets, train Transformers on them, and verify every answer.

    Start with `logicgen demo` or `logicgen list`.
    """
