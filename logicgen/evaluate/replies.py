"""What any model wrote to the problems of a data set, judged like answers of our own models.

Replies come as plain data (`logicgen.integrations.reply_files` reads them): a `completion`, and
which problem it is of: its `row` in the split, the `problem` as text, or both. Where they say more
(`split`, `dataset`, `fingerprint`, `prompt_version`), it has to fit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from logicgen.data.dataset import Dataset
from logicgen.data.drawer import fingerprint
from logicgen.errors import FormatError, LogicgenError, shown
from logicgen.evaluate.predictions import (
    SCHEMA,
    About,
    Counted,
    described,
    edit_distance,
    right_tokens,
)
from logicgen.score import Judgement, Scorer
from logicgen.score.places import Mode
from logicgen.solvers import Verdict
from logicgen.tasks import Task
from logicgen.tasks.task import rename, symbols_of
from logicgen.vocabulary import symbol_name

BATCH = 1024
"""Replies that are judged between two steps of a progress bar."""


@dataclass(frozen=True)
class Reply:
    """A completion to a problem of a split.

    Attributes:
        row: of the problem, in its split.
        problem: as it was asked, in prefix notation; its symbols may be renamed.
        completion: text, or whatever else was given in its place.
    """

    row: int
    problem: str
    completion: object


def said_split(entries: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the split that replies say they are of; None where they do not say one."""
    said = {entry.get("split") for entry in entries}
    return str(said.pop()) if len(said) == 1 and None not in said else None


def replies_to(
    data: Dataset,
    split: str,
    entries: Sequence[Mapping[str, Any]],
    where: str,
    *,
    mixed: bool = False,
    renamed: bool = False,
) -> list[Reply]:
    """Return plain data as replies to the problems of a split.

    where: what to name in errors.
    mixed: whether prompts of different versions are allowed.
    renamed: whether symbols of a problem may have other names than in the data set.

    Raises LogicgenError naming the first entry that does not fit.
    """
    if not entries:
        raise LogicgenError(f"{where}: no replies")
    table = data.table(split)
    known = _Problems(data.task, table, renamed)
    own_values = {"split": split, "dataset": data.name, "fingerprint": data.fingerprint}
    versions: dict[Any, int] = {}
    found = []
    for number, entry in enumerate(entries, 1):
        place = f"{where}, reply {number}"
        if "completion" not in entry:
            raise LogicgenError(f"{place}: no `completion`, which is what a model wrote")
        for key, own in own_values.items():
            if (said := entry.get(key)) is not None and said != own:
                raise LogicgenError(
                    f"{place}: {key} {shown(said)}, but {data.folder} has {own!r}: give the data"
                    " that the model was asked"
                )
        versions.setdefault(entry.get("prompt_version"), number)
        if len(versions) > 1 and not mixed:
            raise LogicgenError(
                f"{place}: another version of the prompt"
                f" ({' and '.join(map(str, versions))}), whose scores are not alike: give each"
                " version a file of its own, or allow it with --mixed-prompts"
            )
        found.append(Reply(*known.find(entry, place), entry["completion"]))
    return found


class _Problems:
    """The problems of a split, to be found by row or by text."""

    def __init__(self, task: Task, table: pa.Table, renamed: bool) -> None:
        self.task, self.renamed = task, renamed
        self.problems: list[str] = table["problem"].to_pylist()
        classes = table["alpha_class"].to_pylist()
        keys: Iterable[Any] = classes if renamed else self.problems
        self.rows = {key: row for row, key in enumerate(keys)}
        # Two rows of a class can only be told apart by their number.
        self.several = {key for key, count in Counter(classes).items() if count > 1}

    def find(self, entry: Mapping[str, Any], place: str) -> tuple[int, str]:
        """Return the row that an entry is of, and its problem as it was asked."""
        row, text = entry.get("row"), entry.get("problem")
        if row is None and text is None:
            raise LogicgenError(f"{place}: neither `row` nor `problem` says what it answers")
        if row is not None and (type(row) is not int or not 0 <= row < len(self.problems)):
            last = len(self.problems) - 1
            raise LogicgenError(f"{place}: row {shown(row)}; the split has rows 0 to {last:,}")
        if row is not None and text is None:
            return row, self.problems[row]
        try:
            asked = self.task.encode(self.task.read_problem(str(text)))
        except FormatError as error:
            raise LogicgenError(f"{place}: problem: {error}") from None
        key = alpha_class_of(asked) if self.renamed else asked
        if row is None and self.renamed and key in self.several:
            raise LogicgenError(f"{place}: several rows have this problem: give `row`, too")
        known = self.rows.get(key) if row is None else row
        if known is None or self._key(self.problems[known]) != key:
            said = "no row has this problem" if row is None else f"row {row} has another problem"
            raise LogicgenError(f"{place}: {said}: give the data that the model was asked")
        return known, asked

    def _key(self, problem: str) -> Any:
        return alpha_class_of(problem) if self.renamed else problem


