"""Suites: the same problems everywhere, results that can be verified again, and the leaderboard."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from logicgen import files, library, recipes
from logicgen.data.prompts import write_lines
from logicgen.data.suite import Suite, SuiteRecipe, open_suite
from logicgen.errors import LogicgenError
from logicgen.measures import answering
from logicgen.measures.answering import ControlRespondent
from logicgen.measures.leaderboard import best_control, leaderboard
from logicgen.measures.suite_results import (
    PartAnswers,
    PartScore,
    SuiteResult,
    listed_scores,
    part_scores,
    rating_file,
)
from logicgen.solvers import Verdict
from tests.cli.test_commands import refused, run
from tests.measures.conftest import SMALL
from tests.measures.test_suite_replies import replies
from tests.report.pages import held_by
from tests.test_extras import without_extras

SHIPPED = "logicgen-1.0"
ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "leaderboard.md"
RESULTS = ROOT / "suites" / "results"

CLAUSES = """
description = "Clauses that need search"

[[parts]]
name = "clauses"
about = "3-SAT"
data = "propositional-ksat"
split = "grid"
seed = 7
set = { "sizes.train" = 0, "sizes.validation" = 0, "sizes.test" = 0, "grid.per_cell" = 5 }
"""


@pytest.fixture(scope="module")
def vote(suite, tmp_path_factory):
    """Return the path of the result of the control `vote`, and the printed lines."""
    out = tmp_path_factory.mktemp("results") / "vote.json"
    lines, path = library.run_suite(suite, "control:vote", out, draws=4)
    assert path == out
    return out, lines


def test_a_suite_made_again_has_the_same_problems(place, suite, tmp_path):
    again = open_suite(str(place[0]), tmp_path, workers=2)
    assert again.rows == suite.rows
    assert again.fingerprint == suite.fingerprint
    assert {part: len(rows) for part, rows in suite.rows.items()} == {"formulas": 30, "strings": 20}


def test_every_stored_answer_is_right(suite):
    for part, rows in suite.rows.items():
        task = suite.task(part)
        for row in rows:
            problem = task.decode_problem(row["problem"])
            assert task.check(problem, task.decode_answer(row["answer"])).is_right


def test_other_problems_than_the_fingerprint_says_are_refused(place, suite, tmp_path):
    text = SMALL.replace("limit = 30", f'limit = 30\nfingerprint = "{"0" * 64}"')
    file = tmp_path / "changed.toml"
    file.write_text(text)
    result = run("suite", "make", "--suite", file, "--problems", place[1])
    refused(result, "fingerprint", suite.fingerprints["formulas"][:16])


def test_a_damaged_file_of_problems_is_refused(place, suite, tmp_path):
    [formulas] = place[1].glob("formulas-*.jsonl.gz")
    whole = formulas.read_bytes()
    for damaged in (b"no gzip", whole[:40] + bytes(9) + whole[49:], whole[:-9]):
        (tmp_path / formulas.name).write_bytes(damaged)
        with pytest.raises(LogicgenError, match="delete this file"):
            open_suite(str(place[0]), tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "strings"', 'name = "formulas"', "several are called 'formulas'"),
        ("limit = 30", "limit = -3", "limit"),
        ("limit = 30", "limit = 0", "limit"),
    ],
)
def test_a_faulty_suite_is_refused(tmp_path, old, new, message):
    file = tmp_path / "mine.toml"
    file.write_text(SMALL.replace(old, new))
    with pytest.raises(LogicgenError, match=message):
        open_suite(str(file), tmp_path)


@pytest.mark.slow
def test_a_changed_part_gets_new_problems_in_the_same_folder(place, suite, tmp_path):
    """Without a fingerprint in the file, problems of an earlier version must not be used again."""
    file, folder = tmp_path / "mine.toml", tmp_path / "problems"
    file.write_text(SMALL)
    before = open_suite(str(file), folder)
    file.write_text(SMALL.replace("limit = 30", "limit = 10").replace("seed = 6", "seed = 7"))
    after = open_suite(str(file), folder)
    assert [len(rows) for rows in after.rows.values()] == [10, 20]
    assert after.rows["strings"] != before.rows["strings"]
    file.write_text(SMALL)
    assert open_suite(str(file), folder).rows == before.rows == suite.rows


def test_the_scores_of_a_control_are_those_of_its_answers(suite, vote):
    task = suite.task("formulas")
    control = answering.load_control(task, "vote")
    result = SuiteResult.read(vote[0], suite)
    assert [*result.parts] == ["formulas"]  # copying has no such control
    right = []
    for problem in suite.forms("formulas", 0):
        answers = [task.decode_answer(text) for text in control.answers(problem, 4)]
        right.append([task.check(task.decode_problem(problem), each).is_right for each in answers])
    answers = result.parts["formulas"]
    assert answers.plain.tolist() == [each[0] for each in right]
    assert answers.verified.tolist() == [any(each) for each in right]
    for form, rewrite in enumerate(answers.rewrites, 1):
        checked = [
            task.check(task.decode_problem(text), task.decode_answer(answer)).is_right
            for text, answer in zip(suite.forms("formulas", form), rewrite.answers, strict=True)
        ]
        assert rewrite.plain.tolist() == checked
    score = part_scores(result)["formulas"]
    shown = f"{100 * score.plain:.1f}"
    assert shown in vote[1][1].split()
    assert vote[0].with_suffix(".html").stat().st_size > 10_000


def test_an_interrupted_run_goes_on(suite, vote, tmp_path, monkeypatch):
    """Even if its last line was cut off. Damaged lines are computed again."""
    monkeypatch.setattr(answering, "CHUNK", 8)
    out, asked = tmp_path / "vote.json", []

    def stop_after(chunks):
        def answers(self, questions):
            if len(asked) == chunks:
                raise KeyboardInterrupt
            asked.append(len(questions))
            return usual(self, questions)

        usual = ControlRespondent.answers
        return answers

    with monkeypatch.context() as patch:
        patch.setattr(ControlRespondent, "answers", stop_after(6))  # 30 problems: 4 chunks a form
        with pytest.raises(KeyboardInterrupt):
            library.run_suite(suite, "control:vote", out, draws=4)
    assert (out.exists(), asked) == (False, [8, 8, 8, 6, 8, 8])
    [unfinished] = tmp_path.glob("vote.json.*.unfinished")
    lines = unfinished.read_text().splitlines(keepends=True)
    unfinished.write_text("".join([*lines[:3], lines[2], *lines[3:]])[:-5])  # a line came twice
    with monkeypatch.context() as patch:
        patch.setattr(ControlRespondent, "answers", stop_after(100))
        library.run_suite(suite, "control:vote", out, draws=4)
        assert asked[6:] == [8, 8, 6, 8, 8, 8, 6]
        assert out.read_bytes() == vote[0].read_bytes()
        assert not unfinished.exists()
        del asked[:]
        for damage in ("damaged", '[[], "x", 0, []]', '["a", 0, 0, [["x", "nonsense", 1]]]'):
            unfinished.write_text(f"{lines[0]}{damage}\n{lines[1]}")
            library.run_suite(suite, "control:vote", out, draws=4)
        library.run_suite(suite, "control:vote", tmp_path / "other.json", draws=2)
    assert len(asked) == 4 * 12
    assert out.read_bytes() == vote[0].read_bytes()


def test_several_processes_give_the_same_result(suite, vote, tmp_path, monkeypatch):
    monkeypatch.setattr(answering, "CHUNK", 8)
    out = tmp_path / "vote.json"
    library.run_suite(suite, "control:vote", out, draws=4, workers=2)
    assert out.read_bytes() == vote[0].read_bytes()


def test_check_finds_every_changed_verdict(suite, vote, tmp_path):
    [(_, count, wrong)] = library.check_results(suite, [vote[0]])
    assert (count, wrong) == (90, [])
    content = json.loads(vote[0].read_text())
    verdicts = content["parts"]["formulas"]["rewrites"][1]["verdicts"]
    old = Verdict(verdicts[7])
    verdicts[7] = "incorrect" if old.is_right else "correct"
    changed = tmp_path / "changed.json.gz"
    changed.write_bytes(gzip.compress(json.dumps(content).encode()))
    [(_, _, wrong)] = library.check_results(suite, [changed])
    assert len(wrong) == 1
    assert wrong[0].startswith("formulas, row 7, form 2")


def test_a_solver_with_more_steps_is_right_more_often(tmp_path):
    (tmp_path / "clauses.toml").write_text(CLAUSES)
    suite = open_suite(str(tmp_path / "clauses.toml"), tmp_path / "problems")
    shares = []
    for steps in (1, 100_000):
        _, path = library.run_suite(suite, f"solver:{steps}", tmp_path / f"{steps}.json")
        shares.append(part_scores(SuiteResult.read(path, suite))["clauses"].plain)
    assert shares[1] == 1
    assert shares[0] < shares[1]


@pytest.mark.parametrize(
    ("system", "message"),
    [
        ("control:votes", "answers no task"),
        ("solver:many", "solver:100"),
        ("solver:0", "solver:100"),
        ("no such model", "no such model"),
    ],
)
def test_unknown_systems_are_refused(suite, tmp_path, system, message):
    with pytest.raises(LogicgenError, match=message):
        library.run_suite(suite, system, tmp_path / "result.json")


def test_a_result_of_another_suite_is_refused(suite, vote, tmp_path):
    content = json.loads(vote[0].read_text())
    for key, value in (("fingerprint", "0" * 64), ("suite", "other")):
        file = tmp_path / "other.json"
        file.write_text(json.dumps(content | {key: value}))
        with pytest.raises(LogicgenError, match=r"other\.json: answers to"):
            SuiteResult.read(file, suite)


def test_a_result_that_is_too_large_once_it_is_decompressed_is_refused(
    suite, vote, tmp_path, monkeypatch
):
    content = vote[0].read_bytes()
    file = tmp_path / "large.json.gz"
    file.write_bytes(gzip.compress(content))
    assert SuiteResult.read(file, suite) == SuiteResult.read(vote[0], suite)
    monkeypatch.setattr(files, "MOST_BYTES", len(content) - 1)
    assert file.stat().st_size < files.MOST_BYTES
    with pytest.raises(LogicgenError, match=r"large.json.gz: damaged; .*more than"):
        SuiteResult.read(file, suite)


@pytest.mark.parametrize(
    "change",
    [
        lambda part: part["answers"].pop(),
        lambda part: part["draws"].pop(),
        lambda part: part["verdicts"].append("correct"),
        lambda part: part["draws"].__setitem__(0, 5),  # the result says: at most 4
        lambda part: part["draws"].__setitem__(0, 0),
        lambda part: part["rewrites"].pop(),
        lambda part: part["rewrites"][0]["draws"].__setitem__(0, 2),
        lambda part: part["rewrites"][1]["verdicts"].pop(),
    ],
)
def test_a_result_that_contradicts_itself_is_refused(suite, vote, tmp_path, change):
    content = json.loads(vote[0].read_text())
    change(content["parts"]["formulas"])
    file = tmp_path / "changed.json"
    file.write_text(json.dumps(content))
    with pytest.raises(LogicgenError, match="part 'formulas' does not fit small"):
        SuiteResult.read(file, suite)


@pytest.mark.slow
def test_only_models_need_pytorch(place, suite, vote, tmp_path):
    """Controls, solvers, replies, checks and leaderboards work without the extra `train`."""
    file = tmp_path / "replies.jsonl"
    write_lines(replies(suite, of=lambda row: row["form"] == 0), file)
    for system in ("control:vote", "solver:100", str(file)):
        code = (
            "from pathlib import Path; from logicgen import library\n"
            f"suite = library.open_suite({str(place[0])!r}, Path({str(place[1])!r}))\n"
            f"_, out = library.run_suite(suite, {system!r}, Path('out.json'))\n"
            "[(_, _, wrong)] = library.check_results(suite, [out])\n"
            "assert wrong == []\n"
            "library.write_leaderboard(suite, [out], Path('page.md'))"
        )
        result = without_extras(code, tmp_path, ["torch", "matplotlib", "safetensors"])
        assert result.returncode == 0, result.stderr


def result(suite, system, *rights, draws=1):
    """Return a result on the part `strings` with these right answers, a list for each form."""
    count = len(suite.rows["strings"])
    forms = []
    for right in rights:
        verdicts = [Verdict.CORRECT if row in right else Verdict.INCORRECT for row in range(count)]
        forms.append(PartAnswers(answers=[""] * count, draws=[1] * count, verdicts=verdicts))
    parts = {"strings": forms[0].model_copy(update={"rewrites": forms[1:]})}
    return SuiteResult(
        suite=suite.name,
        fingerprint=suite.fingerprint,
        system=system,
        draws=draws,
        logicgen="1",
        parts=parts,
    )


def test_the_rating_is_the_share_of_systems_that_are_wrong(suite):
    results = [
        result(suite, "control:copy", {0, 1, 2}),
        result(suite, "control:other", {0, 1}),
        result(suite, "a", {0}),
        result(suite, "b", {0, 5}, {0, 5, 6}, {0}),
    ]
    found = rating_file(suite, results)
    assert found["systems"] == {"strings": ["control:copy", "control:other", "a", "b"]}
    assert found["failures"]["strings"][:7] == [0, 2, 3, 4, 4, 3, 4]
    rated = {"strings": np.array(found["failures"]["strings"]) / 4}
    score = part_scores(results[3], rated)["strings"]  # 18 of the 20 problems are hard
    assert score == PartScore(plain=2 / 20, verified=None, consistency=18 / 20, hard=1 / 18)
    page = leaderboard(suite, results, rated).splitlines()
    rows = [line for line in page if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows[:4]] == ["control:copy", "control:other", "a", "b"]
    scores = {each.system: part_scores(each) for each in results}
    assert best_control(scores, "strings") == ("copy", 3 / 20)
    assert best_control(scores, "formulas") is None


def test_the_page_has_a_row_for_each_problem_of_every_part(suite, tmp_path):
    library.run_suite(suite, "control:random", tmp_path / "random.json", draws=2)
    rows = held_by(tmp_path / "random.html")["rows"]
    assert {len(values) for values in rows.values()} == {50}
    assert rows["part"] == ["formulas"] * 30 + ["strings"] * 20
    assert rows["symbols"] == [row["symbols"] for each in suite.rows.values() for row in each]
    assert set(rows["forms"]) <= {0, 1, 2, 3}


def test_two_results_of_a_system_are_refused(suite, vote, tmp_path):
    twice = tmp_path / "again.json"
    twice.write_bytes(vote[0].read_bytes())
    with pytest.raises(LogicgenError, match=r"2 results are of control:vote"):
        library.write_leaderboard(suite, [vote[0], twice], tmp_path / "page.md")


def test_the_commands_print_scores_and_write_the_leaderboard(place, suite, tmp_path):
    where = ("--suite", place[0], "--problems", place[1])
    made = run("suite", "make", *where)
    assert suite.fingerprint in made.stdout
    assert all(f'fingerprint = "{each}"' in made.stdout for each in suite.fingerprints.values())
    out = tmp_path / "copy.json"
    shown = run("suite", "run", "control:copy", *where, "-o", out, "--part", "strings")
    assert shown.returncode == 0, shown.stderr
    assert "strings" in shown.stdout
    checked = run("suite", "check", out, *where)
    assert (checked.returncode, "60 verdicts, 0 differ" in checked.stdout) == (0, True)
    page, ratings = tmp_path / "page.md", tmp_path / "ratings.json"
    run("suite", "leaderboard", out, "-o", page, "--ratings", ratings, *where)
    assert "`control:copy`" in page.read_text()
    assert json.loads(ratings.read_text())["systems"] == {"strings": ["control:copy"]}
    asked = ("suite", "run", "control:copy", *where)
    refused(run(*asked, "--part", "string"), "no part 'string'")
    refused(run(*asked, "-o", tmp_path / "a.txt"), ".json.gz")


def shipped_suite():
    """Return the shipped suite with empty rows in the place of problems."""
    recipe = SuiteRecipe.read(SHIPPED)
    file = recipes.find("suites", ".json", f"{SHIPPED}.ratings")
    found = json.loads(file.read_text())
    rows = {part.name: [{}] * len(found["failures"][part.name]) for part in recipe.parts}
    fingerprints = {part.name: str(part.fingerprint) for part in recipe.parts}
    return Suite(SHIPPED, recipe, rows, fingerprints)


def test_the_committed_leaderboard_and_ratings_follow_from_the_committed_results(tmp_path):
    suite, page, ratings = shipped_suite(), tmp_path / "page.md", tmp_path / "ratings.json"
    library.write_leaderboard(suite, [*RESULTS.glob("*.json.gz")], page, ratings)
    assert page.read_text() == DOCS.read_text()
    assert ratings.read_text() == (RESULTS.parent / f"{SHIPPED}.ratings.json").read_text()
    assert listed_scores(suite)


@pytest.mark.slow
@pytest.mark.parametrize("part", ["ltl-literature", "propositional-rare", "permutation"])
def test_parts_of_the_shipped_suite_have_their_fingerprint(part, tmp_path):
    recipe = SuiteRecipe.read(SHIPPED)
    [chosen] = [each for each in recipe.parts if each.name == part]
    assert chosen.fingerprint
    content = recipes.find("suites", ".toml", SHIPPED).read_text()
    head, *parts = content.split("[[parts]]")
    [text] = [each for each in parts if f'name = "{part}"' in each]
    file = tmp_path / "part.toml"
    file.write_text(f"{head}[[parts]]{text}")
    open_suite(str(file), tmp_path / "problems")
