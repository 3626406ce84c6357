"""The embedded LTL solver against Storm, which translates formulas with its own copy of Spot."""

from __future__ import annotations

import json
from itertools import islice, product
from random import Random, SystemRandom

import pytest
from hypothesis import settings

from logicgen.errors import LogicgenError
from logicgen.processes.pool import Limits
from logicgen.solvers import Verdict, load_solver
from logicgen.solvers.storm import StormSolver
from logicgen.syntax import Trace, ltl
from logicgen.tasks.lines import solve_lines, verify_lines
from tests.solvers.lasso_words import allows, holds
from tests.solvers.random_traces import random_formulas, trace_for
from tests.solvers.test_ltl import reference_traces

if StormSolver.missing():
    pytest.skip(f"no storm: {StormSolver.missing()}", allow_module_level=True)

EMBEDDED = load_solver("embedded", "ltl")
STORM = load_solver("storm", "ltl")

# New formulas in every run; a failing one is shown with the seed.
SEED = SystemRandom().getrandbits(32)
COUNT = 10 * settings().max_examples

# Storm itself refuses the acceptance condition of a few automata; and a few take it too long.
LIMITS = Limits(5.0)
MOST_UNKNOWN = COUNT // 50 + 5

# Storm is wrong now and then: it calls `(1 W (1 <-> X(0))) M Xc`, which means `Xc`, unsatisfiable.
# Where the two disagree, one word and the definition of LTL decide; without such a word, it fails.
MOST_WRONG = COUNT // 500 + 1


def words(trace, symbols, most=4096):
    """Words of a trace as letters and loop: its period once, twice, and three times round."""
    names = list(dict.fromkeys([*symbols, *(s for p in trace.positions for s in p.symbols)]))
    sets = [
        frozenset(n for n, v in zip(names, vs, strict=True) if v)
        for vs in product((True, False), repeat=len(names))
    ]
    for rounds in (1, 2, 3):
        positions = [*trace.stem, *trace.period * rounds]
        letters = [[letter for letter in sets if allows(p, letter)] for p in positions]
        for word in islice(product(*letters), most):
            yield word, len(trace.stem)


def storm_is_refuted(formula, status):
    """Return whether a word proves a formula satisfiable that Storm says is not."""
    solution = EMBEDDED.solve(formula)
    return status == "unsat" and any(
        holds(formula, letters, loop) for letters, loop in words(solution.witness, formula.symbols)
    )


def storm_is_refuted_on(formula, trace, verdict):
    """Return whether a word of the trace breaks the formula where Storm says that none does."""
    return verdict == "correct" and any(
        not holds(formula, letters, loop) for letters, loop in words(trace, formula.symbols)
    )


def test_words_decide_where_storm_is_known_to_be_wrong():
    formula = ltl().read("(1 W (1 <-> X(0))) M Xc")
    assert storm_is_refuted(formula, "unsat")
    assert storm_is_refuted_on(ltl().read("Ga | Gb"), Trace.read("{a | b}"), "correct")
    assert not storm_is_refuted_on(ltl().read("G(a | b)"), Trace.read("{a | b}"), "correct")


@pytest.mark.slow
def test_satisfiability_of_fresh_formulas():
    formulas = random_formulas(Random(SEED), COUNT)
    lines = [ltl().write(formula) for formula in formulas]
    unknown = wrong = 0
    for formula, row in zip(formulas, solve_lines("ltl", lines, "storm", 2, LIMITS), strict=True):
        if row["status"] == "unknown":
            unknown += 1
        elif EMBEDDED.solve(formula).status != row["status"]:
            assert storm_is_refuted(formula, row["status"]), (SEED, row)
            wrong += 1
    assert unknown <= MOST_UNKNOWN
    assert wrong <= MOST_WRONG


@pytest.mark.slow
def test_checks_of_fresh_traces():
    rng = Random(SEED + 1)
    pairs = [(formula, trace_for(rng, formula)) for formula in random_formulas(rng, COUNT)]
    lines = [
        json.dumps({"problem": ltl().write(formula), "answer": trace.spot})
        for formula, trace in pairs
    ]
    unknown = wrong = 0
    seen = set()
    for (formula, trace), row in zip(
        pairs, verify_lines("ltl", lines, "storm", 2, LIMITS), strict=True
    ):
        if row["verdict"] == "unknown":
            unknown += 1
        elif EMBEDDED.check(formula, trace) == row["verdict"]:
            seen.add(row["verdict"])
        else:
            assert storm_is_refuted_on(formula, trace, row["verdict"]), (SEED, row)
            wrong += 1
    assert unknown <= MOST_UNKNOWN
    assert wrong <= MOST_WRONG
    assert seen == {"correct", "incorrect", "invalid"}


def test_reference_traces():
    few = (each for each in reference_traces() if len(each[0].symbols) < 4)
    for formula, trace, expected in islice(few, 150):
        assert STORM.check(formula, trace) in (expected, Verdict.UNKNOWN), (formula, trace)


@pytest.mark.parametrize(
    ("formula", "trace", "verdict"),
    [
        ("GFa", "a & b ; {!a & b ; a & b}", "correct"),  # one word: a Markov chain
        ("GFa", "a & b ; {!a & b}", "incorrect"),
        ("Ga | Gb", "{a | b}", "incorrect"),
        ("G(a | b)", "{a | b}", "correct"),
        ("G(a | b)", "{(a | z) & (a | b) & !z}", "correct"),
        ("1", "{0}", "invalid"),
        ("1", "{1}", "correct"),
        ("Xtrue & !X(0)", "{a}", "correct"),
    ],
)
def test_what_is_right(formula, trace, verdict):
    assert STORM.check(ltl().read(formula), Trace.read(trace)) == verdict
    assert EMBEDDED.check(ltl().read(formula), Trace.read(trace)) == verdict


def test_too_many_symbols_are_refused():
    many = ltl().read(" & ".join(f"p{i}" for i in range(9)))
    with pytest.raises(LogicgenError, match="embedded"):
        STORM.solve(many)
    with pytest.raises(LogicgenError, match="embedded"):
        STORM.check(many, Trace.read("{1}"))
