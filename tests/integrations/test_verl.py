"""verl loads our reward function and is paid by it; what is not ours is refused."""

from __future__ import annotations

import asyncio

import numpy as np
import pyarrow.parquet as pq
import pytest

from logicgen.errors import LogicgenError
from logicgen.integrations import verl as adapter
from logicgen.integrations.verl import compute_score
from tests.integrations.byte_tokenizer import END, byte_tokenizer

PACKAGE = "pkg://logicgen.integrations.verl"


def test_the_columns_of_the_export_are_what_it_is_given(exported):
    for row in pq.read_table(exported / "verl" / "train.parquet").to_pylist()[:8]:
        given = {
            "data_source": row["data_source"],
            "ground_truth": row["reward_model"]["ground_truth"],
            "extra_info": row["extra_info"],
        }
        right = f"<answer>{row['extra_info']['answer']}</answer>"
        found = compute_score(solution_str=right, **given, timeout=60)
        assert found == {"score": 1.0, "acc": 1.0, "unknown": 0.0}
        asked = row["prompt"][0]["content"]
        found = compute_score(solution_str=asked, **given, timeout=60)
        assert found == {"score": 0.0, "acc": 0.0, "unknown": 0.0}


@pytest.mark.parametrize("solution", [None, b"<answer>a=1</answer>", "", ["a=1"], "x" * (1 << 21)])
def test_no_solution_makes_it_raise(solution):
    found = compute_score("logicgen/propositional", solution, "a", timeout=60)
    assert found == {"score": 0.0, "acc": 0.0, "unknown": 0.0}


def test_what_is_not_known_is_not_paid_and_counted(undecided):
    found = compute_score("logicgen/ltl", "<answer>{a}</answer>", "a")
    assert found == {"score": 0.0, "acc": 0.0, "unknown": 1.0}


@pytest.mark.parametrize("source", ["openai/gsm8k", "logicgen", "ltl", None, 3])
def test_another_data_source_is_refused(source):
    with pytest.raises(LogicgenError) as raised:
        compute_score(source, "", "a")
    assert str(raised.value) == (
        f"data_source: {source!r}; it must be logicgen/TASK, as"
        " `logicgen export DATA DIR --for verl` writes it"
    )


def test_an_unknown_task_and_a_bad_problem_are_refused():
    with pytest.raises(LogicgenError, match="no task is called 'chess'"):
        compute_score("logicgen/chess", "", "a")
    with pytest.raises(LogicgenError, match="task ltl: line 1, column 4"):
        compute_score("logicgen/ltl", "", "a U")


HOW = (
    "pip install --no-deps 'verl>=0.9', then accelerate, codetiming, omegaconf, ray,"
    " 'tensordict<=0.10' and transformers"
)


def config(path, manager="naive"):
    """Return verl's configuration of a custom reward function."""
    pytest.importorskip("verl", reason=HOW)
    from omegaconf import OmegaConf

    function = {"path": path, "name": "compute_score", "reward_kwargs": {"timeout": 60}}
    managed = {"source": "register", "name": manager, "module": None}
    return OmegaConf.create(
        {
            "reward": {"custom_reward_function": function, "reward_manager": managed},
            "trainer": {"experiment_name": "some"},
        }
    )


@pytest.mark.trainer
@pytest.mark.parametrize("path", [PACKAGE, adapter.__file__, f"file://{adapter.__file__}"])
def test_verl_loads_it_with_its_settings(path):
    settings = config(path)
    from verl.trainer.ppo.reward import get_custom_reward_fn

    function = get_custom_reward_fn(settings)
    assert function.args[1] == {"timeout": 60}
    found = function("logicgen/propositional", "<answer>a=1</answer>", "a")
    assert found == {"score": 1.0, "acc": 1.0, "unknown": 0.0}


@pytest.mark.trainer
@pytest.mark.parametrize("manager", ["naive", "dapo", "gdpo", "rate_limited"])
def test_reward_managers_of_verl_are_paid(exported, manager):
    settings = config(PACKAGE, manager)
    import torch
    from verl import DataProto
    from verl.trainer.ppo.reward import load_reward_manager

    rows = pq.read_table(exported / "verl" / "train.parquet").to_pylist()[:4]
    tokenizer = byte_tokenizer()
    answers = [rows[0]["extra_info"]["answer"], "x=(", rows[2]["extra_info"]["answer"], "x=("]
    texts = [f"<answer>{answer}</answer>{END}" for answer in answers]
    tokens = tokenizer(texts, padding=True, padding_side="right", return_tensors="pt")
    prompts = torch.zeros(4, 3, dtype=torch.long)
    data = DataProto.from_dict(
        tensors={
            "prompts": prompts,
            "responses": tokens["input_ids"],
            "attention_mask": torch.cat([prompts + 1, tokens["attention_mask"]], dim=1),
        },
        non_tensors={
            key: np.array([row[key] for row in rows], dtype=object)
            for key in ("data_source", "reward_model", "extra_info")
        },
    )

    async def paid():
        # A manager belongs to the event loop in which it is made.
        made = load_reward_manager(settings, tokenizer)
        return [await made.run_single(data[place : place + 1]) for place in range(4)]

    found = asyncio.run(paid())
    assert [each["reward_score"] for each in found] == [1.0, 0.0, 1.0, 0.0]
    assert found[0]["reward_extra_info"] == {"score": 1.0, "acc": 1.0, "unknown": 0.0}


@pytest.mark.trainer
def test_verl_averages_what_is_not_known():
    pytest.importorskip("verl", reason=HOW)
    from verl.trainer.ppo.metric_utils import process_validation_metrics

    keys = {"score": [1.0, 0.0], "acc": [1.0, 0.0], "unknown": [0.0, 1.0]}
    found = process_validation_metrics(["logicgen/ltl"] * 2, ["one"] * 2, keys)
    assert found["logicgen/ltl"]["unknown"]["mean@2"] == 0.5
