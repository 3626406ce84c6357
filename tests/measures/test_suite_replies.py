"""Replies of other models to the prompts of a suite."""

from __future__ import annotations

import pytest

from logicgen import library
from logicgen.data.prompts import write_lines
from logicgen.errors import LogicgenError
from logicgen.measures.suite_results import SuiteResult, part_scores
from tests.report.pages import held_by


def replies(suite, change=lambda row: row, of=lambda row: True):
    """Return right replies to the prompts of formulas: the stored answer, renamed."""
    task = suite.task("formulas")
    for prompt in suite.prompts():
        if prompt["part"] == "formulas" and of(prompt):
            text = suite.forms("formulas", prompt["form"])[prompt["row"]]
            witness = task.solve(task.decode_problem(text)).witness
            yield change({**prompt, "completion": f"<answer>{task.show(witness)}</answer>"})


def test_right_replies_to_the_prompts_are_right(place, suite, tmp_path):
    library.write_suite_prompts(suite, tmp_path / "prompts.jsonl")
    assert len((tmp_path / "prompts.jsonl").read_text().splitlines()) == 150
    file = tmp_path / "replies.jsonl"
    write_lines(replies(suite), file)
    lines, path = library.run_suite(suite, str(file), tmp_path / "result.json")
    assert lines[1].split()[:3] == ["formulas", "30", "100.0"]
    assert lines[1].split()[-1] == "100.0"
    assert SuiteResult.read(path, suite).draws == 1


@pytest.mark.parametrize(
    ("change", "of", "message"),
    [
        (lambda row: row | {"fingerprint": "0" * 64}, None, "another version of small"),
        (lambda row: row | {"suite": "logicgen-0.9"}, None, "answers to suite 'logicgen-0.9'"),
        (lambda row: row | {"part": "formula"}, None, "part 'formula'; .*formulas"),
        (lambda row: row | {"row": 30}, None, "row 30; give 0 to 29"),
        (lambda row: row | {"row": True}, None, "row True; give 0 to 29"),
        (lambda row: row | {"form": 3}, None, "form 3; give 0 to 2"),
        (lambda row: row | {"row": 0, "form": 0}, None, "a second reply"),
        (lambda row: {k: row[k] for k in ("part", "row", "form")}, None, "no text as `completion`"),
        (lambda row: row | {"completion": 5}, None, "no text as `completion`"),
        (lambda row: row, lambda row: False, "replies.jsonl: no replies"),
        (lambda row: row, lambda row: row["row"] > 3, "4 of the 30 replies .* missing"),
        (lambda row: row, lambda row: row["form"] != 1, "one of forms 1 and 2 only"),
    ],
)
def test_faulty_replies_are_refused(suite, tmp_path, change, of, message):
    file = tmp_path / "replies.jsonl"
    write_lines(replies(suite, change, of or (lambda row: True)), file)
    with pytest.raises(LogicgenError, match=message):
        library.run_suite(suite, str(file), tmp_path / "result.json")


def test_a_reply_without_text_is_wrong(suite, tmp_path):
    file = tmp_path / "replies.jsonl"
    rows = list(replies(suite, of=lambda row: row["form"] == 0))
    write_lines([rows[0] | {"completion": None}, *rows[1:]], file)
    library.run_suite(suite, str(file), tmp_path / "result.json")
    score = part_scores(SuiteResult.read(tmp_path / "result.json", suite))["formulas"]
    assert score.plain == pytest.approx(29 / 30)


def test_a_reply_without_an_answer_is_not_the_empty_assignment(suite, tmp_path):
    """The empty text, which stands for no answer, is also a right answer to a tautology."""
    file, path = tmp_path / "replies.jsonl", tmp_path / "result.json"
    rows = list(replies(suite, of=lambda row: row["form"] == 0))
    write_lines([each | {"completion": "I do not know"} for each in rows], file)
    library.run_suite(suite, str(file), path)
    task = suite.task("formulas")
    assert "correct" in {
        str(task.check(task.decode_problem(text), task.decode_answer("")))
        for text in suite.forms("formulas", 0)
    }
    assert [lines for _, _, lines in library.check_results(suite, [path])] == [[]]
    assert {*held_by(tmp_path / "result.html")["rows"]["prediction"]} == {""}


def test_only_the_replies_to_one_part_are_judged(suite, tmp_path):
    file, path = tmp_path / "replies.jsonl", tmp_path / "result.json"
    write_lines(replies(suite), file)
    other = next(part for part in suite.rows if part != "formulas")
    with pytest.raises(LogicgenError, match=f"no replies to part {other}: leave out --part"):
        library.run_suite(suite, str(file), path, parts=[other])
    library.run_suite(suite, str(file), path, parts=["formulas"])
    assert [*SuiteResult.read(path, suite).parts] == ["formulas"]


def test_the_rewrites_need_no_replies(suite, tmp_path):
    file = tmp_path / "replies.jsonl"
    write_lines(replies(suite, of=lambda row: row["form"] == 0), file)
    library.run_suite(suite, str(file), tmp_path / "result.json")
    score = part_scores(SuiteResult.read(tmp_path / "result.json", suite))["formulas"]
    assert (score.plain, score.consistency) == (1, None)
