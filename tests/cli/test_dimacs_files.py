"""DIMACS files on the command line: solved, checked, written and read back."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from random import Random

import pytest

from logicgen.cli import judge
from logicgen.solvers.pysat import solve_clauses
from logicgen.syntax.clauses import CNF, write_cnf
from tests.cli.test_commands import refused, rows, run
from tests.syntax.test_clauses import brute_force

SMALL = "c small\np cnf 3 3\n1 -2 0\n2 3 0\n-1 0\n"
CONTRADICTION = "p cnf 1 2\n1 0\n-1 0\n"


@pytest.fixture
def small(tmp_path):
    (tmp_path / "small.cnf").write_text(SMALL)
    (tmp_path / "contradiction.cnf").write_text(CONTRADICTION)
    return tmp_path


def pigeons(holes):
    """More pigeons than holes, which takes exponentially long to refute."""
    numbered = [[p * holes + h + 1 for h in range(holes)] for p in range(holes + 1)]
    apart = [
        [-first[h], -second[h]]
        for h in range(holes)
        for i, first in enumerate(numbered)
        for second in numbered[:i]
    ]
    return write_cnf(CNF((holes + 1) * holes, numbered + apart))


def test_solve_as_competitions_ask_for_it(small):
    result = run("solve", small / "small.cnf")
    assert (result.returncode, result.stdout) == (0, "s SATISFIABLE\nv -1 -2 3 0\n")
    result = run("solve", "--task", "propositional", "--in", small / "contradiction.cnf")
    assert (result.returncode, result.stdout) == (0, "s UNSATISFIABLE\n")
    for extra in ([], ["--out", "-"]):
        result = run("solve", "--dimacs", "--in", "-", *extra, stdin=SMALL)
        assert result.stdout == "s SATISFIABLE\nv -1 -2 3 0\n"
    both = ["small.cnf", "contradiction.cnf"]
    for extra in ([], ["--workers", 2], ["--timeout", 20]):
        result = run("solve", *both, "--out", "o", *extra, cwd=small)
        assert result.returncode == 0, result.stderr
        assert (small / "o").read_text() == (
            "c small.cnf\ns SATISFIABLE\nv -1 -2 3 0\nc contradiction.cnf\ns UNSATISFIABLE\n"
        )


def test_a_timeout_is_unknown(tmp_path):
    (tmp_path / "hard.cnf").write_text(pigeons(13))
    result = run("solve", tmp_path / "hard.cnf", "--timeout", 0.5)
    assert (result.returncode, result.stdout) == (0, "c time limit of 0.5 s\ns UNKNOWN\n")
    assert result.stderr == ""


def test_a_hard_file_has_a_limit_unless_asked(tmp_path, monkeypatch, capfd):
    (tmp_path / "hard.cnf").write_text(pigeons(13))
    monkeypatch.setattr(judge, "FILE_SECONDS", 1.5)
    judge.solve.main([str(tmp_path / "hard.cnf")], standalone_mode=False)
    said = capfd.readouterr()
    assert said.out == "c time limit of 1.5 s\ns UNKNOWN\n"
    assert said.err == "limit: 1.5 s for each file (--timeout SECONDS for another)\n"


def test_reading_counts_as_solving(tmp_path):
    (tmp_path / "long.cnf").write_text("p cnf 1 2000000\n" + "1 0\n" * 2_000_000)
    result = run("solve", tmp_path / "long.cnf", "--timeout", 0.05)
    assert result.stdout == "c time limit of 0.05 s\ns UNKNOWN\n"


@pytest.mark.slow
def test_a_terminal_shows_the_file_that_is_solved(tmp_path):
    (tmp_path / "hard.cnf").write_text(pigeons(13))
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "logicgen.cli.main", "solve", "hard.cnf", "--timeout", "2"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs)
    stdout, _ = process.communicate(timeout=60)
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert stdout == b"c time limit of 2 s\ns UNKNOWN\n"
    assert "limit: 2 s" in shown
    assert "solving hard.cnf" in shown
    assert "0:00:01" in shown


@pytest.mark.parametrize(
    ("answer", "verdict", "status"),
    [
        ("v -1 -2 3 0", "correct", 0),
        ("s SATISFIABLE\nv -1 -2\nv 3 0\n", "correct", 0),
        ("c said\nv 3 -2 -1 0", "correct", 0),
        ("v -1 2 3 0", "incorrect", 1),
        ("v -1 -2 0", "incorrect", 1),
        ("v 0", "incorrect", 1),
        ("v 1 -1 0", "invalid", 1),
    ],
)
def test_verify(small, answer, verdict, status):
    (small / "answer.sol").write_text(answer)
    for given, stdin in ((answer, None), (small / "answer.sol", None), ("-", answer)):
        result = run("verify", small / "small.cnf", given, stdin=stdin)
        assert (result.stdout.strip(), result.returncode) == (verdict, status)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["no header"]),
        ("1 0\n", ["line 1", "before the header"]),
        ("p cnf 1 1\n1 2 0\n", ["line 2", "literal 2"]),
        ("p cnf 1 1\n1\n", ["line 2", "ends inside a clause"]),
        ("p cnf 1 2\n1 0\n", ["announces 2 clauses"]),
        ("p cnf 1 1\none 0\n", ["line 2", "'one'"]),
    ],
)
def test_bad_files(tmp_path, text, words):
    (tmp_path / "bad.cnf").write_text(text)
    commands = (
        ["solve", tmp_path / "bad.cnf"],
        ["solve", tmp_path / "bad.cnf", "--timeout", 5],
        ["verify", tmp_path / "bad.cnf", "v 1 0"],
        ["convert", "--task", "propositional", tmp_path / "bad.cnf", tmp_path / "x.jsonl"],
    )
    for command in commands:
        assert len(refused(run(*command), "bad.cnf", *words).splitlines()) == 1


def test_usage(small):
    file = small / "small.cnf"
    refused(run("solve", file, "a & b"), "either formulas or .cnf files")
    refused(run("solve", "--dimacs", "a"), "--dimacs goes with --in")
    refused(run("solve", "--task", "ltl", file), "--task ltl")
    refused(run("solve", "--solver", "truth-table", file), "--solver")
    refused(run("solve", small / "nowhere.cnf"), "nowhere.cnf", "No such file")
    refused(run("verify", file), "ANSWER")
    refused(run("verify", file, "a=1"), "no line of literals")
    refused(run("verify", file, "s UNSATISFIABLE"), "no answer to check")
    refused(run("verify", "a", "a=1"), "--task")
    refused(run("convert", "--task", "ltl", file, small / "x.jsonl"), "not problems of ltl")
    refused(run("convert", "--task", "propositional", file, small / "x.txt"), "without an answer")
    assert {path.name for path in small.iterdir() if path.suffix != ".part"} == {
        "small.cnf",
        "contradiction.cnf",
    }


def test_convert_writes_files_that_solve_verify_and_convert_read(tmp_path):
    recipe = tmp_path / "mine.toml"
    recipe.write_text(
        'task = "propositional"\n[problem]\nsource = "cnf"\n[region]\nsymbols = [2, 4]\n'
        "length = [1, 300]\nstep = 300\n[sizes]\ntrain = 12\ntest = 4\n"
    )
    made = run("generate", recipe, "-o", tmp_path / "mine")
    assert made.returncode == 0, made.stderr
    convert = ("convert", "--task", "propositional")
    written = run(*convert, tmp_path / "mine", f"{tmp_path / 'cnf'}/")
    assert written.returncode == 0, written.stderr
    files = sorted((tmp_path / "cnf").glob("*.cnf"))
    assert len(files) == len(list((tmp_path / "cnf").glob("*.sol"))) == 12
    assert "c mine train, row 0\n" in files[0].read_text()
    for file in files[:2]:
        assert run("verify", file, file.with_suffix(".sol")).stdout == "correct\n"
        assert run("verify", file, "-", stdin=run("solve", file).stdout).returncode == 0
    run(*convert, tmp_path / "cnf", tmp_path / "there.jsonl")
    run(*convert, tmp_path / "mine", tmp_path / "straight.jsonl")
    there = (tmp_path / "there.jsonl").read_text()
    assert there == (tmp_path / "straight.jsonl").read_text()
    assert len(rows(there)) == 12
    again = run(*convert, tmp_path / "there.jsonl", f"{tmp_path / 'again'}/")
    assert again.returncode == 0, again.stderr
    for file in files:
        lines = [
            [line for line in path.read_text().splitlines() if line[0] != "c"]
            for path in (file, tmp_path / "again" / file.name)
        ]
        assert lines[0] == lines[1]
    refused(run(*convert, tmp_path / "there.jsonl", f"{tmp_path / 'again'}/"), "is there already")


def test_what_is_no_set_of_clauses_is_refused(tmp_path):
    source = tmp_path / "some.jsonl"
    source.write_text('{"problem": "a & b", "answer": "a=1, b=1"}\n{"problem": "!(a & b)", ')
    source.write_text(source.read_text() + '"answer": "a=0"}\n')
    target = f"{tmp_path / 'out'}/"
    refused(run("convert", "--task", "propositional", source, target), "row 1", 'source = "cnf"')
    assert {path.name for path in tmp_path.iterdir()} == {"some.jsonl"}


def test_problems_without_answers_there_and_back(tmp_path):
    convert = ("convert", "--task", "propositional")
    for name, text in (("0", "p cnf 2 1\n1 -2 0\n"), ("1", "p cnf 1 1\n-1 0\n")):
        (tmp_path / "given").mkdir(exist_ok=True)
        (tmp_path / "given" / f"00000{name}.cnf").write_text(text)
    source = tmp_path / "some.jsonl"
    assert run(*convert, tmp_path / "given", source).returncode == 0
    assert run(*convert, source, f"{tmp_path / 'out'}/").returncode == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "000000.cnf",
        "000001.cnf",
    ]
    for file in (tmp_path / "out").iterdir():
        lines = [line for line in file.read_text().splitlines() if line[0] != "c"]
        assert lines == (tmp_path / "given" / file.name).read_text().splitlines()
    source.write_text('{"problem": "a"}\n{"problem": "a &"}\n')
    said = refused(run(*convert, source, f"{tmp_path / 'again'}/"), "some.jsonl, line 2")
    assert "row" not in said
    assert "DIMACS" not in said
    assert not (tmp_path / "again").exists()


def test_symbols_with_names_of_their_own(tmp_path):
    source = tmp_path / "some.jsonl"
    source.write_text(json.dumps({"problem": "(req | !ack) & ack", "answer": "req=1, ack=1"}))
    run("convert", "--task", "propositional", source, f"{tmp_path / 'out'}/")
    text = (tmp_path / "out" / "000000.cnf").read_text()
    assert "c variable 1 is req\nc variable 2 is ack\np cnf 2 2\n1 -2 0\n2 0\n" in text
    assert "v 1 2 0" in (tmp_path / "out" / "000000.sol").read_text()


@pytest.mark.slow
def test_a_hundred_thousand_clauses(tmp_path):
    rng = Random(0)
    clauses = [
        [v * rng.choice((1, -1)) for v in rng.sample(range(1, 60_001), 3)] for _ in range(100_000)
    ]
    (tmp_path / "big.cnf").write_text(write_cnf(CNF(60_000, clauses)))
    solved = run("solve", tmp_path / "big.cnf")
    assert solved.stdout.startswith("s SATISFIABLE\nv ")
    assert run("verify", tmp_path / "big.cnf", "-", stdin=solved.stdout).stdout == "correct\n"


def test_solving_clauses_agrees_with_brute_force():
    rng = Random(0)
    seen = set()
    for _ in range(300):
        clauses = [
            [rng.choice((1, -1)) * rng.randint(1, 4) for _ in range(rng.randint(0, 3) or 2)]
            for _ in range(rng.randint(0, 12))
        ]
        model = solve_clauses(clauses)
        seen.add(model is None)
        assert (model is not None) == any(brute_force(clauses, 4))
        if model is not None:
            assert {abs(n) for n in model} == {abs(n) for c in clauses for n in c}
            assert all(set(model) & set(clause) for clause in clauses)
    assert seen == {True, False}
    assert solve_clauses([[1], []]) is None
    assert solve_clauses([[2_000_000_000], [-2_000_000_000, -7]]) == [-7, 2_000_000_000]
