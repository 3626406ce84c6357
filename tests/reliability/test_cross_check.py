"""Solvers agree on fresh random formulas. `make fuzz` compares more, and LTL."""

from __future__ import annotations

from random import SystemRandom

from tests.reliability.cross_check import propositional_logic

SEED = SystemRandom().getrandbits(32)
COUNT = 300


def agreed(compared):
    assert not compared.first_wrong, compared.as_dict()
    assert not compared.undecided, compared.as_dict()
    assert len(compared.verdicts) > 1, compared.as_dict()


def test_propositional_logic():
    agreed(propositional_logic(COUNT, SEED))
