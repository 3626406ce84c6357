"""Bulk input and output of `solve --in` and `verify --in`: lines in, JSON lines out."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

import click

from logicgen.atomic import write_atomically
from logicgen.errors import LogicgenError, reading

Row = dict[str, Any]


def run_bulk(
    work: Callable[[Iterable[str]], Iterator[Row]], source: str, target: str | None, key: str
) -> None:
    """Feed the lines of `source` to `work`, write its rows to `target`, and report the speed.

    `-` is standard input or output. A file is written under another name and renamed when it is
    complete. `key` names the field whose values are counted in the report.
    """
    start = time.perf_counter()
    counts: Counter[str] = Counter()
    rows = work(_lines(source))

    def write(path: Path) -> None:
        with open(path, "w", encoding="utf-8") as file:
            _write(rows, file, key, counts)

    if target in (None, "-"):
        _write(rows, sys.stdout, key, counts)
    else:
        path = Path(str(target)).resolve()  # through a link, what it leads to
        if path.is_dir():
            raise LogicgenError(f"{target}: is a folder; name a file")
        if path.exists() and not path.is_file():  # a pipe or a device
            write(path)
        else:
            write_atomically(path, write)
    seconds = time.perf_counter() - start
    total = sum(counts.values())
    parts = ", ".join(f"{count:,} {name}" for name, count in counts.most_common())
    speed = f"{total:,} in {seconds:.2f} s, {total / seconds:,.0f} a second"
    click.echo(f"{speed}: {parts}" if parts else speed, err=True)


def _lines(source: str) -> Iterator[str]:
    with reading(source):
        stream = sys.stdin if source == "-" else open(source, encoding="utf-8-sig")  # noqa: SIM115

    def decoded() -> Iterator[str]:
        number = 1
        try:
            with reading(source):
                for line in stream:
                    yield line.rstrip("\n")
                    number += 1
        except UnicodeDecodeError as error:
            # Text is decoded in blocks, so the line is the last one read, or a later one.
            reason = f"line {number} or below is not UTF-8 ({error.reason})"
            raise LogicgenError(f"{source}: {reason}; convert the file") from error

    return decoded()


def _write(rows: Iterator[Row], file: TextIO, key: str, counts: Counter[str]) -> None:
    if (file is not sys.stdout or not sys.stdout.isatty()) and sys.stderr.isatty():
        rows = _with_bar(rows, "verifying" if key == "verdict" else "solving")
    for row in rows:
        counts[row[key]] += 1
        file.write(json.dumps(row) + "\n")


def _with_bar(rows: Iterator[Row], name: str) -> Iterator[Row]:
    from logicgen.cli.progress import progress_bars

    with progress_bars("problems") as bars:
        bar = bars.add_task(name, total=None)
        for row in rows:
            yield row
            bars.advance(bar)
