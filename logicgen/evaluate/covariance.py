"""Alpha-covariance: the degree to which renaming a problem's symbols only renames the answer.

A problem has n renamings; its predictions, with each renaming undone, are d different ones. Then

    alpha-covariance = 1 - (d - 1) / (n - 1)

so it is 1 where a model sees no difference between the names and 0 where each renaming has another
answer. With n = 1 it is not defined. Source: Işık, Cinbiş, Aydın Göl (ICML 2025).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby, permutations, repeat
from math import perm
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from logicgen.data.dataset import Dataset
from logicgen.errors import FormatError, LogicgenError
from logicgen.evaluate.predictions import (
    About,
    Predictor,
    Progress,
    alphabets,
    chosen_rows,
    described,
    schema_of,
)
from logicgen.tasks import Task, load_task
from logicgen.tasks.task import rename, symbols_of
from logicgen.vocabulary import symbol_name

if TYPE_CHECKING:
    from logicgen.model.model import Answerer
    from logicgen.nn.decoding import Decoding

# All renamings of a problem over an alphabet of five symbols, as in the paper.
MOST_RENAMINGS = 120

# Names: of the symbols after the renaming. Undone: the prediction in the problem's own names.
SCHEMA = schema_of("row embedding_seed", "problem names prediction undone")


def alpha_covariance(renamings: int, different: int) -> float:
    """Return the value for two renamings or more, and their number of different predictions."""
    return 1 - (different - 1) / (renamings - 1)


def renamings(symbols: Sequence[str], alphabet: int, rng: Random) -> list[tuple[str, ...]]:
    """Return lists of names for `symbols` out of the first `alphabet` ones; first their own names.

    A renaming is a one-to-one map of the symbols into the alphabet: k symbols have N!/(N - k)! of
    them. Returns all where these are at most 120, and else a random sample of 120 different ones.
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
    """Return a prediction for a problem whose `symbols` were renamed to `names` in the old names.

    An answer may hold symbols that its problem does not. The names that are free after the renaming
    become those that were free before it, in order, so that no two symbols of it become one.
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
    progress: Progress = lambda what, done, total: None,
) -> pa.Table:
    """Return a table of the model's answers, a row per problem, embedding seed and renaming.

    The alphabet of a problem's names is what the model sees with it anyway (`alphabets`): the
    training symbols, more where the data set names the problem from more. All renamings of a
    problem get the same embedding matrix.

    `limit` is the most problems to rename; other arguments, and errors, as of `predict_and_verify`.
    """
    from logicgen.nn.decoding import GREEDY

    rows, table = chosen_rows(model, data, about, ensemble, limit)
    sizes = alphabets(model, data, table["symbols"].to_numpy())
    asked: dict[str, list[Any]] = {name: [] for name in ("problem", "answer", "symbols", "length")}
    origin: list[tuple[int, str, tuple[str, ...], tuple[str, ...], int]] = []
    for row, example, alphabet in zip(
        rows.tolist(), table.to_pylist(), sizes.tolist(), strict=True
    ):
        problem = example["problem"]
        symbols = tuple(symbols_of(problem))
        for names in renamings(symbols, alphabet, Random(problem)):
            asked["problem"].append(rename(problem, dict(zip(symbols, names, strict=True))))
            for name in ("answer", "symbols", "length"):
                asked[name].append(example[name])
            origin.append((row, problem, symbols, names, alphabet))
    predictor = Predictor(model, data, pa.table(asked), grammar, ensemble)
    places = np.arange(len(origin) * embedding_seeds)
    texts = predictor.answers(places, decoding or GREEDY, progress=partial(progress, "predicting"))
    found = []
    for place, text in enumerate(texts):
        seed, asked_as = divmod(place, len(origin))
        row, problem, symbols, names, alphabet = origin[asked_as]
        undone = undo(text, symbols, names, alphabet)
        found.append((row, seed, problem, " ".join(names), text, undone))
    columns = {name: [values[i] for values in found] for i, name in enumerate(SCHEMA.names)}
    return described(columns, SCHEMA, about)


@dataclass(frozen=True)
class Covariance:
    """The alpha-covariance of one problem, under one embedding seed.

    Predictions differ as texts, with the renaming undone, or in more than how they are written
    (`Task.same`): one that does not parse equals only its own text.
    """

    row: int
    embedding_seed: int
    problem: str
    symbols: int  # distinct
    renamings: int
    different: int  # predictions, as texts
    inequivalent: int

    @property
    def strings(self) -> float:
        """Return the alpha-covariance of the texts."""
        return alpha_covariance(self.renamings, self.different)

    @property
    def equivalence(self) -> float:
        """Return the alpha-covariance up to the solver's equivalence."""
        return alpha_covariance(self.renamings, self.inequivalent)


def covariances(table: pa.Table) -> list[Covariance]:
    """Return one for each problem and embedding seed of a table; no value where one renaming."""
    task = load_task(json.loads(table.schema.metadata[b"logicgen"])["task"])
    found = []
    for (seed, row), group in groupby(
        table.to_pylist(), lambda each: (each["embedding_seed"], each["row"])
    ):
        same = list(group)
        problem, undone = same[0]["problem"], {each["undone"] for each in same}
        inequivalent = count_inequivalent(task, sorted(undone))
        counts = len(symbols_of(problem)), len(same), len(undone), inequivalent
        found.append(Covariance(row, seed, problem, *counts))
    return found


def count_inequivalent(task: Task, answers: Iterable[str]) -> int:
    """Return how many of these different answers differ up to the task's equivalence."""
    kinds: list[Any] = []
    unread = 0
    for text in answers:
        try:
            answer = task.decode_answer(text)
        except FormatError:
            unread += 1
            continue
        if not any(task.same(answer, other) for other in kinds):
            kinds.append(answer)
    return len(kinds) + unread


def by_symbols(found: Iterable[Covariance]) -> dict[int, list[Covariance]]:
    """Return those that have a value, by the number of symbols, in its order."""
    defined = [each for each in found if each.renamings > 1]
    return {
        symbols: [each for each in defined if each.symbols == symbols]
        for symbols in sorted({each.symbols for each in defined})
    }


def summary_of(found: Sequence[Covariance], about: dict[str, Any]) -> dict[str, Any]:
    """Return the distribution of both values over all problems and by number of symbols.

    about: metadata of a table of predictions.
    Raises LogicgenError where no problem has two renamings.
    """
    defined = [each for each in found if each.renamings > 1]
    if not defined:
        raise LogicgenError(
            f"none of the {len(found):,} problems of {about['data']} ({about['split']}) has a "
            "second renaming: alpha-covariance is not defined; choose problems with symbols, and "
            "a model or data of two symbols or more"
        )
    return {
        **about,
        "embedding_seeds": 1 + max(each.embedding_seed for each in found),
        "without_renamings": len({each.row for each in found}) - len({e.row for e in defined}),
        "overall": _distribution(defined),
        "by_symbols": {str(n): _distribution(some) for n, some in by_symbols(found).items()},
    }


def _distribution(some: list[Covariance]) -> dict[str, Any]:
    """Return the number of problems and of renamings, and the distribution of both values."""
    found: dict[str, Any] = {
        "problems": len({each.row for each in some}),
        "most_renamings": max(each.renamings for each in some),
    }
    for name in ("strings", "equivalence"):
        values = [getattr(each, name) for each in some]
        lower, median, upper = np.quantile(values, [0.25, 0.5, 0.75]).tolist()
        found[name] = {
            "mean": float(np.mean(values)),
            "median": median,
            "lower_quartile": lower,
            "upper_quartile": upper,
        }
    return found
