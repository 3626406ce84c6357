"""Alpha-covariance: the degree to which renaming a problem's symbols only renames the answer.

Let a problem have n renamings, and let its predictions have d different texts after each renaming
is undone. Then

    alpha-covariance = 1 - (d - 1) / (n - 1)

The value is 1 if the names make no difference to the model, and 0 if each renaming gets another
answer. It is not defined for n = 1. Source: Işık, Cinbiş, Aydın Göl (ICML 2025).

The files of a measurement:

    renamings.parquet   a row per problem, embedding seed and renaming, with the answer
    covariance.json     a summary
    covariance.csv      the values of each problem
    covariance          a box plot by number of symbols, as .png and .svg
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import groupby, permutations, repeat
from math import perm
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from logicgen.callbacks import StageProgress, no_progress
from logicgen.data.dataset import Dataset
from logicgen.errors import FormatError, LogicgenError
from logicgen.files import write_atomically
from logicgen.measures.predictions import About, chosen_rows, described, schema_of, spread
from logicgen.measures.predictor import Predictor, alphabets
from logicgen.measures.replies import (
    EFFORT,
    Reply,
    check_even,
)
from logicgen.report.figure_style import LINES, legend_below, new_axes, save
from logicgen.report.tables import write_csv, write_json
from logicgen.scoring.completions import Mode
from logicgen.scoring.prompts import VERSION, prompt_of, wording_of
from logicgen.scoring.scorer import answer_of
from logicgen.tasks import Task, load_task
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

    The table has a row per problem, embedding seed and renaming. New names come from the alphabet
    whose size `alphabets` returns. All renamings of a problem use the same embedding matrix.

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
    data: Dataset, split: str, limit: int | None = None, examples: int = 0
) -> Iterator[dict[str, Any]]:
    """Yield prompts of all renamings of problems, for a model outside logicgen.

    limit: the largest number of problems.
    examples: number of solved examples in each prompt.

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
            "prompt": prompt_of(task, problem, examples),
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


@dataclass(frozen=True)
class Covariance:
    """The alpha-covariance of one problem with one embedding seed.

    In each prediction, the renaming is undone. Then the predictions are compared as texts, and up
    to equivalence (`Task.same`). A prediction that does not parse is equivalent only to the same
    text.
    """

    row: int
    embedding_seed: int
    problem: str
    symbols: int  # number of different symbols of the problem
    renamings: int
    different: int  # number of different texts among the predictions
    inequivalent: int  # number of predictions, if equivalent predictions count once

    @property
    def strings(self) -> float:
        """Return the alpha-covariance of predictions that are compared as texts."""
        return 1 - (self.different - 1) / (self.renamings - 1)

    @property
    def equivalence(self) -> float:
        """Return the alpha-covariance of predictions that are compared up to equivalence."""
        return 1 - (self.inequivalent - 1) / (self.renamings - 1)


def covariances(table: pa.Table) -> list[Covariance]:
    """Return the alpha-covariance of each problem with each embedding seed.

    table: a table of `predict_renamed`.

    Problems with a single renaming are included, although their alpha-covariance is not defined.
    """
    task = load_task(json.loads(table.schema.metadata[b"logicgen"])["task"])
    task = task.limited(EFFORT)
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
    """Return the number of answers, if equivalent answers (`Task.same`) count once.

    answers: different texts. An answer that does not parse is not equivalent to any other answer.
    """
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
    """Group problems by their number of symbols, in increasing order.

    Problems with a single renaming are left out.
    """
    defined = [each for each in found if each.renamings > 1]
    return {
        symbols: [each for each in defined if each.symbols == symbols]
        for symbols in sorted({each.symbols for each in defined})
    }


