"""The share of satisfying assignments against counting, by hand and by laws."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given

from logicgen.solvers import truth_table
from logicgen.solvers.truth_table import MOST_COUNTED, satisfying_share
from logicgen.syntax import propositional
from logicgen.tokens import symbol_name
from tests.solvers.test_propositional import every_completion, holds
from tests.syntax.test_formula import formulas

READ = propositional().read


@given(formulas(["a", "b", "c", "d", "e"], 14))
def test_it_counts_every_assignment(formula):
    found = [holds(formula, values) for values in every_completion(formula, ())]
    assert satisfying_share(formula) == sum(found) / len(found)


@given(formulas(["a", "b", "c", "d", "e"], 14))
def test_large_tables_are_counted_in_pieces(formula):
    whole = satisfying_share(formula)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(truth_table, "SMALL_TABLE", 2)
        assert satisfying_share(formula) == whole


@pytest.mark.parametrize("count", [1, 7, 17, MOST_COUNTED])
def test_shares_that_are_known(count):
    names = [symbol_name(i) for i in range(count)]
    assert satisfying_share(READ(" & ".join(names))) == Fraction(1, 2**count)
    assert satisfying_share(READ(" | ".join(names))) == 1 - Fraction(1, 2**count)
    assert satisfying_share(READ(" ^ ".join(names))) == Fraction(1, 2)


def test_constants_have_one_assignment():
    assert satisfying_share(READ("1 & !0")) == 1
    assert satisfying_share(READ("a & !a")) == 0


def test_more_symbols_are_not_counted():
    assert satisfying_share(READ(" & ".join(symbol_name(i) for i in range(25)))) is None
