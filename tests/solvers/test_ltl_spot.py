"""The Spot plugin, wherever Spot's Python bindings are."""

from __future__ import annotations

import pytest

from logicgen.solvers import Status, load_solver
from logicgen.solvers.spot import SpotSolver
from logicgen.syntax import Trace, ltl
from tests.solvers.test_ltl import random_formulas, rows

if SpotSolver.missing():
    pytest.skip(f"no spot: {SpotSolver.missing()}", allow_module_level=True)

SPOT = load_solver("spot", "ltl")
EMBEDDED = load_solver("embedded", "ltl")


def test_reference_verdicts():
    for row in rows("ltl_satisfiability.jsonl"):
        solution = SPOT.solve(ltl().read(row["formula"]))
        assert (solution.status is Status.SAT) == row["satisfiable"], row
    for row in rows("ltl_traces.jsonl"):
        expected = "correct" if row["holds"] else "incorrect"
        expected = "invalid" if row["empty"] else expected
        assert SPOT.check(ltl().read(row["formula"]), Trace.read(row["trace"])) == expected, row


def test_each_finds_the_other_right():
    for formula in random_formulas(300, "abc", 3, 15):
        one, other = SPOT.solve(formula), EMBEDDED.solve(formula)
        assert one.status is other.status
        if one.witness is not None:
            assert EMBEDDED.check(formula, one.witness).is_right
            assert SPOT.check(formula, other.witness).is_right
