"""The two-lines-per-example text format, there and back."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from logicgen.data.exchange import (
    compact,
    convert,
    read_json_lines,
    read_two_lines,
    spread,
    write_dimacs,
    write_json_lines,
    write_two_lines,
)
from logicgen.errors import LogicgenError
from logicgen.syntax import ltl
from logicgen.syntax.sampling import FormulaSampler
from logicgen.tasks import TASKS, load_task
from tests.data.data_sets import make
from tests.tasks.test_tasks import draws

TASK = load_task("ltl")


def test_the_notation():
    assert compact("U a & b X ! a") == "Ua&bX!a"
    assert compact("& a ! b ; 1 ; { | c d ; ! a }") == "&a!b;1;{|cd;!a}"
    assert compact("<-> a -> b c") == "=a>bc"
    assert spread("=a>bc", ltl().tokens) == "<-> a -> b c"
    assert spread("ab>ba;cd>", (">", ";")) == "a b > b a ; c d >"
    with pytest.raises(LogicgenError, match="p0 has several characters"):
        compact("U p0 b")


def test_there_and_back_changes_nothing(tmp_path):
    sampler = FormulaSampler(ltl(), dict.fromkeys(ltl().arity, 1), "tree", 4)
    rng = Random(0)
    examples = []
    while len(examples) < 100:
        formula = sampler.sample(rng, rng.randint(1, 20), "abyz")
        witness = TASK.solve(formula).witness
        examples.append((formula.prefix, "0" if witness is None else witness.prefix))
    assert "0" in {answer for _, answer in examples}
    path = tmp_path / "some.txt"
    assert write_two_lines(examples, path) == 100
    assert list(read_two_lines(path, TASK)) == examples
    again = tmp_path / "again.txt"
    write_two_lines(read_two_lines(path, TASK), again)
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", TASKS)
def test_examples_of_every_task_there_and_back(tmp_path, name):
    task = load_task(name)
    solved = [(draw.problem, task.solve(draw.problem)) for _, _, draw in draws(task)]
    examples = [
        (task.encode(problem), task.encode(solution.witness))
        for problem, solution in solved
        if solution.witness is not None
    ]
    assert len(examples) > 5
    lines, json_lines = tmp_path / "some.txt", tmp_path / "some.jsonl"
    write_two_lines(examples, lines)
    assert list(read_two_lines(lines, task)) == examples
    write_json_lines([*examples, (examples[0][0], None)], json_lines)
    assert list(read_json_lines(json_lines, task)) == [*examples, (examples[0][0], None)]


def test_a_problem_without_an_answer_is_named_by_its_row(tmp_path):
    with pytest.raises(LogicgenError, match="row 1: a problem without an answer"):
        write_two_lines([("a", "{ a }"), ("a", None)], tmp_path / "some.txt")


@pytest.mark.parametrize(
    ("text", "reason"),
    [("Uab\n", "line 1: a problem without"), ("Ua\n{b}\n", "line 1"), ("a\n{b}\nb\nb\n", "line 4")],
)
def test_bad_files_name_the_line(tmp_path, text, reason):
    path = tmp_path / "bad.txt"
    path.write_text(text)
    with pytest.raises(LogicgenError, match=reason):
        list(read_two_lines(path, TASK))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"null", "line 2: not a JSON object"),
        (b"[" * 100_000, "line 2: not a JSON object"),
        (b'{"problem": ' * 100_000, "line 2: not a JSON object"),
        (b'{"problem": 5, "answer": "a"}', "line 2: problem is not a text"),
        (b'{"problem": "a", "answer": 5}', "line 2: answer is not a text"),
        (b'{"problem": "a", "answer": null}', "line 2: key 'answer' is missing"),
        (b'{"problem": ' + b"1" * 5000 + b"}", "line 2: not a JSON object"),
        (
            b'{"problem": "' + b"a" * 10**6 + b' b", "answer": "1"}',
            "line 2: line 1, column 1000002",
        ),
        (b'{"problem": "a"}\xff', r"line 2 is not UTF-8 at byte 17"),
        (b"", "line 2: not a JSON object"),
    ],
)
def test_hostile_json_lines_are_one_error_with_their_line(tmp_path, line, reason):
    path = tmp_path / "hostile.jsonl"
    path.write_bytes(b'{"problem": "a", "answer": "{a}"}\n' + line + b"\n")
    examples = read_json_lines(path, TASK)
    assert next(examples) == ("a", "{ a }")
    with pytest.raises(LogicgenError, match=reason) as caught:
        next(examples)
    assert len(str(caught.value)) < 1000


def test_a_text_that_is_no_utf_8(tmp_path):
    path = tmp_path / "hostile.txt"
    path.write_bytes(b"a\n{a}\n" * 5000 + b"\xe4\n{a}\n")
    with pytest.raises(LogicgenError, match=r"hostile.txt: line 10001 is not UTF-8 at byte 1"):
        list(read_two_lines(path, TASK))


def test_a_byte_order_mark_is_no_text(tmp_path):
    path = tmp_path / "some.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"problem": "a", "answer": "{a}"}\n')
    assert list(read_json_lines(path, TASK)) == [("a", "{ a }")]


def test_dimacs_files_need_a_new_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LogicgenError, match="name a new folder"):
        write_dimacs([], Path("./"), "")


@pytest.mark.parametrize("read", [read_two_lines, read_json_lines])
def test_a_name_that_is_too_long(read):
    with pytest.raises(LogicgenError, match="cannot be read: File name too long"):
        list(read(Path("x" * 300), TASK))


def test_a_data_set_of_another_task_is_refused(tmp_path):
    task = make(tmp_path / "data")["recipe"]["task"]
    with pytest.raises(LogicgenError, match=f"data: problems of {task}, not of copying"):
        convert("copying", tmp_path / "data", str(tmp_path / "out.txt"))
