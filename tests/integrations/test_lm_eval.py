"""Exported task files and their functions, run by the real lm-evaluation-harness."""

from __future__ import annotations

import json
import shutil

import pytest

from logicgen.data.prompts import write_prompts
from logicgen.errors import LogicgenError
from logicgen.scoring import Judgement
from logicgen.scoring.prompts import prompt
from logicgen.solvers import Verdict
from logicgen.tasks.propositional import Propositional
from tests.integrations.small import INVALID, WRONG, right

pytest.importorskip("lm_eval", reason="pip install 'logicgen[lm-eval]'")

from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager

from logicgen.integrations import lm_eval as adapter

pytestmark = pytest.mark.trainer


class Canned(LM):
    """Say prepared completions, problem by problem, and note what was asked."""

    def __init__(self, completions):
        super().__init__()
        self.completions, self.asked = completions, []

    def generate_until(self, requests, disable_tqdm=False):
        self.asked = [request.args for request in requests]
        return self.completions[: len(requests)]

    def loglikelihood(self, requests):
        return [(0.0, False)] * len(requests)

    loglikelihood_rolling = loglikelihood


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
        monkeypatch.setenv(name, "1")


def run(folder, completions, task="logicgen_some_test"):
    """Evaluate a model that says these completions; return the results and the model."""
    manager = TaskManager(include_path=str(folder), include_defaults=False)
    model = Canned(completions)
    return simple_evaluate(model, tasks=[task], task_manager=manager, bootstrap_iters=0), model


def rows(folder, split="test"):
    return [json.loads(line) for line in (folder / f"{split}.jsonl").read_text().splitlines()]


def test_an_exported_split_is_a_task(data, tmp_path):
    write_prompts(data, tmp_path / "made", "lm-eval", examples=1)
    folder = tmp_path / "moved"  # which may happen to it
    shutil.move(tmp_path / "made", folder)
    known = rows(folder)
    said = [*(right(row["answer"]) for row in known[:4]), WRONG, WRONG, INVALID, ""]
    results, model = run(folder, said)
    found = results["results"]["logicgen_some_test"]
    assert (found["correct,none"], found["invalid,none"], found["unknown,none"]) == (0.5, 0.25, 0.0)
    assert results["versions"]["logicgen_some_test"] == 1
    about = results["configs"]["logicgen_some_test"]["metadata"]
    assert (about["dataset"], about["fingerprint"]) == (data.name, data.fingerprint)
    for (asked, settings), row in zip(model.asked, known, strict=True):
        assert asked == prompt("propositional", row["problem"], examples=1)
        assert settings["until"] == []
    samples = results["samples"]["logicgen_some_test"]
    assert [sample["correct"] for sample in samples] == [1.0] * 4 + [0.0] * 4
    assert [sample["doc"]["row"] for sample in samples] == list(range(8))


def test_all_splits_but_train_are_found_by_their_tag(data, tmp_path):
    write_prompts(data, tmp_path, "lm-eval")
    manager = TaskManager(include_path=str(tmp_path), include_defaults=False)
    assert manager.all_tags == ["logicgen"]
    assert set(manager.load("logicgen")["tasks"]) == {"logicgen_some_test", "logicgen_some_grid"}


def test_a_tolerant_task_reads_answers_anywhere(data, tmp_path):
    write_prompts(data, tmp_path, "lm-eval")
    task = tmp_path / "test.yaml"
    task.write_text(task.read_text().replace("lm_eval.strict", "lm_eval.tolerant"))
    said = [f"The answer is {row['answer']}." for row in rows(tmp_path)]
    results, _ = run(tmp_path, said)
    assert results["results"]["logicgen_some_test"]["correct,none"] == 1.0


def test_what_cannot_be_decided_is_no_part_of_the_mean(data, tmp_path, monkeypatch):
    class Undecided:
        def score(self, problem, completion):
            if completion == INVALID:
                return Judgement(Verdict.UNKNOWN, reason="time limit of 10 s")
            return Judgement(Verdict.CORRECT)

    monkeypatch.setattr(adapter, "shared_scorer", lambda *arguments: Undecided())
    write_prompts(data, tmp_path, "lm-eval")
    results, _ = run(tmp_path, [INVALID] * 2 + [WRONG] * 6)
    found = results["results"]["logicgen_some_test"]
    assert (found["correct,none"], found["unknown,none"]) == (1.0, 0.25)


def test_no_completion_makes_it_raise_and_a_bad_row_does():
    row = {"task": "propositional", "problem": "a | b"}
    assert adapter.strict(row, [None]) == {"correct": 0.0, "invalid": 1.0, "unknown": 0.0}
    assert adapter.strict(row, ["<answer>a=1</answer>"])["correct"] == 1.0
    for missing in row:
        less = {key: value for key, value in row.items() if key != missing}
        with pytest.raises(LogicgenError, match=f"a row has no column '{missing}'"):
            adapter.strict(less, [INVALID])


def test_files_that_are_missing_or_of_others_are_named(tmp_path):
    task = str(tmp_path / "test.yaml")
    with pytest.raises(LogicgenError, match=r"test\.jsonl: cannot be read: No such file"):
        adapter.load(split="test", config_source=task)
    for content, said in [("{", "not JSON lines"), ('{"problem": "a"}', "no column 'prompt'")]:
        (tmp_path / "test.jsonl").write_text(content)
        with pytest.raises(LogicgenError, match=rf"test\.jsonl: .*{said}"):
            adapter.load(split="test", config_source=task)


def test_a_task_without_prompts_is_not_exported(data, tmp_path, monkeypatch):
    monkeypatch.setattr(Propositional, "wording", None)
    with pytest.raises(LogicgenError, match="task propositional has no prompts"):
        write_prompts(data, tmp_path / "out", "lm-eval")
    assert not (tmp_path / "out").exists()
