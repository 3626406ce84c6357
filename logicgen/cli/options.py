"""Options that several commands share, and which of them are given."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from os.path import exists
from pathlib import Path
from typing import Any, TypeAlias

import click
from click.core import ParameterSource

from logicgen.data.store import is_url
from logicgen.errors import LogicgenError

Option: TypeAlias = Callable[[Any], Any]


class Number(click.FloatRange):
    """A range of numbers without `nan`, which click's comparisons would accept."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Return the number. Fails with a usage error if it is `nan` or outside the range."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


class PagePath(click.Path):
    """The path of an HTML file to write."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the path. Fails with a usage error if its name does not end as a page's does."""
        path = super().convert(value, param, ctx)
        if Path(str(path)).suffix.lower() not in (".html", ".htm"):
            self.fail(f"{value}: give a name that ends in .html", param, ctx)
        return path


class LocalPath(click.Path):
    """The path of a file or folder of this machine."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the path. Fails with a usage error where it is a URL."""
        if is_url(value):
            self.fail(f"{value}: has to be local: only data may be at a URL", param, ctx)
        return super().convert(value, param, ctx)


def _lasting(url: str) -> str:
    """Return a URL. Raises LogicgenError where what is put there is gone with the command."""
    if url.lower().startswith("memory:"):
        raise LogicgenError(f"{url}: ends with this command: give a folder, or another store")
    return url


class DataPath(click.Path):
    """The folder of data to read; of a URL, that of a local copy."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the path. Raises LogicgenError where a URL leads to no finished data."""
        if not is_url(value):
            return super().convert(value, param, ctx)
        from logicgen.cli.terminal import stage_bars
        from logicgen.data.remote import local_copy

        with stage_bars("files", f"{value} ") as progress:
            return local_copy(_lasting(value), progress)


class OutPath(LocalPath):
    """The folder of data to make; a URL stays a text."""

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
    """Return an option that takes an integer, and shows its default in its help if it has one."""
    if default is not None:
        settings |= {"default": default, "show_default": True}
    return click.option(name, type=click.IntRange(min=least), **settings)


def out_option(text: str = "Folder.", *, required: bool = False) -> Option:
    """Return the option of the folder to write into."""
    return click.option("-o", "--out", required=required, type=PATH, help=text)


def data_option(text: str = "Folder of a data set, or its URL.") -> Option:
    """Return the option of the folder with the data."""
    return click.option("--data", required=True, type=DATA, help=text)


def together(*options: Option) -> Option:
    """Return a decorator that adds options to a command, in this order."""

    def add(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def engine_options(command: Callable[..., Any]) -> Any:
    """Add --engine and --address to a command, which then runs on that engine."""

    @wraps(command)
    def run(*arguments: Any, engine: str, address: str | None, **options: Any) -> Any:
        from logicgen.processes.engines import engine as using

        context = click.get_current_context()
        given = context.get_parameter_source("workers") is not ParameterSource.DEFAULT
        if engine == "ray" and given:
            raise LogicgenError("--workers: a Ray cluster has CPUs of its own; leave it out")
        with using(engine, address):
            return command(*arguments, **options)

    added = together(
        click.option(
            "--engine",
            type=click.Choice(["local", "ray"]),
            default="local",
            show_default=True,
            help="Processes of this machine, or a Ray cluster (logicgen[ray]).",
        ),
        click.option(
            "--address",
            metavar="HOST:PORT",
            help="Of a Ray cluster, or auto; without it one is started on this machine.",
        ),
    )
    return added(run)


DEVICE = click.option(
    "--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True
)
SEED = integer_option("--seed", 0, least=0)
WORKERS = integer_option("--workers", 1)
TASK = click.option("--task", help="A name from `logicgen list tasks`; DIMACS files need none.")
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
        help="Repeat with so many draws of the random parts of the embedding.",
    ),
    click.option(
        "--beams", type=click.IntRange(1, 1000), help="Beam search with so many beams; 1 is greedy."
    ),
    click.option(
        "--ensemble",
        type=click.IntRange(1, 1000),
        default=1,
        show_default=True,
        help="Average probabilities over so many draws of the random parts of the embedding.",
    ),
    out_option("Folder; RUN/SPLIT if not given."),
    DEVICE,
    click.option(
        "--grammar/--no-grammar", default=True, help="Decode only answers that parse. [yes]"
    ),
)
"""The model, the data and the decoding, of `evaluate` and `covariance`."""


SEARCH, RANDOM = ("beams", "length_normalization"), ("temperature", "top_k", "top_p")
"""Options of beam search and of random draws."""


def sampling_options(draws: str) -> Option:
    """Return the options of random draws; `draws` says in the help which ones these are."""
    return together(
        click.option("--temperature", type=POSITIVE, help=f"Of {draws} [1]."),
        integer_option("--top-k", help="Draw from the K likeliest tokens."),
        click.option(
            "--top-p",
            type=Number(min=0, max=1, min_open=True),
            help="Draw from the nucleus: the fewest tokens with this probability.",
        ),
    )


def given(options: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return those of some options that are given."""
    return {name: options[name] for name in names if options.get(name) is not None}


def flag(name: str, *others: str) -> str:
    """Return how the first of some options is written on the command line."""
    return "--" + name.replace("_", "-")


def changed() -> list[click.Parameter]:
    """Return the arguments of the running command, and its options other than their defaults."""
    context = click.get_current_context()
    return [
        parameter
        for parameter in context.command.params
        if isinstance(parameter, click.Argument)
        or context.params[str(parameter.name)] not in (None, parameter.get_default(context))
    ]


SUFFIXES = (".jsonl", ".json", ".eval")
OF_REPLIES = ("mode", "mixed_prompts")
REPLIES = together(
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
    for parameter in changed():
        if (name := str(parameter.name)) not in allowed:
            raise LogicgenError(f"{flag(name)}: {why}; leave it out")


def check_no_replies(run: Path) -> None:
    """Raise LogicgenError for what goes with replies alone, where there is no file of them."""
    if run.suffix in SUFFIXES and not exists(run):
        raise LogicgenError(f"{run}: no such file of replies")
    for parameter in changed():
        if (name := str(parameter.name)) in OF_REPLIES:
            raise LogicgenError(f"{flag(name)}: goes with a file of replies; leave it out")
