"""Replies of any model to the problems of a data set, judged like answers of logicgen's models.

A reply is a dictionary that `logicgen.integrations.reply_files` reads. It contains the model's text
(`completion`). It names its problem by the `row` in the split, by the text of the `problem`, or by
both. Optional values (`split`, `dataset`, `fingerprint`, `prompt_version`) must agree with the data
set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import NoneType
from typing import Any

import pyarrow as pa

from logicgen.callbacks import Progress, no_progress
from logicgen.data.dataset import Dataset
from logicgen.errors import FormatError, LogicgenError, shown
from logicgen.measures.best_control import add_controls
from logicgen.measures.predictions import SCHEMA, About, compared, described
from logicgen.measures.verifier import Verifier
from logicgen.scoring import Judgement, Scorer
from logicgen.scoring.completions import Mode
from logicgen.solvers import Verdict
from logicgen.tasks import Task
from logicgen.tasks.problems import alpha_class_of

EFFORT = 10_000
"""Most search steps to compare two answers. Undecided answers count as different."""

TYPES = {
    "row": (int, NoneType),
    "prompt_version": (int, NoneType),
    "problem": (str, NoneType),
    "split": (str, NoneType),
    "dataset": (str, NoneType),
    "fingerprint": (str, NoneType),
}
"""Optional keys of a reply with their types."""

BATCH = 1024
"""Number of replies that are judged between two updates of a progress bar."""


@dataclass(frozen=True)
class Reply:
    """A completion to a problem of a split.

    Attributes:
        row: index of the problem in its split.
        problem: the problem that the model was asked, in prefix notation. Its symbols may have
            other names than in the data set.
        completion: normally text; other values are judged `invalid`.
    """

    row: int
    problem: str
    completion: object


def said_split(entries: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the split that the replies name, or None if they name no split or several splits."""
    said = {str(entry["split"]) for entry in entries if entry.get("split") is not None}
    return said.pop() if len(said) == 1 else None


def reply_scores_folder(path: Path) -> Path:
    """Return the folder for the scores of a file of replies: its path without the suffix."""
    if not path.suffix:
        raise LogicgenError(f"{path}: its name has no suffix: name the folder of scores with --out")
    return path.with_suffix("")


def replies_to(
    data: Dataset,
    split: str,
    entries: Sequence[Mapping[str, Any]],
    where: str,
    *,
    mixed: bool = False,
    renamed: bool = False,
) -> list[Reply]:
    """Return entries of a file as replies to the problems of a split.

    where: name of the file in errors.
    mixed: whether prompts of different versions are allowed.
    renamed: whether symbols of a problem may have other names than in the data set.

    Raises LogicgenError if an entry is wrong. The message names the first such entry.
    """
    if not entries:
        raise LogicgenError(f"{where}: no replies")
    table = data.table(split)
    known = _Problems(data.task, table, renamed)
    _check_types(entries, where)
    own_values = {"split": split, "dataset": data.name, "fingerprint": data.fingerprint}
    versions: dict[Any, int] = {}
    found = []
    for number, entry in enumerate(entries, 1):
        place = f"{where}, reply {number}"
        if "completion" not in entry:
            raise LogicgenError(f"{place}: no `completion`, which is the model's text")
        for key, own in own_values.items():
            if (said := entry.get(key)) is not None and said != own:
                asked = "--split is" if key == "split" else f"{data.folder} has"
                raise LogicgenError(
                    f"{place}: {key} {shown(said)}, but {asked} {own!r}: give the data and split"
                    " that the model was asked"
                )
        versions.setdefault(entry.get("prompt_version"), number)
        if len(versions) > 1 and not mixed:
            raise LogicgenError(
                f"{place}: another version of the prompt"
                f" ({' and '.join(map(str, versions))}); scores of versions differ: give each"
                " version a file of its own, or allow both with --mixed-prompts"
            )
        found.append(Reply(*known.find(entry, place), entry["completion"]))
    return found


def _check_types(entries: Sequence[Mapping[str, Any]], where: str) -> None:
    """Raise LogicgenError if a value has a wrong type. The message names the first such entry."""
    for number, entry in enumerate(entries, 1):
        for key, kinds in TYPES.items():
            if not isinstance(value := entry.get(key), kinds) or isinstance(value, bool):
                raise LogicgenError(
                    f"{where}, reply {number}: {key} {shown(value)}: it has to be"
                    f" {'a number' if int in kinds else 'text'}"
                )


