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
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from logicgen.errors import FormatError, LogicgenError
from logicgen.files import write_atomically
from logicgen.measures.replies import EFFORT
from logicgen.report.figure_style import LINES, legend_below, new_axes, save
from logicgen.report.tables import write_csv, write_json
from logicgen.tasks import Task, load_task
from logicgen.tasks.task import symbols_of


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
