"""What any model wrote to the problems of a data set."""

from __future__ import annotations

import json
from itertools import product

import pytest

import logicgen
from logicgen.data.opening import load_dataset
from logicgen.errors import LogicgenError
from logicgen.extras import EXTRAS
from logicgen.measures import evaluation
from logicgen.measures.answers_figures import draw_evaluation
from logicgen.measures.covariance import count_inequivalent
from logicgen.measures.evaluation import read_predictions
from logicgen.measures.evaluation_page import evaluation_document
from logicgen.measures.replies import EFFORT, judge_replies, replies_to
from logicgen.scoring.scorer import answer_of
from logicgen.tasks.problems import alpha_class_of
from tests.cli.test_commands import refused, run
from tests.test_extras import without_extras

pytestmark = pytest.mark.usefixtures("undrawn")

RECIPE = """
task = "ltl"
[region]
symbols = [1, 2]
length = [1, 6]
[sizes]
test = 12
[grid]
symbols = [1, 3]
length = [3, 5]
per_cell = 2
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("replies")
    (folder / "small.toml").write_text(RECIPE)
    logicgen.generate(folder / "small.toml", folder / "data", workers=1)
    return load_dataset(folder / "data")


@pytest.fixture(scope="module")
def right(data):
    """Return a right reply to each problem of the grid."""
    task = logicgen.task("ltl")
    return [
        {
            "row": row,
            "problem": task.write(task.read(example["problem"])),
            "completion": f"so: <answer>{task.write(task.read_answer(example['answer']))}</answer>",
            "split": "grid",
            "dataset": data.name,
            "fingerprint": data.fingerprint,
            "prompt_version": 1,
        }
        for row, example in enumerate(data.table("grid").to_pylist())
    ]


def write(rows, path):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def verdicts(data, entries, **settings):
    replies = replies_to(data, "grid", entries, "file")
    return judge_replies(data, "grid", replies, "some model", **settings)["verdict"].to_pylist()


def test_right_wrong_and_unreadable_replies(data, right):
    wrong = [
        {**right[0], "completion": "<answer>a & !a ; {1}</answer>"},
        {**right[1], "completion": None},
        {**right[2], "completion": "no idea"},
        {**right[3], "completion": right[3]["completion"] * 2},
        {**right[4], "completion": "<answer>a U b</answer>"},
    ]
    assert verdicts(data, [*wrong, *right[5:]]) == ["invalid"] * 5 + ["exact"] * (len(right) - 5)
    bare = {**right[0], "completion": right[0]["completion"].split(">")[1].split("<")[0]}
    assert verdicts(data, [bare]) == ["invalid"]
    assert verdicts(data, [bare], mode="tolerant") == ["exact"]


@pytest.mark.slow
def test_replies_without_tags_are_pointed_out(data, right, tmp_path):
    bare = [{**each, "completion": each["completion"][8:-9]} for each in right]
    path = write(bare, tmp_path / "bare.jsonl")
    assert (
        "no reply has an answer in <answer> tags"
        in run("evaluate", path, "--data", data.folder).stderr
    )
    tolerant = ("--mode", "tolerant", "-o", tmp_path / "tolerant")
    assert "warning" not in run("evaluate", path, "--data", data.folder, *tolerant).stderr


def test_a_problem_is_known_by_row_or_by_text(data, right):
    for key in ("row", "problem"):
        only = [{key: each[key], "completion": each["completion"]} for each in right]
        assert verdicts(data, only) == ["exact"] * len(right)


def test_scores_are_those_of_our_own_models(data, right, tmp_path):
    path = write(
        [*right[:-2], {**right[-1], "completion": "<answer>{0}</answer>"}], tmp_path / "m.jsonl"
    )
    said = run("evaluate", path, "--data", data.folder)
    assert f"right of {len(right) - 1}" in said.stdout
    assert f"{len(right) - 1} of the {len(right)} problems of grid have replies" in said.stderr
    table, about = read_predictions(tmp_path / "m")
    assert table["verdict"].to_pylist() == ["exact"] * (len(right) - 2) + ["invalid"]
    assert (about.model, about.split, about.symbols) == ("m", "grid", (1, 2))
    assert (tmp_path / "m" / "heatmap.png").is_file()
    summary = logicgen.evaluate(path, data.folder, tmp_path / "again")
    assert summary["overall"]["examples"] == len(right) - 1


@pytest.mark.slow
def test_replies_to_some_rows_leave_the_other_cells_white(data, right, tmp_path, monkeypatch):
    table = data.table("grid").to_pylist()
    first = right[:2]
    answered = {(row["symbols"], row["length"]) for row in table[:2]}
    drawn = []
    monkeypatch.setattr(evaluation, "draw_evaluation", lambda *given: drawn.append(given))
    monkeypatch.setattr(evaluation, "save", lambda *given: None)
    title = f"m on {data.name} (grid), 2 of {len(right)} problems"
    logicgen.evaluate(write(first, tmp_path / "m.jsonl"), data.folder)
    (shown, described, heading), _ = drawn  # the second map is by difficulty
    assert heading == f"{title}: 100.0% [34.2, 100.0] right"
    figure = draw_evaluation(shown, described, heading)
    axes = figure.axes[0]
    assert (axes.get_xlim(), axes.get_ylim()) == ((2.5, 5.5), (0.5, 3.5))
    assert "no replies" in [text.get_text() for text in figure.legends[0].get_texts()]

    document = evaluation_document(*read_predictions(tmp_path / "m"))
    assert document.title == title
    cells = {(cell[0], cell[1]): cell[2] for cell in document.data["maps"][0]["cells"]}
    assert set(cells) == set(product((1, 2, 3), (3, 4, 5)))
    assert {place for place, share in cells.items() if share is not None} == answered
    assert ["rows with a reply", f"2 of {len(right)}"] in document.facts[0].rows
    whole = logicgen.evaluate(write(right, tmp_path / "all.jsonl"), data.folder)
    assert whole["split_rows"] is None
    assert drawn[2][2].startswith(f"all on {data.name} (grid): ")


def test_several_replies_to_each_problem_are_averaged(data, right, tmp_path):
    wrong = [{**each, "completion": "?"} for each in right]
    path = write([*right, *wrong], tmp_path / "m.jsonl")
    overall = logicgen.evaluate(path, data.folder)["overall"]
    assert (overall["examples"], overall["accuracy"]) == (len(right), 0.5)
    with pytest.raises(LogicgenError, match="row 0 has 2 replies and row 1 has 1"):
        verdicts(data, [*right, wrong[0]])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"row": 0, "problem": "a U b U X a"}, "row 0 has another problem"),
        ({"row": None, "problem": "a U b U X a"}, "no row has this problem"),
        ({"row": None, "problem": None}, "neither `row` nor `problem`"),
        ({"row": 99}, "the split has rows 0 to"),
        ({"row": True}, "row True: it has to be a number"),
        ({"split": ["grid"]}, "split .'grid'.: it has to be text"),
        ({"prompt_version": [1]}, "prompt_version .1.: it has to be a number"),
        ({"problem": "a U ("}, "column 6"),
        ({"split": "test"}, "split 'test', but --split is"),
        ({"dataset": "other"}, "dataset 'other', but"),
        ({"fingerprint": "0"}, "fingerprint '0', but"),
        ({"prompt_version": 2}, "another version of the prompt"),
    ],
)
def test_what_is_of_other_data_is_refused(data, right, change, said):
    entries = [right[1], {**right[0], **change}]
    with pytest.raises(LogicgenError, match=said) as error:
        replies_to(data, "grid", entries, "file")
    assert str(error.value).startswith("file, reply 2: ")


def test_versions_of_the_prompt_may_be_mixed_if_asked(data, right):
    entries = [right[1], {**right[0], "prompt_version": 2}]
    assert len(replies_to(data, "grid", entries, "file", mixed=True)) == 2


def test_no_completion_and_no_reply(data, right):
    with pytest.raises(LogicgenError, match="no `completion`"):
        replies_to(data, "grid", [{"row": 0}], "file")
    with pytest.raises(LogicgenError, match="no replies"):
        replies_to(data, "grid", [], "file")


@pytest.mark.parametrize(
    ("arguments", "content", "said"),
    [
        ([], "hello", "line 1: not a JSON object"),
        ([], '{"row": NaN}', "line 1: not a JSON object"),
        (["--beams", "3"], "{}", "--beams: a file of replies is given"),
        (["--device", "cpu"], "{}", "--device: a file of replies is given"),
    ],
)
def test_a_file_that_is_wrong_is_one_line(data, tmp_path, arguments, content, said):
    (tmp_path / "m.jsonl").write_text(content)
    refused(run("evaluate", tmp_path / "m.jsonl", "--data", data.folder, *arguments), said)


def test_options_of_replies_go_with_replies(data):
    result = run("evaluate", "ltl", "--data", data.folder, "--mode", "strict")
    refused(result, "--mode: needs a file of replies")


def asked(data, tmp_path):
    """Write the prompts of all renamings of the problems of the test split."""
    path = tmp_path / "prompts.jsonl"
    result = run("measure", "covariance", path, "--data", data.folder, "--prompts")
    assert "the renamings of" in result.stderr
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_alpha_covariance_of_a_model_that_is_asked_elsewhere(data, tmp_path):
    prompts = asked(data, tmp_path)
    assert {len([p for p in prompts if p["row"] == row["row"]]) for row in prompts} <= {1, 2}
    assert all(row["prompt"].endswith(row["problem"]) for row in prompts)
    solved = [
        {**row, "completion": f"<answer>{logicgen.solve('ltl', row['problem']).witness}</answer>"}
        for row in prompts
    ]
    path = write(solved, tmp_path / "solver.jsonl")
    assert run("measure", "covariance", path, "--data", data.folder).returncode == 0
    found = json.loads((tmp_path / "solver" / "covariance.json").read_text())
    assert found["overall"]["strings"]["mean"] == 1.0
    # A model that says `a` whatever it is asked gives another answer to each of two names.
    same = [{**row, "completion": "<answer>{a}</answer>"} for row in prompts]
    path = write(same, tmp_path / "same.jsonl")
    assert run("measure", "covariance", path, "--data", data.folder).returncode == 0
    found = json.loads((tmp_path / "same" / "covariance.json").read_text())
    assert found["overall"]["strings"]["mean"] == 0.0


def test_all_renamings_have_to_be_asked(data, tmp_path):
    prompts = [{**row, "completion": "?"} for row in asked(data, tmp_path)]
    last = [row for row in prompts if row["row"] == prompts[-1]["row"]]
    assert len(last) == 2
    for entries, said in (
        (prompts[:-1], "give the same number for each"),
        (
            [*prompts, {**prompts[-1], "problem": last[0]["problem"].replace("a", "z")}],
            "none of its",
        ),
    ):
        path = write(entries, tmp_path / "part.jsonl")
        refused(run("measure", "covariance", path, "--data", data.folder), said)


def test_classes_are_those_of_the_data_set(data):
    for example in data.table("grid").to_pylist():
        assert alpha_class_of(example["problem"]) == example["alpha_class"]


@pytest.mark.slow
def test_it_takes_figures_and_no_training(data, right, tmp_path):
    path = write(right, tmp_path / "m.jsonl")
    code = f"import logicgen\nprint(logicgen.evaluate({str(path)!r}, {str(data.folder)!r}))"
    trained = {package for package, extra in EXTRAS.items() if extra != "figures"}
    done = without_extras(code, tmp_path, trained)
    assert "'accuracy': 1.0" in done.stdout, done.stderr
    done = without_extras(code, tmp_path)
    assert "pip install 'logicgen[figures]'" in done.stderr


def holes(pigeons, free):
    """Return a tautology that is slow to prove: n pigeons do not fit into n - 1 holes."""
    names = {}

    def sits(pigeon, hole):
        return names.setdefault((pigeon, hole), f"{free}{len(names)}")

    numbers = range(pigeons - 1)
    homeless = [" & ".join(f"!{sits(p, h)}" for h in numbers) for p in range(pigeons)]
    crowded = [
        f"{sits(p, h)} & {sits(q, h)}" for h in numbers for p in range(pigeons) for q in range(p)
    ]
    return " | ".join(f"({part})" for part in [*homeless, *crowded])


@pytest.mark.slow
def test_a_reply_that_is_hard_to_compare_takes_no_longer(data, right):
    """Check that comparing with an answer that is slow to compare ends at the limit.

    As a reply it is invalid, since its problem has none of these symbols.
    """
    row = next(r for r, e in enumerate(data.table("grid").to_pylist()) if "X" not in e["problem"])
    answer = right[row]["completion"].split("<answer>")[1].split("<")[0]
    stem, _, last = answer.rpartition("}")[0].rpartition("{")
    hard = f"{stem}{{({last}) & ({holes(12, 'p')})}}"
    entry = {**right[row], "completion": f"<answer>{hard}</answer>"}
    assert verdicts(data, [entry])[0] == "invalid"
    renamed = [*[answer_of(data.task, entry["completion"])] * 2]
    texts = [data.task.encode(renamed[0]), data.task.encode(data.task.read_answer(answer))]
    assert count_inequivalent(data.task.limited(EFFORT, None), texts) == 2


def test_a_model_that_never_answers_is_not_invariant(data, tmp_path):
    silent = [{**row, "completion": f"no idea {n}"} for n, row in enumerate(asked(data, tmp_path))]
    result = run(
        "measure", "covariance", write(silent, tmp_path / "s.jsonl"), "--data", data.folder
    )
    assert f"{len(silent):,} of {len(silent):,} replies have no answer" in result.stdout
    found = json.loads((tmp_path / "s" / "covariance.json").read_text())
    assert found["overall"]["strings"]["mean"] == 0.0
    assert found["decoding"]["unread"] == len(silent)


def test_prompts_overwrite_nothing(data, tmp_path):
    path = tmp_path / "replies.jsonl"
    path.write_text("a night's work")
    command = ("measure", "covariance", path, "--data", data.folder, "--prompts")
    refused(run(*command), "exists, and may contain replies")
    other = run("measure", "covariance", tmp_path / "p", *command[3:], "--mode", "strict")
    refused(other, "--mode: has no effect with --prompts")


def test_what_names_no_file_or_no_folder(data, right, tmp_path):
    missing = run("evaluate", tmp_path / "no.jsonl", "--data", data.folder)
    refused(missing, "no such file of replies")
    write(right, tmp_path / "replies")
    refused(run("evaluate", tmp_path / "replies", "--data", data.folder), "no suffix", "--out")
    with pytest.raises(LogicgenError, match=r"verified: 9; .* is a file of replies"):
        logicgen.evaluate(tmp_path / "replies", data.folder, verified=9)


def test_lines_may_be_called_json(data, right, tmp_path):
    path = write(right, tmp_path / "m.json")
    assert logicgen.evaluate(path, data.folder, timeout=5)["overall"]["accuracy"] == 1.0
