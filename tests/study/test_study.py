"""Studies from the command line, with real trainings of a few steps."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from io import StringIO
from queue import SimpleQueue

import pytest

from logicgen.data.folder import alone
from logicgen.data.opening import load_dataset
from logicgen.model import checkpoint
from logicgen.study import worker as worker_process
from logicgen.study.engine import environments
from logicgen.study.recipe import EVALUATION
from logicgen.study.records import FILE
from logicgen.study.trial import Trial, data_folder, make_data
from logicgen.study.worker import TrialWorker
from logicgen.tasks.problems import alpha_class_of
from tests.cli.test_commands import appeared, interrupted, refused, run
from tests.reliability.command import Command
from tests.study.conftest import AXES, TINY, planned, write_lines
from tests.study.made_results import read_lines

NAMES = ["normal-0", "hypercube-0"]


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A study of two trials that was run, and what was said."""
    folder = tmp_path_factory.mktemp("a folder")
    (folder / "tiny.toml").write_text(
        TINY + 'covariance = { split = "test", limit = 2 }\n' + AXES, encoding="utf-8"
    )
    result = run("study", folder / "tiny.toml", "-o", folder / "out", "--workers", 2)
    assert result.returncode == 0, result.stderr
    return folder, result


def run_of(trial, out):
    """The folder of its weights."""
    (folder,) = (out / "runs").glob(f"{trial}-*/")
    return folder


def test_a_study_leaves_a_record_per_trial_a_table_and_figures(done):
    folder, result = done
    records = read_lines(folder / "out")
    assert list(records) == NAMES
    for name, record in records.items():
        found = record["found"]
        assert found["training"]["steps"] == 4
        assert found["training"]["parameters"] > 1000
        evaluation = found["measures"][EVALUATION]
        assert evaluation["summary"]["overall"]["examples"] == 6
        exact = evaluation["summary"]["overall"]["exact"]
        assert sum(evaluation["tally"].get("exact", [0])) == exact
        assert evaluation["covariance"]["overall"]["problems"] == 2
        assert record["arguments"]["model"]["embedding"]["random_part"] == name.removesuffix("-0")
        assert record["versions"]["torch"]
        assert "1 thread" in record["machine"]
    table = result.stdout.strip()
    assert table in (folder / "out" / "results.md").read_text()
    assert "| normal |" in table
    for picture in ("heatmaps.png", "symbols.png", "differences.png", "covariance.png"):
        assert (folder / "out" / picture).is_file()


