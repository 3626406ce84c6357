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
    """The program that reads the output has closed it, as `head` does after some lines."""


def say(text: str) -> None:
    """Write a message to standard error. Control characters are escaped."""
    click.echo(printable(text), err=True)


def put(text: str, nl: bool = True) -> None:
    """Write a result to standard output. On a terminal, control characters are escaped."""
    terminal = sys.stdout is not None and sys.stdout.isatty()
    click.echo(printable(text) if terminal else text, nl=nl)


def is_standard_output(target: str | None) -> bool:
    """Return whether the path `target`, or its absence, means standard output."""
    return target in (None, "-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def read_text() -> str:
    """Return the text of standard input without the line break at its end.

    Raises LogicgenError if the input is not UTF-8.
    """
    try:
        text = sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 at byte {error.start}; convert it"
        raise LogicgenError(f"standard input: {reason}") from None
    return text.removesuffix("\n").removesuffix("\r")


def open_streams() -> None:
    """Replace standard streams that the shell has closed (`>&-`) by the null device.

    If a stream is closed, the next file that is opened gets the descriptor of the stream, and
    messages would be written into this file. Reading a closed input and writing to a closed output
    still fail. Messages to a closed standard error are lost.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        # Open standard input for writing and standard output for reading, so that their use fails.
        how = os.O_RDONLY if name == "stdout" else os.O_WRONLY
        nothing = os.open(os.devnull, how)
        if nothing != number:
            os.dup2(nothing, number)
            os.close(nothing)
        mode = "r" if name == "stdin" else "w"
        setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115
    # An encoding such as latin-1 lacks some characters of formulas. Write these as escapes, such as
    # `\u25a1`.
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def flush_output() -> None:
    """Flush standard output. Raises OSError if that fails, for example if the disk is full."""
    sys.stdout.flush()


def drop_output() -> None:
    """Discard the output that is not yet written.

    Python would try to write this output again at exit, and fail again.
    """
    nothing = os.open(os.devnull, os.O_WRONLY)
    with suppress(OSError):  # standard output may have no descriptor
        os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


@contextmanager
def progress_bars(unit: str, transient: bool = False) -> Iterator[Progress]:
    """Show progress bars with the time taken and the time left, and yield them.

    unit: the name of the counted things, such as "files".
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
    """Yield a function of (stage, done, total) that shows a progress bar for each stage of a job.

    unit: the name of the counted things, such as "files".
    prefix: text before the name of a stage.
    """
    bars: Progress | None = None
    tasks: dict[str, TaskID] = {}
    # Show the bars at the first call of the function: bars without a stage leave an empty line.
    with ExitStack() as shown:

        def progress(stage: str, done: int, total: int) -> None:
            """Show that `done` of `total` things of a stage are done."""
            nonlocal bars
            bars = bars or shown.enter_context(progress_bars(unit))
            if stage not in tasks:
                tasks[stage] = bars.add_task(prefix + stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield progress
