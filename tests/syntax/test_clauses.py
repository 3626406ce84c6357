"""Sets of clauses as formulas and as DIMACS text, there and back, and hostile DIMACS texts."""

from __future__ import annotations

import tracemalloc
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pysat import formula as pysat

from logicgen.data.exchange import read_dimacs, write_dimacs
from logicgen.errors import LogicgenError
from logicgen.solvers.pysat import solve_clauses
from logicgen.syntax import propositional
from logicgen.syntax.clauses import (
    CNF,
    clauses_of,
    formula_of,
    read_cnf,
    read_model,
    satisfies,
    write_cnf,
    write_model,
)
from logicgen.tasks import load_task
from logicgen.tokens import symbol_index, symbol_name
from tests.verdicts import verdict

LITERALS = st.integers(1, 40).flatmap(lambda v: st.sampled_from([v, -v]))
CLAUSES = st.lists(st.lists(LITERALS, max_size=6), max_size=12)


def name(variable):
    return symbol_name(variable - 1)


def number(symbol):
    return symbol_index(symbol) + 1


def brute_force(clauses, variables):
    """All models, as sets of literals."""
    for signs in product((1, -1), repeat=variables):
        model = {v * sign for v, sign in enumerate(signs, start=1)}
        if all(model & set(clause) for clause in clauses):
            yield model


def test_chains_associate_to_the_left_and_print_without_brackets():
    formula = formula_of([[1, -2, 3], [3], [2, 3]], name)
    assert formula.prefix == "& & | | a ! b c c | b c"
    assert propositional().write(formula) == "(a | !b | c) & c & (b | c)"
    assert formula_of([], name).prefix == "1"
    assert formula_of([[]], name).prefix == "0"


def test_a_byte_order_mark_is_no_clause():
    assert read_cnf("\ufeffp cnf 1 1\n1 0\n".encode(), "some.cnf").clauses == [[1]]
    assert read_model("\ufeffs SATISFIABLE\nv 1 0\n".encode(), "some.sol") == [1]


@given(CLAUSES)
def test_formulas_there_and_back(clauses):
    assert clauses_of(formula_of(clauses, name), number) == clauses


def test_any_association_is_read():
    for text in ("& a & ! b | c | d e", "& & a ! b | | c d e"):
        formula = propositional().read_prefix(text)
        assert clauses_of(formula, number) == [[1], [-2], [3, 4, 5]]


@pytest.mark.parametrize("text", ["| a & b c", "! ! a", "^ a b", "& a 1", "! | a b", "-> a b"])
def test_other_formulas_are_refused(text):
    with pytest.raises(LogicgenError, match="not a conjunction of clauses"):
        clauses_of(propositional().read_prefix(text), number)


@pytest.mark.slow
def test_a_hundred_thousand_clauses_are_no_depth():
    clauses = [[1, -2], [2]] * 50_000
    assert clauses_of(formula_of(clauses, name), number) == clauses


@given(CLAUSES, st.lists(st.text(st.characters(codec="ascii", categories=["L", "Zs"]))))
def test_dimacs_there_and_back_and_as_pysat_reads_it(clauses, comments):
    text = write_cnf(CNF(40, clauses), comments)
    assert read_cnf(text.encode(), "x") == CNF(40, clauses)
    assert pysat.CNF(from_string=text).clauses == clauses


def test_free_layout_is_read():
    text = b"c \xff comment\r\n\np  cnf 3 3\n1 -2\nc in between\n 0 2 3 0\r\n0\n%\n0\n"
    assert read_cnf(text, "x") == CNF(3, [[1, -2], [2, 3], []])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "x: no header"),
        ("c only a comment\n", "x: no header"),
        ("1 2 0\n", "x, line 1: a clause before the header"),
        ("p cnf 2\n1 0\n", "x, line 1: 'p cnf 2' is not a header"),
        ("p sat 2 1\n1 0\n", "x, line 1: 'p sat 2 1' is not a header"),
        ("p cnf -1 1\n", "x, line 1: 'p cnf -1 1' is not a header"),
        ("p cnf 2 1\np cnf 2 1\n", "x, line 2: a second header"),
        ("p cnf 2 1\n1 x2 0\n", "x, line 2: 'x2' is not a whole number"),
        ("p cnf 2 1\n1 1_0 0\n", "x, line 2: '1_0' is not a whole number"),
        ("p cnf 2 1\n1 2.5 0\n", "x, line 2: '2.5' is not a whole number"),
        ("p cnf 2 1\n\n1 -3 0\n", "x, line 3: literal -3, but the header announces 2 variables"),
        ("p cnf 2 1\n1 3 0\n", "x, line 2: literal 3, but"),
        ("p cnf 2 2\n1 0\n2 -1\n", "x, line 3: the file ends inside a clause"),
        ("p cnf 2 2\n1 0\n", "x: the header announces 2 clauses, but there are 1"),
        ("p cnf 2 1\n1 0\n2 0\n", "x: the header announces 1 clauses, but there are 2"),
    ],
)
def test_bad_files_are_one_line_with_the_place(text, reason):
    with pytest.raises(LogicgenError) as error:
        read_cnf(text.encode(), "x")
    assert str(error.value).startswith(reason)
    assert "\n" not in str(error.value)


