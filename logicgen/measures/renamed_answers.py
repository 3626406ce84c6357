"""Answers to renamed problems, in a table, from a model or from replies.

The measure that uses them is alpha-covariance (`covariance.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations, repeat
from math import perm
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from logicgen.callbacks import StageProgress, no_progress
from logicgen.data.dataset import Dataset
from logicgen.errors import LogicgenError
from logicgen.measures.predictions import About, chosen_rows, described, schema_of, spread
from logicgen.measures.predictor import Predictor, alphabets
from logicgen.measures.replies import EFFORT, Reply, check_even
from logicgen.scoring.completions import Mode
from logicgen.scoring.prompts import VERSION, prompt_of, wording_of
from logicgen.scoring.scorer import answer_of
from logicgen.tasks.task import rename, symbols_of
from logicgen.tokens import symbol_name

if TYPE_CHECKING:
    from logicgen.model.model import Answerer
    from logicgen.nn.decoding import Decoding

# The most renamings of a problem, as in the paper. Five symbols have 5! = 120 permutations.
MOST_RENAMINGS = 120

# Column `names`: the names after the renaming. Column `undone`: the prediction in original names.
SCHEMA = schema_of("row embedding_seed", "problem names prediction undone")


def renamings(symbols: Sequence[str], alphabet: int, rng: Random) -> list[tuple[str, ...]]:
    """Return lists of new names for `symbols`.

    alphabet: N, the number of possible names.

    A renaming is a one-to-one map of the symbols to names; k symbols have N!/(N - k)! renamings.
    The first list contains the original names. If there are more than 120 renamings, the result is
    a random sample of 120 renamings.
    """
    names = [symbol_name(number) for number in range(alphabet)]
    chosen: Iterable[tuple[str, ...]]
    if perm(alphabet, len(symbols)) <= MOST_RENAMINGS:
        chosen = permutations(names, len(symbols))
    else:
        chosen = (tuple(rng.sample(names, len(symbols))) for _ in repeat(None))
    different = {tuple(symbols): None}
    for new in chosen:
        if len(different) == MOST_RENAMINGS:
            break
        different[new] = None
    return list(different)


def undo(text: str, symbols: Sequence[str], names: Sequence[str], alphabet: int) -> str:
    """Return a prediction with the renaming of `symbols` to `names` undone.

    alphabet: number of possible names.

    An answer may contain symbols that do not occur in its problem. Names that are unused after the
    renaming become, in order, the names that were unused before it. So two symbols never become
    equal.
    """
    every = [symbol_name(number) for number in range(alphabet)]
    free = [name for name in every if name not in symbols]
    freed = [name for name in every if name not in names]
    return rename(text, dict(zip([*names, *freed], [*symbols, *free], strict=False)))


def predict_renamed(
    model: Answerer,
    data: Dataset,
    about: About,
    *,
    limit: int | None = None,
    embedding_seeds: int = 1,
    grammar: bool = True,
    decoding: Decoding | None = None,
    ensemble: int = 1,
    progress: StageProgress = no_progress,
) -> pa.Table:
    """Answer all renamings of problems; return a table of the answers.

    The table has a row per problem, embedding seed and renaming. New names come from an alphabet;
    `alphabets` returns its size. All renamings of a problem use the same embedding matrix.

    limit: the largest number of problems. Other arguments and errors: see `predict_and_verify`.
    """
    from logicgen.nn.decoding import GREEDY

    rows, table = chosen_rows(model, data, about, ensemble, limit)
    sizes = alphabets(model, data, table["symbols"].to_numpy())
    asked = list(_renamed(rows, table, sizes))
    renamed = pa.Table.from_pylist([{**each.example, "problem": each.problem} for each in asked])
    predictor = Predictor(model, data, renamed, grammar, ensemble)
    places = np.arange(len(asked) * embedding_seeds)
    texts = predictor.answers(places, decoding or GREEDY, progress=partial(progress, "predicting"))
    found = [(asked[place % len(asked)], place // len(asked)) for place in range(len(places))]
    return _answered([(*each, text) for each, text in zip(found, texts, strict=True)], about)


@dataclass(frozen=True)
class RenamedProblem:
    """A problem of a split with other names of its symbols."""

    row: int
    example: dict[str, Any]  # the problem's row of the data set
    symbols: tuple[str, ...]  # symbols of the original problem
    names: tuple[str, ...]  # new names, in the order of `symbols`
    alphabet: int  # number of possible names

    @property
    def problem(self) -> str:
        """Return the problem with the new names, in prefix notation."""
        return rename(self.example["problem"], dict(zip(self.symbols, self.names, strict=True)))


def _renamed(rows: np.ndarray, table: pa.Table, alphabets: np.ndarray) -> Iterator[RenamedProblem]:
    """Yield all renamings of the problems of a table.

    rows: index of each problem in the split.
    alphabets: number of possible names for each problem.
    """
    examples = zip(rows.tolist(), table.to_pylist(), alphabets.tolist(), strict=True)
    for row, example, alphabet in examples:
        symbols = tuple(symbols_of(example["problem"]))
        for names in renamings(symbols, alphabet, Random(example["problem"])):
            yield RenamedProblem(row, example, symbols, names, alphabet)


def _answered(found: Iterable[tuple[RenamedProblem, int, str]], about: About) -> pa.Table:
    """Return a table of answers to renamed problems, in the format of `predict_renamed`.

    found: (renamed problem, embedding seed, answer) for each answer.
    """
    rows = []
    for each, seed, text in found:
        undone = undo(text, each.symbols, each.names, each.alphabet)
        values = each.row, seed, each.example["problem"], " ".join(each.names), text, undone
        rows.append(dict(zip(SCHEMA.names, values, strict=True)))
    return described(rows, SCHEMA, about)


def renamed_prompts(
    data: Dataset, split: str, limit: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yield prompts of all renamings of problems, for a model outside logicgen.

    limit: the largest number of problems.

    Raises LogicgenError for a task without prompts and for an unknown split.
    """
    task = data.task
    wording_of(task)
    about = About.of(data.region, "", data, split)
    table = data.table(split)
    rows = spread(table, about, limit)
    for each in _renamed(rows, chosen := table.take(pa.array(rows)), _letters(data, chosen)):
        problem = task.decode_problem(each.problem)
        yield {
            "prompt": prompt_of(task, problem),
            "problem": task.show_problem(problem),
            "task": task.name,
            "symbols": each.example["symbols"],
            "length": each.example["length"],
            "row": each.row,
            "split": split,
            "dataset": data.name,
            "fingerprint": data.fingerprint,
            "prompt_version": VERSION,
        }


