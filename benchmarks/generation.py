"""How memory and time grow with a data set: `python benchmarks/generation.py SIZE [SIZE ...]`.

Each size is made by the command, with two workers. Memory is the proportional set size (PSS) of all
its processes together, looked at four times a second; the peak is reported. CPU seconds are those
of all processes; they say more than seconds where the machine has other work.

Afterwards the problems of all shards are counted by Arrow, which knows nothing of how they were
made: by the hash that all renamings share, or as they are, as the recipe says. None may come twice.
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
    """Return the PSS of a process and all below it, in bytes; 0 of those that have ended."""
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
    for where, _, names in os.walk(folder):  # which passes over what is gone meanwhile
        for name in names:
            with suppress(OSError):
                total += Path(where, name).stat().st_size
    return total


def main() -> None:
    """Make data sets of several sizes and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", type=int, nargs="+")
    parser.add_argument("--recipe", default="propositional-35")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where to make them; a temporary one")
    options = parser.parse_args()
    print(f"{'examples':>12} {'seconds':>9} {'a second':>9} {'CPU s':>8} {'peak MiB':>9}", end="")
    print(f" {'disk GB':>8} {'peak GB':>8}  different")
    for size in options.sizes:
        with tempfile.TemporaryDirectory(dir=options.folder) as name:
            folder, begun = Path(name) / "data", time.monotonic()
            command = [sys.executable, "-m", "logicgen.cli.main", "generate", options.recipe]
            command += ["--size", str(size), "--workers", str(options.workers), "-o", str(folder)]
            before = cpu_seconds()
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
            up_to = json.loads((folder / "dataset.json").read_text())["distinct"]["up to"]
            column = "alpha_class" if up_to == "renaming" else "problem"
            shards = sorted(folder.rglob("*.parquet"))
            keys = pa.concat_tables(pq.read_table(p, columns=[column]) for p in shards)[column]
            different = pc.count_distinct(keys).as_py()
            print(
                f"{len(keys):>12,} {seconds:>9.1f} {len(keys) / seconds:>9,.0f}"
                f" {cpu:>8,.1f} {peak / 2**20:>9.0f} {disk(folder) / 1e9:>8.2f} {most / 1e9:>8.2f} "
                f" {different:,}: {'yes' if different == len(keys) else 'NO'}",
                flush=True,
            )


if __name__ == "__main__":
    main()
