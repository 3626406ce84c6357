"""The commands as a user runs them: output, exit status, one-line errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest


def run(*arguments, stdin=None, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "logicgen.cli.main", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},  # so that asking for one is refused
    )


def refused(result, *words):
    """Exit status 2, no traceback, and the words in what is said."""
    assert result.returncode == 2, result.stderr
    assert "Traceback" not in result.stderr
    for word in words:
        assert word in result.stderr
    return result.stderr


def rows(text):
    return [json.loads(line) for line in text.splitlines()]


def test_help_lists_every_command_and_imports_nothing_heavy():
    code = (
        "import sys; sys.argv = ['logicgen', '--help']\n"
        "from logicgen.cli.main import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'lightning', 'numpy', 'pyarrow', 'pydantic', 'lark'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    for command in ("list", "generate", "train", "evaluate", "solve", "verify", "demo", "doctor"):
        assert f"  {command} " in result.stdout
        assert run(command, "--help").returncode == 0


@pytest.mark.parametrize("command", [["solve", "a"], ["verify", "a", "a=1"]])
def test_one_formula_needs_no_torch(command):
    code = (
        "import sys; sys.argv = ['logicgen', "
        f"{command[0]!r}, '--task', 'propositional', *{command[1:]!r}]\n"
        "from logicgen.cli.main import main\n"
        "try: main()\nexcept SystemExit as end: assert not end.code\n"
        "assert not {'torch', 'lightning', 'pyarrow'} & set(sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_list():
    everything = run("list").stdout
    for name in (
        "copying",
        "copying-20",
        "propositional-35",
        "propositional-interchangeable",
        "pysat",
    ):
        assert name in everything
    assert "pysat" not in run("list", "tasks").stdout
    refused(run("list", "nonsense"), "nonsense")


def test_doctor():
    result = run("doctor")
    assert result.returncode == 0
    for word in ("python", "torch", "pysat: available", "truth-table: available", "cuda"):
        assert word in result.stdout


def test_solve_for_a_person():
    result = run("solve", "--task", "propositional", "a & !b", "a & !a", "1")
    assert (result.returncode, result.stdout) == (0, "a=1, b=0\nunsatisfiable\n1\n")
    result = run("solve", "--task", "propositional", "--timeout", "5", "a & !b", "a & !a")
    assert (result.returncode, result.stdout) == (0, "a=1, b=0\nunsatisfiable\n")
    result = run("solve", "--task", "propositional", "--solver", "truth-table", "& a ! b")
    assert result.stdout == "a=1, b=0\n"


@pytest.mark.parametrize(
    ("problem", "answer", "verdict", "status"),
    [
        ("a | b", "a=1", "correct", 0),
        ("a | b", "a=0", "incorrect", 1),
        ("a | b", "a=1, a=0", "invalid", 1),
    ],
)
def test_verify_one(problem, answer, verdict, status):
    for extra in ([], ["--timeout", "5"]):
        result = run("verify", "--task", "propositional", *extra, problem, answer)
        assert (result.stdout.strip(), result.returncode) == (verdict, status)


def test_a_text_that_does_not_parse_is_shown_with_a_caret():
    for command in (["solve", "a & & b"], ["verify", "a & & b", "a=1"], ["verify", "a", "a & & b"]):
        said = refused(run(command[0], "--task", "propositional", *command[1:]))
        lines = said.splitlines()
        assert lines[0].startswith("logicgen: line 1, column 5: unexpected '&'; expected ")
        assert lines[1:] == ["  a & & b", "      ^"]


def test_bulk_solve_goes_on_after_bad_lines(tmp_path):
    source, target = tmp_path / "in.txt", tmp_path / "out.jsonl"
    source.write_text('a & !b\n\na &\na & !a\n{"problem": "c", "id": 7}\n{"id": 8}\n{broken\n')
    result = run(
        "solve", "--task", "propositional", "--in", source, "--out", target, "--workers", 2
    )
    assert result.returncode == 0
    assert "6 in " in result.stderr
    assert "a second" in result.stderr
    found = rows(target.read_text())
    assert [row["status"] for row in found] == [
        "sat",
        "invalid",
        "unsat",
        "sat",
        "invalid",
        "invalid",
    ]
    assert found[0] == {"problem": "a & !b", "status": "sat", "witness": "a=1, b=0"}
    assert found[1]["reason"].startswith("line 1, column 4")
    assert found[3] == {"problem": "c", "id": 7, "status": "sat", "witness": "c=1"}
    assert not (tmp_path / "out.jsonl.part").exists()


def test_what_solve_writes_verify_reads():
    solved = run("solve", "--task", "propositional", "--in", "-", stdin="a ^ b\n!c\n")
    lines = [{"problem": r["problem"], "answer": r["witness"]} for r in rows(solved.stdout)]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    verified = run("verify", "--task", "propositional", "--in", "-", "--out", "-", stdin=text)
    assert [row["verdict"] for row in rows(verified.stdout)] == ["correct", "correct"]
    assert "2 in " in verified.stderr


def test_bulk_verify_marks_bad_lines_invalid():
    lines = [
        '{"problem": "a", "answer": "a=0"}',
        '{"problem": "a"}',
        "[1]",
        '{"problem": "a", "answer": 3}',
    ]
    result = run("verify", "--task", "propositional", "--in", "-", stdin="\n".join(lines))
    assert result.returncode == 0
    assert [row["verdict"] for row in rows(result.stdout)] == [
        "incorrect",
        "invalid",
        "invalid",
        "invalid",
    ]


def hard_formula(holes):
    """The pigeonhole principle, which takes a SAT solver exponentially long to refute."""
    pigeons = range(holes + 1)
    somewhere = " & ".join(
        "(" + " | ".join(f"p{i}x{j}" for j in range(holes)) + ")" for i in pigeons
    )
    apart = " & ".join(
        f"!(p{i}x{j} & p{k}x{j})" for j in range(holes) for i in pigeons for k in range(i)
    )
    return f"{somewhere} & {apart}"


def test_a_timeout_ends_a_solver_that_does_not_answer():
    start = time.monotonic()
    hard = hard_formula(12)
    result = run("solve", "--task", "propositional", "--timeout", "0.5", hard)
    assert (result.returncode, result.stdout) == (0, "unknown: time limit of 0.5 s\n")
    bulk = run(
        "solve", "--task", "propositional", "--timeout", "0.5", "--in", "-", stdin=f"a\n{hard}\nb\n"
    )
    assert [row["status"] for row in rows(bulk.stdout)] == ["sat", "unknown", "sat"]
    assert time.monotonic() - start < 15


def test_usage_errors():
    refused(run("solve", "--task", "propositional"), "PROBLEM")
    refused(run("solve", "a"), "--task")
    refused(run("solve", "--task", "propositional", "--timeout", "0", "a"), "timeout")
    refused(run("solve", "--task", "proposition", "a"), "did you mean propositional")
    refused(
        run("solve", "--task", "propositional", "--solver", "spto", "a"),
        "no solver is called 'spto'",
    )
    refused(
        run("solve", "--task", "propositional", "--in", "nowhere.txt"),
        "nowhere.txt",
        "No such file",
    )
    refused(run("verify", "--task", "propositional", "a"), "ANSWER")
    refused(run("frobnicate"), "frobnicate")


def test_a_file_that_is_not_utf8(tmp_path):
    (tmp_path / "in.txt").write_bytes(b"a\n\xff\xfe\n")
    refused(run("solve", "--task", "propositional", "--in", tmp_path / "in.txt"), "not UTF-8")


def test_generate_and_its_errors(tmp_path):
    result = run(
        "generate", "propositional-mini", "--size", 300, "-o", tmp_path / "d", "--workers", 1
    )
    assert result.returncode == 0, result.stderr
    assert "verified examples" in result.stderr
    again = run("generate", "propositional-mini", "--size", 300, "-o", tmp_path / "d")
    assert again.returncode == 0
    refused(run("generate", "propositional-mini", "-o", tmp_path / "d"), "another recipe", "-o")
    refused(run("generate", "propositional-min"), "did you mean propositional-mini")
    refused(run("generate", "propositional-mini", "--size", 0), "size")
    bad = tmp_path / "bad.toml"
    bad.write_text('task = "copying"\n[region]\nsymbols = [5, 1]\nlength = [1, 4]\n')
    refused(run("generate", bad, "-o", tmp_path / "e"), "bad.toml", "region.symbols", "[5, 1]")
    refused(run("generate", "copying-mini", "--size", 10, "-o", "/proc/nowhere"), "/proc/nowhere")


def test_commands_work_from_a_folder_with_spaces(tmp_path):
    folder = tmp_path / "my data sets"
    folder.mkdir()
    assert run("generate", "copying-mini", "--size", 100, cwd=folder).returncode == 0
    assert (folder / "data" / "copying-mini" / "dataset.json").is_file()
