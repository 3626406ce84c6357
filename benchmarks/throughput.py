"""Throughput of all functions except training: `make bench`.

Each figure is the median of several runs in one process on one core. If its name contains a number
of workers, it is from a single run. Run on a quiet machine, and compare only figures of the same
run. `--full` makes `propositional-35` at its full size of a million examples instead of a hundred
thousand.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from random import Random
from statistics import median

import logicgen
from logicgen.solvers import load_solver
from logicgen.syntax import propositional
from logicgen.syntax.sampling import FormulaSampler
from logicgen.tasks import load_task
from logicgen.tokens import symbol_name

DATA = Path(__file__).parent.parent / "tests" / "data"
AP = ("5ap", "10ap")
OPERATORS = {"!": 1, "&": 1, "|": 1, "^": 1, "<->": 1}


def per_second(work: Callable[[], int], runs: int = 5) -> float:
    """Return the median over runs of the units per second; `work` returns its number of units.

    The first run is a warm-up.
    """
    work()
    rates = []
    for _ in range(runs):
        start = time.perf_counter()
        done = work()
        rates.append(done / (time.perf_counter() - start))
    return median(rates)


def show(what: str, figure: str) -> None:
    print(f"{what:<66} {figure:>16}", flush=True)


def language() -> None:
    names = [symbol_name(i) for i in range(10)]
    for distribution in ("uniform", "tree"):
        sampler = FormulaSampler(propositional(), OPERATORS, distribution, 10)
        draw = partial(sampler.sample, Random(0), 50, names)
        rate = per_second(lambda d=draw: len([d() for _ in range(2000)]))
        show(f"sample, {distribution}, 10 symbols, 50 tokens", f"{rate:,.0f} /s")
    read = load_task("propositional").read_problem  # the function that the commands call
    for notation, texts in notations(formulas(2000)).items():
        rate = per_second(lambda t=texts: len([read(text) for text in t]), 3)
        show(f"read {notation}, 12 to 35 tokens", f"{rate:,.0f} /s")


def notations(problems: list) -> dict[str, list[str]]:
    return {
        "infix": [propositional().write(f) for f in problems],
        "prefix": [f.prefix for f in problems],
    }


def formulas(count: int) -> list:
    sampler = FormulaSampler(propositional(), OPERATORS, "tree", 5)
    rng = Random(1)
    return [sampler.sample(rng, rng.randint(12, 35), "abcde") for _ in range(count)]


def solvers() -> None:
    problems = formulas(3000)
    for name in ("pysat", "truth-table"):
        solver = load_solver(name, "propositional")
        rate = per_second(lambda s=solver: len([s.solve(f) for f in problems]))
        show(f"solve (subset-minimal), {name}, 12 to 35 tokens, 5 symbols", f"{rate:,.0f} /s")
        pairs = [(f, s.witness) for f in problems if (s := solver.solve(f)).witness is not None]
        rate = per_second(lambda s=solver, p=pairs: len([s.check(f, w) for f, w in p]))
        show(f"check, {name}, the same formulas", f"{rate:,.0f} /s")


def functions() -> None:
    """`logicgen.solve` and `logicgen.verify`, from text."""
    ltl = (DATA / "ltl_speed_10ap.txt").read_text().splitlines()
    for task, texts in (("propositional", notations(formulas(2000))["infix"]), ("ltl", ltl)):
        solve, verify = partial(logicgen.solve, task), partial(logicgen.verify, task)
        rate = per_second(lambda s=solve, t=texts: len([s(text) for text in t]), 3)
        show(f"logicgen.solve, {task}", f"{rate:,.0f} /s")
        shown = load_task(task).show
        found = [(text, solve(text).witness) for text in texts]
        pairs = [(text, shown(witness)) for text, witness in found if witness is not None]
        rate = per_second(lambda v=verify, p=pairs: len([v(*pair) for pair in p]), 3)
        show(f"logicgen.verify, {task}", f"{rate:,.0f} /s")


def commands() -> None:
    """`logicgen solve --in`, its start-up taken off; the median of three pairs."""
    ltl = {kind: (DATA / f"ltl_speed_{kind}.txt").read_text().splitlines() for kind in AP}
    texts = notations(formulas(3000))
    sources = [
        ("propositional, infix, 12 to 35 tokens", "propositional", texts["infix"] * 10),
        ("propositional, prefix, the same formulas", "propositional", texts["prefix"] * 10),
        ("ltl, 5 propositions", "ltl", (ltl["5ap"] * 50)[:20_000]),
        ("ltl, 10 propositions", "ltl", (ltl["10ap"] * 100)[:20_000]),
        *(
            (
                f"ltl, 10 propositions, --model ltl --workers {workers}",
                *("ltl", ltl["10ap"] * 4, "--model", "ltl", "--workers", workers),
            )
            for workers in ("1", "2")
        ),
    ]
    for what, task, lines, *options in sources:
        rates = []
        for _ in range(3):
            seconds = [_seconds(task, some, *options) for some in (lines[:1], lines)]
            rates.append((len(lines) - 1) / (seconds[1] - seconds[0]))
        show(f"solve --in, {what}", f"{median(rates):,.0f} /s")


def _seconds(task: str, lines: list[str], *options: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.txt"), Path(folder, "out.jsonl")
        source.write_text("\n".join(lines), encoding="utf-8")
        command = [sys.executable, "-m", "logicgen.cli.main", "solve", "--task", task]
        start = time.perf_counter()
        subprocess.run(
            [*command, *options, "--in", source, "--out", target],
            check=True,
            stderr=subprocess.DEVNULL,
        )
        return time.perf_counter() - start


def start_up() -> None:
    for arguments in (["--help"], ["solve", "--task", "propositional", "a & !b"]):
        seconds = []
        for _ in range(7):
            start = time.perf_counter()
            command = [sys.executable, "-m", "logicgen.cli.main", *arguments]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            seconds.append(time.perf_counter() - start)
        show(f"logicgen {arguments[0]}", f"{median(seconds):.2f} s")


def memory_of_tree(root: int) -> int:
    """Resident bytes of a process and all its descendants (Linux)."""
    parents, resident = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)], resident[int(entry.name)] = int(fields[1]), int(fields[21])
    family = {root}
    while more := {p for p, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(resident.get(p, 0) for p in family) * os.sysconf("SC_PAGE_SIZE")


def generation(full: bool) -> None:
    size = 1_000_000 if full else 100_000
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "logicgen.cli.main", "generate", "propositional-35"]
        command += ["--size", str(size), "--workers", "2", "-o", f"{folder}/data"]
        start = time.perf_counter()
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        peak = 0

        def watch() -> None:
            nonlocal peak
            while process.poll() is None:
                peak = max(peak, memory_of_tree(process.pid))
                time.sleep(0.05)

        watcher = threading.Thread(target=watch)
        watcher.start()
        if process.wait():
            sys.exit("generation failed")
        seconds = time.perf_counter() - start
        watcher.join()
        from logicgen.data.opening import load_dataset

        examples = load_dataset(f"{folder}/data").description["examples"]
        show(
            f"generate propositional-35, {examples:,} examples, 2 workers",
            f"{examples / seconds:,.0f} /s",
        )
        if peak:
            show("  memory of all its processes together, at most", f"{peak / 2**20:,.0f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    full = parser.parse_args().full
    print(
        f"{date.today()}, {platform.processor() or platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}"
    )
    start_up()
    language()
    solvers()
    functions()
    commands()
    generation(full)


if __name__ == "__main__":
    main()
