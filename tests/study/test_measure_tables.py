"""Studies with `[[measure]]` from the command line: what is measured, and what is refused."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest

from logicgen.errors import LogicgenError
from logicgen.measures.accuracy import _by_shots, curve_points
from logicgen.measures.curves import curve_groups
from logicgen.measures.measure import Findings
from logicgen.measures.statistics import wilson_interval
from logicgen.study.plan import plan
from logicgen.study.recipe import read_study
from logicgen.study.records import FILE
from logicgen.study.results import TABLE, by_point, study_report
from tests.cli.test_commands import refused, run
from tests.study.conftest import TINY, finished, planned, read_table
from tests.study.made_results import read_lines

pytestmark = pytest.mark.usefixtures("undrawn")

MODEL = """
[embedding]
method = "lexinvariant"
[network]
kind = "language-model"
width = 16
heads = 2
layers = 1
feed_forward = 16
[training]
context = 20
steps = 3
batch_size = 2
learning_rate = 1e-3
warmup_steps = 0
schedule = "constant"
"""
LOOK_UP = """
task = "lookup"
[region]
symbols = [4, 4]
length = [8, 8]
[sizes]
test = 6
"""
AUTOMATON = """
task = "automaton"
[corpus]
symbols = 3
states = 2
expected_length = 1e3
length = 30
train = 20
validation = 5
test = 10
"""
CIPHER = """
task = "cipher"
[corpus]
length = 20
train = 10
test = 6
[corpus.text]
source = "python-topics"
"""
TEXT = 'task = "text"\n[corpus]\nsource = "python-topics"\n'
STRINGS = """
[base]
model = "{folder}/model.toml"
data = "{folder}/automaton.toml"
[[measure]]
name = "strings"
beyond = 10
context = 30
[axes]
draw = [
  {{ name = "one" }},
  {{ name = "two", data_set = {{ "corpus.draw" = 2 }} }},
]
model = [
  {{ name = "rows" }},
  {{ name = "counts", model = "language-trigram" }},
]
"""
PROMPTS = """
[base]
model = "{folder}/model.toml"
data = "{folder}/text.toml"
[[measure]]
name = "look-up"
data = "{folder}/look-up.toml"
[[measure]]
name = "keys"
data = "{folder}/cipher.toml"
steps = 2
hidden = 8
window = 10
matrices = [0, 10]
[axes]
"network.cache" = [false, true]
"""


SYMBOLS = """
[base]
model = "{folder}/model.toml"
data = "{folder}/automaton.toml"
[[measure]]
name = "symbols"
keys = true
steps = 2
hidden = 8
window = 10
[[measure]]
name = "again"
keys = true
steps = 2
hidden = 8
window = 15
[axes]
"network.cache" = [false]
"""
PROBLEMS = (
    "seeds = [0, 1]\n"
    + TINY.partition("[evaluate]")[0].replace("copying", "propositional").replace("600", "400")
    + """
