"""Controls in the place of a model."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import logicgen
from logicgen.data.corpus import make_corpus
from logicgen.data.opening import read_data_recipe
from logicgen.errors import LogicgenError
from logicgen.measures import accuracy
from logicgen.measures.control_answers import ControlAnswerer
from logicgen.measures.measure import Subject
from logicgen.model.model import Request
from logicgen.study.recipe import MeasureTable
from logicgen.tasks import load_task
from logicgen.tasks.controls import load_control
from tests.data.corpora import automaton_recipe
from tests.data.data_sets import opened

pytestmark = pytest.mark.usefixtures("undrawn")

CONTENT = {
    "task": "propositional",
    "problem": {"operators": {"!": 1, "&": 1, "|": 1}},
    "region": {"symbols": [1, 3], "length": [1, 7]},
    "sizes": {"train": 60, "validation": 0, "test": 30},
}


@pytest.fixture(scope="module")
def logic(tmp_path_factory):
    return opened(tmp_path_factory.mktemp("data") / "logic", CONTENT)


def score(data, control, out, **settings):
    return logicgen.evaluate(f"control:{control}", data.folder, out, split="test", **settings)


def test_a_control_is_scored_as_a_model_is(logic, tmp_path):
    summary = score(logic, "all-true", tmp_path / "scores")
    task, control = load_task("propositional"), load_control(load_task("propositional"), "all-true")
    rows = logic.table("test").to_pylist()
    right = 0
    for row in rows:
        (answer,) = control.answers(row["problem"], 1)
        problem = task.decode_problem(row["problem"])
        right += task.check(problem, task.decode_answer(answer)).is_right
    assert 0 < right < len(rows)
    assert summary["overall"]["accuracy"] == right / len(rows)
    assert summary["model"] == "control:all-true"
    assert (tmp_path / "scores" / "report.html").is_file()


def test_solved_problems_and_further_answers_help(logic, tmp_path):
    plain = score(logic, "meanings", tmp_path / "0")["overall"]["accuracy"]
    many = score(logic, "meanings", tmp_path / "16", shots=16)["overall"]["accuracy"]
    assert plain < many
    tried = score(logic, "meanings", tmp_path / "v", verified=16)["overall"]
    assert tried["accuracy"] == plain < tried["verified_accuracy"]


@pytest.mark.parametrize(
    ("recipe", "lengths"),
    [("copying-mini", [4, 5]), ("lookup-mini", [8, 14]), ("permutation-mini", [12, 20])],
)
def test_controls_of_strings_are_scored(recipe, lengths, tmp_path):
    least, most = lengths
    region = {"region.symbols": [4, 5], "region.length": [least, most], "grid": None}
    sizes = {f"sizes.{split}": 0 for split in ("train", "validation")} | {"sizes.test": 30}
    asked = read_data_recipe(recipe, region | sizes)
    data = opened(tmp_path / "data", asked.model_dump())
    rows = data.table("test").to_pylist()
    for name in data.task.controls:
        control = load_control(data.task, name)
        right = [control.answers(row["problem"], 1) == [row["answer"]] for row in rows]
        found = score(data, name, tmp_path / name)["overall"]
        assert (found["examples"], found["accuracy"]) == (30, sum(right) / 30)


def test_a_control_without_an_answer_is_wrong(logic, tmp_path):
    assert score(logic, "nearest", tmp_path)["overall"]["examples"] == 30
    control = ControlAnswerer(logic, "control:nearest")
    assert [each[0].ids for each in control.predict(Request([[5]], 3, 0, 9))] == [[]]


def test_a_corpus_has_no_problems_for_a_control(tmp_path):
    make_corpus(automaton_recipe(), tmp_path / "strings", name="tiny")
    with pytest.raises(LogicgenError, match=r"control:nearest: controls answer problems; .*corpus"):
        logicgen.evaluate("control:nearest", tmp_path / "strings")


def test_trials_of_a_study_share_the_scores_of_controls(logic, tmp_path, monkeypatch):
    answered = []
    predict = accuracy.predict_and_verify
    monkeypatch.setattr(
        accuracy, "predict_and_verify", lambda *a, **b: answered.append(a) or predict(*a, **b)
    )
    monkeypatch.setattr(accuracy, "_scored_controls", {})
    model = SimpleNamespace(answerer=lambda *asked, **how: SimpleNamespace(shots=0))
    subject = Subject(model, "a model", tmp_path, "cpu")
    table = MeasureTable(name="test", controls=["meanings", "all-true"], verified=16)
    first = accuracy.controls(table, logic, subject)
    assert accuracy.controls(table, logic, subject) == first
    assert len(answered) == 2
    for name in table.controls:
        overall = score(logic, name, tmp_path / name, verified=16)["overall"]
        assert first[name].items() <= overall.items()
    plain = accuracy.controls(table.model_copy(update={"verified": None}), logic, subject)
    few = accuracy.controls(table.model_copy(update={"limit": 9}), logic, subject)
    assert len(answered) == 6
    assert "verified_accuracy" in first["meanings"]
    assert "verified_accuracy" not in plain["meanings"]
    assert few["meanings"]["examples"] == 9


def test_what_a_control_cannot_do(logic, tmp_path):
    with pytest.raises(LogicgenError, match="no control of propositional has this name"):
        score(logic, "everything", tmp_path)
    with pytest.raises(LogicgenError, match="a control has none"):
        score(logic, "nearest", tmp_path, ensemble=2)
    for votes in (1, 3):
        said = f"votes: {votes}; control:nearest is no model: leave it out"
        with pytest.raises(LogicgenError, match=said):
            score(logic, "nearest", tmp_path, votes=votes)
    with pytest.raises(LogicgenError, match="--reset-rows: 1; control:nearest is no model"):
        score(logic, "nearest", tmp_path, reset_rows=1)
    with pytest.raises(LogicgenError, match=r"--shots: 60, but .* has only 60 training examples"):
        score(logic, "nearest", tmp_path, shots=60)
