"""Speed of LTL on one core, for reading, solving and checking: `python benchmarks/ltl.py`.

The formulas are in `tests/data`, from Spot's generator with the operator priorities of the
literature. Every figure is the best of several short runs and includes reading. The figure for the
worst formula is the largest of the formulas' best times over three runs.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from logicgen.solvers import load_solver
from logicgen.syntax import Trace, ltl

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.solvers.ltl_families import arbiter, counter

DATA = Path(__file__).parent.parent / "tests" / "data"


def best(work: Callable[[], Any], runs: int = 9) -> tuple[float, Any]:
    """Return the seconds and the result of the fastest run."""
    shortest = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        result = work()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest, result


def show(what: str, figure: str) -> None:
    print(f"{what:<66} {figure:>16}", flush=True)


def random_formulas(name: str) -> None:
    read, solver = ltl().read, load_solver("embedded", "ltl")
    lines = (DATA / name).read_text().splitlines()
    seconds, _ = best(lambda: [read(line) for line in lines])
    show(f"{name}: read", f"{len(lines) / seconds:,.0f} /s")
    seconds, solutions = best(lambda: [solver.solve(read(line)) for line in lines])
    show(f"{name}: solve", f"{len(lines) / seconds:,.0f} /s")
    counts = Counter(str(solution.status) for solution in solutions)
    show("  of which", ", ".join(f"{n} {status}" for status, n in counts.most_common()))
    worst = max(best(lambda line=line: solver.solve(read(line)), 3)[0] for line in lines)
    show("  worst", f"{worst * 1e3:.2f} ms")
    pairs = [
        (line, solution.witness.infix)
        for line, solution in zip(lines, solutions, strict=True)
        if solution.witness is not None
    ]
    seconds, verdicts = best(
        lambda: [solver.check(read(formula), Trace.read(trace)) for formula, trace in pairs]
    )
    assert all(verdict.is_right for verdict in verdicts)
    show(f"{name}: check its {len(pairs)} solved pairs", f"{len(pairs) / seconds:,.0f} /s")


def hard_formulas() -> None:
    solver = load_solver("embedded", "ltl")
    for what, text in {
        "arbiter of 4 clients": arbiter(4),
        "arbiter of 8 clients": arbiter(8),
        "arbiter of 12 clients": arbiter(12),
        "arbiter of 4 that starves one": f"{arbiter(4)} & FG!g1",
        "arbiter of 5 that starves one": f"{arbiter(5)} & FG!g1",
        "counter of 6 bits": counter(6),
        "counter of 8 bits": counter(8),
        "counter of 8 bits that never overflows": f"{counter(8)} & G!b7",
    }.items():
        formula = ltl().read(text)
        seconds, solution = best(lambda f=formula: solver.solve(f), 3)
        show(f"{what} ({formula.length} tokens): {solution.status}", f"{seconds * 1e3:,.1f} ms")


def main() -> None:
    random_formulas("ltl_speed_5ap.txt")
    random_formulas("ltl_speed_10ap.txt")
    hard_formulas()


if __name__ == "__main__":
    main()
