"""Standard input, output and error of a command, and progress bars on standard error."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

import click

from logicgen.errors import LogicgenError, printable

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class OutputClosedError(Exception):
    """The reader of the output has closed it, as `head` does."""


def say(text: str) -> None:
    """Write a message to standard error. Control characters are escaped."""
    click.echo(printable(text), err=True)


def put(text: str, nl: bool = True) -> None:
    """Write a result to standard output. On a terminal, control characters are escaped."""
    terminal = sys.stdout is not None and sys.stdout.isatty()
    click.echo(printable(text) if terminal else text, nl=nl)


def is_standard_output(target: str | None) -> bool:
    """Return whether the target is standard output, which other programs may write to as well."""
    return target in (None, "-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def read_text() -> str:
    """Return standard input without the line break at its end.

    Raises LogicgenError if it is not UTF-8.
    """
    try:
        text = sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 at byte {error.start}; convert it"
        raise LogicgenError(f"standard input: {reason}") from None
    return text.removesuffix("\n").removesuffix("\r")


def open_streams() -> None:
    """Replace standard streams that were closed (`>&-`) by the null device.

    Otherwise the next file to be opened gets their descriptor, and messages are written into it.
    Reading a closed input and writing to a closed output still fail. Messages are dropped.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        how = os.O_RDONLY if name == "stdout" else os.O_WRONLY
        nothing = os.open(os.devnull, how)
        if nothing != number:
            os.dup2(nothing, number)
            os.close(nothing)
        mode = "r" if name == "stdin" else "w"
        setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115
    # An encoding such as latin-1 lacks characters of formulas. They are written as `\u25a1`.
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def flush_output() -> None:
    """Flush standard output. Raises OSError if that fails, such as on a full disk."""
    sys.stdout.flush()


def drop_output() -> None:
    """Discard unwritten output, because Python would fail again to write it at exit."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    with suppress(OSError):  # standard output may have no descriptor
        os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


@contextmanager
def progress_bars(unit: str, transient: bool = False) -> Iterator[Progress]:
    """Yield progress bars that count `unit`, with the time taken and the time left.

    transient: remove the bars at the end.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description:<24}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=transient) as bars:
        yield bars


@contextmanager
def stage_bars(unit: str, prefix: str = "") -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function of (stage, done, total) that shows a progress bar for each stage.

    prefix: text before the name of the stage.
    """
    bars: Progress | None = None
    tasks: dict[str, TaskID] = {}
    with ExitStack() as shown:  # the display starts at the first call: it would leave an empty line

        def progress(stage: str, done: int, total: int) -> None:
            nonlocal bars
            bars = bars or shown.enter_context(progress_bars(unit))
            if stage not in tasks:
                tasks[stage] = bars.add_task(prefix + stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield progress
