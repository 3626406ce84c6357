"""The propositional solvers against the truth, each other, and their promises."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.errors import LogicgenError
from logicgen.solvers import Verdict, load_solver
from logicgen.solvers.pysat import tseitin_encoding
from logicgen.solvers.truth_table import fewest_literals, minimal_assignment
from logicgen.syntax import Assignment, Formula, propositional
from logicgen.syntax.sampling import FormulaSampler
from tests.solvers.lasso_words import BOOLEAN
from tests.syntax.test_formula import formulas

READ = propositional().read
SOLVERS = ["pysat", "truth-table"]
solvers = pytest.mark.parametrize("name", SOLVERS)


def holds(formula, values):
    """Return the truth value, straight from the definition."""

    def value(node, operands):
        if operands:
            return BOOLEAN[node.token](*operands)
        return values[node.token] if node.is_symbol else node.token == "1"

    return formula.fold(value)


def every_completion(formula, literals):
    """Yield total assignments to the formula's symbols that agree with the literals."""
    fixed = dict(literals)
    for values in product([True, False], repeat=len(formula.symbols)):
        total = dict(zip(formula.symbols, values, strict=True))
        if all(total.get(name, value) == value for name, value in fixed.items()):
            yield total


def partial_assignments(symbols):
    """Yield every partial assignment to the symbols, the empty one first."""
    for values in product((None, True, False), repeat=len(symbols)):
        pairs = zip(symbols, values, strict=True)
        yield Assignment(tuple((name, value) for name, value in pairs if value is not None))


def is_right(formula, literals):
    return all(holds(formula, total) for total in every_completion(formula, literals))


@solvers
@given(formula=formulas(most=8))
def test_check_agrees_with_the_truth_table(name, formula):
    solver = load_solver(name, "propositional")
    for answer in partial_assignments(formula.symbols):
        expected = Verdict.CORRECT if is_right(formula, answer.literals) else Verdict.INCORRECT
        assert solver.check(formula, answer) is expected


@solvers
@given(formula=formulas(most=20))
def test_witnesses_are_right_and_minimal(name, formula):
    solution = load_solver(name, "propositional").solve(formula)
    models = [t for t in every_completion(formula, ()) if holds(formula, t)]
    assert (solution.status == "sat") == bool(models)
    if not models:
        return
    literals = solution.witness.literals
    assert is_right(formula, literals)
    for dropped in literals:
        assert not is_right(formula, [literal for literal in literals if literal != dropped])
    # The first model, true before false, agrees with the witness.
    assert all(models[0][symbol] == value for symbol, value in literals)


@given(formula=formulas(symbols="abcdefg", most=40))
def test_both_solvers_give_the_same_witness(formula):
    first, second = (load_solver(name, "propositional").solve(formula) for name in SOLVERS)
    assert first == second


@given(formula=formulas(most=14))
def test_no_right_assignment_has_fewer_literals_and_ties_are_broken_by_order(formula):
    right = [
        each for each in partial_assignments(formula.symbols) if is_right(formula, each.literals)
    ]
    place = {name: i for i, name in enumerate(formula.symbols)}

    def rank(each):
        literals = each.literals
        return len(literals), [place[n] for n, _ in literals], [not value for _, value in literals]

    assert fewest_literals(formula) == min(right, key=rank, default=None)


@given(formula=formulas(most=14), seed=st.integers())
def test_a_random_assignment_is_right_and_minimal(formula, seed):
    found = minimal_assignment(formula, Random(seed))
    if found is None:
        assert minimal_assignment(formula) is None
        return
    assert is_right(formula, found.literals)
    for left_out in found.literals:
        assert not is_right(formula, [each for each in found.literals if each != left_out])


def test_a_random_assignment_is_found_in_the_largest_table():
    parity = " ^ ".join(f"p{i}" for i in range(20))
    found = minimal_assignment(READ(parity), Random(0))
    assert len(found.literals) == 20
    assert sum(value for _, value in found.literals) % 2 == 1


def test_random_assignments_come_from_every_model():
    found = {minimal_assignment(READ("a ^ b ^ c"), Random(seed)).infix for seed in range(100)}
    assert found == {"a=1, b=1, c=1", "a=1, b=0, c=0", "a=0, b=1, c=0", "a=0, b=0, c=1"}


