"""The fewest positions of a word that satisfies a formula, against all words.

`python -m tests.solvers.test_positions COUNT` compares COUNT random formulas over three symbols
with all lassos of at most eight positions.
"""

from __future__ import annotations

import sys
from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.solvers import Status, load_solver
from logicgen.solvers.positions import least_positions
from logicgen.syntax import Formula, ltl
from logicgen.syntax.sampling import FormulaSampler
from tests.solvers.ltl_families import counter
from tests.syntax.test_formula import formulas
from tests.syntax.test_formula_language import BINARY, UNARY

EMBEDDED = load_solver("embedded", "ltl")
READ = ltl().read
BOOLEAN = {"&": np.logical_and, "|": np.logical_or, "^": np.logical_xor, "<->": np.equal}
BOOLEAN["->"] = np.less_equal
WEIGHTS = dict.fromkeys(["!", "&", "|", "^", "X", "U", "F", "G", "R", "W", "M"], 1)

# The most bits of the lassos of a shape, symbols times positions, that `main` enumerates.
MOST_BITS = 20


def by_definition(formula, most):
    """Return the fewest positions of all lassos of at most `most` positions; None if none does.

    A truth value is an array with an entry for each lasso. Operators are computed by their fixed
    points, from position to position, until nothing changes.
    """
    for count in range(1, most + 1):
        for loop in range(count):
            if _holds(formula, count, loop).any():
                return count
    return None


def _holds(formula, count, loop):
    """Return, for each lasso of a shape, whether it satisfies the formula."""
    names = formula.symbols
    places = [(name, i) for i in range(count) for name in names]
    rows = np.arange(2 ** len(places), dtype=np.int32)
    letters = {place: (rows >> bit & 1).astype(bool) for bit, place in enumerate(places)}
    after = [*range(1, count), loop]

    def fixed_point(values, step):
        while True:
            new = [step(i, values[after[i]]) for i in range(count)]
            if all((a == b).all() for a, b in zip(values, new, strict=True)):
                return new
            values = new

    def at_every_position(node, operands):
        token = node.token
        constant = {v: [np.full(len(rows), v)] * count for v in (False, True)}
        if node.is_symbol:
            return [letters[token, i] for i in range(count)]
        if token in "01":
            return constant[token == "1"]
        if token in BOOLEAN:
            return [BOOLEAN[token](a, b) for a, b in zip(*operands, strict=True)]
        a, b = operands[0], operands[-1]
        match token:
            case "!":
                return [~value for value in a]
            case "X":
                return [a[i] for i in after]
            case "F":
                return fixed_point(constant[False], lambda i, later: a[i] | later)
            case "G":
                return fixed_point(constant[True], lambda i, later: a[i] & later)
            case "U":
                return fixed_point(constant[False], lambda i, later: b[i] | a[i] & later)
            case "W":
                return fixed_point(constant[True], lambda i, later: b[i] | a[i] & later)
            case "R":
                return fixed_point(constant[True], lambda i, later: b[i] & (a[i] | later))
            case "M":
                return fixed_point(constant[False], lambda i, later: b[i] & (a[i] | later))
        raise AssertionError(token)

    return formula.fold(at_every_position)[0]


def found(formula):
    """Return the fewest positions, from the witness of the solver; None if unsatisfiable."""
    solution = EMBEDDED.solve(formula)
    if solution.status is Status.UNSAT:
        return None
    return least_positions(formula, len(solution.witness.positions))


@given(formulas(["a", "b"], 12, UNARY, BINARY))
def test_all_words_of_up_to_four_positions(formula):
    least = found(formula)
    assert by_definition(formula, 4) == (least if least is not None and least <= 4 else None)


@given(formulas(["a", "b", "c"], 14, UNARY, BINARY), st.integers(0, 4))
def test_it_does_not_depend_on_the_known_word(formula, more):
    solution = EMBEDDED.solve(formula)
    if solution.status is Status.SAT:
        known = len(solution.witness.positions)
        assert least_positions(formula, known + more) == least_positions(formula, known)


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("1", 1),
        ("G a | X b", 1),
        ("a & X !a", 2),
        ("G(a <-> X !a)", 2),
        ("a & X a & X X a & X X X !a", 4),
        (" & ".join([f"{'X' * i} (a ^ {'bcdefgh'[i]})" for i in range(7)]), 1),
    ],
)
def test_words_that_are_known(text, least):
    assert found(READ(text)) == least


@pytest.mark.parametrize(("bits", "positions"), [(1, 2), (2, 4), (3, 8), (4, 16)])
def test_counters_need_a_position_for_each_number(bits, positions):
    formula = READ(counter(bits))
    assert found(formula) == positions
    assert least_positions(formula, positions + 3) == positions


def test_the_witness_of_the_solver_may_be_longer_than_needed():
    """Random lassos do not contain the one letter that repeats."""
    names = "abcdefghijklmn"
    literals = " & ".join(name if i % 2 else f"!{name}" for i, name in enumerate(names))
    formula = READ(f"G({literals}) | a & X !a")
    assert len(EMBEDDED.solve(formula).witness.positions) == 2
    assert found(formula) == 1


def test_an_effort_that_is_spent():
    assert least_positions(READ(counter(4)), 16, effort=1) is None


def main(count):
    """Compare random formulas with all lassos, and print how many positions were needed."""
    rng, least, wrong = Random(0), Counter(), 0
    sampler = FormulaSampler(ltl(), WEIGHTS, "tree", 3)
    for number in range(count):
        lengths = [rng.randint(4, 40)] if number % 2 else [rng.randint(1, 7) for _ in range(6)]
        formula = Formula("1")
        for length in lengths:  # conjuncts for later positions need more positions
            formula = sampler.sample(rng, length, ["a", "b", "c"]) & Formula("X", (formula,))
        ours = found(formula)
        if ours is not None and len(formula.symbols) * ours > MOST_BITS:
            least["too many lassos"] += 1
        elif ours is not None:
            least[ours] += 1
            wrong += by_definition(formula, ours) != ours
        else:
            least["unsatisfiable"] += 1
            wrong += by_definition(formula, 4) is not None
    print(f"{count:,} formulas, {wrong} disagreements; positions: {dict(least)}")


if __name__ == "__main__":
    main(int(sys.argv[1]))
