"""LTL formulas that are hard for one method or another: a verdict, or unknown at the limit."""

from __future__ import annotations

import pytest

from logicgen.processes.pool import Limits
from logicgen.solvers import Verdict, load_solver
from logicgen.syntax import ltl
from logicgen.tasks.lines import solve_lines
from tests.solvers.ltl_families import arbiter, counter, nested

EMBEDDED = load_solver("embedded", "ltl")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        *((counter(bits), "sat") for bits in (2, 4, 6)),
        *((f"{counter(bits)} & G!b{bits - 1}", "unsat") for bits in (2, 4, 6, 8)),
        *((arbiter(clients), "sat") for clients in (2, 5, 10)),
        (f"{arbiter(4)} & FG!g1", "unsat"),
        (f"!({arbiter(6)})", "sat"),
        (nested("U", 50), "sat"),
        (f"!{nested('U', 50)}", "sat"),
        (nested("R", 50), "sat"),
        (f"{nested('U', 50)} & G!a50 & G!a49", "unsat"),
        ("X" * 200 + "a & " + "X" * 200 + "!a", "unsat"),
        ("X" * 200 + "a & " + "X" * 199 + "!a", "sat"),
        (" & ".join("X" * i + ("a" if i * i % 7 > 2 else "!a") for i in range(200)), "sat"),
        (" & ".join(f"GF(a & {'X' * i}!a)" for i in range(1, 9)), "sat"),
        ("F" + "X" * 300 + "a & G!a", "unsat"),
        ("!" * 100_000 + "a", "sat"),
    ],
    ids=lambda value: value if len(value) < 10 else f"{value[:12]}... of {len(value)}",
)
def test_hard_ones_are_decided(text, status):
    formula = ltl().read(text)
    solution = EMBEDDED.solve(formula)
    assert solution.status == status
    if solution.witness is not None:
        assert EMBEDDED.check(formula, solution.witness) is Verdict.CORRECT


@pytest.mark.slow
def test_what_takes_too_long_is_unknown_and_the_rest_goes_on():
    lines = ["a U b", f"{arbiter(12)} & FG!g0", "a & !a", counter(14)]
    found = [row["status"] for row in solve_lines("ltl", lines, None, 1, Limits(2.0, 1 << 30))]
    assert found == ["sat", "unknown", "unsat", "unknown"]
