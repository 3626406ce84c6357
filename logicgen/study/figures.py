"""Figures of a study: scores by choice, and correlations of choices with the score.

An axis is a setting that a study varies. A choice is one of the values of an axis.
"""

from __future__ import annotations

from math import ceil
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from logicgen.report.figure_style import LINES, legend_below, new_axes, new_figure
from logicgen.study.recipe import short

# The names of at most this number of choices fit next to each other.
MOST_BESIDE = 8

BETTER, WORSE, NOTHING, CHANCE = "#0072B2", "#D55E00", "#b8b8b8", "#e8e8e8"


def draw_choices(
    choices: list[dict[str, str]], scores: list[float], called: str, title: str
) -> Figure:
    """Draw a panel for each axis with several choices, with a box of scores for each choice.

    choices: for each combination of settings, the name of its choice on each axis.
    scores: the score of each combination, drawn as a dot.
    called: the name of the score.
    """
    columns_of = {axis: [each[axis] for each in choices] for axis in choices[0]}
    varied = {axis: chosen for axis, chosen in columns_of.items() if len(set(chosen)) > 1}
    columns = min(3, len(varied))
    rows = ceil(len(varied) / columns)
    upright = any(len(set(chosen)) > MOST_BESIDE for chosen in varied.values())
    figure = new_figure(0.8 + 4 * columns, 0.8 + (3.2 + 2 * upright) * rows, title)
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
    rng = np.random.default_rng(0)  # moves dots sideways, so that they do not cover each other
    for axes, (axis, chosen) in zip(grid.flat, varied.items(), strict=False):
        groups = {
            name: [score for each, score in zip(chosen, scores, strict=True) if each == name]
            for name in _in_order(chosen)
        }
        _draw_boxes(axes, groups, rng)
        axes.set_title(axis, loc="left", fontsize=10)
    for axes in grid.flat[len(varied) :]:
        axes.set_axis_off()
    for axes in grid[:, 0]:
        axes.set_ylabel(called)
    return figure


def _draw_boxes(axes: Axes, groups: dict[str, list[float]], rng: np.random.Generator) -> None:
    """Draw, for each choice, a box of its scores and a dot for each score."""
    colour = LINES[0][0]
    axes.boxplot(
        list(groups.values()),
        widths=0.6,
        patch_artist=True,
        showfliers=False,  # the dots already show outliers
        boxprops={"facecolor": colour, "alpha": 0.25, "linewidth": 0.8},
        medianprops={"color": colour, "linewidth": 2},
        whiskerprops={"color": colour},
        capprops={"color": colour},
    )
    for place, group in enumerate(groups.values(), 1):
        beside = place + rng.uniform(-0.2, 0.2, len(group))
        axes.plot(beside, group, ".", color="#333333", markersize=3, alpha=0.5)
    upright = len(groups) > MOST_BESIDE
    labels = [short(name) for name in groups]
    if not upright:
        # `fill` breaks long names into lines, at hyphens if possible.
        labels = [fill(each, 42 // len(groups)) for each in labels]
    axes.set_xticks(range(1, len(groups) + 1), labels, fontsize=9, rotation=90 * upright)


def draw_correlations(
    found: list[tuple[str, float, float]], called: str, less_is_better: bool, title: str
) -> Figure:
    """Draw a bar for each choice, as long as its correlation with the score.

    A wider bar in the background shows the range of 95% of the correlations if the scores are
    assigned to the combinations of settings at random.

    found: for each choice, its label, its correlation, and the upper end of this range.
    called: the name of the score.
    """
    figure, axes = new_axes(8, 1.5 + 0.32 * len(found), title)
    order = sorted(found, key=lambda each: each[1], reverse=less_is_better)
    for place, (_, rho, chance) in enumerate(order):
        axes.barh(place, 2 * chance, 0.9, -chance, color=CHANCE, zorder=1)
        better = (rho < 0) == less_is_better
        colour = NOTHING if abs(rho) <= chance else BETTER if better else WORSE
        axes.barh(place, rho, 0.55, color=colour, zorder=2)
    axes.axvline(0, color="#333333", linewidth=0.8, zorder=3)
    axes.set_yticks(range(len(order)), [label for label, _, _ in order], fontsize=9)
    farthest = max([0.1, *(max(abs(rho), chance) for _, rho, chance in order)])
    axes.set_xlim(-1.05 * farthest, 1.05 * farthest)
    axes.set_xlabel(f"Spearman's correlation with the {called}")
    meanings = {
        "better": BETTER,
        "worse": WORSE,
        "no more than chance": NOTHING,
        "chance (95%)": CHANCE,
    }
    patches = [Patch(color=colour, label=label) for label, colour in meanings.items()]
    legend_below(figure, 4, handles=patches)
    return figure


def _in_order(names: list[str]) -> list[str]:
    """Return the distinct names: numbers by size, other names in order of first occurrence."""
    different = list(dict.fromkeys(names))
    try:
        return sorted(different, key=lambda name: float(name.partition("=")[2]))
    except ValueError:
        return different
