"""Command-line options that several commands share, and checks of the given options."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from os.path import exists
from pathlib import Path
from typing import Any, TypeAlias

import click
from click.core import ParameterSource

from logicgen.data.store import is_url
from logicgen.errors import LogicgenError, shown

Option: TypeAlias = Callable[[Any], Any]


class Number(click.FloatRange):
    """The type of an option that takes a number in a range.

    It rejects `nan`, which click's own type for ranges would accept.
    """

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Return the number. Fails with a usage error if it is `nan` or outside the range."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


class PagePath(click.Path):
    """The type of an option that takes the path of an HTML file to write."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the path. Fails with a usage error if its name does not end in .html or .htm."""
        path = super().convert(value, param, ctx)
        if Path(str(path)).suffix.lower() not in (".html", ".htm"):
            self.fail(f"{value}: give a name that ends in .html", param, ctx)
        return path


class LocalPath(click.Path):
    """The type of an option that takes a local path, not a URL."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the path. Fails with a usage error if it is a URL."""
        if is_url(value):
            self.fail(f"{value}: give a local path; only data can be at a URL", param, ctx)
        return super().convert(value, param, ctx)


def _lasting(url: str) -> str:
    """Check the URL of a data set, and return it unchanged.

    Raises LogicgenError for a `memory:` URL, since its data are lost when the command ends.
    """
    if url.lower().startswith("memory:"):
        raise LogicgenError(
            f"{url}: is lost when this command ends: give a folder or another store"
        )
    return url


class DataPath(click.Path):
    """The type of an option that takes a folder of data to read, or its URL.

    The data at a URL are copied, and the value of the option is the folder of the local copy.
    """

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the local path. Raises LogicgenError if there is no complete data at a URL."""
        if not is_url(value):
            return super().convert(value, param, ctx)
        from logicgen.cli.terminal import stage_bars
        from logicgen.data.remote import local_copy

        with stage_bars("files", f"{value} ") as progress:
            return local_copy(_lasting(value), progress)


class OutPath(LocalPath):
    """The type of an option that takes a folder for new data, or a URL, which is kept as text."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the path or the URL."""
        return _lasting(value) if is_url(value) else super().convert(value, param, ctx)


PATH = LocalPath(path_type=Path)
PAGE = PagePath(path_type=Path)
DATA = DataPath(path_type=Path)
POSITIVE = Number(min=0, min_open=True)


def integer_option(
    name: str, default: int | None = None, *, least: int = 1, **settings: Any
) -> Option:
    """Return an option that takes an integer of at least `least`; its help shows the default."""
    if default is not None:
        settings |= {"default": default, "show_default": True}
    return click.option(name, type=click.IntRange(min=least), **settings)


def numbers_option(name: str, **settings: Any) -> Option:
    """Return an option that takes whole numbers, separated by commas."""

    def read(context: click.Context, parameter: click.Parameter, text: str) -> list[int] | None:
        if text is not None and not re.fullmatch(r"\d{1,9}(,\d{1,9})*", text, re.ASCII):
            raise LogicgenError(
                f"{name}: {shown(text)}: give whole numbers separated by commas, such as 0,50,100"
            )
        return None if text is None else [int(number) for number in text.split(",")]

    return click.option(name, metavar="N,N,...", callback=read, **settings)


def out_option(text: str) -> Option:
    """Return the option --out, the folder to write into."""
    return click.option("-o", "--out", type=PATH, help=text)


def changes_option(example: str) -> Option:
    """Return the option --set, which changes values of a TOML file. example: such as `seed=1`."""
    text = f"Change a value of the file, such as {example}. May be repeated."
    return click.option("--set", "changes", metavar="KEY=VALUE", multiple=True, help=text)


def data_option(text: str = "Folder of a data set, or its URL.", **settings: Any) -> Option:
    """Return the option --data, the folder with the data."""
    return click.option("--data", required=True, type=DATA, help=text, **settings)


def together(*options: Option) -> Option:
    """Return a decorator that adds several options to a command, in this order in its help."""

    def add(command: Any) -> Any:
        """Add the options to a command; decorators apply from the last to the first."""
        for option in reversed(options):
            command = option(command)
        return command

    return add


def engine_options(command: Callable[..., Any]) -> Any:
    """Add the options --engine and --address to a command.

    The engine, which runs parallel work, is processes of this machine or a Ray cluster.
    """

    @wraps(command)
    def run(*arguments: Any, engine: str, address: str | None, **options: Any) -> Any:
        """Run the command with the chosen engine."""
        from logicgen.processes.engines import engine as using

        context = click.get_current_context()
        given = context.get_parameter_source("workers") is not ParameterSource.DEFAULT
        if engine == "ray" and given:
            raise LogicgenError("--workers: a Ray cluster uses all its CPUs; leave it out")
        with using(engine, address):
            return command(*arguments, **options)

    added = together(
        click.option(
            "--engine",
            type=click.Choice(["local", "ray"]),
            default="local",
            show_default=True,
            help="Run on this machine (local), or on a Ray cluster (needs logicgen[ray]).",
        ),
        click.option(
            "--address",
            metavar="HOST:PORT",
            help="Address of a Ray cluster, or auto. If not given, start Ray on this machine.",
        ),
    )
    return added(run)


