"""The bounded scorer: verdicts, rewards, reasons, limits, threads, event loops."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from logicgen.errors import FormatError, LogicgenError
from logicgen.scoring import Judgement, Scorer
from logicgen.scoring import scorer as scorer_module
from logicgen.solvers import Verdict
from logicgen.tasks import TASKS, load_task
from tests.solvers.ltl_families import arbiter

HARD = f"{arbiter(9)} & FG!g0"


@pytest.fixture(scope="module")
def scorer():
    with Scorer("propositional", timeout=60) as made:
        yield made


def test_a_judgement_has_all_that_a_trainer_and_a_reader_need(scorer):
    right = scorer.score("a | b", "Let me see.\n<answer>a = True</answer>")
    assert right == Judgement(Verdict.CORRECT, "a=1", "")
    assert right.reward == 1.0
    wrong = scorer.score("a | b", "<answer>a=0</answer>")
    assert wrong.reward == 0.0
    assert wrong.reason == "it allows a=0, b=0, which falsifies a | b"
    assert scorer.score("a & !a", "<answer>unsat</answer>").reward == 1.0
    missing = scorer.score("a | b", "a=1")
    assert (missing.verdict, missing.reward) == (Verdict.INVALID, 0.0)
    assert missing.reason == "there is no <answer>...</answer>"


def test_reasons_can_be_left_out():
    with Scorer("ltl", timeout=60, reasons=False) as scorer:
        wrong, contradictory, missing = scorer.score_batch(
            ["G a"] * 3, ["<answer>{1}</answer>", "<answer>{0}</answer>", "{a}"]
        )
    assert (wrong.verdict, wrong.reason) == (Verdict.INCORRECT, "")
    contradiction = "position 0 is contradictory: 0"
    assert (contradictory.verdict, contradictory.reason) == (Verdict.INVALID, contradiction)
    assert missing.reason == "there is no <answer>...</answer>"


def test_what_is_no_text_or_too_long_is_judged_in_its_place(scorer):
    completions = ["<answer>a=1</answer>", None, b"a=1", "x" * (1 << 21), "<answer>a=0</answer>"]
    found = scorer.score_batch(["a"] * 5, completions)
    assert [each.reward for each in found] == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert "NoneType" in found[1].reason
    assert "2,097,152 characters" in found[3].reason


def test_a_problem_that_does_not_parse_is_an_error(scorer):
    with pytest.raises(FormatError, match="column 4"):
        scorer.score("a |", "<answer>a=1</answer>")
    with pytest.raises(LogicgenError, match="a problem is NoneType, not text"):
        scorer.score(None, "<answer>a=1</answer>")
    with pytest.raises(LogicgenError, match="2 problems and 1 completions"):
        scorer.score_batch(["a", "b"], ["<answer>a=1</answer>"])
    assert scorer.score("a", "<answer>a=1</answer>").reward == 1.0


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"task": "chess"}, "no task is called 'chess'"),
        ({"task": "ltl", "mode": "lenient"}, "'strict' or 'tolerant'"),
        ({"task": "ltl", "timeout": 0}, "above 0"),
        ({"task": "ltl", "timeout": float("nan")}, "above 0"),
        ({"task": "ltl", "timeout": "1"}, "above 0"),
        ({"task": "ltl", "timeout": 10**400}, "timeout: 1000.*above 0"),
        ({"task": "ltl", "workers": 0}, "workers: 0"),
        ({"task": "ltl", "memory": 2e9}, "memory: 2000000000.0; .* whole number of bytes"),
        ({"task": "ltl", "memory": 10**8}, "memory: 100000000; .* at least 268,435,456"),
        ({"task": None}, "a task is NoneType, not the name of a task"),
        ({"task": "ltl", "memory": 2**63}, "memory: 9223372036854775808"),
        ({"task": "text"}, "makes corpora"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, said):
    with pytest.raises(LogicgenError, match=said):
        Scorer(**settings)


def test_a_limit_is_unknown_neither_right_nor_wrong():
    with Scorer("ltl", timeout=0.5) as scorer:
        found = scorer.score_batch(
            [HARD, "a", HARD, "G a"],
            [f"<answer>{text}</answer>" for text in ("0", "{a}", "0", "0")],
        )
    assert [each.verdict for each in found] == ["unknown", "correct", "unknown", "incorrect"]
    assert [each.reward for each in found] == [None, 1.0, None, 0.0]
    assert found[0].reason == "time limit of 0.5 s"


class Slow(type(load_task("copying"))):
    """A task whose reasons take for ever where there is more than a token; one answer fails."""

    name = "slow"

    def check(self, problem, answer, solver=None):
        if answer == ("oops",):
            raise ZeroDivisionError("by zero")
        return super().check(problem, answer)

    def reason(self, problem, answer, verdict):
        if len(problem) > 1:  # helpers ask for a reason before their first item comes
            time.sleep(600)
        return ""


def test_a_reason_that_takes_too_long_costs_no_verdict(monkeypatch):
    monkeypatch.setitem(TASKS, "slow", f"{__name__}:Slow")
    monkeypatch.setattr("logicgen.scoring.scorer._judging", judging_slowly)
    with Scorer("slow", timeout=0.5) as scorer:
        found = scorer.score_batch(["a b"] * 2, ["<answer>a</answer>", "<answer>a b</answer>"])
    assert [each.verdict for each in found] == ["incorrect", "correct"]
    assert found[0].reason == ""


def test_a_fault_of_ours_is_unknown_and_named(monkeypatch):
    monkeypatch.setitem(TASKS, "slow", f"{__name__}:Slow")
    monkeypatch.setattr("logicgen.scoring.scorer._judging", judging_slowly)
    with Scorer("slow", timeout=60) as scorer:
        found = scorer.score_batch(["a b"] * 2, ["<answer>oops</answer>", "<answer>a b</answer>"])
    assert [each.reward for each in found] == [None, 1.0]
    assert found[0].reason == "an error that should not happen: ZeroDivisionError: by zero"


def judging_slowly(task, mode):
    """In a helper, which does not know the task: add it there, too."""
    TASKS["slow"] = f"{__name__}:Slow"
    return scorer_module._judging(task, mode)


@pytest.mark.slow
def test_sixteen_threads_and_a_thousand_coroutines_have_the_same_results():
    """While helpers are killed: what they had under way is judged by another one."""
    problems = [f"{'!' * (n % 2)}a" for n in range(1000)]
    completions = [f"<answer>a={n % 3 % 2}</answer>" for n in range(1000)]
    with Scorer("propositional", timeout=60, workers=2) as scorer:
        expected = scorer.score_batch(problems, completions)
        assert {each.verdict for each in expected} == {Verdict.CORRECT, Verdict.INCORRECT}

        async def every():
            return await asyncio.gather(*map(scorer.score_async, problems, completions))

        def thread(number):
            return [scorer.score(*pair) for pair in zip(problems[:60], completions, strict=False)]

        with ThreadPoolExecutor(18) as threads:
            coroutines = threads.submit(asyncio.run, every())
            killed = threads.submit(kill_some, scorer)
            for found in threads.map(thread, range(16)):
                assert found == expected[:60]
            killed.result()
            assert coroutines.result() == expected
        assert asyncio.run(scorer.score_batch_async(problems, completions)) == expected


def kill_some(scorer):
    for worker in list(scorer._pool._workers)[:2]:
        os.kill(worker.process.pid, signal.SIGKILL)


@pytest.mark.parametrize("how", ["script", "standard input"])
def test_a_plain_script_can_score(tmp_path, how):
    """Without `if __name__ == "__main__"`: helpers do not run the script again."""
    code = (
        "from logicgen.scoring import Scorer\n"
        "print(Scorer('ltl').score('G F a', '<answer>{a}</answer>').reward)\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code)
    piped = {"input": code, "args": [sys.executable, "-"]}
    given = {"args": [sys.executable, script]} if how == "script" else piped
    done = subprocess.run(**given, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "1.0\n"), done.stderr