def summary_of(found: Sequence[Covariance], about: dict[str, Any]) -> dict[str, Any]:
    """Return mean, median and quartiles of the alpha-covariance, also by number of symbols.

    found: the alpha-covariance of each problem with each embedding seed.
    about: metadata of a table of predictions.

    Predictions are compared as texts (`strings`) and up to equivalence (`equivalence`). Raises
    LogicgenError if no problem has two renamings.
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
        "by_symbols": {str(n): _distribution(some) for n, some in by_symbols(defined).items()},
    }


def _distribution(some: list[Covariance]) -> dict[str, Any]:
    """Return mean, median and quartiles of the alpha-covariance of some problems.

    Predictions are compared as texts (`strings`) and up to equivalence (`equivalence`). The result
    also contains the number of problems, and the most renamings of a problem.
    """
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


def write_covariance(table: pa.Table, folder: Path) -> dict[str, Any]:
    """Write the files of a measurement; return the summary.

    table: a table of `predict_renamed`.

    Raises LogicgenError if no problem has two renamings.
    """
    about = json.loads(table.schema.metadata[b"logicgen"])
    write_atomically(folder / "renamings.parquet", lambda part: pq.write_table(table, part))
    found = covariances(table)
    summary = summary_of(found, about)
    write_json(summary, folder / "covariance.json")
    rows = [
        {**asdict(each), "strings": each.strings, "equivalence": each.equivalence}
        for each in found
        if each.renamings > 1
    ]
    write_csv(rows, folder / "covariance.csv")
    mean = summary["overall"]["strings"]["mean"]
    title = f"{about['model']} on {about['data']} ({about['split']}): mean {mean:.3f} of strings"
    save(draw_box_plot(by_symbols(found), title), folder, "covariance")
    return summary


def draw_box_plot(groups: dict[int, list[Covariance]], title: str) -> Figure:
    """Draw box plots of the alpha-covariance by number of symbols.

    Predictions are compared as exact strings, and up to equivalence.

    groups: the alpha-covariance of each problem, by number of symbols.
    """
    figure, axes = new_axes(max(5.0, 1.4 + 0.8 * len(groups)), 4, title)
    legend = []
    for name, called, shift, colour in (
        ("strings", "exact strings", -0.2, LINES[0][0]),
        ("equivalence", "up to equivalence", 0.2, LINES[1][0]),
    ):
        boxes = axes.boxplot(
            [[getattr(each, name) for each in some] for some in groups.values()],
            positions=np.array(list(groups)) + shift,
            widths=0.32,
            patch_artist=True,
            showmeans=True,
            boxprops={"facecolor": colour, "alpha": 0.35},
            medianprops={"color": colour, "linewidth": 2},
            meanprops={"marker": "D", "markerfacecolor": "black", "markeredgecolor": "black"},
            flierprops={"marker": ".", "markersize": 3, "markeredgecolor": colour},
            manage_ticks=False,
        )
        legend.append(Patch(facecolor=colour, alpha=0.35, label=called))
    mean = boxes["means"][0]
    mean.set_label("mean")
    axes.set_xticks(list(groups))
    axes.set_xlim(min(groups) - 0.6, max(groups) + 0.6)
    axes.set(ylim=(-0.03, 1.03), xlabel="symbols in the problem", ylabel="alpha-covariance")
    legend_below(figure, handles=[*legend, mean])
    return figure


def covariance_lines(summary: dict[str, Any], replies: int) -> list[str]:
    """Return a summary as printed lines.

    replies: number of answers to renamed problems.
    """
    lines = []
    if unread := summary["decoding"].get("unread"):
        said = f"{unread:,} of {replies:,} replies have no answer that can be read"
        lines.append(f"{said}; each counts as a different answer")
    lines.append("mean, median [quartiles] of the alpha-covariance of problems")
    lines.append(f"{'symbols':>7} {'problems':>8}  {'exact strings':<27} up to equivalence")
    for symbols, part in [*summary["by_symbols"].items(), ("all", summary["overall"])]:
        texts = [_shown(part[name]) for name in ("strings", "equivalence")]
        lines.append(f"{symbols:>7} {part['problems']:>8,}  {texts[0]:<27} {texts[1]}")
    if further := summary["without_renamings"]:
        lines.append(f"{further:,} further problems have a single renaming and no value")
    return lines


def _shown(part: dict[str, float]) -> str:
    return "{mean:.3f}, {median:.3f} [{lower_quartile:.3f}, {upper_quartile:.3f}]".format(**part)
