"""The experiments with inductive Transformers at their smallest."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from logicgen.errors import LogicgenError
from logicgen.experiments import open_experiment
from logicgen.experiments.control import EXPERIMENT as CONTROL
from logicgen.experiments.identify import identified, identify
from logicgen.experiments.needed import reached
from logicgen.experiments.prompting import SETS, ask
from logicgen.productions import Grammar, random_grammar
from logicgen.study.engine import compute
from logicgen.study.plan import Plan, open_study
from logicgen.study.records import Record, read_records
from logicgen.study.trial import Trial

pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.fixture(autouse=True)
def _one_thread():
    """As the workers of a study have; many threads wait for each other on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def squared(number):
    if number < 0:
        raise LogicgenError("a negative number")
    return {"square": number**2}


def planned(**numbers):
    trials = {name: Trial(name, squared, {"number": each}) for name, each in numbers.items()}
    return Plan(name="squares", command="", report=print, trials=trials)


def computed(plan, folder):
    """What is found at the points that are missing, and why some failed."""
    records = read_records(plan.trials, folder)
    todo = [trial for name, trial in plan.trials.items() if name not in records]
    said = {}
    compute(plan, todo, records, folder, workers=2, device="cpu", settled=said.__setitem__)
    return {
        name: each if isinstance(each, str) else each.found["square"] for name, each in said.items()
    }


def test_any_function_is_computed_at_its_points_and_one_that_fails_is_one(tmp_path):
    said = computed(planned(a=2, b=-1, c=3), tmp_path)
    assert said == {"a": 4, "b": "a negative number", "c": 9}
    assert list(read_records(planned(a=2, b=-1, c=3).trials, tmp_path)) == ["a", "c"]
    plan = planned(b=4, a=2, d=5)
    assert computed(plan, tmp_path) == {"b": 16, "d": 25}
    assert list(read_records(plan.trials, tmp_path)) == ["b", "a", "d", "c"]


@pytest.mark.slow
def test_prompting_splits_evenly_where_the_sentences_do():
    lesson = next(iter(open_study("inductive-prompting").trials.values())).arguments["lesson"]
    found = ask(list(SETS["three"]), 2, 100, 0, lesson)["completions"]
    assert found["big cat"]["mean"] == pytest.approx(0.5, abs=0.01)
    assert found["small dog"]["least"] > 0.99
    assert found["big cat"]["said"] + found["big dog"]["said"] == 100


def test_a_student_of_few_sentences_is_further_away():
    teacher = random_grammar(2, 2, 4, np.random.default_rng(0), own_words=True).as_dict()
    lesson = {"steps": 200, "starts": 3, "crispness": 0.3}
    few = identify(teacher, 4, 10, lesson, 0)
    all_of = identify(teacher, 4, None, lesson, 0)
    assert np.mean(all_of["divergences"]) < np.mean(few["divergences"])
    by_name = {each["weight"]: each for each in all_of["weights"]}
    grammar = Grammar.of_dict(teacher)
    assert by_name["start -> 1.1"]["teacher"] == grammar.start[0]
    assert by_name["1:1.1 -> 2:2.2"]["teacher"] == grammar.below[0][1, 0]
    assert by_name["2:2.1 says w3"]["teacher"] == grammar.tokens[1][3, 0]


def test_students_are_counted_by_what_they_have_found():
    means, classes = np.array([0.01, 0.2, 0.2, 0.01]), np.array([0.01, 0.01, 0.3, 0.2])
    assert identified(means, classes) == (2, 1, 1)
    # Without classes, only students that all found the teacher can be counted.
    assert identified(means, None) is None
    assert identified(means[[0, 3]], None) == (2, 0, 0)


@pytest.mark.slow
def test_a_teacher_whose_weights_no_sentence_shows_is_found_up_to_its_class():
    # Its first units say anything: any mixture of them that keeps the sentences fits as well.
    teacher = random_grammar(2, 3, 4, np.random.default_rng(3), concentration=3.0).as_dict()
    changes = {"students": 3, "lesson": {"steps": 600, "starts": 6}}
    plan = open_study("inductive-identify", changes)
    lesson = plan.trials["students"].arguments["lesson"]
    found = identify(teacher, 3, None, lesson, 0)
    classes, distances = (np.array(found[key])[:, 0] for key in ("classes", "distances"))
    assert max(found["divergences"]) < 1e-3
    _, alike, _ = identified(distances, classes)
    assert alike >= 1
    assert (classes < distances).all()
    (row,) = (row for row in _rows(plan, found) if row.startswith("that found its class"))
    assert row.endswith(f"| {alike}")
    assert "that found neither | not recorded" in _rows(plan, {**found, "classes": None})


