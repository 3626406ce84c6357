"""The heat maps of the literature: accuracy by number of symbols and length, for one run or more.

A cell's colour is its accuracy and nothing else; how many examples are behind it is its size. Most
cells are full squares: those with fewer than half as many examples as the typical (median) cell are
smaller, their area in proportion. So a few fuller cells change nothing about the others.
"""

from __future__ import annotations

from math import ceil, sqrt
from statistics import median
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PatchCollection
from matplotlib.colors import Colormap, LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import Formatter, FuncFormatter, PercentFormatter

from logicgen.measures.predictions import About
from logicgen.measures.scores import Score
from logicgen.report.figure_style import legend_below, new_figure, region_box, whole_numbers

Cells = dict[tuple[int, int], Score]

# Red to green as in the literature, but a dark red and a bluish green, which differ in lightness
# and in blue as well: people who do not tell red from green tell these apart.
ACCURACY = LinearSegmentedColormap.from_list(
    "accuracy", ["#8f0d22", "#e2573a", "#fdd98a", "#8fcf9b", "#0f8a66"]
)
# Brown, white, blue: worse, equal, better.
DIFFERENCE = LinearSegmentedColormap.from_list(
    "difference", ["#7f3b08", "#e08214", "#f7f7f7", "#5aa9c9", "#053061"]
)

# The least side of a cell's square, so that one example can still be seen.
LEAST_SIDE = 0.3


class Panel(NamedTuple):
    """One heat map of a figure: the value of each cell, and how many examples are behind it."""

    label: str
    values: dict[tuple[int, int], float]
    cells: Cells
    about: About


class ColourBar(NamedTuple):
    """The meaning of the colours of a figure."""

    label: str
    colours: Colormap
    scale: Normalize
    format: Formatter
    empty: str = "white"  # where there are no examples


def draw_heatmaps(runs: list[tuple[str, Cells, About]], title: str) -> Figure:
    """Draw the accuracy of each (label, cells, training region) side by side, on one scale.

    Red is 0, green 1, white no examples; the box is the training region; a cell is as wide as it
    has lengths.
    """
    maps = [
        Panel(label, {place: score.accuracy[0] for place, score in cells.items()}, cells, about)
        for label, cells, about in runs
    ]
    return _draw(maps, _accuracy(), title)


def draw_verified(cells: Cells, about: About, title: str) -> Figure:
    """Draw the accuracy of plain answers beside that of verified ones, on one scale.

    cells: with both.
    """
    plain = {place: score.accuracy[0] for place, score in cells.items()}
    verified = {
        place: score.verified_accuracy[0]
        for place, score in cells.items()
        if score.verified_accuracy is not None
    }
    maps = [Panel("plain", plain, cells, about), Panel("verified", verified, cells, about)]
    return _draw(maps, _accuracy(), title)


def _accuracy() -> ColourBar:
    percent = PercentFormatter(xmax=1, decimals=0)
    return ColourBar("right answers", ACCURACY, Normalize(0, 1), percent)


def draw_differences(first: Cells, others: list[tuple[str, Cells, About]], title: str) -> Figure:
    """Draw by how much the accuracy of each other (label, cells, training region) is above `first`.

    All have the same examples, or at least cells, and one scale, the same on both sides of 0.
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


def _draw(maps: list[Panel], bar: ColourBar, title: str) -> Figure:
    """Draw all maps with the same axes; one alone needs no label beside the title."""
    places = np.array([place for each in maps for place in each.values])
    step = maps[0].about.step  # maps side by side have the same cells
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
        # Half a cell around the region.
        (first_y, last_y), (first_x, last_x) = about.symbols, about.length
        box = region_box(axes, (first_x - 0.5, last_x + 0.5), (first_y - 0.5, last_y + 0.5))
        if box is not None:
            legend["training region"] = box
        if _squares(axes, values, cells, bar, step):
            legend["smaller: fewer examples"] = Patch(color="#555555", linewidth=0)
        if len(cells) * step < (high_y - low_y + 1) * (high_x - low_x + 1):
            legend["no examples"] = Patch(facecolor=bar.empty, edgecolor="#555555", linewidth=0.5)
        whole_numbers(axes.xaxis, axes.yaxis)
    for axes in grid.flat[len(maps) :]:
        axes.set_axis_off()
    for axes in grid[-1, : len(maps)]:
        axes.set_xlabel("length (tokens)")
    for axes in grid[:, 0]:
        axes.set_ylabel("symbols")
    mappable = ScalarMappable(bar.scale, bar.colours)
    figure.colorbar(mappable, ax=grid, label=bar.label, format=bar.format, fraction=0.05, pad=0.02)
    legend_below(figure, 3, list(legend.values()), list(legend))
    return figure


def _squares(
    axes: Axes, values: dict[tuple[int, int], float], cells: Cells, bar: ColourBar, step: int
) -> bool:
    """Draw the full squares as one picture, which leaves no seams, and the smaller ones one by one.

    A square is `step` lengths wide. Returns whether there are smaller ones.
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
