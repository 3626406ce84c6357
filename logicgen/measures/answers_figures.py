"""The figures of an evaluation: accuracy by cell and by symbols, and verdicts by length.

A cell contains the problems with one number of symbols and one length, or one range of lengths. A
heat map shows the accuracy of each cell as a color. Most cells are full squares. A cell with fewer
than half the median number of examples is smaller; its area is proportional to its number of
examples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import ceil, sqrt
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PatchCollection
from matplotlib.colors import Colormap, LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import Formatter, FuncFormatter, MaxNLocator, PercentFormatter

from logicgen.measures.predictions import About
from logicgen.measures.scores import VERDICTS, Score, Scores
from logicgen.report.figure_style import (
    REGION_COLOUR,
    band,
    legend_below,
    line_styles,
    new_figure,
    region_box,
    shares,
    whole_numbers,
)

ScoresByCell = dict[tuple[int, int], Score]

# Colors of accuracy, from red to green as in the literature. Dark red and bluish green also differ
# in lightness, so that people with red-green color blindness can distinguish them.
ACCURACY = LinearSegmentedColormap.from_list(
    "accuracy", ["#8f0d22", "#e2573a", "#fdd98a", "#8fcf9b", "#0f8a66"]
)
# Colors of differences in accuracy. Brown is worse, white is equal, blue is better.
DIFFERENCE = LinearSegmentedColormap.from_list(
    "difference", ["#7f3b08", "#e08214", "#f7f7f7", "#5aa9c9", "#053061"]
)

# The least side of a square, relative to a full square. A cell with one example stays visible.
LEAST_SIDE = 0.3


class Panel(NamedTuple):
    """One heat map of a figure: the value and the score of each cell."""

    label: str
    values: dict[tuple[int, int], float]
    cells: ScoresByCell
    about: About


class ColourBar(NamedTuple):
    """The color bar of a figure: its label, colors, scale, and format of numbers."""

    label: str
    colours: Colormap
    scale: Normalize
    format: Formatter
    empty: str = "white"  # color of cells without examples


def draw_heatmaps(runs: list[tuple[str, ScoresByCell, About]], title: str) -> Figure:
    """Draw the accuracy of several evaluations as heat maps on one scale.

    runs: the label, the scores by cell, and the description of each evaluation.

    Red is 0, green is 1, and white means no examples. A box marks the training region. The width of
    a cell is its number of lengths.
    """
    maps = [
        Panel(label, {place: score.accuracy[0] for place, score in cells.items()}, cells, about)
        for label, cells, about in runs
    ]
    return _draw(maps, _accuracy(), title)


def draw_evaluation(cells: ScoresByCell, about: About, title: str, level: str = "") -> Figure:
    """Draw the accuracy of predictions, and of other answers that the scores contain.

    level: the name of the levels of difficulty, if cells have a level instead of a number of
        symbols.

    The maps share one scale: predictions, verified answers, the control that is right most often in
    all cells together, and predictions for problems on which no control is right.
    """
    best = _best_control(cells) or ""
    values: dict[str, Callable[[Score], float | None]] = {
        "plain" if best else about.model: plain_accuracy,
        "verified": verified_accuracy,
        f"control: {best}": lambda score: score.control.shares[best] if score.control else None,
        "where no control is right (white: none)": hard_accuracy,
    }
    maps = []
    for label, value in values.items():
        shown = {place: value(score) for place, score in cells.items()}
        known = {place: share for place, share in shown.items() if share is not None}
        if known:
            maps.append(Panel(label, known, cells, about))
    return _draw(maps, _accuracy(), title, level)


def plain_accuracy(score: Score) -> float | None:
    """Return the share of right predictions."""
    return score.accuracy[0]


def verified_accuracy(score: Score) -> float | None:
    """Return the share of right verified answers; None if there are no verified answers."""
    return None if score.verified_accuracy is None else score.verified_accuracy[0]


def hard_accuracy(score: Score) -> float | None:
    """Return the share of right predictions for problems on which no control is right.

    Returns None if there are no such problems.
    """
    return None if score.control is None else score.control.hard_accuracy


def _best_control(cells: ScoresByCell) -> str | None:
    """Return the control with the most right answers in all cells; None if there is no control."""
    right: Counter[str] = Counter()
    for score in cells.values():
        for name, share in (score.control.shares if score.control else {}).items():
            right[name] += round(share * score.examples)
    return max(right, key=lambda name: right[name]) if right else None


def _accuracy() -> ColourBar:
    percent = PercentFormatter(xmax=1, decimals=0)
    return ColourBar("right answers", ACCURACY, Normalize(0, 1), percent)


def draw_differences(
    first: ScoresByCell, others: list[tuple[str, ScoresByCell, About]], title: str
) -> Figure:
    """Draw differences in accuracy as heat maps: each of the `others` minus `first`.

    others: the label, the scores by cell, and the description of each evaluation.

    A map shows the cells that both evaluations have. The maps share a scale that is symmetric about
    0.
    """
    maps = []
    for label, cells, about in others:
        shared = [place for place in cells if place in first]
        gain = {place: cells[place].accuracy[0] - first[place].accuracy[0] for place in shared}
        maps.append(Panel(label, gain, cells, about))
    most = max((abs(value) for each in maps for value in each.values.values()), default=0) or 1.0
    points = FuncFormatter(lambda value, _: f"{100 * value:+.3g}" if value else "0")
    bar = ColourBar("percentage points", DIFFERENCE, Normalize(-most, most), points, "#d9d9d9")
    return _draw(maps, bar, title)


def _draw(maps: list[Panel], bar: ColourBar, title: str, level: str = "") -> Figure:
    """Draw heat maps side by side, with the same axes. A single map has no label.

    level: as for `draw_evaluation`. Then the box contains the training lengths.
    """
    drawn = (
        place
        for each in maps
        for place in [*each.values, *(() if level else each.about.split_cells())]
    )
    places = np.array(list(drawn))
    step = maps[0].about.step  # all maps have the same ranges of lengths
    (low_y, low_x), (high_y, high_x) = places.min(axis=0), places.max(axis=0)
    high_x += step - 1
    shape = (high_y - low_y + 1) / (high_x - low_x + 1)
    rows = ceil(len(maps) / 3)
    columns = ceil(len(maps) / rows)
    width = 8 if len(maps) == 1 else 4.2
    height = float(np.clip(width * shape, 0.4 * width, width)) + 0.5
    figure = new_figure(columns * width + 0.6, rows * height + 0.6, title)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    legend: dict[str, Patch] = {}
    for axes, (label, values, cells, about) in zip(grid.flat, maps, strict=False):
        axes.set(xlim=(low_x - 0.5, high_x + 0.5), ylim=(low_y - 0.5, high_y + 0.5))
        axes.set_facecolor(bar.empty)
        if len(maps) > 1:
            axes.set_title(label, loc="left", fontsize=10)
        # A cell extends 0.5 beyond its numbers on each side. So the box of the region does, too.
        (first_y, last_y), (first_x, last_x) = about.symbols, about.length
        if level:
            first_y, last_y = low_y, high_y
        box = region_box(axes, (first_x - 0.5, last_x + 0.5), (first_y - 0.5, last_y + 0.5))
        if box is not None:
            legend["training lengths" if level else "training region"] = box
        if _squares(axes, values, cells, bar, step):
            legend["smaller: fewer examples"] = Patch(color="#555555", linewidth=0)
        if len(cells) * step < (high_y - low_y + 1) * (high_x - low_x + 1):
            empty = "no examples" if about.split_rows is None else "no replies"
            legend[empty] = Patch(facecolor=bar.empty, edgecolor="#555555", linewidth=0.5)
        whole_numbers(axes.xaxis, axes.yaxis)
    for axes in grid.flat[len(maps) :]:
        axes.set_axis_off()
    for axes in grid[-1, : len(maps)]:
        axes.set_xlabel("length (tokens)")
    for axes in grid[:, 0]:
        axes.set_ylabel(level or "symbols")
    mappable = ScalarMappable(bar.scale, bar.colours)
    figure.colorbar(mappable, ax=grid, label=bar.label, format=bar.format, fraction=0.05, pad=0.02)
    legend_below(figure, 3, list(legend.values()), list(legend))
    return figure


def _squares(
    axes: Axes, values: dict[tuple[int, int], float], cells: ScoresByCell, bar: ColourBar, step: int
) -> bool:
    """Draw the cells of a heat map; return whether some cells are smaller squares.

    step: number of lengths of a cell, the width of its square.

    Full squares are drawn as one image, without seams. Smaller squares are patches.
    """
    few = median(score.examples for score in cells.values()) / 2
    left, right = axes.get_xlim()
    bottom, top = axes.get_ylim()
    picture = np.full((round(top - bottom), ceil((right - left) / step)), np.nan)
    small: dict[tuple[int, int], float] = {}
    for (y, x), value in values.items():
        if cells[y, x].examples >= few:
            picture[round(y - bottom - 0.5), round(x - left - 0.5) // step] = value
        else:
            small[y, x] = value
    axes.imshow(
        picture,
        cmap=bar.colours,
        norm=bar.scale,
        origin="lower",
        aspect="auto",
        interpolation="nearest",
        extent=(left, left + step * picture.shape[1], bottom, top),
    )
    sides = [max(LEAST_SIDE, sqrt(cells[place].examples / few)) for place in small]
    squares = [
        Rectangle((x + (step - 1 - step * side) / 2, y - side / 2), step * side, side)
        for (y, x), side in zip(small, sides, strict=True)
    ]
    drawn = PatchCollection(squares, cmap=bar.colours, norm=bar.scale, linewidth=0)
    drawn.set_array(np.array(list(small.values())))
    axes.add_collection(drawn)
    return bool(small)


Lines = list[tuple[str, dict[int, Score]]]

SHADE = "#e4e8ef"  # background color of the trained range of symbols

# A line with more than MOST_MARKERS points has no markers.
MOST_MARKERS = 25


def draw_symbols(runs: list[tuple[str, Scores]], title: str) -> Figure:
    """Draw accuracy by number of symbols with 95% Wilson bands; below, the edit distance.

    runs: (label, answers) for each line.

    Problems with lengths as in training have a panel of their own, so that only the number of
    symbols changes along a line. The first entry of `runs` defines the training region.
    """
    about = runs[0][1].about
    panels = _by_symbols(runs)
    everything = [score for _, lines in panels for _, line in lines for score in line.values()]
    distances = [score.edit_distance[0] for score in everything if score.edit_distance]
    with_distances = len(distances) == len(everything)
    rows = 1 + with_distances
    figure = new_figure(1.2 + 4 * len(panels), 1.2 + 2.7 * rows, title)
    grid = figure.subplots(rows, len(panels), squeeze=False, sharex=True, sharey="row")
    # The axis contains the training region even if no problem is inside, up to the largest problem.
    asked = [n for _, lines in panels for _, line in lines for n in line]
    shown = [about.symbols[0], min(about.symbols[1], max(asked)), *asked]
    margin = max(0.5, 0.03 * (max(shown) - min(shown)))
    grid[0, 0].set_xlim(min(shown) - margin, max(shown) + margin)
    for column, (called, lines) in zip(grid.T, panels, strict=True):
        column[0].set_title(called, loc="left", fontsize=10)
        for axes, draw in zip(column, (_symbol_accuracy, _edit_distance), strict=False):
            _lines(axes, lines, draw)
            first, last = about.symbols[0] - 0.5, about.symbols[1] + 0.5
            axes.axvspan(first, last, color=SHADE, linewidth=0, zorder=0, label="as in training")
            whole_numbers(axes.xaxis)
        column[-1].set_xlabel("symbols")
        _unseen(column[0], about.symbols[1], max(asked))
    grid[0, 0].set(ylabel="right answers (95% band)", ylim=(-0.03, 1.03))
    shares(grid[0, 0].yaxis)
    if with_distances:
        farthest = max(distances) or 1
        grid[1, 0].set_ylabel("mean edit distance (tokens)")
        grid[1, 0].set_ylim(-0.03 * farthest, 1.03 * farthest)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    legend_below(figure, 2 * len(panels), handles, labels)
    return figure


def _by_symbols(runs: list[tuple[str, Scores]]) -> list[tuple[str, Lines]]:
    """Return a panel for problems with lengths as in training, and a panel for other lengths.

    A panel is a pair of a title and lines. A line is a pair of a label and scores by number of
    symbols. The first entry of `runs` defines the training lengths. A panel without problems is
    left out.
    """
    panels = []
    for called, known in (("lengths as in training", True), ("other lengths", False)):
        chosen = [
            (label, scores.select(scores.as_trained("length", runs[0][1].about) == known))
            for label, scores in runs
        ]
        if len(chosen[0][1]):
            panels.append((called, [(label, scores.by_symbols()) for label, scores in chosen]))
    return panels


def _lines(axes: Axes, lines: Lines, draw: Callable[..., None]) -> None:
    for (label, scores), style in zip(lines, line_styles(), strict=False):
        size = 5 if len(scores) <= MOST_MARKERS else 0
        draw(axes, list(scores), list(scores.values()), label=label, markersize=size, **style)


def _symbol_accuracy(axes: Axes, symbols: list[int], scores: list[Score], **style: Any) -> None:
    axes.plot(symbols, [score.accuracy[0] for score in scores], **style)
    low, high = zip(*[score.interval for score in scores], strict=True)
    if len(symbols) > 1:
        band(axes, symbols, low, high, style["color"])
    else:
        axes.vlines(symbols, low, high, color=style["color"])


def _edit_distance(axes: Axes, symbols: list[int], scores: list[Score], **style: Any) -> None:
    distances = [score.edit_distance for score in scores]
    axes.plot(symbols, [mean for mean, _ in filter(None, distances)], **style)


def _unseen(axes: Axes, most: int, largest: int) -> None:
    """Add an upper axis that shows the number of symbols minus `most`.

    most, largest: the most symbols of a training problem, and of a problem in the figure.
    """
    beyond = largest - most
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


# Colors of verdicts. Right verdicts are green and wrong verdicts are red, as in heat maps.
COLOURS = {
    "exact": "#0f8a66",
    "correct": "#8fcf9b",
    "incorrect": "#e8754f",
    "invalid": "#8f0d22",
    "unknown": "#b8b8b8",
}


def draw_lengths(scores: Scores, title: str) -> Figure:
    """Draw the share of each verdict by length of the problem.

    Problems with other numbers of symbols than in training have a panel of their own.
    """
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