def test_a_nudge_is_beside_none_with_and_without_alignment():
    changes = {"students": 8, "lesson": {"steps": 200, "starts": 1}}
    plan = open_study("inductive-nudge", changes)
    assert list(plan.trials) == ["nudge 0", "nudge 5"]
    found = {name: trial.function(**trial.arguments) for name, trial in plan.trials.items()}
    ((_, heads, rows),) = reported(plan, found).tables
    assert heads == ["", "nudge 0", "nudge 5"]
    by_name = {name: list(map(int, counts)) for name, *counts in rows[:3]}
    assert by_name["students"] == [8, 8]
    exact, before = (by_name[f"that found the teacher{how}"] for how in ("", " without alignment"))
    assert all(less <= more for less, more in zip(before, exact, strict=True))
    assert sum(before) < sum(exact)


def reported(plan, found):
    """Return the report of an experiment that found this, by name of the trial."""
    about = {"arguments": {}, "machine": "", "commit": None, "versions": {}}
    records = [Record(point=name, found=each, **about) for name, each in found.items()]
    return plan.report(records)


def _rows(plan, found):
    """The rows of a report of identify."""
    return [
        " | ".join(row) for _, _, rows in reported(plan, {"students": found}).tables for row in rows
    ]


def test_layers_of_different_width_have_no_students():
    tokens = ([[1.0, 1.0]], [[1.0]])
    grammar = {
        "words": ["a"],
        "units": [["x", "y"], ["z"]],
        "start": [0.5, 0.5],
        "tokens": tokens,
        "below": [[[1.0, 1.0]]],
    }
    with pytest.raises(LogicgenError, match="same number of units in each layer"):
        identify(grammar, 1, None, {}, 0)


def report(name, **changes):
    """The tables of an experiment, computed here, each row as one text; and its report."""
    plan = open_study(name, changes)
    found = {key: trial.function(**trial.arguments) for key, trial in plan.trials.items()}
    made = reported(plan, found)
    rows = [" | ".join(row) for _, _, rows in made.tables for row in rows]
    assert all(figure.get_axes() for _, _, figure in made.pictures)
    return rows, made


@pytest.mark.slow
def test_reports_of_the_smallest_experiments():
    few = {"steps": 20, "starts": 2}
    sizes = [[2, 2, 3], [3, 2, 2]]
    rows, made = report("inductive-map", teachers=2, sizes=sizes, sentences=[20, "all"], lesson=few)
    assert sum(row.startswith("2 | 2 | 3 |") for row in rows) == 3
    # Three units cannot each have words of their own.
    assert sum(row.startswith("3 | 2 | 2 |") for row in rows) == 1
    assert len(made.files["map.csv"]) == 8
    assert all(row["found"] <= row["found_class"] <= 1 for row in made.files["map.csv"])
    changes = {"teachers": 2, "sentences": [10, 300], "lesson": few, "training.steps": 20}
    rows, made = report("inductive-needed", **changes)
    assert rows[0].startswith("inductive | 93 |")
    assert len(made.files["divergences.csv"]) == 2 * 2 * 4
    rows, _ = report("inductive-control", **{"students": 2, "grammars": 3, "lesson.starts": 5})
    assert "sentences that wrongly vanished or remained | 0" in rows


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"teachers": 0}, "teachers"),
        ({"techers": 3}, "unknown key 'techers'; did you mean teachers"),
        ({"lesson.steps": "many"}, "lesson.steps"),
        ({"lesson.crispness": -1.0}, "lesson.crispness"),
        ({"sizes": [[3, 3]]}, "sizes.0"),
        ({"experiment": "mop"}, "no experiment is called 'mop'; did you mean map"),
    ],
)
def test_settings_that_are_wrong_are_refused_with_their_key(changes, words):
    with pytest.raises(LogicgenError) as refusal:
        open_study("inductive-map", changes)
    assert words in str(refusal.value)
    assert "inductive-map.toml" in str(refusal.value)


def test_an_experiment_is_found_by_its_name():
    assert open_experiment("control") is CONTROL


def test_how_many_sentences_are_needed():
    bits = np.array([[1.0, 0.1, 0.01], [0.05, 0.02, 0.01], [1.0, 0.9, 0.8]])
    found = reached(bits, [10, 100, 1000], 0.1)
    assert found == pytest.approx([100, 10, np.inf])
    assert reached(bits, [10, 100, 1000], 10**-0.5)[0] == pytest.approx(10**1.5)
