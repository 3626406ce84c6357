"""Teach a tiny language model propositional logic with the solver's verdicts as the only reward.

A new Transformer of a third of a million parameters is first supervised on a few problems with
answers, until it writes answers in the right form. Copies of it are then trained in three ways, for
the same time:

    GRPO                TRL's GRPO on other problems; the solver rewards each right completion
    more of the same    control: more supervision on the same problems with answers
    all answers         control: supervision on all problems with answers

All models are measured on new problems. One CPU core is enough. Nothing is downloaded.

    pip install '.[train,trl]'
    python examples/grpo.py --out grpo
"""

from __future__ import annotations

import argparse
import json
import re
import time
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import torch
import transformers
import trl
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

import logicgen
from datasets import Dataset, load_dataset
from logicgen.data.generate import generate
from logicgen.data.prompts import write_prompts
from logicgen.data.recipe import DataRecipe
from logicgen.integrations.trl import reward
from logicgen.measures.statistics import wilson_interval

SYMBOLS = "abcd"
SIZES = {"train": 12_000, "validation": 1_000, "test": 1_000}
# Mostly conjunctions, and long enough for negations. Formulas that nearly every assignment
# satisfies would teach little.
FORMULAS = {
    "problem.operators": {"!": 2, "&": 3},
    "region.symbols": [3, 4],
    "region.length": [8, 11],
    "grid": None,
}
ANSWERED = 2_000  # problems with answers for supervision; GRPO reads no answers
STEPS = 416  # steps of supervised training, before the three ways of training
LONGEST = 16  # tokens of a completion

# A message of the user ends with a line break, a message of the assistant with <end>.
TEMPLATE = (
    "{% for message in messages %}{% if message.role == 'assistant' %}{% generation %}"
    "{{ message.content + '<end>' }}{% endgeneration %}"
    "{% else %}{{ message.content + '\n' }}{% endif %}{% endfor %}"
)


def make_data(folder: Path, sizes: dict[str, int]) -> None:
    """Make the problems, and write them as prompts: with answers for SFT, and for TRL."""
    recipe = DataRecipe.read("propositional-mini", {**FORMULAS, "sizes": sizes})
    generate(recipe, folder / "data", name="grpo", seed=0, workers=1)
    for kind in ("sft", "trl"):
        write_prompts(logicgen.load_dataset(folder / "data"), folder / kind, kind)


def make_tokenizer(texts: list[str]) -> Any:
    """Return a lossless tokenizer, made from whole prompts with their answers.

    All prompts begin with the same explanation, which is a single token. A model without English
    learns nothing from its words, and now reads 20 tokens instead of hundreds.
    """
    explanation = re.escape(texts[0].rpartition("Formula: ")[0] + "Formula: ")
    words = f"{explanation}|</?answer>|<end>|[a-z]=[01]|, | [^ ]+ |[\\s\\S]"
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unknown>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(words), "isolated")
    tokenizer.decoder = decoders.Fuse()
    special = ["<pad>", "<end>", "<unknown>"]
    tokenizer.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=special))
    named = {"pad_token": "<pad>", "eos_token": "<end>", "unk_token": "<unknown>"}
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, chat_template=TEMPLATE, padding_side="left", **named
    )


def make_model(tokenizer: Any) -> Any:
    """Return a Transformer with random weights."""
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=96,
        intermediate_size=256,
        num_hidden_layers=3,
        num_attention_heads=4,
        max_position_embeddings=128,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    return transformers.LlamaForCausalLM(config)