def test_what_is_large_is_not_for_a_repository(done):
    folder, _ = done
    subprocess.run(["git", "init", "-q", folder], check=True)
    files = subprocess.run(
        ["git", "-C", folder, "ls-files", "--others", "--exclude-standard"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    shutil.rmtree(folder / ".git")
    assert f"out/{FILE}" in files
    assert "out/runs/" not in files
    assert (run_of("normal-0", folder / "out") / "model.safetensors").is_file()


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_nothing_is_run_twice_and_what_is_gone_is_made_again(done, tmp_path):
    folder, _ = done
    out = tmp_path / "out"
    shutil.copytree(folder / "out", out)
    shutil.rmtree(run_of("normal-0", out))
    before = read_lines(out)
    write_lines(out, [before["hypercube-0"]])
    result = run("study", folder / "tiny.toml", "-o", out)
    assert result.returncode == 0, result.stderr
    after = read_lines(out)
    assert list(after) == NAMES
    assert after["hypercube-0"] == before["hypercube-0"]
    for key in ("arguments", "found"):
        first, again = (dict(each["normal-0"][key]) for each in (before, after))
        first.pop("training", None), again.pop("training", None)  # minutes differ
        assert again == first


def test_records_alone_give_the_same_tables_and_figures(done, tmp_path):
    folder, result = done
    shutil.copy(folder / "out" / FILE, tmp_path)
    again = run("study", folder / "tiny.toml", "-o", tmp_path)
    assert again.returncode == 0, again.stderr
    assert again.stdout == result.stdout
    assert not (tmp_path / "runs").exists()
    made = [path for path in (folder / "out").iterdir() if path.is_file()]
    assert len(made) == 7
    for path in made:
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name


FAILING = """
[axes]
method = [
  { name = "good" },
  { name = "misspelt", set = { "embedding.random_wdth" = 8 } },
  { name = "too-few-points", set = { "embedding.random_part" = "hypercube", \
"embedding.random_width" = 2 } },
  { name = "continued", from = "good" },
  { name = "once-more", from = "continued", set = { "training.steps" = 2 } },
  { name = "no-such-cell", data_set = { "region.length" = [1, 1], "region.symbols" = [9, 9] } },
]
"""


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_trials_that_fail_are_named_and_the_others_go_on(study_file, tmp_path):
    out = tmp_path / "out"
    path = study_file(FAILING)
    said = refused(run("study", path, "-o", out), "3 of 6 trials failed")
    assert "misspelt-0 failed: " in said
    assert "'embedding.random_wdth'" in said
    assert "too-few-points-0 failed: 5 symbols need 5 different random parts" in said
    assert "raise random_width in [embedding]" in said
    assert "no-such-cell-0 failed: " in said
    records = read_lines(out)
    assert sorted(records) == ["continued-0", "good-0", "once-more-0"]
    assert "Not done: too-few-points-0" in (out / "results.md").read_text()
    path.write_text(path.read_text().replace('random_width" = 2', 'random_width" = 6'))
    shutil.rmtree(run_of("good-0", out))  # its record stays, so that it is not trained again
    write_lines(out, [records["good-0"]])
    said = refused(run("study", path, "-o", out), "3 of 6 trials failed")
    assert "continued-0 failed: starts from good-0, whose weights are not in" in said
    after = read_lines(out)
    # The weights of continued-0 are still there, so it can be gone on from.
    assert list(after) == ["good-0", "too-few-points-0", "once-more-0"]
    assert after["good-0"] == records["good-0"]


VERDICTS = """
[base]
model = "ltl-symbol-invariant"
weights = "ltl-imitation"
data = "ltl-mini"
size = 300
set = { "training.steps" = 2, "training.batch_size" = 8, "training.validate_every" = 9, \
"training.learn" = "accepted", "reward.problems" = 20, "reward.draws" = 2, "reward.steps" = 1 }

[evaluate]
split = "test"
limit = 10

[axes]
"reward.stored" = [0.5]
"""


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_a_point_that_learns_from_verdicts(study_file, tmp_path):
    out = tmp_path / "out"
    result = run("study", study_file(VERDICTS, tiny=""), "-o", out)
    assert result.returncode == 0, result.stderr
    ((name, record),) = read_lines(out).items()
    assert record["arguments"]["weights"] == "ltl-imitation"
    folder = run_of(name, out)
    rounds = [json.loads(path.read_text()) for path in sorted((folder / "rounds").iterdir())]
    assert [len(each["problems"]) for each in rounds] == [20, 20]
    assert rounds[0]["measures"]["solved"] > 0.5
    (data,) = (out / "runs" / "data").iterdir()
    held_out = load_dataset(data).table("test")["alpha_class"].to_pylist()
    asked = {alpha_class_of(problem) for each in rounds for problem, _ in each["problems"]}
    assert not asked & {*held_out}


LONG = TINY.replace('steps" = 4', 'steps" = 400')
ONE = '[axes]\n"embedding.random_part" = ["normal"]'


def saved_steps(out):
    return checkpoint.load_tree(run_of("normal-0", out) / checkpoint.LAST)["global_step"]


@pytest.mark.slow
def test_ctrl_c_saves_and_the_same_command_goes_on(study_file, tmp_path):
    out = tmp_path / "out"
    arguments = ["study", study_file(ONE, tiny=LONG), "-o", out]
    status, said = interrupted(arguments, lambda _: appeared(out, "events*"), tmp_path)
    assert status == 130
    assert "the same command goes on" in said
    assert "Traceback" not in said
    assert "failed" not in said
    assert 0 < saved_steps(out) < 400
    assert not (out / FILE).exists()
    result = run(*arguments)
    assert result.returncode == 0, result.stderr
    assert read_lines(out)["normal-0"]["found"]["training"]["steps"] == 400


@pytest.mark.slow
def test_a_worker_ends_with_its_parent(study_file, tmp_path):
    out = tmp_path / "out"
    command = Command(["study", str(study_file(ONE, tiny=LONG)), "-o", str(out)], tmp_path)
    wait_for(lambda: appeared(out, "events*"))
    command.send(signal.SIGKILL)
    command.end()
    wait_for(lambda: (run_of("normal-0", out) / checkpoint.LAST).is_file())
    assert 0 < saved_steps(out) < 400


def wait_for(ready):
    while not ready():
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_a_process_that_dies_is_one_failed_trial(study_file, tmp_path):
    long = planned(study_file(ONE, tiny=LONG))
    short = planned(study_file(ONE.replace("normal", "hypercube")))
    trainings = [trial.training for each in (long, short) for trial in each.trials.values()]
    assert not make_data(trainings, tmp_path, workers=1, progress=lambda *_: None)
    worker = TrialWorker(environments(1, "cpu")[0], tmp_path / "log", "cpu")

    def answer(made):
        (trial,) = made.trials.values()
        return worker.run(trial, made.context(trial, tmp_path, "cpu"))

    def kill():
        wait_for(lambda: appeared(tmp_path, "events*"))
        os.kill(worker.process.pid, signal.SIGKILL)

    threading.Thread(target=kill).start()
    died = answer(long)
    assert "SIGKILL" in died["error"]
    assert str(tmp_path / "log") in died["error"]
    found = answer(short)["found"]
    assert found["training"]["steps"] == 4
    worker.stop()
    worker.wait()
    assert "error" in answer(short)  # does nothing any more


def test_half_an_answer_is_a_failed_trial(tmp_path, monkeypatch):
    worker = TrialWorker({}, tmp_path / "log", "cpu")
    half = subprocess.Popen(
        [sys.executable, "-c", "print('{\"found\": ', end='')"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    monkeypatch.setattr(worker, "_start", lambda: half)
    assert "its process died (exit status 0" in worker.run(Trial("a", int, {}), {})["error"]


def test_a_process_that_cannot_start_is_a_failed_trial(tmp_path, monkeypatch):
    worker = TrialWorker({}, tmp_path / "log", "cpu")

    def full():
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(worker, "_start", full)
    found = worker.run(Trial("a", int, {}), {})
    assert found == {"error": "its process cannot be started: Resource temporarily unavailable"}


def test_a_process_that_waits_for_a_trial_ends_with_its_input(monkeypatch):
    # The signal may come just before the wait, which it then does not interrupt.
    jobs, signals = SimpleQueue(), []
    monkeypatch.setattr(worker_process.os, "kill", lambda pid, number: signals.append(number))
    monkeypatch.setattr("sys.stdin", StringIO('{"trial": 1}\n'))
    worker_process._read(jobs)
    assert [jobs.get_nowait(), jobs.get_nowait()] == [{"trial": 1}, None]
    assert signals == [signal.SIGTERM]


def test_a_folder_is_held_while_a_study_runs_in_it(done):
    folder, _ = done
    with alone(folder / "out", "study"):
        refused(
            run("study", folder / "tiny.toml", "-o", folder / "out"),
            "another logicgen study is at work here",
        )


def test_shuffled_and_perturbed_data_are_the_same_problems_in_every_split(study_file, tmp_path):
    """What `data = "base"` needs: a test that nothing in the other training set gives away."""
    tiny = TINY.replace("copying", "ltl").replace("size = 600", "size = 300")
    axes = """
    [axes]
    names = [{ name = "shuffled" }, { name = "perturbed", data_set = { names = "perturbed" } }]
    """
    made = planned(study_file(axes, tiny=tiny))
    both = [trial.training for trial in made.trials.values()]
    assert not make_data(both, tmp_path, workers=1, progress=lambda *_: None)
    shuffled, perturbed = (load_dataset(data_folder(each.trained, tmp_path)) for each in both)
    assert shuffled.splits == perturbed.splits
    for split in shuffled.splits:
        a, b = shuffled.table(split), perturbed.table(split)
        assert a["alpha_class"] == b["alpha_class"]
        assert a["problem"] != b["problem"]


def test_names_of_studies(tmp_path):
    refused(run("study", "ltl-baseline", "-o", tmp_path), "did you mean ltl-baselines")
    assert "copying-search" in run("list", "studies").stdout
    (tmp_path / "x.toml").write_text("seeds = [0")
    refused(run("study", tmp_path / "x.toml"), "x.toml", "not TOML")


def test_one_thread_or_one_card_each(monkeypatch):
    assert all(each["OMP_NUM_THREADS"] == "1" for each in environments(3, "cpu"))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,6")
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    cards = [each["CUDA_VISIBLE_DEVICES"] for each in environments(3, "auto")]
    assert cards == ["4", "6", "4"]