def alpha_class_of(problem: str) -> int:
    """Return the number that data sets give to all renamings of a problem in prefix notation."""
    symbols = symbols_of(problem)
    names = [symbol_name(number) for number in range(len(symbols))]
    return fingerprint(rename(problem, dict(zip(symbols, names, strict=True))))


def judgements(
    task: Task,
    replies: Sequence[Reply],
    *,
    mode: Mode = "strict",
    workers: int = 1,
    seconds: float = 10.0,
    progress: Counted = lambda done, total: None,
) -> Iterator[Judgement]:
    """Yield the judgements on replies, in order, as `Scorer` gives them."""
    progress(0, len(replies))
    with Scorer(task.name, mode, timeout=seconds, workers=workers, reasons=False) as scorer:
        for first in range(0, len(replies), BATCH):
            batch = replies[first : first + BATCH]
            yield from scorer.score_batch(
                [reply.problem for reply in batch], [reply.completion for reply in batch]
            )
            progress(min(first + BATCH, len(replies)), len(replies))


def in_prefix(task: Task, judgement: Judgement) -> str:
    """Return the answer that was read, in prefix notation; empty where none was."""
    return task.encode(task.read_answer(judgement.answer)) if judgement.answer else ""


def judge_replies(
    data: Dataset, split: str, replies: Sequence[Reply], called: str, **settings: Any
) -> pa.Table:
    """Return a table of replies with their verdicts, as `predict_and_verify` makes of predictions.

    The second reply to a problem stands for a second embedding seed, and so on; `invalid` ones
    whose answer could not be read have an empty prediction.
    called: the name of the model. settings: those of `judgements`.

    Raises LogicgenError where problems do not have equally many replies.
    """
    task, table = data.task, data.table(split)
    counts: Counter[int] = Counter()
    columns: dict[str, list[Any]] = {name: [] for name in SCHEMA.names}
    asked = table.take(pa.array([reply.row for reply in replies])).to_pylist()
    found = judgements(task, replies, **settings)
    for reply, example, judgement in zip(replies, asked, found, strict=True):
        prediction, verdict = in_prefix(task, judgement), judgement.verdict
        stored = task.decode_answer(example["answer"])
        if verdict is Verdict.CORRECT and task.same(task.read_answer(judgement.answer), stored):
            verdict = Verdict.EXACT
        values = {name: example[name] for name in ("symbols", "length", "problem", "answer")}
        values |= {"row": reply.row, "embedding_seed": counts[reply.row]}
        values |= {"prediction": prediction, "verdict": str(verdict)}
        if task.edit_distance:
            values["edit_distance"] = edit_distance(prediction, example["answer"])
        if task.token_accuracy:
            values["right_tokens"] = right_tokens(prediction, example["answer"])
        for name, column in columns.items():
            column.append(values.get(name))
        counts[reply.row] += 1
    uneven = {row: count for row, count in counts.items() if count != counts[replies[0].row]}
    if uneven:
        row, count = next(iter(uneven.items()))
        raise LogicgenError(
            f"row {replies[0].row} has {counts[replies[0].row]} replies and row {row} has {count}:"
            " give as many for each problem"
        )
    # The model's own training region is not known: it is asked beyond that of the data.
    about = About.in_region(data.region, called, data, split)
    how = {"mode": settings.get("mode", "strict"), "replies": counts[replies[0].row]}
    return described(columns, SCHEMA, replace(about, decoding=how))
