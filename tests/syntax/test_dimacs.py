"""DIMACS texts that no honest program wrote: one error, before memory is taken."""

from __future__ import annotations

import tracemalloc

import pytest

from logicgen.data.dimacs_export import read_dimacs, write_dimacs
from logicgen.errors import LogicgenError
from logicgen.solvers.pysat import solve_clauses
from logicgen.syntax.clauses import read_cnf, read_model
from logicgen.tasks import load_task

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
    assert task.verdict(example[0], str(example[1]), "") == "correct"
    write_dimacs([example], tmp_path / "back", "back")
    assert read_cnf((tmp_path / "back/000000.cnf").read_bytes(), "").clauses == clauses


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(LogicgenError, match="xxx: cannot be written: File name too long"):
        write_dimacs([("a", None)], tmp_path / ("x" * 300), "long")