@given(st.lists(LITERALS, max_size=60))
def test_models_there_and_back(literals):
    text = write_model(literals)
    assert read_model(text.encode(), "x") == literals
    assert all(len(line) <= 78 for line in text.splitlines())
    assert read_model(" ".join(map(str, [*literals, 0])).encode(), "x") == literals


@pytest.mark.parametrize("text", ["", "v 1 2", "v 1 0 2 0", "a=1", "s UNSATISFIABLE", "v 1 x 0"])
def test_bad_models(text):
    with pytest.raises(LogicgenError, match=r"^x[,:]"):
        read_model(text.encode(), "x")


@given(st.lists(st.lists(st.sampled_from([1, -1, 2, -2, 3, -3]), max_size=4), max_size=6))
def test_a_partial_answer_is_right_if_every_completion_is(clauses):
    models = list(brute_force(clauses, 3))
    for signs in product((1, 0, -1), repeat=3):
        literals = [v * sign for v, sign in enumerate(signs, start=1) if sign]
        completions = 2 ** signs.count(0)
        right = sum(set(literals) <= model for model in models) == completions
        if satisfies(literals, clauses):
            assert right
        if not signs.count(0):
            assert satisfies(literals, clauses) == right


LONG = b"1" * 5000


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"p cnf " + LONG + b" 1\n1 0\n", "line 1: .* is not a header"),
        (b"p cnf 1 " + LONG + b"\n1 0\n", "line 1: .* is not a header"),
        (b"p cnf 999999999999999999 1\n" + LONG + b" 0\n", "line 2: .* has more than 18 digits"),
        (b"p cnf 3 1\n-" + LONG + b" 0\n", "line 2: .* has more than 18 digits"),
        (b"p cnf 3 1\n99999999999999999 0\n", "line 2: literal 99999999999999999, but the header"),
        (b"p cnf 999999999999999999 999999999999999999\n1 0\n", "but there are 1"),
        (b"p cnf 1 1\n1 \0 0\n", r"line 2: '\\x00' is not a whole number"),
        (b"p cnf 1 1\0\n1 0\n", "line 1: .* is not a header"),
        (b"\0" * 100_000, "line 1: a clause before the header"),
        (b"p cnf 1 1\n\xff\xfe 0\n", "line 2: .* is not a whole number"),
        (b"p cnf 1 1\n1_0 0\n", "line 2: '1_0' is not a whole number"),
    ],
)
def test_hostile_files_are_refused_with_their_line(text, reason):
    tracemalloc.start()
    with pytest.raises(LogicgenError, match=reason) as caught:
        read_cnf(text, "some.cnf")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1 << 20
    assert len(str(caught.value)) < 200
    assert "\0" not in str(caught.value)


@pytest.mark.parametrize("text", [b"v " + LONG + b" 0", b"v 1 \0 0", b"\0", b"\xff"])
def test_hostile_answers_are_refused(text):
    with pytest.raises(LogicgenError, match="is no line of literals"):
        read_model(text, "answer")


def test_high_numbers_take_no_memory(tmp_path):
    high = 10**16  # the symbol `o384615384615384`
    (tmp_path / "high.cnf").write_text(f"p cnf {10**17} 1\n{high} -{high - 1} 0\n")
    (tmp_path / "high.sol").write_text(f"v {high} 0\n")
    clauses = read_cnf((tmp_path / "high.cnf").read_bytes(), "high.cnf").clauses
    assert solve_clauses(clauses) == [-(high - 1), -high]
    task = load_task("propositional")
    (example,) = read_dimacs(tmp_path, task)
    assert verdict(task, example[0], str(example[1])) == "correct"
    write_dimacs([example], tmp_path / "back", "back")
    assert read_cnf((tmp_path / "back/000000.cnf").read_bytes(), "").clauses == clauses


def test_an_unsatisfiable_problem_there_and_back(tmp_path):
    examples = [("& a ! a", "0"), ("a", "a 1")]
    assert write_dimacs(examples, tmp_path / "x", "x") == 2
    assert (tmp_path / "x/000000.sol").read_text() == "s UNSATISFIABLE\n"
    assert list(read_dimacs(tmp_path / "x", load_task("propositional"))) == examples
    # Other solvers write comments, and Windows other ends of lines.
    (tmp_path / "x/000000.sol").write_bytes(b"c solved\r\ns UNSATISFIABLE\r\n")
    assert list(read_dimacs(tmp_path / "x", load_task("propositional"))) == examples


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(LogicgenError, match="xxx: cannot be written: File name too long"):
        write_dimacs([("a", None)], tmp_path / ("x" * 300), "long")
