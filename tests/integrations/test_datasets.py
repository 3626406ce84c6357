"""Endless problems as a data set of Hugging Face."""

from __future__ import annotations

from itertools import islice

import pytest

import logicgen
from logicgen.data.prompts import FORMATS
from logicgen.errors import LogicgenError
from logicgen.integrations.datasets import stream
from logicgen.integrations.trl import reward

pytestmark = pytest.mark.needs("datasets")

HOW = {"symbols": (1, 3), "length": (3, 9), "seed": 3}


def some(data, number=12):
    return list(islice(data, number))


@pytest.mark.parametrize("task", ["ltl", "propositional", "copying"])
def test_every_row_is_a_problem_with_its_answer(task):
    rows = some(stream(task, **HOW))
    assert [row["row"] for row in rows] == list(range(12))
    assert rows == some(stream(task, **HOW))
    samples = logicgen.task(task).samples(**HOW)
    for number, row in enumerate(rows):
        assert row["problem"] == logicgen.task(task).write(samples[number])
        assert row["prompt"][0]["content"].endswith(row["problem"])
        assert (row["symbols"], row["length"]) == (
            samples.cell(number).symbols,
            samples.cell(number).length,
        )
    answers = [f"<answer>{row['answer']}</answer>" for row in rows]
    columns = {name: [row[name] for row in rows] for name in ("problem", "task")}
    assert reward(prompts=[], completions=answers, **columns) == [1.0] * 12


@pytest.mark.parametrize("kind", FORMATS)
def test_rows_are_those_of_exports(kind):
    (row,) = some(stream("ltl", kind, **HOW), 1)
    assert {"verl": "reward_model", "openrlhf": "label", "sft": "messages"}.get(
        kind, "prompt"
    ) in row


def test_workers_share_the_problems():
    from torch.utils.data import DataLoader

    data = stream("copying", "jsonl", shards=2, **HOW)
    loader = DataLoader(data, num_workers=2, batch_size=None)
    numbers = [row["row"] for row in islice(loader, 20)]
    assert sorted(numbers) == list(range(20))


def test_unsatisfiable_problems_have_their_answer():
    for row in some(stream("ltl", "jsonl", satisfiable=None, symbols=1, length=6), 40):
        verdict = logicgen.verify("ltl", row["problem"], row["answer"])
        assert verdict.is_right
    row = next(iter(stream("propositional", "jsonl", satisfiable=False, symbols=1, length=6)))
    assert row["answer"] == "unsat"


@pytest.mark.parametrize(
    ("task", "how", "said"),
    [
        ("lttl", {}, "no task is called"),
        ("ltl", {"kind": "trll"}, "no format is called 'trll'"),
        ("ltl", {"examples": 9}, "examples: 9"),
        ("ltl", {"length": 0}, "length: 0"),
        ("ltl", {"shards": 0}, "shards: 0"),
        ("ltl", {"shards": -1}, "shards: -1"),
        ("ltl", {"colour": 1}, "unknown key"),
        ("permutation", {"satisfiable": None}, "need an answer: leave it out"),
    ],
)
def test_what_cannot_be_is_said_at_once(task, how, said):
    with pytest.raises(LogicgenError, match=said):
        stream(task, **{**HOW, **how})
