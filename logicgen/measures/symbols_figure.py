"""Accuracy against the number of symbols, as far as and beyond what a model was trained on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from logicgen.measures.scores import Score, Scores
from logicgen.report.figure_style import (
    REGION_COLOUR,
    band,
    legend_below,
    line_styles,
    new_figure,
    shares,
    whole_numbers,
)

Lines = list[tuple[str, dict[int, Score]]]

SHADE = "#e4e8ef"  # behind the numbers of symbols that training had

# More points than this are a line without markers.
MOST_MARKERS = 25


def draw_symbols(runs: list[tuple[str, Scores]], title: str) -> Figure:
    """Draw a line per (label, answers), with Wilson's 95% bands; below, the edit distance.

    Problems of lengths as in training have a panel of their own, so that the number of symbols is
    all that changes along a line. The region is that of the first run.
    """
    about = runs[0][1].about
    panels: list[tuple[str, Lines]] = []
    for called, known in (("lengths as in training", True), ("other lengths", False)):
        chosen = [
            (label, scores.select(scores.as_trained("length", about) == known))
            for label, scores in runs
        ]
        if len(chosen[0][1]):
            panels.append((called, [(label, scores.by_symbols()) for label, scores in chosen]))
    everything = [score for _, lines in panels for _, line in lines for score in line.values()]
    distances = [score.edit_distance[0] for score in everything if score.edit_distance]
    with_distances = len(distances) == len(everything)
    rows = 1 + with_distances
    figure = new_figure(1.2 + 4 * len(panels), 1.2 + 2.7 * rows, title)
    grid = figure.subplots(rows, len(panels), squeeze=False, sharex=True, sharey="row")
    # The training region is shown also where no problem is inside.
    shown = [*about.symbols, *(n for _, lines in panels for _, line in lines for n in line)]
    margin = max(0.5, 0.03 * (max(shown) - min(shown)))
    grid[0, 0].set_xlim(min(shown) - margin, max(shown) + margin)
    for column, (called, lines) in zip(grid.T, panels, strict=True):
        column[0].set_title(called, loc="left", fontsize=10)
        _lines(column[0], lines, _accuracy)
        if with_distances:
            _lines(column[1], lines, _edit_distance)
        for axes in column:
            first, last = about.symbols[0] - 0.5, about.symbols[1] + 0.5
            axes.axvspan(first, last, color=SHADE, linewidth=0, zorder=0, label="as in training")
            whole_numbers(axes.xaxis)
        column[-1].set_xlabel("symbols")
        _unseen(column[0], about.symbols[1])
    grid[0, 0].set(ylabel="right answers (95% band)", ylim=(-0.03, 1.03))
    shares(grid[0, 0].yaxis)
    if with_distances:
        farthest = max(distances) or 1
        grid[1, 0].set_ylabel("mean edit distance (tokens)")
        grid[1, 0].set_ylim(-0.03 * farthest, 1.03 * farthest)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    legend_below(figure, 2 * len(panels), handles, labels)
    return figure


def _lines(axes: Axes, lines: Lines, draw: Callable[..., None]) -> None:
    for (label, scores), style in zip(lines, line_styles(), strict=False):
        size = 5 if len(scores) <= MOST_MARKERS else 0
        draw(axes, list(scores), list(scores.values()), label=label, markersize=size, **style)


def _accuracy(axes: Axes, symbols: list[int], scores: list[Score], **style: Any) -> None:
    axes.plot(symbols, [score.accuracy[0] for score in scores], **style)
    low, high = zip(*[score.interval for score in scores], strict=True)
    if len(symbols) > 1:
        band(axes, symbols, low, high, style["color"])
    else:
        axes.vlines(symbols, low, high, color=style["color"])


def _edit_distance(axes: Axes, symbols: list[int], scores: list[Score], **style: Any) -> None:
    distances = [score.edit_distance for score in scores]
    axes.plot(symbols, [mean for mean, _ in filter(None, distances)], **style)


def _unseen(axes: Axes, most: int) -> None:
    """Add an axis above: how many symbols more than any training problem had."""
    beyond = int(axes.get_xlim()[1]) - most
    if beyond < 1:
        return
    functions: Any = (lambda x: x - most, lambda x: x + most)
    above = axes.secondary_xaxis("top", functions=functions)
    ticks = MaxNLocator(nbins=6, integer=True, min_n_ticks=1).tick_values(0, beyond)
    above.set_xticks([tick for tick in ticks if 0 < tick <= beyond])
    above.xaxis.set_major_formatter("{x:.0f}")
    above.set_xlabel("unseen symbols", loc="right", fontsize=9, color=REGION_COLOUR)
    above.tick_params(labelsize=8, colors=REGION_COLOUR)
    above.spines["top"].set_visible(False)
