"""The embedded LTL solver against Storm, which translates formulas with its own copy of Spot."""

from __future__ import annotations

import json
from itertools import islice, product
from random import Random, SystemRandom

import pytest

from logicgen.errors import LogicgenError
from logicgen.solvers import Verdict, load_solver
from logicgen.solvers.storm import StormSolver
from logicgen.syntax import Formula, Trace, ltl, propositional
from logicgen.syntax.sampler import FormulaSampler
from logicgen.tasks.bulk import solve_lines, verify_lines
from logicgen.workers import Limits
from tests.solvers.lasso_words import allows, holds
from tests.solvers.test_ltl import rows

if StormSolver.missing():
    pytest.skip(f"no storm: {StormSolver.missing()}", allow_module_level=True)

EMBEDDED = load_solver("embedded", "ltl")
STORM = load_solver("storm", "ltl")

# New formulas in every run; a failing one is shown with the seed.
SEED = SystemRandom().getrandbits(32)
COUNT = 2000

# Storm itself refuses the acceptance condition of a few automata; and a few take it too long.
LIMITS = Limits(5.0)
MOST_UNKNOWN = 40

# Storm is wrong now and then: it calls `(1 W (1 <-> X(0))) M Xc`, which means `Xc`, unsatisfiable.
# Where the two disagree, one word and the definition of LTL decide; without such a word, it fails.
MOST_WRONG = 4

FORMULAS = FormulaSampler(ltl(), dict.fromkeys(ltl().arity, 1) | {"symbol": 2}, "tree", 3)
POSITIONS = FormulaSampler(
    propositional(), dict.fromkeys(propositional().arity, 1) | {"symbol": 3}, "tree", 4
)


def position(rng):
    """Anything, a conjunction of literals, or any propositional formula."""
    kind = rng.random()
    if kind < 0.25:
        return Formula("1")
    if kind < 0.5:
        return POSITIONS.sample(rng, rng.randint(1, 6), "abcd")
    literals = [name if rng.random() < 0.5 else f"!{name}" for name in rng.sample("abcd", 2)]
    return propositional().read(" & ".join(literals))


def trace_for(rng, formula):
    """A witness with one position changed, or something random."""
    witness = EMBEDDED.solve(formula).witness
    if witness is None or rng.random() < 0.3:
        stem = tuple(position(rng) for _ in range(rng.randint(0, 2)))
        return Trace(stem, tuple(position(rng) for _ in range(rng.randint(1, 3))))
    positions = list(witness.positions)
    i = rng.randrange(len(positions))
    match rng.randrange(4):
        case 0:
            positions[i] = position(rng)
        case 1:
            positions[i] = positions[i] & position(rng)
        case 2:
            positions[i] = positions[i] | position(rng)
    return Trace(tuple(positions[: len(witness.stem)]), tuple(positions[len(witness.stem) :]))


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
    """Whether a word proves that the formula is satisfiable where Storm says that it is not."""
    solution = EMBEDDED.solve(formula)
    return status == "unsat" and any(
        holds(formula, letters, loop) for letters, loop in words(solution.witness, formula.symbols)
    )


def storm_is_refuted_on(formula, trace, verdict):
    """Whether a word of the trace breaks the formula where Storm says that none does."""
    return verdict == "correct" and any(
        not holds(formula, letters, loop) for letters, loop in words(trace, formula.symbols)
    )


def test_words_decide_where_storm_is_known_to_be_wrong():
    formula = ltl().read("(1 W (1 <-> X(0))) M Xc")
    assert storm_is_refuted(formula, "unsat")
    assert storm_is_refuted_on(ltl().read("Ga | Gb"), Trace.read("{a | b}"), "correct")
    assert not storm_is_refuted_on(ltl().read("G(a | b)"), Trace.read("{a | b}"), "correct")


def random_formulas(rng):
    return [FORMULAS.sample(rng, rng.randint(2, 13), "abc") for _ in range(COUNT)]


def test_satisfiability_of_fresh_formulas():
    formulas = random_formulas(Random(SEED))
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


def test_checks_of_fresh_traces():
    rng = Random(SEED + 1)
    pairs = [(formula, trace_for(rng, formula)) for formula in random_formulas(rng)]
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
    pairs = [row for row in rows("ltl_traces.jsonl") if len(ltl().read(row["formula"]).symbols) < 4]
    for row in pairs[:150]:
        expected = "correct" if row["holds"] else "incorrect"
        expected = "invalid" if row["empty"] else expected
        verdict = STORM.check(ltl().read(row["formula"]), Trace.read(row["trace"]))
        assert verdict in (expected, Verdict.UNKNOWN), row


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
