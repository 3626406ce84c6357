"""Write a data set as prompts, into files that trainers of language models read.

Each split with examples gets a file. For lm-evaluation-harness, a split also gets a task file. A
row has the prompt, and the problem in infix notation, which a scorer needs. It also has the number
of symbols, the length and the alpha-class of the problem, so that scores can be grouped by them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from logicgen.callbacks import Progress, StageProgress, no_progress
from logicgen.data.dataset import Dataset
from logicgen.errors import LogicgenError, nearest
from logicgen.files import prepare_folder, write_atomically, write_text, write_texts
from logicgen.scoring.prompts import VERSION, Notation, answer_text, prompt_of, wording_of
from logicgen.solvers import Status
from logicgen.syntax.answers import NO_ANSWER
from logicgen.tasks import Task
from logicgen.tasks.problem_samples import ProblemSamples
from logicgen.tasks.problems import alpha_class_of

Row = dict[str, Any]

ROWS = 10_000
"""The number of rows that are in memory at a time."""


def prompt_rows(
    data: Dataset,
    split: str,
    examples: int = 0,
    notation: Notation = "infix",
    progress: Progress = no_progress,
) -> Iterator[Row]:
    """Yield the examples of a split with their prompts.

    Raises LogicgenError for a task without prompts, and for a split that is unknown or empty.
    """
    task = data.task
    wording_of(task)
    table = data.table(split)
    for first in range(0, table.num_rows, ROWS):
        progress(first, table.num_rows)
        for number, row in enumerate(table.slice(first, ROWS).to_pylist(), start=first):
            problem = task.decode_problem(row.pop("problem"))
            answer = task.decode_answer(row.pop("answer"))
            asked = _asked(task, problem, answer, examples, notation)
            yield {**asked, "split": split, "row": number, **row}


def sampled_rows(
    samples: ProblemSamples, numbers: Iterable[int], examples: int = 0, notation: Notation = "infix"
) -> Iterator[Row]:
    """Yield random problems with answers and prompts, as rows of the split *train*.

    numbers: the indices of the problems in `samples`.

    Raises LogicgenError for a task without prompts, and if the ranges contain no problem.
    """
    task = samples.task
    wording_of(task)
    if samples.satisfiable is None and task.logic is None:
        raise LogicgenError(f"satisfiable: problems of {task.name} need an answer: leave it out")
    for number in numbers:
        problem, cell = samples[number], samples.cell(number)
        solution = task.solve(problem)
        answer = NO_ANSWER if solution.status is Status.UNSAT else solution.witness
        yield {
            **_asked(task, problem, answer, examples, notation),
            "split": "train",
            "row": number,
            "symbols": cell.symbols,
            "length": cell.length,
            "alpha_class": alpha_class_of(task.encode(problem)),
        }


def _asked(task: Task, problem: Any, answer: Any, examples: int, notation: Notation) -> Row:
    """Return the columns of a problem, its answer and its prompt."""
    return {
        "prompt": prompt_of(task, problem, examples, notation),
        "problem": task.show_problem(problem),
        "answer": task.show(answer),
        "task": task.name,
        "prompt_version": VERSION,
    }


def _messages(row: Row) -> list[dict[str, str]]:
    return [{"role": "user", "content": row["prompt"]}]


def _trl(row: Row) -> Row:
    return {**row, "prompt": _messages(row)}


def _verl(row: Row) -> Row:
    kept = ("split", "answer", "symbols", "length", "alpha_class", "prompt_version")
    return {
        "data_source": f"logicgen/{row['task']}",
        "prompt": _messages(row),
        "ability": "logic",
        "reward_model": {"style": "rule", "ground_truth": row["problem"]},
        "extra_info": {"index": row["row"], **{key: row[key] for key in kept}},
    }


def _openrlhf(row: Row) -> Row:
    label = json.dumps({"task": row["task"], "problem": row["problem"]}, ensure_ascii=False)
    return {**row, "prompt": _messages(row), "label": label}


def _sft(row: Row) -> Row:
    said = {"role": "assistant", "content": answer_text(row["answer"])}
    rest = {key: value for key, value in row.items() if key != "prompt"}
    return {"messages": [*_messages(row), said], **rest}


FORMATS: dict[str, tuple[str, Callable[[Row], Row]]] = {
    "jsonl": (".jsonl", lambda row: row),
    "lm-eval": (".jsonl", lambda row: row),
    "openrlhf": (".jsonl", _openrlhf),
    "sft": (".jsonl", _sft),
    "trl": (".parquet", _trl),
    "verl": (".parquet", _verl),
}
"""From the name of a format to the suffix of its files and the function that converts a row."""

# Values are written as JSON, which is valid YAML. `until` lists texts that end a completion. The
# list is empty, because such a text would cut off the closing tag of the answer.
LM_EVAL = """\
# A task of lm-evaluation-harness: give --include_path with this folder. For models that do not
# follow the format of answers, replace `strict` by `tolerant`.
task: {task}
tag: logicgen
custom_dataset: !function logicgen.integrations.lm_eval.load
dataset_kwargs:
  split: {split}