@solvers
@given(formula=formulas(most=12), names=st.permutations(["a", "b", "z9", "req"]))
def test_renaming_commutes_with_solving_and_changes_no_verdict(name, formula, names):
    solver = load_solver(name, "propositional")
    mapping = dict(zip("abcd", names, strict=True))
    renamed = formula.rename(mapping)
    before, after = solver.solve(formula), solver.solve(renamed)
    assert before.status == after.status
    if before.witness is not None:
        assert before.witness.rename(mapping) == after.witness
    answer = Assignment((("a", True), ("c", False)))
    assert solver.check(formula, answer) is solver.check(renamed, answer.rename(mapping))


@solvers
@pytest.mark.parametrize(
    ("formula", "answer", "verdict"),
    [
        ("a | !a", "1", "correct"),  # a tautology needs nothing
        ("1", "1", "correct"),
        ("0", "1", "incorrect"),
        ("a", "1", "incorrect"),
        ("a & !a", "a=1", "incorrect"),
        ("a & !a", "a=1, a=0", "invalid"),  # a contradiction is never vacuously right
        ("a", "b=1, b=0, a=1", "invalid"),
        ("a", "a=1, b=0, zebra=1", "correct"),  # symbols that do not occur do no harm
        ("a", "a=1, a=1", "correct"),
        ("a | b", "a=0", "incorrect"),
    ],
)
def test_vacuous_and_contradictory(name, formula, answer, verdict):
    solver = load_solver(name, "propositional")
    assert solver.check(READ(formula), Assignment.read(answer)) == verdict


@solvers
@pytest.mark.parametrize(("text", "witness"), [("1", "1"), ("a | !a", "1"), ("!a", "a=0")])
def test_smallest_problems(name, text, witness):
    solver = load_solver(name, "propositional")
    assert solver.solve(READ(text)).witness.infix == witness
    assert solver.solve(READ("0")).status == "unsat"


def test_pysat_takes_what_no_table_can():
    pysat, table = (load_solver(name, "propositional") for name in SOLVERS)
    symbols = [Formula(f"x{i}") for i in range(300)]
    formula = symbols[0]
    for i, symbol in enumerate(symbols[1:]):
        formula = formula ^ symbol if i % 2 else formula & symbol
    solution = pysat.solve(formula)
    assert pysat.check(formula, solution.witness) is Verdict.CORRECT
    with pytest.raises(LogicgenError, match="300 symbols are too many"):
        table.solve(formula)


def test_depth_is_no_limit():
    formula = READ("!" * 50_001 + "a")
    for name in SOLVERS:
        assert load_solver(name, "propositional").solve(formula).witness.infix == "a=0"


@solvers
def test_other_logics_are_refused(name):
    solver = load_solver(name, "propositional")
    for formula in (Formula("X", (Formula("a"),)), Formula("U", (Formula("a"), Formula("b")))):
        with pytest.raises(LogicgenError, match="not an operator of propositional"):
            solver.solve(formula)


def test_encoding_defines_the_formula_in_both_directions():
    rng = Random(0)
    sampler = FormulaSampler(propositional(), dict.fromkeys(BOOLEAN, 1) | {"0": 1}, "uniform", 3)
    for _ in range(50):
        formula = sampler.sample(rng, rng.randint(1, 7), "abc")
        symbols, root, clauses = tseitin_encoding(formula)
        last = max([len(symbols), abs(root), *(abs(i) for c in clauses for i in c)])
        for total in every_completion(formula, ()):
            fixed = {i + 1: total[s] for i, s in enumerate(symbols)}
            models = []
            for values in product([True, False], repeat=last - len(symbols)):
                value = fixed | dict(zip(range(len(symbols) + 1, last + 1), values, strict=True))
                if all(any(value[abs(i)] == (i > 0) for i in clause) for clause in clauses):
                    models.append(value)
            assert len(models) == 1  # the gates follow from the inputs
            assert (models[0][abs(root)] == (root > 0)) == holds(formula, total)


def test_unknown_solvers_are_refused_with_the_nearest_name():
    with pytest.raises(LogicgenError, match="did you mean pysat"):
        load_solver("pisat", "propositional")
    with pytest.raises(LogicgenError, match="decides propositional problems, not ltl"):
        load_solver("pysat", "ltl")
