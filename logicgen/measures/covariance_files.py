"""The files of a measurement of alpha-covariance.

renamings.parquet   a row per problem, embedding seed and renaming, with the answer
covariance.json     a summary
covariance.csv      the values of each problem
covariance          a box plot by number of symbols, as .png and .svg
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from logicgen.files import write_atomically
from logicgen.measures.covariance import Covariance, by_symbols, covariances, summary_of
from logicgen.report.figure_style import LINES, legend_below, new_axes, save
from logicgen.report.tables import write_csv, write_json

RENAMINGS, SUMMARY, PROBLEMS = "renamings.parquet", "covariance.json", "covariance.csv"
BOX_PLOT = "covariance"


def write_covariance(table: pa.Table, folder: Path) -> dict[str, Any]:
    """Write the files of a table that `predict_renamed` made; returns the summary.

    Raises LogicgenError where no problem has two renamings.
    """
    about = json.loads(table.schema.metadata[b"logicgen"])
    write_atomically(folder / RENAMINGS, lambda part: pq.write_table(table, part))
    found = covariances(table)
    summary = summary_of(found, about)
    write_json(summary, folder / SUMMARY)
    rows = [
        {**asdict(each), "strings": each.strings, "equivalence": each.equivalence}
        for each in found
        if each.renamings > 1
    ]
    write_csv(rows, folder / PROBLEMS)
    mean = summary["overall"]["strings"]["mean"]
    title = f"{about['model']} on {about['data']} ({about['split']}): mean {mean:.3f} of strings"
    save(draw_box_plot(by_symbols(found), title), folder, BOX_PLOT)
    return summary


def draw_box_plot(groups: dict[int, list[Covariance]], title: str) -> Figure:
    """Draw boxes of the values by number of symbols: of exact strings, and up to equivalence."""
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
