"""The Spot plugin, wherever Spot's Python bindings are."""

from __future__ import annotations

import json
import re
from random import Random, SystemRandom

import pytest

from logicgen.errors import LogicgenError
from logicgen.processes.pool import Limits
from logicgen.solvers import Status, Verdict, load_solver
from logicgen.solvers.spot import SpotSolver
from logicgen.syntax import Formula, Trace, ltl, propositional
from logicgen.tasks.lines import solve_lines, verify_lines
from tests.solvers.random_traces import POSITIONS, random_formulas, trace_for
from tests.solvers.test_ltl import reference_formulas, reference_traces

if SpotSolver.missing():
    pytest.skip(f"no spot: {SpotSolver.missing()}", allow_module_level=True)

import spot

SPOT = load_solver("spot", "ltl")
EMBEDDED = load_solver("embedded", "ltl")
READ = ltl().read

# New formulas in every run; a failing one is shown with the seed.
SEED = SystemRandom().getrandbits(32)
COUNT = 2000
LIMITS = Limits(10.0)
MOST_UNKNOWN = 10

# 40 different letters, each infinitely often: more acceptance sets than Spot has.
LETTERS = [" & ".join(f"{'!' * (n >> i & 1)}p{i}" for i in range(6)) for n in range(40)]
TOO_MUCH = " & ".join(f"GF({letter})" for letter in LETTERS)


# -- verdicts -------------------------------------------------------------------------------------


def test_reference_verdicts():
    for formula, satisfiable in reference_formulas():
        assert (SPOT.solve(formula).status is Status.SAT) == satisfiable, formula
    for formula, trace, expected in reference_traces():
        assert SPOT.check(formula, trace) == expected, (formula, trace)


def test_each_finds_the_other_right():
    formulas = random_formulas(Random(SEED), COUNT)
    lines = [ltl().write(formula) for formula in formulas]
    unknown = 0
    for formula, row in zip(formulas, solve_lines("ltl", lines, "spot", 2, LIMITS), strict=True):
        other = EMBEDDED.solve(formula)
        if row["status"] == "unknown":
            unknown += 1
            continue
        assert row["status"] == other.status, (SEED, row)
        if row["witness"] is not None:
            witness = Trace.read(row["witness"])
            assert EMBEDDED.check(formula, witness) is Verdict.CORRECT, (SEED, row)
            assert SPOT.check(formula, other.witness) is Verdict.CORRECT, (SEED, row)
    assert unknown <= MOST_UNKNOWN


def test_checks_of_fresh_traces():
    rng = Random(SEED + 1)
    pairs = [(formula, trace_for(rng, formula)) for formula in random_formulas(rng, COUNT)]
    lines = [
        json.dumps({"problem": ltl().write(formula), "answer": trace.spot})
        for formula, trace in pairs
    ]
    judged = verify_lines("ltl", lines, "spot", 2, LIMITS)
    seen = []
    for (formula, trace), row in zip(pairs, judged, strict=True):
        assert row["verdict"] in (EMBEDDED.check(formula, trace), "unknown"), (SEED, row)
        seen.append(row["verdict"])
    assert seen.count("unknown") <= MOST_UNKNOWN
    assert {"correct", "incorrect", "invalid"} <= {*seen}


@pytest.mark.parametrize(
    ("formula", "trace", "verdict"),
    [
        ("Ga | Gb", "{a | b}", "incorrect"),
        ("G(a | b)", "{(a | z) & (a | b) & !z}", "correct"),
        ("1", "{0}", "invalid"),
        ("1", "{1}", "correct"),
        ("Ga", "a ; {a ; b & !b}", "invalid"),
        ("0", "{1}", "incorrect"),
        ("Xtrue & !X(0)", "{a}", "correct"),
        ("(true U true) M true", "{zebra}", "correct"),  # a witness without symbols
    ],
)
def test_what_is_right(formula, trace, verdict):
    assert SPOT.check(READ(formula), Trace.read(trace)) == verdict


def test_positions_are_propositional():
    with pytest.raises(LogicgenError, match="not an operator"):
        SPOT.check(READ("a"), Trace((), (READ("X a"),)))
    with pytest.raises(LogicgenError, match="not an operator"):
        SPOT.solve(Formula("S", (Formula("a"), Formula("b"))))


# -- its witnesses --------------------------------------------------------------------------------


def test_the_witness_is_an_accepting_word_of_spot_s_translation():
    for text in ("a U b", "GFa & GF!a", "(a U b) & X!b & GFa", "!p0 & XX(p0 W p1)", "1"):
        word = spot.translate(text).accepting_word()
        word.simplify()
        assert SPOT.solve(READ(text)).witness.spot == str(word)


def test_the_witness_of_a_renamed_formula_is_right():
    names = {"a": "z", "b": "a", "c": "p1", "d": "p0"}
    for formula in random_formulas(Random(0), 300):
        renamed = formula.rename(names)
        first, second = SPOT.solve(formula), SPOT.solve(renamed)
        assert first.status is second.status
        if second.witness is not None:
            assert EMBEDDED.check(renamed, second.witness) is Verdict.CORRECT


# -- limits ---------------------------------------------------------------------------------------


def test_where_spot_refuses_it_is_unknown():
    solution = SPOT.solve(READ(TOO_MUCH))
    assert solution.status is Status.UNKNOWN
    assert "Too many acceptance sets" in solution.reason
    assert "\n" not in solution.reason
    negated = f"!({TOO_MUCH})"
    assert SPOT.check(READ(negated), Trace.read("{p0}")) is Verdict.UNKNOWN
    assert SPOT.solve(READ("a & Xb")).status is Status.SAT


def test_a_hard_formula_is_given_up_and_the_others_go_on():
    hard = " & ".join(f"GFp{i}" for i in range(40))
    lines = ["a U b", hard, "a & !a", "GFa & GF!a"]
    found = [row["status"] for row in solve_lines("ltl", lines, "spot", 1, Limits(3.0))]
    assert found == ["sat", "unknown", "unsat", "sat"]


# -- notation -------------------------------------------------------------------------------------


def in_parentheses(formula):
    return formula.fold(
        lambda node, operands: {
            0: lambda: node.token,
            1: lambda: f"{node.token}({operands[0]})",
            2: lambda: f"({operands[0]}) {node.token} ({operands[1]})",
        }[len(operands)]()
    )


def test_both_read_the_same_into_a_text():
    for formula in random_formulas(Random(SEED + 2), 1000):
        known = spot.formula(in_parentheses(formula))
        text = ltl().write(formula)
        for same in (text, text.replace(" ^ ", " xor "), re.sub(" ([-&|<>^]+) ", r"\1", text)):
            assert READ(same) is formula
            assert spot.formula(same) == known, (SEED, same)
        for printed in (str(known), known.to_str("spot", True)):
            assert spot.formula(in_parentheses(READ(printed))) == known, (SEED, printed)


def test_both_read_the_same_into_a_trace():
    rng = Random(SEED + 3)

    def positions(count):
        return tuple(POSITIONS.sample(rng, rng.randint(1, 8), "abcd") for _ in range(count))

    for _ in range(300):
        trace = Trace(positions(rng.randint(0, 3)), positions(rng.randint(1, 3)))
        printed = Trace.read(str(spot.parse_word(trace.spot)))  # as sums of products
        assert (len(trace.stem), len(trace.period)) == (len(printed.stem), len(printed.period))
        for one, other in zip(trace.positions, printed.positions, strict=True):
            same = spot.formula(in_parentheses(one)).equivalent_to(propositional().write(other))
            assert same, (SEED, trace.spot)
