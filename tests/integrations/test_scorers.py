"""What trainers hand over is judged, in its order: mixed tasks, odd completions, any process."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from logicgen.errors import LogicgenError
from logicgen.integrations import scorers
from logicgen.integrations.scorers import rewards, said

RIGHT = ("propositional", "a & !b", "<answer>a=1, b=0</answer>")
WRONG = ("propositional", "a & b", "<answer>a=1, b=0</answer>")
TRACE = ("ltl", "G a", "<answer>{a}</answer>")
COPIED = ("copying", "a b", "<answer>a b</answer>")


def judged(*rows, **settings):
    return rewards(rows, timeout=60, **settings)


def test_tasks_may_be_mixed():
    rows = [TRACE, WRONG, COPIED, RIGHT, WRONG, TRACE]
    assert judged(*rows) == [1.0, 0.0, 1.0, 1.0, 0.0, 1.0]
    assert rewards([]) == []


@pytest.mark.slow
def test_a_scorer_is_made_once_for_a_task_and_its_settings(monkeypatch):
    monkeypatch.setattr(scorers, "_SCORERS", {})
    judged(TRACE, RIGHT, TRACE)
    judged(RIGHT)
    assert len(scorers._SCORERS) == 2
    boxed = ("propositional", "a", "\\boxed{a=1}")
    assert (judged(boxed), judged(boxed, mode="tolerant")) == ([0.0], [1.0])
    assert len(scorers._SCORERS) == 3


def test_what_is_not_known_is_none(undecided):
    assert rewards([("ltl", "a", "x"), ("copying", "b", "y")]) == [None, None]


@pytest.mark.parametrize(
    ("row", "settings", "message"),
    [
        (("chess", "a", ""), {}, "no task is called 'chess'"),
        ((None, "a", ""), {}, "a task is None, which is not the name of a task"),
        ((["ltl"], "a", ""), {}, "not the name of a task"),
        (("ltl", "a U", "<answer>{a}</answer>"), {}, "task ltl: line 1, column"),
        (("ltl", None, ""), {}, "task ltl: a problem is NoneType, not text"),
        (RIGHT, {"mode": "lenient"}, "'strict' or 'tolerant'"),
    ],
)
def test_what_a_data_set_cannot_hold_is_an_error(row, settings, message):
    with pytest.raises(LogicgenError, match=message):
        judged(row, **settings)


ANSWER = RIGHT[2]


@pytest.mark.parametrize(
    "completion",
    [
        ANSWER,
        [{"role": "assistant", "content": ANSWER}],
        [{"content": ANSWER}],
        ({"role": "assistant", "content": ANSWER, "tool_calls": []},),
        [{"role": "assistant", "content": [{"type": "text", "text": ANSWER}]}],
        [
            {"role": "assistant", "content": "<answer>b=1</answer>", "tool_calls": [{"id": 1}]},
            {"role": "tool", "content": "<answer>b=1</answer>"},
            {"role": "assistant", "content": [{"text": ANSWER[:5]}, {"text": ANSWER[5:]}]},
        ],
    ],
)
def test_the_last_message_of_a_model_is_its_completion(completion):
    assert said(completion) == ANSWER


@pytest.mark.parametrize(
    "completion",
    [
        None,
        ANSWER.encode(),
        7,
        {"role": "assistant", "content": ANSWER},
        [],
        [None],
        [ANSWER],
        [[ANSWER]],
        [{}],
        [{"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f"}}]}],
        [{"role": "assistant", "content": {"text": ANSWER}}],
        [{"role": "assistant", "content": [None, 7, {"text": None}, {"type": "image"}]}],
        [{"role": "assistant", "content": [{"type": "thinking", "text": ANSWER}]}],
        [{"role": "assistant", "content": ANSWER}, {"role": "tool", "content": ANSWER}],
        [{"role": "user", "content": ANSWER}],
    ],
)
def test_what_says_nothing_is_not_paid(completion):
    assert judged((*RIGHT[:2], said(completion))) == [0.0]


def test_threads_and_forked_processes_judge_alike():
    expected = judged(RIGHT, WRONG, TRACE)
    with ThreadPoolExecutor(8) as threads:
        for found in threads.map(lambda _: judged(RIGHT, WRONG, TRACE), range(16)):
            assert found == expected
    child = os.fork()
    if not child:  # it leaves without what the tests do at their end
        try:
            os._exit(judged(RIGHT, WRONG, TRACE) != expected)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
