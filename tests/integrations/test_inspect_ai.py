"""The Inspect task and scorer, run by the real package with canned completions."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest

import logicgen
from logicgen.errors import LogicgenError
from logicgen.scoring import Judgement
from logicgen.scoring.prompts import prompt
from logicgen.solvers import Verdict
from logicgen.tasks.propositional import Propositional
from tests.cli.test_commands import run as cli
from tests.integrations.small import INVALID, WRONG, right, small

pytest.importorskip("inspect_ai", reason="pip install 'logicgen[inspect]'")

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from logicgen.integrations import inspect_ai as adapter
from logicgen.integrations.reply_files import read_replies, read_rows


def run(task, completions, folder):
    """Evaluate a model that says these completions, and return the log, read from its file."""
    outputs = [ModelOutput.from_content("mock", text) for text in completions]
    for output in outputs:
        output.usage = ModelUsage()  # or the tokens would be counted, with a vocabulary to download
    model = get_model("mockllm/model", custom_outputs=outputs)
    (log,) = evaluate(
        task, model=model, log_dir=str(folder), display="none", max_connections=1, max_samples=1
    )
    return read_eval_log(log.location)


def metrics(log):
    """Return the metrics of a log by name."""
    return {
        name: each.value for score in log.results.scores for name, each in score.metrics.items()
    }


def test_a_log_says_verdicts_metrics_and_of_which_data_it_is(data, tmp_path):
    rows = data.table("test").to_pylist()
    answers = [data.task.show(data.task.decode_answer(row["answer"])) for row in rows]
    said = [*map(right, answers[:5]), WRONG, INVALID, ""]
    log = run(adapter.solve(str(data.folder)), said, tmp_path)
    assert log.status == "success", log.error
    assert [score.value for sample in log.samples for score in sample.scores.values()] == list(
        "CCCCCIII"
    )
    verdicts = [sample.scores["verified"].metadata["verdict"] for sample in log.samples]
    assert verdicts == ["correct"] * 5 + ["incorrect"] + ["invalid"] * 2
    assert [sample.scores["verified"].answer for sample in log.samples[:5]] == answers[:5]
    assert log.samples[6].scores["verified"].explanation == "there is no <answer>...</answer>"
    assert log.samples[6].scores["verified"].reason == "invalid_response_format"
    found = metrics(log)
    assert found["accuracy"] == 5 / 8
    assert 0 < found["stderr"] < 1
    for key in ("symbols", "length"):
        for value in {row[key] for row in rows}:
            cell = [place < 5 for place, row in enumerate(rows) if row[key] == value]
            assert found[f"{key} {value}"] == pytest.approx(sum(cell) / len(cell))
    for number, (sample, row) in enumerate(zip(log.samples, rows, strict=True)):
        about = sample.metadata
        assert sample.id == f"test-{number}"
        assert (about["split"], about["row"]) == ("test", number)
        assert (about["dataset"], about["fingerprint"]) == (data.name, data.fingerprint)
        assert (about["task"], about["prompt_version"]) == ("propositional", 1)
        assert {key: about[key] for key in ("symbols", "length", "alpha_class")} == {
            key: row[key] for key in ("symbols", "length", "alpha_class")
        }
        assert sample.input == prompt("propositional", about["problem"])
    assert log.eval.metadata["fingerprint"] == data.fingerprint
    (path,) = tmp_path.glob("*.eval")
    replies = read_replies(path)
    assert [reply["completion"] for reply in replies] == said
    assert [reply["row"] for reply in replies] == list(range(8))
    assert {reply["fingerprint"] for reply in replies} == {data.fingerprint}
    assert log.eval.dataset.name == data.name


def test_another_split_fewer_samples_examples_and_notation(data, tmp_path):
    task = adapter.solve(
        str(data.folder), split="grid", examples=2, notation="prefix", mode="tolerant", limit=3
    )
    assert [sample.id for sample in task.dataset] == ["grid-0", "grid-1", "grid-2"]
    problem = task.dataset[0].metadata["problem"]
    assert task.dataset[0].input == prompt("propositional", problem, examples=2, notation="prefix")
    row = data.table("grid").to_pylist()[0]
    answer = data.task.show(data.task.decode_answer(row["answer"]))
    log = run(task, [f"The answer is {answer}.", INVALID, INVALID], tmp_path)
    assert metrics(log)["accuracy"] == 1 / 3


class Undecided:
    """Check how a judge that reaches its limit on every second completion is counted."""

    def __init__(self):
        self.asked = 0

    async def score_async(self, problem, completion):
        self.asked += 1
        if self.asked % 2:
            return Judgement(Verdict.UNKNOWN, "a=1", "time limit of 10 s")
        return Judgement(Verdict.CORRECT, "a=1")


def test_what_cannot_be_decided_is_counted_by_no_metric(data, tmp_path, monkeypatch):
    judge = Undecided()
    monkeypatch.setattr(adapter, "shared_scorer", lambda *arguments, **named: judge)
    log = run(adapter.solve(str(data.folder)), [WRONG] * 8, tmp_path)
    assert metrics(log)["accuracy"] == 1.0
    assert [score.unscored_samples for score in log.results.scores] == [4]
    first = log.samples[0].scores["verified"]
    assert math.isnan(first.value)
    assert (first.explanation, first.reason) == ("time limit of 10 s", "scoring_failed")
    assert first.metadata == {"verdict": "unknown"}


pytestmark = pytest.mark.trainer

BY_NAME = """
from inspect_ai import eval as evaluate
from inspect_ai.model import ModelOutput, ModelUsage, get_model