class _Problems:
    """The problems of a split, with an index by row and by text."""

    def __init__(self, task: Task, table: pa.Table, renamed: bool) -> None:
        self.task, self.renamed = task, renamed
        self.problems: list[str] = table["problem"].to_pylist()
        classes = table["alpha_class"].to_pylist()
        keys: Iterable[Any] = classes if renamed else self.problems
        self.rows = {key: row for row, key in enumerate(keys)}
        # Problems of one alpha-class are equal up to names. Only `row` distinguishes them.
        self.several = {key for key, count in Counter(classes).items() if count > 1}

    def find(self, entry: Mapping[str, Any], place: str) -> tuple[int, str]:
        """Return the row of an entry's problem, and the problem that the model was asked."""
        row, text = entry.get("row"), entry.get("problem")
        if row is None and text is None:
            raise LogicgenError(f"{place}: neither `row` nor `problem` names the problem")
        if row is not None and not 0 <= row < len(self.problems):
            last = len(self.problems) - 1
            raise LogicgenError(f"{place}: row {shown(row)}; the split has rows 0 to {last:,}")
        if row is not None and text is None:
            return row, self.problems[row]
        asked = self._prefix(str(text), place)
        key = alpha_class_of(asked) if self.renamed else asked
        if row is None and self.renamed and key in self.several:
            raise LogicgenError(f"{place}: several rows have this problem: give `row`, too")
        known = self.rows.get(key) if row is None else row
        if known is None or self._key(self.problems[known]) != key:
            said = "no row has this problem" if row is None else f"row {row} has another problem"
            raise LogicgenError(f"{place}: {said}: give the data that the model was asked")
        return known, asked

    def _prefix(self, text: str, place: str) -> str:
        try:
            return self.task.encode(self.task.read_problem(text))
        except FormatError as error:
            raise LogicgenError(f"{place}: problem: {error}") from None

    def _key(self, problem: str) -> Any:
        return alpha_class_of(problem) if self.renamed else problem


def judgements(
    task: Task,
    replies: Sequence[Reply],
    *,
    mode: Mode = "strict",
    workers: int = 1,
    timeout: float = 10.0,
    progress: Progress = no_progress,
) -> Iterator[Judgement]:
    """Yield the judgement of `Scorer` on each reply, in order."""
    progress(0, len(replies))
    with Scorer(task.name, mode, timeout=timeout, workers=workers, reasons=False) as scorer:
        for first in range(0, len(replies), BATCH):
            batch = replies[first : first + BATCH]
            yield from scorer.score_batch(
                [reply.problem for reply in batch], [reply.completion for reply in batch]
            )
            progress(min(first + BATCH, len(replies)), len(replies))


def judge_replies(
    data: Dataset,
    split: str,
    replies: Sequence[Reply],
    called: str,
    *,
    controls: Sequence[str] = (),
    **settings: Any,
) -> pa.Table:
    """Judge replies and return a table of them, in the format of `predict_and_verify`.

    called: the name of the model.
    controls: names of controls that answer the same problems.
    settings: arguments of `judgements`.

    The n-th reply to a problem is stored as the answer with the n-th embedding seed. If no answer
    can be read, the prediction is empty. A right answer is `exact` if it equals the stored answer;
    `EFFORT` limits the comparison. If some rows of the split have no reply, the table's metadata
    contain the number of rows, and the ranges of symbols and lengths of the split.

    Raises LogicgenError if problems differ in their number of replies.
    """
    task, table = data.task.limited(EFFORT), data.table(split)
    each = check_even(Counter(f"row {reply.row}" for reply in replies))
    counts: Counter[int] = Counter()
    rows: list[dict[str, Any]] = []
    asked = table.take(pa.array([reply.row for reply in replies])).to_pylist()
    found = judgements(task, replies, **settings)
    for reply, example, judgement in zip(replies, asked, found, strict=True):
        verdict, prediction = judgement.verdict, ""
        if judgement.answer:
            answer = task.read_answer(judgement.answer)
            prediction = task.encode(answer)
            stored = task.decode_answer(example["answer"])
            if verdict is Verdict.CORRECT and task.same(answer, stored):
                verdict = Verdict.EXACT
        row = {**example, "row": reply.row, "embedding_seed": counts[reply.row]}
        row |= {"verdict": str(verdict), **compared(task, prediction, example["answer"])}
        rows.append(row)
        counts[reply.row] += 1
    # The training region of the model is not known. Use the region of the data set.
    about = About.of(data.region, called, data, split)
    if len(counts) < len(table):
        about = about.with_split(table)
    how = {"mode": settings.get("mode", "strict"), "replies": each}
    if controls:
        workers, seconds = settings.get("workers", 1), settings.get("timeout", 10.0)
        with Verifier(data.task, data.recipe.verifier, workers, seconds) as verifier:
            add_controls(rows, data, controls, None, verifier.judge)
    return described(rows, SCHEMA, replace(about, decoding=how, controls=tuple(controls)))


def check_even(counts: Counter[str]) -> int:
    """Return the number of replies to each problem.

    counts: number of replies by the name of the problem.

    Raises LogicgenError if the numbers differ.
    """
    (first, most), *others = counts.items()
    for name, count in others:
        if count != most:
            raise LogicgenError(
                f"{first} has {most} replies and {name} has {count}: give the same number for each"
            )
    return most
