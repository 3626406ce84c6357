"""Teach a tiny language model propositional logic with the solver's verdicts as the only reward.

A Transformer of a third of a million parameters is made from scratch and supervised on a few
problems with answers, until it writes answers in the right form. From there it is trained in two
ways for as long: with TRL's GRPO on other problems, whose answers it is never shown, where the
solver rewards each completion that is right; and, as a control, with more of the same supervision.
Both are measured on problems that are new to them. One CPU core is enough; nothing is downloaded.

    pip install '.[train]' 'trl==1.16.*'
    python examples/grpo.py --out grpo
"""

from __future__ import annotations

import argparse
import copy
import json
import re
import time
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib
import torch
from datasets import Dataset, load_dataset
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    PrinterCallback,
    TrainerCallback,
    set_seed,
)
from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

import logicgen
from logicgen.data.data_recipe import DataRecipe
from logicgen.data.generate import generate
from logicgen.data.prompt_files import write_prompts
from logicgen.evaluate.wilson import wilson_interval
from logicgen.integrations.trl import reward

matplotlib.use("Agg")
import matplotlib.pyplot as plt

SYMBOLS = "abcd"
# Mostly conjunctions, and long enough for negations: of formulas that nearly every assignment
# satisfies there is little to be learned.
RECIPE = {
    "problem.operators": {"!": 2, "&": 3},
    "region.symbols": [3, 4],
    "region.length": [8, 11],
    "grid": None,
    "sizes": {"train": 12_000, "validation": 1_000, "test": 2_000},
}
ANSWERED = 2_000  # problems whose answers are shown; of all others they are never read
STEPS = 400  # of supervision before anything is measured
BATCH = 64  # problems of a step of supervision
PROMPTS = 32  # of a step of GRPO
GROUP = 8  # completions of a problem that GRPO compares
LONGEST = 16  # tokens of a completion
RATES = {"supervised": 2e-3, "GRPO": 5e-4}

# What a user says ends with a line break, what the assistant says with <end>.
TEMPLATE = (
    "{% for message in messages %}{% if message.role == 'assistant' %}{% generation %}"
    "{{ message.content + '<end>' }}{% endgeneration %}"
    "{% else %}{{ message.content + '\n' }}{% endif %}{% endfor %}"
)


def make_data(folder: Path, small: bool) -> None:
    """Make the problems, and write them as prompts: with answers for SFT, and for TRL."""
    sizes = {"train": 200, "validation": 20, "test": 50} if small else RECIPE["sizes"]
    recipe = DataRecipe.read("propositional-mini", {**RECIPE, "sizes": sizes})
    generate(recipe, folder / "data", name="grpo", seed=0, workers=1)
    data = logicgen.load_dataset(folder / "data")
    for kind in ("sft", "trl"):
        write_prompts(data, folder / kind, kind)


def make_tokenizer(texts: list[str]) -> PreTrainedTokenizerFast:
    """Return a tokenizer that loses nothing, made from whole prompts with their answers.

    The explanation that all prompts begin with is one token, since it is the same text: a model
    that knows no English learns as much from it, and reads a problem in 30 tokens instead of 700.
    """
    explanation = re.escape(texts[0].rpartition("Formula: ")[0] + "Formula: ")
    words = f"{explanation}|</?answer>|<end>|[a-z]=[01]|, | [^ ]+ |[\\s\\S]"
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unknown>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(words), "isolated")
    tokenizer.decoder = decoders.Fuse()
    special = ["<pad>", "<end>", "<unknown>"]
    tokenizer.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=special))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="<end>",
        unk_token="<unknown>",
        chat_template=TEMPLATE,
        padding_side="left",
    )