DEVICE = click.option(
    "--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True
)
SEED = integer_option("--seed", 0, least=0)
WORKERS = integer_option("--workers", 1, help="Processes that share the work.")
TASK = click.option(
    "--task", help="A name from `logicgen list tasks`. Not needed for DIMACS files."
)
TARGET_AND_SOLVER = together(
    click.option(
        "--out",
        "target",
        type=LocalPath(allow_dash=True),
        metavar="FILE.jsonl",
        help="Standard output if not given.",
    ),
    click.option("--solver", help="A name from `logicgen list solvers`."),
)
SCORING = together(
    click.argument("run", type=PATH, metavar="RUN|REPLIES"),
    data_option(),
    integer_option(
        "--embedding-seeds",
        1,
        help="Repeat the evaluation with N random draws of the embedding.",
        metavar="N",
    ),
    click.option(
        "--beams", type=click.IntRange(1, 1000), help="Number of beams; 1 is greedy decoding."
    ),
    click.option(
        "--ensemble",
        type=click.IntRange(1, 1000),
        default=1,
        show_default=True,
        metavar="N",
        help="Average the probabilities over N random draws of the embedding. An encoder-decoder"
        " without random rows: the likeliest answer to N orders of a formula's operands.",
    ),
    out_option("Folder; RUN/SPLIT if not given."),
    DEVICE,
    click.option(
        "--grammar/--no-grammar", default=True, help="Decode only answers that parse. [yes]"
    ),
)
"""The options of `evaluate` and `covariance` for the model, the data and the decoding."""


SEARCH, RANDOM = ("beams", "length_normalization"), ("temperature", "top_k", "top_p")
"""The names of the options of beam search, and of the options of random draws."""


def sampling_options(draws: str) -> Option:
    """Return a decorator that adds the options of random draws to a command.

    draws: the name of the random draws in the help.
    """
    return together(
        click.option("--temperature", type=POSITIVE, help=f"Temperature of {draws} [1]."),
        integer_option("--top-k", metavar="K", help="Draw from the K most probable tokens."),
        click.option(
            "--top-p",
            type=Number(min=0, max=1, min_open=True),
            metavar="P",
            help="Draw from the fewest tokens whose total probability is at least P.",
        ),
    )


def given(options: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the options in `names` that are not None."""
    return {name: options[name] for name in names if options.get(name) is not None}


def flag(name: str, *others: str) -> str:
    """Return an option as it is written on the command line, such as `--top-k` for `top_k`.

    others: further names of options, which are ignored.
    """
    return "--" + name.replace("_", "-")


def changed() -> list[click.Parameter]:
    """Return the arguments of the running command, and its options that differ from the default."""
    context = click.get_current_context()
    return [
        parameter
        for parameter in context.command.params
        if isinstance(parameter, click.Argument)
        or context.params[str(parameter.name)] not in (None, parameter.get_default(context))
    ]


SUFFIXES = (".jsonl", ".json", ".eval")
OF_REPLIES = ("mode", "mixed_prompts")
MODE = click.option(
    "--mode",
    type=click.Choice(["strict", "tolerant"]),
    help="For REPLIES: read answers only in tags, or anywhere [strict].",
)
REPLIES = together(
    MODE,
    click.option(
        "--mixed-prompts",
        is_flag=True,
        help="For REPLIES: accept replies to different prompt versions in one file.",
    ),
)
"""The options that need a file of replies: answers of another model."""


def check_options(allowed: Collection[str], why: str) -> None:
    """Raise LogicgenError if an option is given that is not in `allowed`.

    why: the reason why other options are not allowed, for the message.
    """
    for parameter in changed():
        if (name := str(parameter.name)) not in allowed:
            raise LogicgenError(f"{flag(name)}: {why}; leave it out")


def check_no_replies(run: Path) -> None:
    """Raise LogicgenError if `run`, which is not an existing file, cannot be evaluated as a model.

    This is so if `run` names a missing file of replies (answers of another model). It is also so if
    an option is given that only applies to a file of replies.
    """
    if run.suffix in SUFFIXES and not exists(run):
        raise LogicgenError(f"{run}: no such file of replies")
    for parameter in changed():
        if (name := str(parameter.name)) in OF_REPLIES:
            raise LogicgenError(f"{flag(name)}: needs a file of replies; leave it out")