def read_renamed(
    data: Dataset, split: str, replies: Sequence[Reply], called: str, mode: Mode = "strict"
) -> pa.Table:
    """Return a table of replies to renamed problems, in the format of `predict_renamed`.

    Answers are not verified. A completion without a readable answer is stored as `? N` with a
    number N of its own, so that it differs from all other answers. The n-th reply to a problem is
    stored as the answer with the n-th embedding seed.

    Raises LogicgenError if a renaming of a problem has no reply, or if renamings have different
    numbers of replies.
    """
    task = data.task.limited(EFFORT)
    rows = np.unique([reply.row for reply in replies])
    table = data.table(split).take(pa.array(rows))
    every = _renamed(rows, table, _letters(data, table))
    asked = {(each.row, each.problem): each for each in every}
    said = {key: f"row {key[0]}, asked as {key[1]!r}," for key in asked}
    for reply in replies:
        if (reply.row, reply.problem) not in asked:
            raise LogicgenError(
                f"row {reply.row} is asked as {reply.problem!r}, which is none of its renamings:"
                " ask the prompts that logicgen measure covariance --prompts writes"
            )
    given = Counter((reply.row, reply.problem) for reply in replies)
    check_even(Counter({said[key]: given[key] for key in asked}))
    counts: Counter[tuple[int, str]] = Counter()
    found: list[tuple[RenamedProblem, int, str]] = []
    unread = 0
    for reply in replies:
        key = reply.row, reply.problem
        answer = answer_of(task, reply.completion, mode)
        text = f"? {len(found)}" if answer is None else task.encode(answer)
        unread += answer is None
        found.append((asked[key], counts[key], text))
        counts[key] += 1
    found.sort(key=lambda each: (each[1], each[0].row))
    about = About.of(data.region, called, data, split)
    return _answered(found, replace(about, decoding={"mode": mode, "unread": unread}))


def _letters(data: Dataset, table: pa.Table) -> np.ndarray:
    """Return the number of possible names for each problem.

    The number is the most symbols in the data set's region. If a problem has more symbols, its
    number of symbols is used instead.
    """
    most = data.region.symbols[1]
    return np.asarray(np.maximum(table["symbols"].to_numpy(), most))
