"""Bulk input and output of `solve --in` and `verify --in`: lines in, JSON lines out."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from logicgen.cli.terminal import is_standard_output, say
from logicgen.errors import LogicgenError, reading
from logicgen.files import write_atomically
from logicgen.tasks.lines import LONGEST

Row = dict[str, Any]

# What goes on without a line break for so many bytes is no text, such as a device without an end.
ENDLESS = 1 << 30


def run_bulk(
    work: Callable[[Iterable[str]], Iterator[Row]], source: str, target: str | None, key: str
) -> Counter[str]:
    """Feed the lines of `source` to `work`, write its rows to `target`, and report the speed.

    `-` is standard input or output. A regular file is there when it is complete. `key` names the
    field whose values are counted, in the report and in the result.
    """
    start = time.perf_counter()
    counts: Counter[str] = Counter()
    rows = work(_lines(source))

    def write(path: Path) -> None:
        with open(path, "w", encoding="utf-8") as file:
            _write(rows, file, key, counts)

    if is_standard_output(target):
        _write(rows, sys.stdout, key, counts)
        sys.stdout.flush()  # before anybody says that it is done
    else:
        write_atomically(Path(str(target)), write)
    seconds = time.perf_counter() - start
    total = sum(counts.values())
    parts = ", ".join(f"{count:,} {name}" for name, count in counts.most_common())
    speed = f"{total:,} in {seconds:.2f} s, {total / seconds:,.0f} a second"
    say(f"{speed}: {parts}" if parts else speed)
    return counts


def _lines(source: str) -> Iterator[str]:
    """Yield the lines of a file; of one that is longer than `LONGEST`, only a little more.

    Raises LogicgenError for a file that cannot be read, is not UTF-8, or has no line breaks.
    """
    with reading(source):
        if source == "-":
            stream: BinaryIO = sys.stdin.buffer
        else:
            stream = open(source, "rb")  # noqa: SIM115

    def decoded() -> Iterator[str]:
        with reading(source):
            number = 1
            # A character has up to four bytes.
            while line := stream.readline(4 * LONGEST):
                rest = line
                size = len(line)
                while len(rest) == 4 * LONGEST and not rest.endswith(b"\n"):
                    rest = stream.readline(4 * LONGEST)
                    size += len(rest)
                    if size > ENDLESS:
                        raise LogicgenError(
                            f"{source}: line {number} goes on for more than {ENDLESS:,} bytes:"
                            " this is no file with a problem on each line"
                        )
                yield _decoded(line, source, number, cut=rest is not line)
                number += 1

    return decoded()


def _decoded(line: bytes, source: str, number: int, cut: bool) -> str:
    try:
        if cut:  # perhaps inside a character
            return line.decode("utf-8", "ignore")
        text = line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        reason = f"line {number} is not UTF-8 at byte {error.start + 1} ({error.reason})"
        raise LogicgenError(f"{source}: {reason}; convert the file") from error
    return text.rstrip("\r\n")


def _write(rows: Iterator[Row], file: TextIO, key: str, counts: Counter[str]) -> None:
    if (file is not sys.stdout or not sys.stdout.isatty()) and sys.stderr.isatty():
        rows = _with_bar(rows, "verifying" if key == "verdict" else "solving")
    for row in rows:
        counts[row[key]] += 1
        file.write(json.dumps(row) + "\n")


def _with_bar(rows: Iterator[Row], name: str) -> Iterator[Row]:
    from logicgen.cli.terminal import progress_bars

    with progress_bars("problems") as bars:
        bar = bars.add_task(name, total=None)
        for row in rows:
            yield row
            bars.advance(bar)