output = ModelOutput.from_content("mock", "<answer>no</answer>")
output.usage = ModelUsage()
model = get_model("mockllm/model", custom_outputs=lambda *_: output)
(log,) = evaluate("logicgen/solve", model=model, task_args={"data": "d", "limit": 2},
                  log_dir="logs", display="none")
print(log.eval.task, [sample.id for sample in log.samples])
"""


def test_inspect_finds_the_task_by_its_name(data, tmp_path):
    """Find the tasks by their entry point, in a program that has not imported logicgen."""
    done = subprocess.run(
        [sys.executable, "-c", BY_NAME], capture_output=True, text=True, cwd=data.folder.parent
    )
    assert done.stdout.splitlines()[-1] == "logicgen/solve ['test-0', 'test-1']", done.stderr


def test_a_sample_without_a_problem_says_so(tmp_path):
    task = Task(
        dataset=[Sample(input="?", id="mine", metadata={"symbols": 1, "length": 1})],
        scorer=adapter.verified("ltl"),
    )
    log = run(task, [INVALID], tmp_path)
    assert log.status == "error"
    assert "sample mine: no metadata 'problem'" in log.error.message


def test_what_cannot_be_asked_is_refused(data, tmp_path, monkeypatch):
    folder = str(data.folder)
    for asked, how, said in [
        (str(tmp_path), {}, "not a data set"),
        (folder, {"split": "dev"}, "no split is called 'dev'"),
        (folder, {"examples": 9}, "has 0 to 3"),
        (folder, {"mode": "lenient"}, "'strict' or 'tolerant'"),
    ]:
        with pytest.raises(LogicgenError, match=said):
            adapter.solve(asked, **how)
    monkeypatch.setattr(Propositional, "wording", None)
    with pytest.raises(LogicgenError, match="task propositional has no prompts"):
        adapter.solve(folder)


def test_prompts_of_a_file_are_asked_and_give_an_alpha_covariance(data, tmp_path):
    """Walk from exported prompts through Inspect to verdicts."""
    prompts = tmp_path / "prompts.jsonl"
    assert cli("measure", "covariance", prompts, "--data", data.folder, "--prompts").returncode == 0
    rows = list(read_rows(prompts))
    solve = logicgen.task(data.task_name).solve
    said = [f"<answer>{solve(row['problem']).witness}</answer>" for row in rows]
    log = run(adapter.ask(str(prompts)), said, tmp_path)
    assert metrics(log)["accuracy"] == 1.0
    judged = ("measure", "covariance", log.location, "--data", data.folder, "-o", tmp_path / "c")
    assert cli(*judged).returncode == 0
    found = json.loads((tmp_path / "c" / "covariance.json").read_text())
    assert found["overall"]["strings"]["mean"] == 1.0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"prompt": "a"}', "row 1: no 'problem'"),
        ("", "prompts of 0 tasks"),
        ("hello", "line 1: not a JSON object"),
    ],
)
def test_a_file_without_prompts_is_refused(tmp_path, line, said):
    (tmp_path / "p.jsonl").write_text(line)
    with pytest.raises(LogicgenError, match=said):
        adapter.ask(str(tmp_path / "p.jsonl"))


def test_a_log_of_another_data_set_is_refused(data, tmp_path):
    log = run(adapter.solve(str(data.folder), limit=1), [WRONG], tmp_path)
    other = small(tmp_path / "other", seed=1)
    result = cli("evaluate", log.location, "--data", other.folder)
    assert result.returncode == 2
    assert "fingerprint" in result.stderr
    result = cli("evaluate", log.location, "--data", data.folder, "-o", tmp_path / "scores")
    assert "of 1" in result.stdout
