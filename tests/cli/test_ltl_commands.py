"""LTL on the command line: answers as tables, verdicts, bad input, plugins that fail."""

from __future__ import annotations

import json

import pytest

import logicgen
from tests.cli.test_commands import refused, rows, run


def test_solve_shows_a_table():
    result = run("solve", "--task", "ltl", "(a U b) & X!b & GFa", "a & !a", "--timeout", "20")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [
        "b ; {a & !b}",
        "   0 | 1 |",
        "b  1 | 0 |",
        "a  . | 1 |",
        "unsatisfiable",
    ]
    assert run("solve", "--task", "ltl", "a & X!a").stdout.startswith("a ; {!a}\n")


def test_verify():
    assert run("verify", "--task", "ltl", "G(r -> Fg)", "{r ; g}").stdout == "correct\n"
    assert run("verify", "--task", "ltl", "Ga", "{a & !a}").stdout == "invalid\n"
    assert run("verify", "--task", "ltl", "Ga", "a; cycle{a; b}").stdout == "incorrect\n"
    assert run("verify", "--task", "ltl", "U a b", "a ; { b }").stdout == "correct\n"
    assert run("verify", "--task", "ltl", "a & !a", "0").stdout == "correct\n"
    assert run("verify", "--task", "ltl", "Ga", "0").stdout == "incorrect\n"
    assert run("verify", "--task", "ltl", "Ga", "{0}").stdout == "invalid\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["solve", "a U Req"], ["column 5", "Req is read as R eq"]),
        (["solve", "Request -> F Grant"], ["Request is read as R equest", "lower case"]),
        (["solve", "a S b"], ["column 3", "past operators"]),
        (["solve", "{a;b}[]-> c"], ["column 1", "PSL"]),
        (["solve", "G F1"], ["column 4", "X(0)"]),
        (["solve", "a", "--timeout", "0"], ["0"]),
        (["solve", "a", "--solver", "embeded"], ["did you mean embedded"]),
        (["solve", "a", "--solver", "pysat"], ["propositional"]),
    ],
)
def test_bad_input_is_refused_with_place_and_remedy(arguments, words):
    command, *rest = arguments
    refused(run(command, "--task", "ltl", *rest), *words)


def test_a_word_that_is_read_as_an_operator_is_named():
    solved = run("solve", "--task", "ltl", "Fail | Go")
    assert (solved.returncode, solved.stderr) == (0, "warning: Fail is read as F(ail)\n")
    assert "G(rant)" in run("verify", "--task", "ltl", "Grant", "{rant}").stderr
    assert run("solve", "--task", "ltl", "G(request -> Xgrant) & Fgrant").stderr == ""


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("a ; b", ["column 6", "braces"]),
        ("a ; {}", ["column 6", "empty"]),
        ("a ; {b &}", ["column 9", "unexpected"]),
        ("{F b}", ["column 2", "unexpected"]),
    ],
)
def test_an_answer_that_does_not_parse_is_invalid(answer, words):
    result = run("verify", "--task", "ltl", "a", answer)
    assert (result.stdout, result.returncode) == ("invalid\n", 1)
    assert all(word in result.stderr for word in words)


def test_files(tmp_path):
    source, target = tmp_path / "in.txt", tmp_path / "out.jsonl"
    source.write_text("a U b\nG a &\na & !a\n")
    result = run("solve", "--task", "ltl", "--in", source, "--out", target)
    assert result.returncode == 2
    assert f"{source}: 1 line cannot be answered" in result.stderr
    assert "1 sat" in result.stderr
    solved = rows(target.read_text())
    assert [row["status"] for row in solved] == ["sat", "invalid", "unsat"]
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text(json.dumps({"problem": "a U b", "answer": solved[0]["witness"]}) + "\n")
    result = run("verify", "--task", "ltl", "--in", pairs)
    assert rows(result.stdout)[0]["verdict"] == "correct"


def test_a_plugin_that_raises_makes_its_problems_unknown_and_the_run_goes_on(monkeypatch):
    from logicgen.tasks import load_task
    from logicgen.tasks.lines import judge_line

    task = load_task("ltl")
    solve = type(task).solve

    def sometimes(self, problem, solver=None):
        if problem.token == "G":
            raise RuntimeError("broken")
        return solve(self, problem, solver)

    monkeypatch.setattr(type(task), "solve", sometimes)
    work = judge_line("ltl", None, verify=False)
    found = [work(line) for line in ("a", "G a", "F a")]
    assert [row["status"] for row in found] == ["sat", "unknown", "sat"]
    assert "broken" in found[1]["reason"]


@pytest.mark.parametrize(
    ("notation", "text"),
    [
        ("infix", "G(a -> F b1)"),
        ("prefix", "G -> a F b1"),
        ("unicode", "□(a → ◇ b1)"),
        ("latex", r"\mathsf{G} ( a \rightarrow \mathsf{F} b_{1} )"),
    ],
)
def test_convert_to_another_notation(tmp_path, notation, text):
    convert = ("convert", "--task", "ltl", "--to", notation)
    for given in ("G(a -> Fb1)", "□(a → ◇b1)", "G -> a F b1"):
        assert run(*convert, given).stdout == f"{text}\n"
    lines = 'G(a -> Fb1)\n\n{"problem": "G(a -> Fb1)", "answer": "{a & b1}", "id": 7}\n'
    (tmp_path / "in.txt").write_text(lines)
    assert run(*convert, tmp_path / "in.txt", tmp_path / "out.txt").stdout == ""
    written = (tmp_path / "out.txt").read_text()
    first, second = written.splitlines()
    assert first == text
    assert json.loads(second) == {
        "problem": text,
        "answer": logicgen.task("ltl").write("{a & b1}", notation),
        "id": 7,
    }
    assert run(*convert, "-", stdin=lines).stdout == written


def test_convert_to_another_notation_names_the_place(tmp_path):
    convert = ("convert", "--task", "ltl", "--to", "prefix")
    assert "warning: Fail is read as F(ail)" in run(*convert, "Fail").stderr
    refused(run(*convert, "a U"), "column 4")
    refused(run(*convert, "-", stdin="a\na U\n"), "standard input, line 2", "column 4")
    (tmp_path / "in.jsonl").write_text('{"answer": "{a}"}\n')
    refused(
        run(*convert, tmp_path / "in.jsonl", tmp_path / "out"), "line 1", "'problem' is missing"
    )
    assert not (tmp_path / "out").exists()
    refused(run("convert", "--task", "ltl", "a U b"), "--to NOTATION")
    refused(run("convert", "--task", "copying", "--to", "latex", "a b"), "formulas and traces")


def test_convert_there_and_back(tmp_path):
    data, text, back, again = (tmp_path / n for n in ("data", "a.txt", "b.jsonl", "c.txt"))
    made = run("generate", "ltl-mini", "--size", 60, "-o", data)
    assert made.returncode == 0, made.stderr
    for source, target in ((data, text), (text, back), (back, again)):
        split = ("--split", "train") if source == data else ()
        result = run("convert", "--task", "ltl", *split, source, target)
        assert result.returncode == 0, result.stderr
    assert again.read_bytes() == text.read_bytes()
    verified = run("verify", "--task", "ltl", "--in", back)
    assert {row["verdict"] for row in rows(verified.stdout)} == {"correct"}
    refused(run("convert", "--task", "ltl", text, tmp_path / "x.csv"), ".jsonl")
    text.write_text("Ua\n{b}\n")
    refused(run("convert", "--task", "ltl", text, back), "line 1")
    refused(run("convert", "--task", "ltl", tmp_path / "none.txt", back), "none.txt")
