"""Progress bars, on standard error so that output can be piped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


@contextmanager
def progress_bars(unit: str) -> Iterator[Progress]:
    """Yield progress bars that count `unit`s, with time taken and time left."""
    columns = (
        TextColumn("{task.description:<24}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bars:
        yield bars


@contextmanager
def stage_bars(unit: str, prefix: str = "") -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function of (stage, done, total) that keeps one bar, `prefix` + stage, for each."""
    with progress_bars(unit) as bars:
        tasks: dict[str, TaskID] = {}

        def progress(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(prefix + stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield progress
