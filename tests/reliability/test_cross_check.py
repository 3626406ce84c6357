"""Solvers agree on fresh random formulas, but where a word refutes Storm; `make fuzz` asks more."""

from __future__ import annotations

from random import SystemRandom

import pytest

from logicgen.solvers.storm import StormSolver
from tests.reliability.cross_check import ltl_checks, ltl_satisfiability, propositional_logic

SEED = SystemRandom().getrandbits(32)
COUNT = 300


def agreed(compared):
    assert not compared.first_wrong, compared.as_dict()
    assert not compared.undecided, compared.as_dict()
    assert len(compared.verdicts) > 1, compared.as_dict()


@pytest.mark.slow
@pytest.mark.skipif(bool(StormSolver.missing()), reason=f"no storm: {StormSolver.missing()}")
@pytest.mark.parametrize("compare", [ltl_satisfiability, ltl_checks])
def test_ltl(compare):
    agreed(compare(COUNT, SEED))


def test_propositional_logic():
    agreed(propositional_logic(COUNT, SEED))
