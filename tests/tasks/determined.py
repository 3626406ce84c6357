"""Checks that the tests of look-up and of permutation share."""

from __future__ import annotations

from random import Random

import pytest

from logicgen.errors import LogicgenError


def check_solution(task, problem, possible):
    """Check the task's answer to a problem, given the answers of all rules that fit it."""
    solution = task.solve(problem)
    if len(possible) == 1:
        assert solution.witness == possible.pop()
        assert task.check(problem, solution.witness) == "correct"
    else:
        assert (solution.status, solution.witness) == ("unsat", None)
        assert solution.reason.startswith("more than one" if possible else "no answer")
        assert all(task.check(problem, answer) == "incorrect" for answer in possible)


def check_empty(source, cell, message):
    """Check that a cell holds no problem and that drawing one says why."""
    assert not sum(source.count(cell).values())
    with pytest.raises(LogicgenError, match=message):
        source.sample(Random(0), cell)