def make_model(tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """Return a Transformer with random weights."""
    config = LlamaConfig(
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
    return LlamaForCausalLM(config)


class Deadline(TrainerCallback):
    """Ends a training after some seconds."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        control.should_training_stop = time.monotonic() > self.end


class Course:
    """Trains models of one tokenizer, in one folder, with one seed."""

    def __init__(self, folder: Path, tokenizer: PreTrainedTokenizerFast, seed: int) -> None:
        self.folder, self.tokenizer, self.seed = folder, tokenizer, seed

    def supervise(self, model: Any, rows: Dataset, steps: int, seconds: float = 1e9) -> Any:
        """Train a model on messages that hold answers; return the log of the steps."""
        config = SFTConfig(
            per_device_train_batch_size=BATCH,
            assistant_only_loss=True,
            **self._settings(steps, RATES["supervised"]),
        )
        trainer = SFTTrainer(model, config, train_dataset=rows, processing_class=self.tokenizer)
        return self._run(trainer, seconds)

    def reinforce(self, model: Any, rows: Dataset, steps: int, seconds: float = 1e9) -> Any:
        """Train a model on prompts with the solver's reward; return the log of the steps."""
        config = GRPOConfig(
            per_device_train_batch_size=PROMPTS * GROUP,
            num_generations=GROUP,
            max_completion_length=LONGEST,
            **self._settings(steps, RATES["GRPO"]),
        )
        trainer = GRPOTrainer(
            model, reward, config, train_dataset=rows, processing_class=self.tokenizer
        )
        return self._run(trainer, seconds)

    def _settings(self, steps: int, rate: float) -> dict[str, Any]:
        return {
            "output_dir": str(self.folder / "trainer"),
            "seed": self.seed,
            "max_steps": steps,
            "learning_rate": rate,
            "lr_scheduler_type": "constant_with_warmup",
            "warmup_steps": 20,
            "logging_steps": 1,
            "save_strategy": "no",
            "report_to": "none",
            "disable_tqdm": True,
            "use_cpu": True,
            "bf16": False,
            "gradient_checkpointing": False,
        }

    def _run(self, trainer: Any, seconds: float) -> Any:
        trainer.remove_callback(PrinterCallback)
        trainer.add_callback(Deadline(seconds))
        trainer.train()
        return trainer.state.log_history[:-1]  # the last entry is about all of them


class Exam:
    """Has the solver judge answers to the problems of a split, in strict mode."""

    def __init__(self, rows: Dataset, scorer: logicgen.Scorer) -> None:
        self.rows, self.scorer = rows, scorer

    def marks(self, completions: list[str]) -> dict[str, Any]:
        """Return the share of completions that are right, with its 95% interval."""
        judged = self.scorer.score_batch(self.rows["problem"], completions)
        share = sum(each.reward or 0.0 for each in judged) / len(judged)
        return {"share": share, "interval": wilson_interval(share, len(judged))}

    def constant(self, values: tuple[str, ...]) -> dict[str, Any]:
        """Return the marks of one assignment to all symbols, whatever the problem is."""
        text = ", ".join(f"{name}={value}" for name, value in zip(SYMBOLS, values, strict=True))
        return {**self.marks([f"<answer>{text}</answer>"] * len(self.rows)), "answer": text}

    def take(self, model: Any, tokenizer: PreTrainedTokenizerFast) -> dict[str, Any]:
        """Return the marks of a model, for its likeliest completions and for drawn ones."""
        model.eval()
        ways = {"greedy": {"do_sample": False}, "drawn": {"do_sample": True, "top_k": 0}}
        return {name: self.marks(self._complete(model, tokenizer, ways[name])) for name in ways}

    def _complete(self, model: Any, tokenizer: Any, way: dict[str, Any]) -> list[str]:
        written: list[str] = []
        for part in self.rows.iter(500):
            asked = tokenizer.apply_chat_template(
                part["prompt"], return_tensors="pt", padding=True, return_dict=True
            )
            with torch.inference_mode():
                ids = model.generate(**asked, max_new_tokens=LONGEST, **way)
            said = ids[:, asked["input_ids"].shape[1] :]
            written += tokenizer.batch_decode(said, skip_special_tokens=True)
        return written


def draw(rewards: list[float], marks: dict[str, Any], path: Path) -> None:
    """Draw the reward of each step, and their mean over ten, with what the controls reach."""
    figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
    axes.plot(rewards, color="0.8", label="a step")
    means = [sum(rewards[max(0, i - 9) : i + 1]) / min(10, i + 1) for i in range(len(rewards))]
    axes.plot(means, color="C0", label="mean of ten steps")
    axes.axhline(marks["control"]["drawn"]["share"], color="C1", ls="--", label="control, test")
    axes.axhline(marks["constant"]["share"], color="C2", ls=":", label="best constant, test")
    axes.set(xlabel="step of GRPO", ylabel="share of completions that are right", ylim=(0, 1))
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("grpo"), help="folder to be written")
    parser.add_argument("--minutes", type=float, default=4.0, help="of GRPO, and of the control")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--small", action="store_true", help="a few steps, to see that it runs")
    asked = parser.parse_args()
    folder, seconds = asked.out, 60 * asked.minutes
    first, more = (2, 2) if asked.small else (STEPS, 10**6)

    seconds_of, began = {}, time.monotonic()

    def passed(stage: str) -> None:
        seconds_of[stage] = round(time.monotonic() - began - sum(seconds_of.values()), 1)
        print(f"{stage}: {seconds_of[stage]} s", flush=True)

    make_data(folder, asked.small)
    read = {"split": "train", "cache_dir": str(folder / "cache")}
    answered = load_dataset("json", data_files=str(folder / "sft/train.jsonl"), **read)
    prompts, validation, test = (
        load_dataset("parquet", data_files=str(folder / f"trl/{split}.parquet"), **read)
        for split in ("train", "validation", "test")
    )
    count = min(ANSWERED, len(answered) // 2)
    answered, prompts = answered.select(range(count)), prompts.select(range(count, len(prompts)))
    passed("data")

    set_seed(asked.seed)
    texts = ["\n".join(each["content"] for each in row) for row in answered["messages"]]
    tokenizer = make_tokenizer(texts)
    course = Course(folder, tokenizer, asked.seed)
    start = make_model(tokenizer)
    course.supervise(start, answered, first)
    passed("start")
    taught, control = copy.deepcopy(start), copy.deepcopy(start)
    log = course.reinforce(taught, prompts, more, seconds)
    passed("GRPO")
    course.supervise(control, answered, more, seconds)
    passed("control")

    with logicgen.Scorer("propositional", reasons=False) as scorer:
        choices = product("01", repeat=len(SYMBOLS))
        trial, exam = Exam(validation, scorer), Exam(test, scorer)
        best = max(choices, key=lambda values: trial.constant(values)["share"])
        marks = {"constant": exam.constant(best)}
        for name, model in [("start", start), ("control", control), ("GRPO", taught)]:
            marks[name] = exam.take(model, tokenizer)
    passed("test")

    taught.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    rewards = [step["reward"] for step in log]
    draw(rewards, marks, folder / "reward.png")
    found = {"test": marks, "problems": len(test), "seed": asked.seed, "seconds": seconds_of}
    (folder / "result.json").write_text(json.dumps({**found, "rewards": rewards}, indent=1) + "\n")
    print(table(marks, len(test)))


def table(marks: dict[str, Any], count: int) -> str:
    """Return the marks as a Markdown table."""

    def cell(mark: dict[str, Any]) -> str:
        low, high = mark["interval"]
        return f"{mark['share']:.1%} [{low:.1%}, {high:.1%}]"

    lines = [f"| right of {count:,} new problems | greedy | temperature 1 |", "| --- | --- | --- |"]
    for name, mark in marks.items():
        ways = [mark, mark] if name == "constant" else [mark["greedy"], mark["drawn"]]
        lines.append(f"| {name} | {' | '.join(map(cell, ways))} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
