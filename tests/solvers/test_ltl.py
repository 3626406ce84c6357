"""The embedded LTL solver against reference verdicts, the definition, and its promises."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from itertools import chain, product
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.errors import LogicgenError
from logicgen.solvers import Status, Verdict, load_solver
from logicgen.solvers.bounded import shapes, word_of_shape
from logicgen.solvers.ltl_graph import Graph
from logicgen.solvers.tableau import Tableau
from logicgen.syntax import Formula, Trace, ltl, propositional
from logicgen.syntax.answers import literals_of
from logicgen.syntax.sampling import FormulaSampler
from tests.solvers.lasso_words import all_lassos, holds
from tests.solvers.ltl_families import arbiter, counter
from tests.syntax.test_formula import formulas
from tests.syntax.test_formula_language import BINARY, UNARY

READ = ltl().read
DATA = Path(__file__).parent.parent / "data"
EMBEDDED = load_solver("embedded", "ltl")


def rows(name):
    return [json.loads(line) for line in (DATA / name).read_text().splitlines()]


def over(symbols, most=10):
    """Any formula over all operators and constants."""
    return formulas([*symbols, *symbols], most, UNARY, BINARY)


# -- reference verdicts ---------------------------------------------------------------------------


def reference_formulas():
    """Formulas, and whether each is satisfiable as Spot says."""
    for row in rows("ltl_satisfiability.jsonl"):
        yield READ(row["formula"]), row["satisfiable"]
    for row in rows("ltl_patterns.jsonl"):
        yield READ(row["formula"]), row["satisfiable"]
        yield ~READ(row["formula"]), row["negation_satisfiable"]


def reference_traces():
    """Formulas with traces, and the verdicts as Spot gives them; an empty trace is invalid."""
    for row in rows("ltl_traces.jsonl"):
        expected = "correct" if row["holds"] else "incorrect"
        yield (
            READ(row["formula"]),
            Trace.read(row["trace"]),
            "invalid" if row["empty"] else expected,
        )


def test_satisfiability_is_as_spot_says():
    for formula, satisfiable in reference_formulas():
        solution = EMBEDDED.solve(formula)
        assert (solution.status is Status.SAT) == satisfiable, formula
        if solution.witness is not None:
            assert EMBEDDED.check(formula, solution.witness) is Verdict.CORRECT, formula


def test_traces_are_as_spot_says():
    for formula, trace, expected in reference_traces():
        assert EMBEDDED.check(formula, trace) == expected, (formula, trace)


def test_nothing_of_the_speed_sets_is_left_open():
    for name in ("ltl_speed_5ap.txt", "ltl_speed_10ap.txt"):
        for line in (DATA / name).read_text().splitlines():
            formula = READ(line)
            solution = EMBEDDED.solve(formula)
            with Tableau(graph := Graph(), graph.add(formula)) as tableau:
                assert tableau.is_empty() == (solution.status is Status.UNSAT), line
            if solution.witness is not None:
                assert EMBEDDED.check(formula, solution.witness) is Verdict.CORRECT, line


# -- the definition -------------------------------------------------------------------------------


@cache
def lassos():
    return list(all_lassos("ab", 3)) + Random(0).sample(list(all_lassos("ab", 4))[228:], 300)


@given(over("ab"))
def test_solving_agrees_with_the_definition_on_all_small_lassos(formula):
    satisfied = [word for word in all_lassos("ab", 2) if holds(formula, *word)]
    satisfied += [word for word in lassos() if len(word[0]) > 2 and holds(formula, *word)]
    solution = EMBEDDED.solve(formula)
    if solution.status is Status.UNSAT:
        assert not satisfied
        return
    for letters, loop in words_of(solution.witness, formula.symbols):
        assert holds(formula, letters, loop)
    shape = len(solution.witness.positions), len(solution.witness.period)
    if satisfied:
        letters, loop = satisfied[0]
        assert shape <= (len(letters), len(letters) - loop)
        if len(letters) <= 3:
            assert shape == (len(letters), len(letters) - loop)


def words_of(trace, symbols, visits=2):
    """Some words of a trace of literals: the period written out, all or random free values."""
    places = [*range(len(trace.stem))]
    places += [*range(len(trace.stem), len(trace.positions))] * visits
    known = [literals_of(position) for position in trace.positions]
    free = [(i, s) for i, p in enumerate(places) for s in symbols if s not in known[p]]
    rng = Random(len(free))
    everything = product((True, False), repeat=len(free))
    some = (tuple(rng.random() < 0.5 for _ in free) for _ in range(64))
    for values in everything if len(free) <= 6 else some:
        chosen = dict(zip(free, values, strict=True))
        letters = [
            {s for s in symbols if known[p].get(s) == "1" or chosen.get((i, s))}
            for i, p in enumerate(places)
        ]
        yield letters, len(trace.stem)


positions = formulas(["a", "b", "c"], 3, binary=("&", "|", "^"))
traces = st.builds(
    lambda stem, period: Trace(tuple(stem), tuple(period)),
    st.lists(positions, max_size=2),
    st.lists(positions, min_size=1, max_size=2),
)


@given(over("ab", 8), traces)
def test_checking_agrees_with_the_definition(formula, trace):
    letters = [
        [letter for letter in subsets("abc") if holds(position, [letter], 0)]
        for position in trace.positions
    ]
    verdict = EMBEDDED.check(formula, trace)
    if not all(letters):
        assert verdict is Verdict.INVALID
        return
    loop = len(trace.stem)
    places = [*range(len(letters)), *range(loop, len(letters))]  # the period twice
    rng = Random(0)
    words = [[rng.choice(letters[p]) for p in places] for _ in range(40)]
    if not all(holds(formula, word, loop) for word in words):
        assert verdict is Verdict.INCORRECT
    if verdict is Verdict.INCORRECT:  # then some word of the trace satisfies the negation
        graph = Graph()
        wrong = graph.add(~formula)
        edges = [graph.add(position) for position in trace.positions]
        with Tableau(graph, wrong, edges, loop) as tableau:
            stem, period = tableau.word()
        word = [{s for s, v in zip(graph.symbols, x, strict=True) if v} for x in stem + period]
        assert not holds(formula, word, len(stem))
        at = 0
        for letter in word + word[len(stem) :] * len(letters):
            assert holds(trace.positions[at], [letter], 0)
            at = at + 1 if at + 1 < len(letters) else loop


def subsets(symbols):
    for values in product((True, False), repeat=len(symbols)):
        yield {s for s, value in zip(symbols, values, strict=True) if value}


@given(over("ab", 8))
def test_words_of_a_shape_are_found_exactly_where_there_are_some(formula):
    graph = Graph()
    root = graph.add(formula)
    for name in "ab":
        graph.symbol(name)
    for shape in shapes(3):
        word = word_of_shape(graph, root, *shape)
        loop = shape[0] - shape[1]
        found = [
            letters
            for letters, at in all_lassos("ab", shape[0])
            if (len(letters), at) == (shape[0], loop) and holds(formula, letters, at)
        ]
        if word is None:
            assert not found
            continue
        letters = [{s for s, v in zip(graph.symbols, x, strict=True) if v} for x in word]
        assert holds(formula, letters, loop)
        assert tuple(letters) in found


# -- laws -----------------------------------------------------------------------------------------

f, g = over("ab", 5), over("abc", 5)


LAWS = """
a U b <-> b | (a & X(a U b))
a R b <-> b & (a | X(a R b))
a W b <-> b | (a & X(a W b))
a M b <-> b & (a | X(a M b))
F a <-> a | X F a
G a <-> a & X G a
F a <-> true U a
G a <-> !F !a
a R b <-> !(!a U !b)
a M b <-> !(!a W !b)
a W b <-> (a U b) | G a
a W b <-> b R (a | b)
a M b <-> (a R b) & F a
X(a U b) <-> X a U X b
F(a | b) <-> F a | F b
G(a & b) <-> G a & G b
G F(a | b) <-> G F a | G F b
"""


def laws(a, b):
    """Yield both sides of each law, of two formulas."""
    of = {"a": a, "b": b}
    for law in map(READ, LAWS.strip().splitlines()):
        yield law.fold(lambda node, parts: of.get(node.token) or Formula(node.token, tuple(parts)))


@given(f, g)
def test_laws(a, b):
    for law in laws(a, b):
        left, right = law.operands
        assert EMBEDDED.solve(~law).status is Status.UNSAT
        # Any trace answers both or neither.
        trace = EMBEDDED.solve(left).witness
        if trace is not None:
            assert EMBEDDED.check(right, trace) is Verdict.CORRECT
        assert EMBEDDED.check(law, Trace.read("{1}")) is Verdict.CORRECT


@given(over("ab", 8), st.lists(st.integers(1, 3), min_size=4, max_size=4))
def test_without_x_repeating_letters_changes_nothing(formula, times):
    if "X" in formula.prefix.split():
        return
    rng = Random(str(formula))
    letters = [rng.choice(["a & b", "a & !b", "!a & b", "!a & !b"]) for _ in range(4)]
    stuttered = [[letter] * n for letter, n in zip(letters, times, strict=True)]
    once = Trace.read(f"{letters[0]} ; {letters[1]} ; {{{letters[2]} ; {letters[3]}}}")
    stem, period = (" ; ".join(chain(*part)) for part in (stuttered[:2], stuttered[2:]))
    often = Trace.read(f"{stem} ; {{{period}}}")
    assert EMBEDDED.check(formula, once) is EMBEDDED.check(formula, often)


# -- the witness ----------------------------------------------------------------------------------


def random_formulas(count, symbols, low, high, seed=0):
    weights = dict.fromkeys(ltl().arity, 1) | {"symbol": 2}
    sampler = FormulaSampler(ltl(), weights, "tree", len(symbols))
    rng = Random(seed)
    for _ in range(count):
        yield sampler.sample(rng, rng.randint(low, high), symbols)


def weaker(trace):
    """Every trace with one literal less."""
    for i, position in enumerate(trace.positions):
        values = literals_of(position)
        for dropped in values:
            rest = [n if v == "1" else f"!{n}" for n, v in values.items() if n != dropped]
            changed = list(trace.positions)
            changed[i] = propositional().read(" & ".join(rest) or "1")
            yield Trace(tuple(changed[: len(trace.stem)]), tuple(changed[len(trace.stem) :]))


def test_witnesses_are_minimal_conjunctions_of_literals():
    for formula in random_formulas(300, "abcd", 3, 25):
        trace = EMBEDDED.solve(formula).witness
        if trace is None:
            continue
        assert EMBEDDED.check(formula, trace) is Verdict.CORRECT
        for position in trace.positions:
            values = literals_of(position)
            assert values is not None
            order = [name for name in formula.symbols if name in values]
            assert list(values) == order
        for other in weaker(trace):
            assert EMBEDDED.check(formula, other) is Verdict.INCORRECT, formula


def test_renaming_renames_the_witness_and_changes_nothing_else():
    rng = Random(1)
    hard = [READ(counter(3)), READ(arbiter(4)), READ("GF(a & X!b) & GF(b & Xb) & GF(!a & X!a)")]
    for formula in [*random_formulas(300, "abcd", 3, 25, seed=2), *hard]:
        names = rng.sample(["z", "y", "b", "a", "p17", "req", "q", "c", "d", "e1"], 10)
        mapping = dict(zip(formula.symbols, names, strict=False))
        first, second = EMBEDDED.solve(formula), EMBEDDED.solve(formula.rename(mapping))
        assert first.status is second.status
        if first.witness is not None:
            assert first.witness.rename(mapping) == second.witness


def test_witnesses_do_not_depend_on_hashes():
    code = (
        "from tests.solvers.test_ltl import *\n"
        "for f in random_formulas(100, 'abcd', 10, 30, seed=3):\n"
        "    print(EMBEDDED.solve(f).witness)\n"
        "print(EMBEDDED.solve(READ(arbiter(5))).witness)"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            cwd=DATA.parent.parent,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1")
    }
    assert len(printed) == 1
    assert printed.pop().count("{") > 50


@pytest.mark.parametrize(
    ("text", "trace"),
    [
        ("1", "{1}"),
        ("a | !a", "{1}"),
        ("a", "{a}"),
        ("!a | b", "{b}"),
        ("Xa", "{a}"),
        ("a & X!a", "a ; {!a}"),
        ("GFa & GF!a", "{a ; !a}"),
        ("a U b", "{b}"),
        ("!a & XX(a & X!a)", "!a ; 1 ; a ; {!a}"),
    ],
)
def test_canonical_witnesses(text, trace):
    witness = EMBEDDED.solve(READ(text)).witness
    if text == "!a & XX(a & X!a)":  # a shorter lasso visits its positions again
        assert len(witness.positions) == 3
        return
    assert witness == Trace.read(trace)


@pytest.mark.parametrize(
    ("formula", "trace", "verdict"),
    [
        ("a | !a", "{1}", "correct"),
        ("1", "{0}", "invalid"),  # never vacuously right
        ("Ga", "{a & !a}", "invalid"),
        ("Ga", "a ; {a ; b & !b}", "invalid"),
        ("Ga", "{a & (b | c) & !b & !c}", "invalid"),
        ("Ga", "{a & zebra}", "correct"),
        ("Ga", "{a | b}", "incorrect"),
        ("G(a | b)", "{a | b}", "correct"),
        ("Ga | Gb", "{a | b}", "incorrect"),  # a letter is chosen anew at every visit
        ("a <-> XXa", "{a ; !a}", "correct"),
        ("(a & Xa) | (!a & X!a)", "{1}", "incorrect"),
        ("a | X!a", "{a <-> b}", "incorrect"),
        ("Fa | G!a", "{1}", "correct"),
        ("0", "{1}", "incorrect"),
    ],
)
def test_what_is_right(formula, trace, verdict):
    assert EMBEDDED.check(READ(formula), Trace.read(trace)) == verdict


def test_positions_are_propositional():
    with pytest.raises(LogicgenError, match="not an operator"):
        EMBEDDED.check(READ("a"), Trace((), (READ("X a"),)))
    with pytest.raises(LogicgenError, match="not an operator"):
        EMBEDDED.solve(Formula("S", (Formula("a"), Formula("b"))))
