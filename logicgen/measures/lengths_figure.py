"""The verdicts on the answers, length by length, as stacked bars."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from logicgen.measures.scores import VERDICTS, Scores
from logicgen.report.figure_style import legend_below, new_figure, region_box, shares, whole_numbers

# The two right ones in the colours of the right end of a heat map, the wrong ones in its reds;
# by lightness they are in order as well.
COLOURS = {
    "exact": "#0f8a66",
    "correct": "#8fcf9b",
    "incorrect": "#e8754f",
    "invalid": "#8f0d22",
    "unknown": "#b8b8b8",
}


def draw_lengths(scores: Scores, title: str) -> Figure:
    """Draw the share of each verdict by length; more symbols than in training stand apart."""
    known = scores.as_trained("symbols")
    parts = (("symbols as in training", known), ("other numbers of symbols", ~known))
    panels = [(called, scores.select(part).by_length()) for called, part in parts if part.any()]
    figure = new_figure(8, 1.1 + 2.2 * len(panels), title)
    grid = figure.subplots(len(panels), 1, squeeze=False, sharex=True, sharey=True)[:, 0]
    lengths = [length for _, bars in panels for length in bars]
    for axes, (called, bars) in zip(grid, panels, strict=True):
        axes.set(xlim=(min(lengths) - 0.5, max(lengths) + 0.5), ylim=(0, 1))
        axes.set_title(called, loc="left", fontsize=10)
        axes.set_ylabel("answers")
        lower = np.zeros(len(bars))
        for verdict in VERDICTS:
            counts = np.array([bar.counts[verdict] for bar in bars.values()])
            heights = counts / [sum(bar.counts.values()) for bar in bars.values()]
            axes.bar(list(bars), heights, 0.9, lower, color=COLOURS[verdict], label=verdict)
            lower += heights
        shares(axes.yaxis)
        whole_numbers(axes.xaxis)
    first, last = scores.about.length
    if known.any():
        region_box(grid[0], (first - 0.5, last + 0.5), (0, 1))
    grid[-1].set_xlabel("length (tokens)")
    handles, labels = grid[0].get_legend_handles_labels()
    legend_below(figure, 6, handles, labels)
    return figure
