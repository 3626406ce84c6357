"""The commands as a user runs them: output, exit status, one-line errors."""

from __future__ import annotations

import fnmatch
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import traceback
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import pytest
from click.shell_completion import ShellComplete

import logicgen
from logicgen.cli.group import COMMANDS, group
from logicgen.cli.main import main
from logicgen.data.maker import FOLDER
from tests.reliability.command import Command


def run(*arguments, stdin=None, cwd=None):
    """What a command does, run in this process: a new one would import torch for seconds."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
    sent = stdin if isinstance(stdin, bytes) else (stdin or "").encode()
    typed = io.TextIOWrapper(io.BytesIO(sent), encoding="utf-8")
    with (
        patch.object(sys, "argv", ["logicgen", *map(str, arguments)]),
        patch.object(sys, "stdin", typed),
        patch.dict(os.environ, CUDA_VISIBLE_DEVICES=""),  # so that asking for one is refused
        chdir(cwd or "."),
        redirect_stdout(streams[0]),
        redirect_stderr(streams[1]),
    ):
        try:
            main()
        except SystemExit as end:
            status = end.code
        except BaseException:
            traceback.print_exc()
            status = 1
    said = []
    for stream in streams:
        stream.flush()
        said.append(stream.buffer.getvalue().decode())
    return subprocess.CompletedProcess(arguments, status, *said)


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
        "heavy = {'torch', 'numpy', 'pyarrow', 'pydantic', 'lark'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert sum(map(len, COMMANDS.values())) == 15
    for commands in COMMANDS.values():
        for command, line in commands.items():
            assert f"  {command.ljust(8)}  {line}\n" in result.stdout
            assert run(command, "--help").returncode == 0


ROOT = Path(logicgen.__file__).parent.parent


def copy_package(folder):
    """Copy the package beside nothing else, and return a function that runs its command line."""
    shutil.copytree(ROOT / "logicgen", folder / "logicgen", ignore=lambda *_: ["__pycache__"])

    def command(*arguments, **environment):
        return subprocess.run(
            [sys.executable, "-m", "logicgen.cli.main", *arguments],
            cwd=folder,
            env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, **environment},
            capture_output=True,
            text=True,
        )

    return command


@pytest.mark.slow
def test_the_version_has_the_commit_in_a_checkout(tmp_path):
    folder = tmp_path / "a copy"
    command, plain = copy_package(folder), f"logicgen, version {logicgen.__version__}"
    assert command("--version").stdout == f"{plain}\n"

    def git(*arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        done = subprocess.run(
            ["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "-q")
    assert command("--version").stdout == f"{plain}\n"  # no history
    git("add", "logicgen/__init__.py")
    git("commit", "-qm", "one")
    head = git("rev-parse", "--short=12", "HEAD")
    assert command("--version").stdout == f"{plain}, commit {head}\n"
    assert command("--version", GIT_DIR="/nowhere").stdout == f"{plain}, commit {head}\n"
    with (folder / "logicgen" / "__init__.py").open("a") as file:
        file.write("\n")
    assert command("--version").stdout == f"{plain}, commit {head}+\n"
    no_git = {"PATH": "/nowhere"}
    assert command("--version", **no_git).stdout == f"{plain}\n"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("logicgen gen", {"generate"}),
        ("logicgen measure co", {"covariance", "collapse"}),
        ("logicgen convert --to ", {"infix", "prefix", "unicode", "latex"}),
        ("logicgen solve --sol", {"--solver"}),
    ],
)
def test_shells_complete(words, found):
    made = ShellComplete(group, {}, "logicgen", "_LOGICGEN_COMPLETE")
    *before, last = words.split(" ")[1:]
    assert {item.value for item in made.get_completions(before, last)} == found
    page = (ROOT / "docs" / "commands.md").read_text()
    assert "_LOGICGEN_COMPLETE=bash_source logicgen" in page


@pytest.mark.parametrize(
    "environment",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        pytest.param({"LC_ALL": "C"}, marks=pytest.mark.slow),
        pytest.param({"PYTHONIOENCODING": "ascii"}, marks=pytest.mark.slow),
        pytest.param({"PYTHONIOENCODING": "latin-1"}, marks=pytest.mark.slow),
    ],
    ids=lambda environment: " ".join(environment.values()),
)
def test_a_locale_that_is_not_utf_8_and_a_path_with_blanks(environment, tmp_path):
    tmp_path = tmp_path / "with two blanks"
    tmp_path.mkdir()

    def command(*arguments):
        done = subprocess.run(
            [sys.executable, "-m", "logicgen.cli.main", *arguments],
            cwd=tmp_path,
            env={**os.environ, **environment},
            capture_output=True,
        )
        assert b"Traceback" not in done.stderr
        assert b"should not happen" not in done.stderr
        return done

    assert command("solve", "--task", "ltl", "G a").stdout == b"{a}\n   | 0 |\na  | 1 |\n"
    assert b"propositional-mini" in command("list").stdout
    (tmp_path / "in put.txt").write_bytes("□a\n".encode())
    solved = command("solve", "--task", "ltl", "--in", "in put.txt")
    assert json.loads(solved.stdout)["problem"] == "□a"
    assert (
        command("convert", "--task", "ltl", "--to", "unicode", "in put.txt", "out").returncode == 0
    )
    assert (tmp_path / "out").read_bytes() == "□ a\n".encode()
    shown = command("convert", "--task", "ltl", "--to", "unicode", "G a")
    assert shown.returncode == 0
    assert shown.stdout in ("□ a\n".encode(), rb"\u25a1 a" + b"\n")
    assert command("solve", "--task", "ltl", "é U").returncode == 2


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("compare", "logicgen report EVALUATION EVALUATION ... -o DIR"),
        ("doctor", "logicgen list environment"),
        ("inductive", "logicgen measure grammar"),
    ],
)
def test_another_name_of_a_use_tells_its_command(name, instead):
    said = f"logicgen: no command {name}: use {instead}\n"
    assert refused(run(name, "--help")) == refused(run(name, "x", "-o", "y")) == said


@pytest.mark.parametrize("command", [["solve", "a"], ["verify", "a", "a=1"]])
def test_one_formula_needs_no_torch(command):
    code = (
        "import sys; sys.argv = ['logicgen', "
        f"{command[0]!r}, '--task', 'propositional', *{command[1:]!r}]\n"
        "from logicgen.cli.main import main\n"
        "try: main()\nexcept SystemExit as end: assert not end.code\n"
        "assert not {'torch', 'pyarrow'} & set(sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_list():
    everything = run("list").stdout
    recipes = "copying-20", "propositional-35", "propositional-interchangeable"
    for name in ("copying", *recipes, "pysat"):
        assert name in everything
    assert "pysat" not in run("list", "tasks").stdout
    refused(run("list", "nonsense"), "nonsense")


@pytest.mark.needs("torch")
def test_list_environment():
    assert "logicgen list environment" in run("list").stdout
    result = run("list", "environment")
    assert result.returncode == 0
    solvers = "pysat: available", "truth-table: available"
    for word in ("python", "torch", *solvers, "cuda", "bfloat16 "):
        assert word in result.stdout


def test_solve_for_a_person():
    result = run("solve", "--task", "propositional", "a & !b", "a & !a", "1")
    assert (result.returncode, result.stdout) == (0, "a=1, b=0\nunsatisfiable\n1\n")
    result = run("solve", "--task", "propositional", "--timeout", "5", "a & !b", "a & !a")
    assert (result.returncode, result.stdout) == (0, "a=1, b=0\nunsatisfiable\n")
    result = run("solve", "--task", "propositional", "--solver", "truth-table", "& a ! b")
    assert result.stdout == "a=1, b=0\n"


def test_solve_says_why_there_is_not_one_answer():
    result = run("solve", "--task", "lookup", "A->2 C->4 C->", "a->b a->c a->", "a->b c->")
    assert result.returncode == 0
    answer, contradictory, unseen = result.stdout.splitlines()
    assert answer == "4"
    assert contradictory == "no answer: a is shown with b and c"
    assert unseen.startswith("more than one answer: c is asked for and never shown")
    result = run("solve", "--task", "permutation", "--timeout", "5", "a b > b a ; c d >", "a b >")
    assert result.stdout.startswith("d c\nmore than one answer: no demonstration distinguishes")
    result = run("solve", "--task", "permutation", "--in", "-", stdin="a b >\na a >\n")
    ambiguous, vacuous = rows(result.stdout)
    assert (ambiguous["status"], ambiguous["witness"]) == ("unsat", None)
    assert ambiguous["reason"].startswith("more than one answer")
    assert (vacuous["status"], vacuous["witness"]) == ("sat", "a a")


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
    for command in (["solve", "a & & b"], ["verify", "a & & b", "a=1"]):
        said = refused(run(command[0], "--task", "propositional", *command[1:]))
        lines = said.splitlines()
        assert lines[0].startswith("logicgen: line 1, column 5: unexpected '&'; expected ")
        assert lines[1:] == ["  a & & b", "      ^"]


def test_an_answer_that_does_not_parse_is_invalid_with_the_reason():
    for extra in ([], ["--timeout", "5"]):
        result = run("verify", "--task", "propositional", *extra, "a", "a & & b")
        assert (result.stdout, result.returncode) == ("invalid\n", 1)
        lines = result.stderr.splitlines()
        assert lines[0].startswith("the answer is invalid: line 1, column 5: unexpected '&'")
        assert lines[1:] == ["  a & & b", "      ^"]


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
    hard = hard_formula(12)
    result = run("solve", "--task", "propositional", "--timeout", "0.5", hard)
    assert (result.returncode, result.stdout) == (0, "unknown: time limit of 0.5 s\n")
    bulk = run(
        "solve", "--task", "propositional", "--timeout", "0.5", "--in", "-", stdin=f"a\n{hard}\nb\n"
    )
    assert [row["status"] for row in rows(bulk.stdout)] == ["sat", "unknown", "sat"]


def test_usage_errors():
    said = [
        refused(run("solve", "--task", "propositional"), "PROBLEM", "see logicgen solve --help"),
        refused(run("solve", "a"), "--task"),
        refused(run("solve", "--task", "propositional", "--timeout", "0", "a"), "timeout"),
        refused(run("solve", "--tsk", "ltl", "a"), "no such option '--tsk' (did you mean"),
        refused(run("solve", "--task", "ltl", "->a"), "put -- before a PROBLEM that begins with -"),
        refused(run("verify", "--task", "propositional", "a"), "ANSWER"),
        refused(run("frobnicate"), "no such command 'frobnicate': see logicgen --help"),
    ]
    assert all(each.count("\n") == 1 and each.startswith("logicgen: ") for each in said)
    refused(run("solve", "--task", "proposition", "a"), "did you mean propositional")
    solve = ("solve", "--task", "propositional")
    refused(run(*solve, "--solver", "spto", "a"), "no solver is called 'spto'")
    refused(run(*solve, "--in", "nowhere.txt"), "nowhere.txt", "No such file")


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
    bad.write_text(
        'task = "lookup"\n[problem]\nkeys = 9\n'
        "[region]\nsymbols = [2, 8]\nlength = [5, 8]\nstep = 3\n"
    )
    said = refused(run("generate", bad, "-o", tmp_path / "e"), "9 different keys", "problem.keys")
    assert len(said.splitlines()) == 1
    refused(run("generate", "copying-mini", "--size", 10, "-o", "/proc/nowhere"), "/proc/nowhere")


def test_arguments_that_are_not_utf_8_are_refused_or_read(tmp_path):
    said = run("generate", "copying-mini", "-o", tmp_path / "d", "--set", "description=\udcff")
    refused(said, "not UTF-8: write it in UTF-8")
    (tmp_path / "a.cnf").write_text("p cnf 1 1\n1 0\n")
    refused(run("verify", tmp_path / "a.cnf", "\udcff"), "the answer")


def test_options_without_effect_are_refused(tmp_path):
    (tmp_path / "a.cnf").write_text("p cnf 1 1\n1 0\n")
    refused(run("verify", tmp_path / "a.cnf", "v 1 0", "--timeout", 3), "--timeout is not for")
    (tmp_path / "a.txt").write_text("a\n{a}\n")
    refused(run("convert", "--task", "ltl", "--to", "prefix", "--split", "test", "a"), "--split")
    files = (tmp_path / "a.txt", tmp_path / "b.jsonl")
    refused(run("convert", "--task", "ltl", *files, "--split", "test"), "--split goes with")


@pytest.mark.needs("torch")
def test_folders_whose_names_are_no_utf_8_are_refused_before_anything_is_made(tmp_path):
    folder = tmp_path / os.fsdecode(b"a\xff")
    data = tmp_path / "data"
    assert run("generate", "copying-mini", "--size", 100, "-o", data).returncode == 0
    for command in (
        ("generate", "copying-mini", "--size", 100),
        ("train", "copying-learned", "--data", data),
        ("study", "small-data"),
    ):
        said = refused(run(*command, "-o", folder), "the path is not UTF-8")
        assert len(said.strip().splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_commands_work_from_a_folder_with_spaces(tmp_path):
    folder = tmp_path / "my data sets"
    folder.mkdir()
    assert run("generate", "copying-mini", "--size", 100, cwd=folder).returncode == 0
    assert (folder / "data" / "copying-mini" / "dataset.json").is_file()


def test_a_problem_beyond_a_solver_is_unknown_not_invalid():
    many = " & ".join(f"x{i}" for i in range(26))
    line = json.dumps({"problem": many, "answer": ", ".join(f"x{i}=1" for i in range(26))})
    for command, key in (("solve", "status"), ("verify", "verdict")):
        options = ("--task", "propositional", "--solver", "truth-table", "--in", "-")
        found = rows(run(command, *options, stdin=line + "\n").stdout)[0]
        assert found[key] == "unknown"
        assert "26 symbols are too many" in found["reason"]
    options = ("solve", "--task", "propositional", "--solver", "truth-table")
    refused(run(*options, many), "the pysat solver")


def test_odd_lines_cost_only_themselves(tmp_path):
    deep = '{"problem": ' + "[" * 100_000 + "\n"
    lone = '{"problem": "\\ud800"}\n'
    result = run("solve", "--task", "propositional", "--in", "-", stdin=deep + lone + "a\n")
    assert [row["status"] for row in rows(result.stdout)] == ["invalid", "invalid", "sat"]
    (tmp_path / "windows.txt").write_bytes(b"\xef\xbb\xbfa & b\r\n!a\r\n")
    result = run("solve", "--task", "propositional", "--in", tmp_path / "windows.txt")
    assert [row["witness"] for row in rows(result.stdout)] == ["a=1, b=1", "a=0"]


def test_out_keeps_links_and_leaves_no_parts_behind(tmp_path):
    (tmp_path / "real.jsonl").write_text("old")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
    run(
        "solve", "--task", "propositional", "--in", "-", "--out", tmp_path / "link.jsonl", stdin="a"
    )
    assert (tmp_path / "link.jsonl").is_symlink()
    assert rows((tmp_path / "real.jsonl").read_text())[0]["witness"] == "a=1"
    run("solve", "--task", "nonsense", "--in", "-", "--out", tmp_path / "x.jsonl", stdin="a")
    assert {path.name for path in tmp_path.iterdir()} == {"real.jsonl", "link.jsonl"}
    refused(
        run("solve", "--task", "propositional", "--in", "-", "--out", tmp_path, stdin="a"), "folder"
    )


def test_a_solver_for_a_task_that_needs_none_is_refused():
    refused(run("solve", "--task", "copying", "--solver", "pysat", "a b"), "needs no solver")


def interrupted(arguments, ready, folder):
    """Run a command, press Ctrl-C once `ready(its pid)`, and return (status, what it said)."""
    command = Command([str(each) for each in arguments], folder)
    while not ready(command.process.pid):
        assert not command.wait(0.02), command.end()
    command.send(signal.SIGINT)  # as a terminal does: to workers as well
    ended = command.end()
    return ended.status, ended.said


def appeared(folder, pattern):
    """Return how many files of such names are in a folder, whose folders come and go."""
    return sum(len(fnmatch.filter(names, pattern)) for _, _, names in os.walk(folder))


@pytest.mark.slow
def test_ctrl_c_ends_generate_without_a_traceback(tmp_path):
    folder = tmp_path / "d"
    arguments = ["generate", "propositional-mini", "--size", 5_000, "-o", folder, "--workers", 2]
    status, said = interrupted(arguments, lambda _: appeared(folder, "*.parquet"), tmp_path)
    assert status == 130
    assert "Traceback" not in said
    # Work files, which are removed in the end, may be left in the middle.
    assert not [path for path in folder.rglob("*.part") if FOLDER not in path.parts]


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_ctrl_c_ends_one_hard_formula_without_a_traceback(tmp_path):
    def solving(pid):
        """Return whether a process has used the processor for a second, more than a start takes."""
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) > os.sysconf("SC_CLK_TCK")

    arguments = ["solve", "--task", "propositional", hard_formula(12)]
    status, said = interrupted(arguments, solving, tmp_path)
    assert status == 130
    assert "Traceback" not in said


def test_nan_is_no_number_of_seconds():
    for arguments in (
        ("solve", "--task", "propositional", "a", "--timeout", "nan"),
        ("train", "copying-learned", "--data", "d", "--max-minutes", "nan"),
        ("evaluate", "r", "--data", "d", "--temperature", "nan"),
    ):
        refused(run(*arguments), "'nan' is not a number")