class Deadline(transformers.TrainerCallback):
    """Ends a training after some seconds."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        control.should_training_stop |= time.monotonic() > self.end


def train(
    model: Any, tokenizer: Any, rows: Dataset, folder: Path, seed: int, steps: int, seconds: float
) -> list[float]:
    """Train a model, and return the reward of each step.

    rows: an export for SFT, with answers in its messages, or prompts for GRPO.
    """
    common = {"output_dir": str(folder), "seed": seed, "max_steps": steps, "warmup_steps": 20}
    common |= {"lr_scheduler_type": "constant_with_warmup", "logging_steps": 1, "bf16": False}
    common |= {"save_strategy": "no", "report_to": "none", "disable_tqdm": True, "use_cpu": True}
    common |= {"gradient_checkpointing": False}
    told: dict[str, Any] = {"model": model, "train_dataset": rows, "processing_class": tokenizer}
    if "messages" in rows.column_names:
        common |= {"per_device_train_batch_size": 64, "learning_rate": 2e-3}
        trainer = trl.SFTTrainer(args=trl.SFTConfig(assistant_only_loss=True, **common), **told)
    else:
        common |= {"per_device_train_batch_size": 32 * 8, "learning_rate": 5e-4}
        config = trl.GRPOConfig(num_generations=8, max_completion_length=LONGEST, **common)
        trainer = trl.GRPOTrainer(args=config, reward_funcs=reward, **told)
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.add_callback(Deadline(seconds))
    trainer.train()
    return [step["reward"] for step in trainer.state.log_history if "reward" in step]


def complete(model: Any, tokenizer: Any, rows: Dataset, greedy: bool) -> list[str]:
    """Complete each prompt, by greedy decoding or by sampling at temperature 1."""
    way = {"do_sample": False} if greedy else {"do_sample": True, "top_k": 0}
    written: list[str] = []
    model.eval()
    for part in rows.iter(500):
        asked = tokenizer.apply_chat_template(
            part["prompt"], return_tensors="pt", padding=True, return_dict=True
        )
        with torch.inference_mode():
            ids = model.generate(**asked, max_new_tokens=LONGEST, **way)
        said = ids[:, asked["input_ids"].shape[1] :]
        written += tokenizer.batch_decode(said, skip_special_tokens=True)
    return written


def mark(scorer: logicgen.Scorer, rows: Dataset, completions: list[str]) -> dict[str, Any]:
    """Return the share of completions that the solver finds right, with its 95% interval."""
    judged = scorer.score_batch(rows["problem"], completions)
    share = sum(each.reward or 0.0 for each in judged) / len(judged)
    return {"share": share, "interval": wilson_interval(share, len(judged))}


def best_constant(scorer: logicgen.Scorer, rows: Dataset) -> str:
    """Return the assignment of all symbols that is right for most problems."""
    choices = map("".join, product("01", repeat=len(SYMBOLS)))
    return max(choices, key=lambda each: mark(scorer, rows, with_values(rows, each))["share"])


def with_values(rows: Dataset, values: str) -> list[str]:
    """Return completions that give the symbols of each problem these values."""
    given = dict(zip(SYMBOLS, values, strict=True))
    return [
        "<answer>" + ", ".join(f"{s}={given[s]}" for s in given if s in problem) + "</answer>"
        for problem in rows["problem"]
    ]


def draw(rewards: list[float], path: Path) -> None:
    """Draw the reward of each step, and the mean over ten."""
    figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
    means = [sum(rewards[max(0, i - 9) : i + 1]) / min(10, i + 1) for i in range(len(rewards))]
    axes.plot(rewards, color="0.8", label="a step")
    axes.plot(means, label="mean of ten steps")
    axes.set(xlabel="step of GRPO", ylabel="share of completions that are right", ylim=(0, 1))
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=150)


def main() -> None:
    """Make the data, train, measure, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("grpo"), help="folder to be written")
    parser.add_argument(
        "--minutes", type=float, default=4.0, help="minutes of each way of training"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--small", action="store_true", help="train for two steps only, as a test")
    asked = parser.parse_args()
    folder, seconds = asked.out, 60 * asked.minutes
    first, more = (2, 2) if asked.small else (STEPS, 10**6)
    began = time.monotonic()

    def passed(stage: str) -> None:
        print(f"{stage} after {time.monotonic() - began:.0f} s", flush=True)

    make_data(folder, {split: size // 50 if asked.small else size for split, size in SIZES.items()})
    read = {"split": "train", "cache_dir": str(folder / "cache")}
    answered = load_dataset("json", data_files=str(folder / "sft" / "train.jsonl"), **read)
    prompts, validation, test = (
        load_dataset("parquet", data_files=str(folder / "trl" / f"{split}.parquet"), **read)
        for split in ("train", "validation", "test")
    )
    count = min(ANSWERED, len(answered) // 2)
    few, prompts = answered.select(range(count)), prompts.select(range(count, len(prompts)))
    passed("data")

    transformers.set_seed(asked.seed)
    texts = ["\n".join(each["content"] for each in row) for row in few["messages"]]
    tokenizer = make_tokenizer(texts)
    place = (folder / "trainer", asked.seed)
    start = make_model(tokenizer)
    train(start, tokenizer, few, *place, first, 1e9)
    passed("start")
    # Read the model again for each way: a copy would share methods that trainers put into a model.
    start.save_pretrained(folder / "start")
    ways = {"more of the same": few, "all answers": answered, "GRPO": prompts}
    trained = {"start": start}
    for name, rows in ways.items():
        trained[name] = type(start).from_pretrained(folder / "start")
        rewards = train(trained[name], tokenizer, rows, *place, more, seconds)
        passed(name)

    with logicgen.Scorer("propositional", timeout=10.0, reasons=False) as scorer:
        constant = best_constant(scorer, validation)
        marks = {"constant": [mark(scorer, test, with_values(test, constant))] * 2}
        for name, model in trained.items():
            both = (complete(model, tokenizer, test, greedy) for greedy in (True, False))
            marks[name] = [mark(scorer, test, completions) for completions in both]
    passed("test")

    trained["GRPO"].save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    draw(rewards, folder / "reward.png")
    found = {"problems": len(test), "constant": constant, "greedy, drawn": marks}
    found |= {"seed": asked.seed, "minutes": asked.minutes, "rewards": rewards}
    (folder / "result.json").write_text(json.dumps(found, indent=1) + "\n")

    print(f"| right of {len(test):,} new problems | greedy | temperature 1 |\n| --- | --- | --- |")
    for name, pair in marks.items():
        cells = (
            "{:.1%} [{:.1%}, {:.1%}]".format(each["share"], *each["interval"]) for each in pair
        )
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
