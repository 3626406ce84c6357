"""Memory and time to make data sets: `python benchmarks/generation.py SIZE [SIZE ...]`.

The command makes each recipe at each size (without sizes, at the recipe's size) with two workers.
Memory is the peak proportional set size (PSS) of all processes together, measured four times a
second. CPU seconds are summed over all processes; they matter more if the machine has other work.
The unit of speed is examples, or tokens of a corpus.

Afterwards Arrow counts the problems of all shards, to check that no problem occurs twice. If the
recipe forbids renamings, it counts hashes that are equal for all renamings of a problem.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq


def memory(process: int) -> int:
    """Return the PSS of a process and its descendants, in bytes. Ended processes count 0."""
    total = 0
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        total += next(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        for task in Path(f"/proc/{process}/task").iterdir():
            total += sum(map(memory, map(int, (task / "children").read_text().split())))
    except (OSError, StopIteration):
        pass
    return total


def cpu_seconds() -> float:
    """Return the CPU seconds of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def disk(folder: Path) -> int:
    """Return the bytes of all files in a folder."""
    total = 0
    for where, _, names in os.walk(folder):  # skips folders that were deleted meanwhile
        for name in names:
            with suppress(OSError):
                total += Path(where, name).stat().st_size
    return total


def counted(folder: Path) -> tuple[int, str]:
    """Return the examples of a data set and whether all are different; the tokens of a corpus."""
    if (corpus := folder / "corpus.json").exists():
        splits = json.loads(corpus.read_text())["splits"].values()
        return sum(split["tokens"] for split in splits), "tokens"
    up_to = json.loads((folder / "dataset.json").read_text())["distinct"]["up to"]
    column = "alpha_class" if up_to == "renaming" else "problem"
    shards = sorted(folder.rglob("*.parquet"))
    keys = pa.concat_tables(pq.read_table(path, columns=[column]) for path in shards)[column]
    different = pc.count_distinct(keys).as_py()
    return len(keys), f"{different:,}: {'yes' if different == len(keys) else 'NO'}"


def make(recipe: str, size: int | None, workers: int, folder: Path) -> None:
    """Make the data of a recipe, and print a line."""
    command = [sys.executable, "-m", "logicgen.cli.main", "generate", recipe]
    command += ["--workers", str(workers), "-o", str(folder)]
    command += [] if size is None else ["--size", str(size)]
    before, begun = cpu_seconds(), time.monotonic()
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    peak, most, looked = 0, 0, 0.0
    while process.poll() is None:
        peak = max(peak, memory(process.pid))
        if time.monotonic() > looked + 10:
            most, looked = max(most, disk(folder)), time.monotonic()
        time.sleep(0.25)
    seconds, cpu = time.monotonic() - begun, cpu_seconds() - before
    if process.returncode:
        sys.exit(f"{' '.join(command)}: exit status {process.returncode}")
    count, different = counted(folder)
    print(
        f"{recipe:>18} {count:>12,} {seconds:>9.1f} {count / seconds:>9,.0f} {cpu:>8,.1f}"
        f" {1e6 * cpu / count:>10,.1f} {peak / 2**20:>9.0f} {disk(folder) / count:>10.1f}"
        f" {disk(folder) / 1e9:>8.2f} {most / 1e9:>8.2f}  {different}",
        flush=True,
    )


def main() -> None:
    """Make data sets of several sizes and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", type=int, nargs="*")
    parser.add_argument("--recipe", action="append", help="propositional-35; may be repeated")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--folder", type=Path, help="folder for the data; a temporary folder if not given"
    )
    options = parser.parse_args()
    print(f"{'recipe':>18} {'count':>12} {'seconds':>9} {'a second':>9} {'CPU s':>8}", end="")
    print(f" {'a million':>10} {'peak MiB':>9} {'bytes each':>10} {'disk GB':>8} {'peak GB':>8}")
    for recipe in options.recipe or ["propositional-35"]:
        for size in options.sizes or [None]:
            with tempfile.TemporaryDirectory(dir=options.folder) as name:
                make(recipe, size, options.workers, Path(name) / "data")


if __name__ == "__main__":
    main()