"training.validate_every" = 2
"training.validation_examples" = 4
[[measure]]
name = "test"
limit = 8
grammar = true
verified = 3
covariance = { limit = 2 }
[[measure]]
name = "fresh-grid"
data = "propositional-mini"
data_seed = 1
size = 400
split = "grid"
limit = 8
by = "symbols"
[axes]
"training.learning_rate" = [1e-3, 1e-2]
"""
)


LOGIC = """
task = "propositional"
[region]
symbols = [1, 2]
length = [1, 4]
[sizes]
train = 20
test = 6
"""
SHOTS = """
[base]
model = "{folder}/shots.toml"
data = "{folder}/logic.toml"
[[measure]]
name = "none"
shots = 0
controls = ["all-true", "nearest"]
[[measure]]
name = "as-trained"
controls = ["nearest"]
[axes]
"training.shots" = [1, 2]
"""


@pytest.mark.slow
def test_answers_after_solved_problems(folder):
    out = folder / "of shots"
    content = MODEL.replace("context = 20", "context = 60\nshots = 1")
    (folder / "shots.toml").write_text(content, encoding="utf-8")
    (folder / "logic.toml").write_text(LOGIC, encoding="utf-8")
    (folder / "study.toml").write_text(SHOTS.format(folder=folder), encoding="utf-8")
    result = run("study", folder / "study.toml", "-o", out, "--workers", 1)
    assert result.returncode == 0, result.stderr
    for path in out.rglob("predictions.parquet"):
        trained = 1 if "=1" in str(path) else 2
        asked = json.loads(pq.read_schema(path).metadata[b"logicgen"])["decoding"]
        assert asked.get("shots", 0) == (0 if path.parent.name == "none" else trained)
    heads = next(
        line for line in (out / "results.md").read_text().splitlines() if line.startswith("|")
    )
    assert "| none |" in heads
    assert "| as-trained |" in heads
    assert "| none, best control |" in heads
    for point in read_lines(out).values():
        none, trained = (point["found"]["measures"][name] for name in ("none", "as-trained"))
        assert none["controls"]["nearest"]["accuracy"] == 0  # without solved problems: no answer
        assert trained["controls"]["nearest"]["accuracy"] > 0
    assert "| all-true: " in (out / "results.md").read_text()


def test_an_unknown_control_is_refused_before_any_training(folder):
    content = MODEL.replace("context = 20", "context = 60\nshots = 1")
    (folder / "shots.toml").write_text(content, encoding="utf-8")
    (folder / "logic.toml").write_text(LOGIC, encoding="utf-8")
    study = SHOTS.format(folder=folder).replace('"nearest"', '"farthest"')
    (folder / "far.toml").write_text(study, encoding="utf-8")
    refused(run("study", folder / "far.toml", "-o", folder / "far"), "measure none: control:far")


def test_a_picture_by_solved_problems_has_a_line_for_each_control():
    def findings(shots, share, control, seeds=2):
        settings = SimpleNamespace(shots=shots, by=None)
        score = {"score": {"accuracy": share, "examples": 50}}
        beside = {"controls": {"nearest": {"accuracy": control, "examples": 50}}}
        choices = {"rows": "random"}
        each = [score | beside] * seeds
        return [Findings(f"{shots}", settings, "p", choices, "d", "", [0, 1], [], each)]

    measured = [findings(4, 0.5, 0.3), findings(0, 0.1, 0.0), findings(1, 0.2, 0.3)]
    (curves,) = _by_shots(measured).values()
    assert {label: [point[:2] for point in line] for label, line in curves.items()} == {
        "random": [(0, 0.1), (1, 0.2), (4, 0.5)],
        "control:nearest": [(0, 0.0), (1, 0.3), (4, 0.3)],
    }
    other = [[replace(of[0], choices={"rows": "b"}, data_folder="b")] for of in measured]
    both = [one + two for one, two in zip(measured, other, strict=True)]
    assert {label: list(lines) for label, lines in _by_shots(both).items()} == {
        "random": ["random", "control:nearest"],
        "b": ["b", "control:nearest"],
    }
    assert _by_shots(measured[:2]) == {}
    assert _by_shots([*measured[:2], findings(None, 0.5, 0.3)]) == {}


@pytest.mark.slow
def test_answers_to_problems_plain_and_verified(folder):
    (folder / "problems.toml").write_text(PROBLEMS)
    out = folder / "problems"
    result = run("study", folder / "problems.toml", "-o", out, "--workers", 2)
    assert result.returncode == 0, result.stderr
    pictures = {"answers.png", "learning.png", "fresh-grid-by-symbols.png"}
    assert {path.name for path in out.glob("*.png")} == pictures
    for record in read_lines(out).values():
        found = record["found"]
        assert [step for step, _ in found["training"]["validation"]["exact"]] == [2, 4]
        measures = found["measures"]
        assert (
            measures["test"]["score"]["verified_accuracy"] >= measures["test"]["score"]["accuracy"]
        )
        assert "verified_accuracy" not in measures["fresh-grid"]["score"]
        assert measures["fresh-grid"]["score"]["examples"] == 8
        assert sum(each["examples"] for each in measures["fresh-grid"]["by"]) == 8
        assert "by" not in measures["test"]
    heads = next(
        line for line in (out / "results.md").read_text().splitlines() if line.startswith("|")
    )
    assert "| test | test, verified | test, alpha-covariance | fresh-grid | steps" in heads
    folders = {path.name.rpartition("-")[2] for path in (out / "runs" / "data").iterdir()}
    assert "1" in folders


def test_points_of_a_curve_have_problems_enough():
    """Neighbours are one point up to 30 problems; what is left over joins the last point."""

    def found(*counts, accuracy=0.5):
        return [
            {"symbols": 5 + place, "examples": count, "accuracy": accuracy}
            for place, count in enumerate(counts)
        ]

    def places(*counts):
        return [point[0] for point in curve_points("symbols", [found(*counts)])]

    assert places(30, 30, 40) == [5, 6, 7]
    assert places(15, 15, 15, 15) == [5.5, 7.5]
    assert places(10, 20, 30, 29) == [pytest.approx(17 / 3), pytest.approx(442 / 59)]
    assert places(3) == [5]
    assert places(3, 9) == [5.75]
    seeds = [found(30, accuracy=0.4), found(30, accuracy=0.6)]
    ((_, share, low, high),) = curve_points("symbols", seeds)
    assert (share, low < share < high) == (0.5, True)
    assert (low, high) == wilson_interval(0.5, 30)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("a folder")
    texts = {"model": MODEL, "look-up": LOOK_UP, "automaton": AUTOMATON, "cipher": CIPHER}
    texts |= {"text": TEXT, "strings": STRINGS.format(folder=folder)}
    texts |= {"prompts": PROMPTS.format(folder=folder)}
    for name, text in texts.items():
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.slow
def test_strings_of_two_automata(folder):
    out = folder / "strings"
    result = run("study", folder / "strings.toml", "-o", out, "--workers", 2)
    assert result.returncode == 0, result.stderr
    rows = read_table(out)
    assert len(rows) == 4 * 2  # overall, and beyond position 10
    assert all(float(row["kl_ideal"]) >= 0 for row in rows)
    assert {row["from"] for row in rows} == {"1", "10"}
    assert {path.name for path in out.glob("*.png")} == {"strings.png"}
    for record in read_lines(out).values():
        assert record["found"]["measures"]["strings"]["tokens"][:2] == [0, 10]
    # Tables and figures follow from the records alone.
    again = folder / "again"
    again.mkdir()
    shutil.copy(out / FILE, again)
    assert run("study", folder / "strings.toml", "-o", again).returncode == 0
    for name in ("results.md", "results.csv", "strings.png"):
        assert (again / name).read_bytes() == (out / name).read_bytes()


@pytest.mark.slow
def test_prompts_and_keys(folder):
    out = folder / "prompts"
    result = run("study", folder / "prompts.toml", "-o", out, "--workers", 2)
    assert result.returncode == 0, result.stderr
    rows = read_table(out)
    answers = [row for row in rows if row["measure"] == "look-up"]
    keys = [row for row in rows if row["measure"] == "keys"]
    assert [row["examples"] for row in answers] == ["6", "6"]
    assert [row["window"] for row in keys if row["by"] == "probe"] == ["1", "2"] * 2
    assert {row["by"] for row in keys} >= {"probe", "most frequent", "frequencies"}
    for record in read_lines(out).values():
        matrices = record["found"]["measures"]["keys"]["matrices"]
        assert matrices["after"] == [0, 10]
        size = len(matrices["symbols"])
        assert np.array(matrices["probabilities"]).shape == (2, size, size)
    drawn = {f"keys-matrices-cache={value}.png" for value in ("false", "true")}
    assert {path.name for path in out.glob("*.png")} == {"answers.png", "keys.png", *drawn}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[0, 10]", "[0, 11]", "measure keys: matrices 11: after these tokens a window of 10 ends"),
        ("[0, 10]", "[5, 0]", "measure keys: matrices [5, 0]: give increasing numbers"),
        ("cipher.toml", "look-up.toml", "matrices, steps, window: without effect on answers"),
    ],
)
def test_wrong_matrices_are_refused_before_training(folder, old, new, said):
    (folder / "wrong.toml").write_text(PROMPTS.format(folder=folder).replace(old, new))
    refused(run("study", folder / "wrong.toml", "-o", folder / "wrong"), said)


@pytest.mark.slow
def test_symbols_of_strings(folder):
    """Heads of two measures of one kind are told apart."""
    (folder / "symbols.toml").write_text(SYMBOLS.format(folder=folder), encoding="utf-8")
    out = folder / "symbols"
    result = run("study", folder / "symbols.toml", "-o", out)
    assert result.returncode == 0, result.stderr
    lines = [line for line in (out / "results.md").read_text().splitlines() if line[:1] == "|"]
    heads = [each.strip() for each in lines[0].strip("|").split("|")]
    assert len(heads) == len(set(heads))
    assert {"symbols: exact, last window", "again: exact, last window"} <= {*heads}
    rows = read_table(out)
    assert {row["by"] for row in rows} == {"probe", "most frequent", "frequencies", "exact"}
    assert len(rows) == 4 * (3 + 2)


def test_texts_have_no_keys(folder):
    study = SYMBOLS.format(folder=folder).replace("automaton.toml", "text.toml")
    (folder / "none.toml").write_text(study, encoding="utf-8")
    result = run("study", folder / "none.toml", "-o", folder / "none")
    refused(result, "measure symbols: data of the task text have no keys")


def test_axes_with_the_names_of_results_have_columns_of_their_own(folder):
    study = (folder / "strings.toml").read_text(encoding="utf-8").partition("[axes]")[0]
    study += '[axes]\ndata = [{ name = "old" }]\nminutes = [{ name = "few" }]\n'
    (folder / "taken.toml").write_text(study, encoding="utf-8")
    made = read_study(str(folder / "taken.toml"))
    (trial,) = plan(made).trials.values()
    window = {"window": 1, "last": 9, "precision": 0.5, "low": 0.4, "high": 0.6}
    found = {"strings": {"kind": "keys", "windows": [window], "controls": {}}}
    record = finished(trial, found)
    report = study_report(made, by_point([record]), "")
    (row,) = report.files[TABLE]
    assert row["axis.data"] == "old"
    assert row["data"] == trial.training.measures[0].data.name
    assert (row["axis.minutes"], row["minutes"]) == ("few", 0.5)
    ((_, heads, (values,)),) = report.tables
    shown = dict(zip(heads, values, strict=True))
    assert (shown["data"], shown["axis.minutes"], shown["minutes"]) == ("old", "few", "0.5")


WRONG = [
    ('[[measure]]\nname = "a"\n[[measure]]\nname = "a"\n', "the name 'a' occurs twice"),
    ('[[measure]]\nname = "a b"\n', "measure.0.name"),
    ('[[measure]]\nname = "a"\ndata_seed = 1\n', "data_seed: is of the measure's own data"),
    ('[[measure]]\nname = "a"\n[evaluate]\nsplit = "test"\n', "remove one of the tables"),
]


@pytest.mark.parametrize(("part", "said"), WRONG)
def test_wrong_measures(folder, part, said):
    path = folder / "wrong.toml"
    path.write_text(
        STRINGS.format(folder=folder).replace("[[measure]]\n", part + "[[measure]]\n", 1),
        encoding="utf-8",
    )
    with pytest.raises(LogicgenError, match=said):
        read_study(str(path))


@pytest.mark.parametrize(
    "key", ['by = "length"', 'controls = ["nearest"]', "verified = 16", "settings = { a = 1 }"]
)
def test_keys_without_effect_are_refused(folder, key):
    path = folder / "curve.toml"
    text = STRINGS.format(folder=folder)
    path.write_text(text.replace("[[measure]]\n", f"[[measure]]\n{key}\n", 1), "utf-8")
    reasons = planned(path).impossible.values()
    assert reasons
    said = f"{key.split()[0]}: without effect on perplexity"
    assert all(said in reason for reason in reasons)


def test_models_of_the_other_kind(folder):
    path = folder / "other.toml"
    text = STRINGS.format(folder=folder).replace('"language-trigram"', '"copying-learned"')
    path.write_text(text, encoding="utf-8")
    reasons = planned(path).impossible.values()
    assert all("is scored by [evaluate]" in reason for reason in reasons)
    assert len(reasons) == 2
    measure = text[text.index("[[measure]]") : text.index("[axes]")]
    path.write_text(text.replace(measure, ""), encoding="utf-8")
    refused(run("study", path, "-o", folder / "other"), "[[measure]]")


def test_curves_on_data_that_no_choice_tells_apart_are_all_drawn():
    """Points whose data differ with their models, on one axis."""
    about = {"model": "m", "data": "d", "split": "test", "context": 2, "sequences": 1}
    found = {"summary": {**about, "embedding_seeds": 1}, "tokens": [0, 1], "means": {"bits": [1.0]}}
    points = [
        Findings("strings", None, name, {"model": name}, "d", folder, [0], [], [found])
        for name, folder in zip("abcd", ("d-1", "d-1", "d-2", "d-2"), strict=True)
    ]
    groups = curve_groups(points)
    assert {name: [label for label, _ in curves] for name, curves in groups.items()} == {
        "data 1": ["a", "b"],
        "data 2": ["c", "d"],
    }
