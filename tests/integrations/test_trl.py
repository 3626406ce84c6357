"""TRL's trainer is paid by our reward function, and what it cannot be given is said."""

from __future__ import annotations

import math
import pickle

import pyarrow.parquet as pq
import pytest

from logicgen.errors import LogicgenError
from logicgen.integrations.trl import Reward, reward
from logicgen.scoring.scorer import judge
from logicgen.tasks import load_task

patient = Reward(timeout=60)


def test_the_columns_of_the_export_are_what_it_is_given(exported):
    rows = pq.read_table(exported / "trl" / "train.parquet").to_pylist()[:8]
    columns = {key: [row[key] for row in rows] for key in rows[0] if key != "prompt"}
    said = [[{"role": "assistant", "content": f"<answer>{row['answer']}</answer>"}] for row in rows]
    prompts = [row["prompt"] for row in rows]
    given = {"prompts": prompts, "completion_ids": [[0]] * 8, "trainer_state": None, **columns}
    assert patient(completions=said, **given) == [1.0] * 8
    assert patient(completions=prompts, **given) == [0.0] * 8


@pytest.mark.parametrize("missing", ["problem", "task"])
def test_a_missing_column_is_named_with_what_to_do(missing):
    columns = {"problem": ["a"], "task": ["propositional"]}
    del columns[missing]
    with pytest.raises(LogicgenError) as raised:
        reward(prompts=["a"], completions=["a"], completion_ids=[[1]], **columns)
    assert str(raised.value) == (
        f"the data set has no column {missing!r}: write it with `logicgen export DATA DIR"
        " --for trl`, and set remove_unused_columns=False in the configuration"
    )


@pytest.mark.parametrize("short", ["completions", "problem", "task"])
def test_columns_of_different_lengths_are_refused(short):
    columns = {"completions": ["a", "a"], "problem": ["a", "a"]}
    columns["task"] = ["propositional", "propositional"]
    columns[short] = columns[short][:1]
    with pytest.raises(LogicgenError, match="give a problem and a task for each completion"):
        reward(**columns)


def test_rows_of_other_data_sets_are_left_to_others():
    found = patient(
        completions=["<answer>a=1</answer>", "4"], problem=["a", None], task=["propositional", None]
    )
    assert found == [1.0, None]


def test_what_is_not_known_is_none(undecided):
    assert reward(completions=["x", "y"], problem=["a", "b"], task=["ltl", "ltl"]) == [None, None]


def test_it_is_sent_to_other_processes_as_its_settings():
    sent = pickle.loads(pickle.dumps(Reward("tolerant", timeout=60)))
    assert (sent.mode, sent.timeout, sent.workers, sent.__name__) == ("tolerant", 60, 1, "logicgen")
    said = {"completions": ["The answer is a=1."], "problem": ["a"], "task": ["propositional"]}
    assert sent(**said) == [1.0]
    assert patient(**said) == [0.0]


# A model that was never trained draws one of these, each as often as the others.
SAYS = [
    "<answer>a=1</answer>",
    "<answer>a=True</answer>",
    '<answer>{"a":true}</answer>',
    "<answer>a=0</answer>",
    "<answer>b=1</answer>",
    "a=1",
]


@pytest.fixture
def trainer(exported, tmp_path):
    """Train a tiny network with TRL; return the trainer and what it sent to the reward function."""
    trl = pytest.importorskip("trl", reason="pip install 'logicgen[trl]'")
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    from datasets import load_dataset

    words = {word: number for number, word in enumerate(["<pad>", "<end>", "<word>", *SAYS])}
    split = Tokenizer(models.WordLevel(words, unk_token="<word>"))
    split.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=split, pad_token="<pad>", eos_token="<end>", unk_token="<word>"
    )
    tokenizer.chat_template = "{% for each in messages %}{{ each['content'] }} {% endfor %}"
    torch.manual_seed(0)
    network = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(words),
            hidden_size=8,
            intermediate_size=8,
            num_hidden_layers=1,
            num_attention_heads=1,
        )
    )
    sent = []

    def keep(completions, problem, **_):
        sent.extend(zip(problem, completions, strict=True))
        return [0.0] * len(completions)

    files = str(exported / "trl" / "train.parquet")
    data = load_dataset("parquet", data_files=files, split="train", cache_dir=str(tmp_path))
    made = trl.GRPOTrainer(
        model=network,
        reward_funcs=[patient, keep],
        args=trl.GRPOConfig(
            str(tmp_path / "run"),
            per_device_train_batch_size=16,
            num_generations=8,
            max_completion_length=1,
            max_steps=1,
            logging_steps=1,
            report_to="none",
            save_strategy="no",
            use_cpu=True,
            bf16=False,
        ),
        train_dataset=data.filter(lambda row: row["answer"] == "a=1"),
        processing_class=tokenizer,
    )
    made.sent = sent
    return made


@pytest.mark.trainer
def test_a_step_of_the_trainer_is_paid(trainer):
    trainer.train()
    task = load_task("propositional")
    paid = [
        judge(task, task.read_problem(problem), message["content"]).reward
        for problem, (message,) in trainer.sent
    ]
    assert len(paid) == 16
    assert set(paid) == {0.0, 1.0}
    logged = trainer.state.log_history[0]
    assert logged["rewards/logicgen/mean"] == pytest.approx(sum(paid) / 16)
    assert logged["reward"] == pytest.approx(sum(paid) / 16)


@pytest.mark.trainer
def test_the_trainer_is_told_of_columns_that_are_missing(trainer):
    trainer.args.remove_unused_columns = True
    with pytest.raises(LogicgenError, match="the data set has no column 'problem'"):
        trainer.train()


@pytest.mark.trainer
def test_the_trainer_leaves_out_what_is_not_known(trainer, undecided):
    inputs = [{"prompt": "a", "problem": "a", "task": "ltl"}] * 2
    paid = trainer._calculate_rewards(inputs, ["a"] * 2, ["b"] * 2, [[1]] * 2)
    assert [math.isnan(each) for each in paid[:, 0]] == [True, True]
    assert paid[:, 1].tolist() == [0.0, 0.0]
