"""Lines in bulk from anybody: each bad one costs itself, and nothing else is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from logicgen.processes.pool import MEMORY, Limits
from logicgen.tasks.lines import LONGEST, solve_lines, verify_lines
from tests.cli.test_commands import refused, rows, run
from tests.tasks.test_judge import HARD

BAD = {
    '{"problem": "a", "answer": "a=1", "x": NaN}': "NaN is not a number in JSON",
    '{"problem": "a", "answer": "a=1", "x": -Infinity}': "-Infinity is not a number in JSON",
    '{"problem": "a", "answer": "a=1", "x": 1e999}': "too large",
    '{"problem": "a", "answer": "a=1", "x": %s}' % ("1" * 5000): "not a JSON object",
    '{{"problem": "a", "answer": "a=1", "x": {}1{}}}'.format("[" * 65, "]" * 65): "64 levels",
    '{{"problem": "a", "answer": "a=1", "x": {}1{}}}'.format("[" * 99999, "]" * 99999): "64 levels",
    '{"problem": 3, "answer": "a=1"}': "problem is not a text",
    '{"problem": "a", "answer": null}': "'answer' is missing",
    '{"problem": "\\ud800", "answer": "a=1"}': "",
    "{": "not a JSON object",
    '["a"]': "not a JSON object",
}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_bad_line_is_an_error_and_the_others_are_judged(workers):
    good = '{"problem": "a", "answer": "a=1", "x": [[[1e3]]]}'
    lines = [each for bad in BAD for each in (good, bad)] + [good]
    found = list(verify_lines("propositional", lines, None, workers, Limits(20, MEMORY)))
    assert [row["verdict"] for row in found] == ["correct", "error"] * len(BAD) + ["correct"]
    for row, reason in zip(found[1::2], BAD.values(), strict=True):
        assert reason in row["reason"]
    for row in found:
        json.dumps(row, allow_nan=False)


def test_a_reason_of_an_earlier_result_is_dropped():
    line = '{"problem": "a | b", "answer": "a=1", "reason": "time limit of 1 s", "draws": 3}'
    for judged in (solve_lines, verify_lines):
        (row,) = judged("propositional", [line], None, 1, Limits(20, MEMORY))
        assert "reason" not in row
        assert ("draws" in row) == (judged is verify_lines)


def test_a_row_that_reached_a_limit_has_no_earlier_result():
    line = json.dumps({"problem": HARD, "draws": 16, "warning": "old", "id": 7})
    (row,) = solve_lines("ltl", [line], None, 1, Limits(0.5, MEMORY))
    assert row["status"] == "unknown"
    assert {*row} == {"problem", "id", "status", "witness", "reason"}


@pytest.mark.parametrize("command", ["solve", "verify"])
def test_files_have_limits_that_nobody_asked_for(tmp_path, monkeypatch, command):
    seen = []
    monkeypatch.setattr(f"logicgen.tasks.lines.{command}_lines", lambda *at: seen.append(at) or [])
    (tmp_path / "in.txt").write_text("a\n")
    run(command, "--task", "propositional", "--in", tmp_path / "in.txt")
    assert seen[0][-1] == Limits(10.0, 1 << 30)


@pytest.mark.parametrize("seconds", [1e9, 1e300, float("inf")])
def test_a_time_limit_may_be_longer_than_a_system_call_can_wait(seconds):
    (row,) = solve_lines("propositional", ["a & b"], None, 1, Limits(seconds, MEMORY))
    assert row["witness"] == "a=1, b=1"


def test_bulk_solve_goes_on_after_bad_lines(tmp_path):
    source, target = tmp_path / "in.txt", tmp_path / "out.jsonl"
    source.write_text('a & !b\n\na &\na & !a\n{"problem": "c", "id": 7}\n{"id": 8}\n{broken\n')
    result = run(
        "solve", "--task", "propositional", "--in", source, "--out", target, "--workers", 2
    )
    refused(result, "6 in ", f"logicgen: {source}: 3 lines cannot be answered: see the key")
    assert "a second" in result.stderr
    found = rows(target.read_text())
    statuses = [row["status"] for row in found]
    assert statuses == ["sat", "invalid", "unsat", "sat", "invalid", "invalid"]
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


def test_bulk_verify_tells_bad_lines_from_bad_answers():
    lines = [
        '{"problem": "a", "answer": "a=0"}',
        '{"problem": "a"}',
        "[1]",
        '{"problem": "a", "answer": 3}',
        '{"problem": "a &", "answer": "a=1"}',
        '{"problem": "a", "answer": "a & & b"}',
    ]
    result = run("verify", "--task", "propositional", "--in", "-", stdin="\n".join(lines))
    assert result.returncode == 2
    found = [row["verdict"] for row in rows(result.stdout)]
    assert found == ["incorrect", "error", "error", "error", "error", "invalid"]
    assert "4 error, 1 incorrect, 1 invalid" in result.stderr
    assert "standard input: 4 lines cannot be checked: see the key 'reason'" in result.stderr
    good = "\n".join([lines[0], lines[-1]])
    assert run("verify", "--task", "propositional", "--in", "-", stdin=good).returncode == 0


def test_an_invalid_answer_has_a_reason():
    line = '{"problem": "a", "answer": "a=1, a=0"}'
    (row,) = verify_lines("propositional", [line], None, 1, Limits(20, MEMORY))
    assert (row["verdict"], row["reason"]) == ("invalid", "a is given both values")


def test_long_lines_are_invalid_and_cost_no_time_of_others(tmp_path):
    lines = ["a", "(" * (LONGEST + 1), '{"problem": "' + "é" * LONGEST + '"}', "b"]
    (tmp_path / "lines.txt").write_text("\n".join([*lines, "c" * (9 * LONGEST)]))
    result = run("solve", "--task", "ltl", "--in", tmp_path / "lines.txt", "--timeout", 20)
    assert result.returncode == 2, result.stderr
    found = rows(result.stdout)
    assert [row["status"] for row in found] == ["sat", "invalid", "invalid", "sat", "invalid"]
    assert found[1]["reason"] == "a line of more than 16,000,000 characters"
    assert len(result.stdout) < 3000


def test_a_slow_line_that_is_no_json_does_not_stop_the_others():
    slow = '{"problem": ' + "[" * 60 + "1, " * 5_000_000  # no end: an error, or unknown in time
    lines = ['{"problem": "a", "answer": "a=1"}', slow] * 2
    found = list(verify_lines("propositional", lines, None, 1, Limits(0.01, MEMORY)))
    assert [row["verdict"] in ("correct", "unknown") for row in found[::2]] == [True] * 2
    assert [row["verdict"] in ("error", "unknown") for row in found[1::2]] == [True] * 2


@pytest.mark.slow
def test_many_long_lines_fit_the_memory_of_one():
    long = "a & " * (3 << 18) + "a"  # 3 MB
    found = list(solve_lines("copying", [long] * 40, None, 1, Limits(20, MEMORY // 2)))
    assert {row["status"] for row in found} == {"invalid"}


@pytest.mark.slow
def test_a_killed_worker_costs_the_line_that_was_under_way(tmp_path):
    count = 20_000
    (tmp_path / "lines.txt").write_text("".join(f"a & b | c{i % 9}\n" for i in range(count)))
    command = ["solve", "--task", "propositional", "--in", "lines.txt", "--out", "out.jsonl"]
    mark = f"LOGICGEN_TEST={os.getpid()}-{tmp_path.name}"
    name, _, value = mark.partition("=")
    process = subprocess.Popen(
        [sys.executable, "-m", "logicgen.cli.main", *command, "--workers", "2"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, name: value, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    killed: set[int] = set()
    while process.poll() is None and len(killed) < 3:
        for pid in sorted(_with_variable(mark) - {process.pid} - killed)[:1]:
            os.kill(pid, signal.SIGKILL)
            killed.add(pid)
        time.sleep(0.2)
    assert process.wait() == 0, process.stderr.read()
    assert killed
    found = rows((tmp_path / "out.jsonl").read_text())
    assert len(found) == count
    unknown = [row for row in found if row["status"] != "sat"]
    assert len(unknown) <= len(killed)
    assert all("died (-9)" in row["reason"] for row in unknown)
    assert not _with_variable(mark)


def _with_variable(mark: str) -> set[int]:
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                    found.add(int(entry.name))
            except OSError:
                continue
    return found
