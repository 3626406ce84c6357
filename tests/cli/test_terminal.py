"""Standard streams that are closed, full, cut off or a terminal; signals; what ends a command."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys

import pytest

COMMAND = [sys.executable, "-m", "logicgen.cli.main"]
CLAUSES = "p cnf 2 1\n1 -2 0\n"


def shell(text, **settings):
    """Run a line of shell in which "$@" is the program."""
    return subprocess.run(
        ["bash", "-c", text, "bash", *COMMAND], capture_output=True, text=True, **settings
    )


LINES = [
    ('"$@" list tasks > /dev/full', 2, "No space left"),
    ('echo a | "$@" solve --task ltl --in - >&-', 2, "Bad file descriptor"),
    ('"$@" solve --task ltl --in - <&-', 2, "cannot be read"),
    ('"$@" solve --task ltl "a" 2>&- <&-', 0, ""),
    ('"$@" solve --task ltl --in /dev/zero', 2, "longer than 1,073,741,824 bytes"),
    ('yes "a | b" | head -n 30000 | "$@" solve --task propositional --in - | head -n 1;'
     ' exit ${PIPESTATUS[2]}', 0, ""),
    ('"$@" solve --task ltl --in "$(printf %0300d 0)"', 2, "too long"),
    ('"$@" train ltl-interchangeable --data "$(printf %0300d 0)"', 2, "not a data set"),
]  # fmt: skip
SIMILAR_LINES = [
    ('echo a | "$@" solve --task ltl --in - > /dev/full', 2, "No space left"),
    ('"$@" list tasks >&-', 2, "Bad file descriptor"),
    ('"$@" solve --task ltl "a &" 2>&-', 2, ""),
    ('"$@" solve --dimacs --in /dev/zero', 2, "no DIMACS file"),
    ('"$@" list | head -n 1; exit ${PIPESTATUS[0]}', 0, ""),
    ('"$@" generate ltl-mini -o "$(printf %0300d 0)"', 2, "too long"),
    ('"$@" convert --task ltl "$(printf %0300d 0)" x.txt', 2, ""),
]


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [*LINES, *(pytest.param(*line, marks=pytest.mark.slow) for line in SIMILAR_LINES)],
)
def test_one_line_says_what_is_wrong(tmp_path, line, status, said):
    result = shell(line, cwd=tmp_path)
    assert result.returncode == status, result.stderr
    assert said in result.stderr
    assert len(result.stderr.split("\n\n")[-1].strip().splitlines()) <= (status == 2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["solve", "p.cnf", "--out"], ["convert", "--task",
    "propositional", "p.cnf"]])  # fmt: skip
def test_pipes_and_links_stay_what_they_are(tmp_path, command):
    (tmp_path / "p.cnf").write_text(CLAUSES)
    (tmp_path / "link.jsonl").symlink_to("target.jsonl")
    os.mkfifo(tmp_path / "pipe.jsonl")
    line = f'cat pipe.jsonl > got & "$@" {" ".join(command)} pipe.jsonl && wait'
    assert shell(line, cwd=tmp_path).returncode == 0
    assert (tmp_path / "got").read_text()
    assert (tmp_path / "pipe.jsonl").is_fifo()
    assert shell(f'"$@" {" ".join(command)} link.jsonl', cwd=tmp_path).returncode == 0
    assert (tmp_path / "link.jsonl").is_symlink()
    assert (tmp_path / "target.jsonl").read_text() == (tmp_path / "got").read_text()


def test_what_comes_from_others_does_not_command_the_terminal(tmp_path):
    ours, theirs = pty.openpty()
    bad = "a\x1b]0;title\x07\x9b2J\u202e.toml"
    for arguments in (["generate", bad], ["solve", "--task", "ltl", "a \x1b[2J"]):
        subprocess.run([*COMMAND, *arguments], stdout=theirs, stderr=theirs, cwd=tmp_path)
    os.close(theirs)
    shown = b""
    try:
        while block := os.read(ours, 1 << 16):
            shown += block
    except OSError:  # the other end is closed
        pass
    text = shown.decode().replace("\r\n", "\n")
    assert "\\x1b]0;title\\x07\\x9b2J\\u202e" in text
    assert all(character.isprintable() or character == "\n" for character in text)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_in_a_finalizer_is_not_lost(number):
    code = f"""
import os, signal, time
from logicgen.processes.signals import raise_interruptions, status_of
raise_interruptions()
class Dying:
    def __del__(self):
        os.kill(os.getpid(), {int(number)})
        for _ in range(1000): pass  # here Python raises it, and drops it
try:
    Dying()
    while True: time.sleep(1)
except KeyboardInterrupt as error:
    os._exit(status_of(error))
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 128 + number, result.stderr
    assert result.stderr == ""


def test_an_error_that_should_not_happen_is_one_line(monkeypatch, capsys):
    from logicgen.cli.group import group
    from logicgen.cli.main import main

    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    hook = sys.unraisablehook
    try:
        for error, said in (
            (ZeroDivisionError("by\nzero"), "should not happen: ZeroDivisionError: by;"),
            (MemoryError(), "not enough memory"),
            (RecursionError(), "nested too deeply"),
            (OSError(28, "No space left on device", "x"), "x: No space left on device"),
        ):

            def fail(error=error, **_):
                raise error

            monkeypatch.setattr(group, "main", fail)
            with pytest.raises(SystemExit, match="2"):
                main()
            shown = capsys.readouterr().err
            assert said in shown
            assert shown.count("\n") == 1
    finally:
        for number, handler in zip((signal.SIGINT, signal.SIGTERM), before, strict=True):
            signal.signal(number, handler)
        sys.unraisablehook = hook


@pytest.mark.slow
def test_standard_output_by_its_name_keeps_what_is_there(tmp_path):
    (tmp_path / "p.cnf").write_text(CLAUSES)
    for target in ("/dev/stdout", "/dev/fd/1", "-"):
        line = f'{{ echo before; "$@" solve p.cnf --out {target}; echo after; }} > all.txt'
        assert shell(line, cwd=tmp_path).returncode == 0
        found = (tmp_path / "all.txt").read_text().splitlines()
        assert found == ["before", "s SATISFIABLE", "v -1 -2 0", "after"]


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path):
    (tmp_path / "p.cnf").write_text(CLAUSES)
    (tmp_path / "out").touch(mode=0o600)
    assert shell('"$@" solve p.cnf --out out', cwd=tmp_path).returncode == 0
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o600
    result = shell('"$@" solve --task ltl --in p.cnf --task ltl --workers 100000', cwd=tmp_path)
    assert result.returncode == 2