test_split: {split}
output_type: generate_until
doc_to_text: "{{{{prompt}}}}"
doc_to_target: "<answer>{{{{answer}}}}</answer>"
process_results: !function logicgen.integrations.lm_eval.strict
generation_kwargs:
  until: []
  do_sample: false
  max_gen_toks: 2048
num_fewshot: 0
metric_list:
  - metric: correct
    aggregation: mean
    higher_is_better: true
  - metric: invalid
    aggregation: mean
    higher_is_better: false
  - metric: unknown
    aggregation: mean
    higher_is_better: false
metadata:
  version: {version}
  dataset: {name}
  fingerprint: {fingerprint}
"""
"""A task file of lm-evaluation-harness; `logicgen/integrations/lm_eval.py` has the functions."""


def write_prompts(
    data: Dataset,
    folder: Path,
    kind: str,
    *,
    examples: int = 0,
    notation: Notation = "infix",
    progress: StageProgress = no_progress,
) -> dict[str, int]:
    """Write the splits of a data set as prompts; return the number of rows of each split.

    kind: a name of `FORMATS`.
    examples, notation: settings of prompts (`scoring/prompts.py`).
    Raises LogicgenError for another kind, and for a task without prompts.
    """
    if kind not in FORMATS:
        raise LogicgenError(f"no format is called {kind!r}: {nearest(kind, list(FORMATS))}")
    wording = wording_of(data.task)
    # Raise errors of the settings before the first file is written.
    prompt_of(data.task, data.task.read_problem(wording.examples[0][0]), examples)
    suffix, shaped = FORMATS[kind]
    prepare_folder(folder)
    counts = {split: count for split, count in data.splits.items() if count}
    for split, count in counts.items():
        rows = map(shaped, prompt_rows(data, split, examples, notation, partial(progress, split)))
        path = folder / f"{split}{suffix}"
        if suffix == ".parquet":
            write_atomically(path, partial(_write_parquet, rows))
        else:
            write_lines(rows, path)
        progress(split, count, count)
        if kind == "lm-eval" and split != "train":
            write_text(folder / f"{split}.yaml", _lm_eval_task(data, split))
    return counts


def _lm_eval_task(data: Dataset, split: str) -> str:
    """Return the file that makes an exported split a task of lm-evaluation-harness."""
    return LM_EVAL.format(
        task=json.dumps(f"logicgen_{data.name}_{split}"),
        split=split,
        version=VERSION,
        name=json.dumps(data.name),
        fingerprint=json.dumps(data.fingerprint),
    )


def write_lines(rows: Iterable[Row], path: Path) -> int:
    """Write rows as JSON lines, atomically; return their number."""
    return write_texts(path, (json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def _write_parquet(rows: Iterator[Row], path: Path) -> None:
    first = pa.Table.from_pylist(list(islice(rows, ROWS)))
    with pq.ParquetWriter(path, first.schema, compression="zstd") as writer:
        writer.write_table(first)
        while some := list(islice(rows, ROWS)):
            writer.write_table(pa.Table.from_pylist(some, schema=first.schema))
