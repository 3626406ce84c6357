"""Figures of a study: scores by choice, correlations with the score, alpha-covariance by point."""

from __future__ import annotations

from math import ceil
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from logicgen.report.figure_style import (
    LINES,
    band,
    legend_below,
    line_styles,
    new_axes,
    new_figure,
    shares,
    whole_numbers,
)

# So many names of choices find room beside each other.
MOST_BESIDE = 8

BETTER, WORSE, NOTHING, CHANCE = "#0072B2", "#D55E00", "#b8b8b8", "#e8e8e8"


def draw_choices(
    choices: list[dict[str, str]], scores: list[float], called: str, title: str
) -> Figure:
    """Draw a panel per axis that varies: a box of scores for each choice, a dot for each point."""
    columns_of = {axis: [each[axis] for each in choices] for axis in choices[0]}
    varied = {axis: chosen for axis, chosen in columns_of.items() if len(set(chosen)) > 1}
    rng = np.random.default_rng(0)  # for dots beside each other
    columns = min(3, len(varied))
    rows = ceil(len(varied) / columns)
    upright = {axis: len(set(chosen)) > MOST_BESIDE for axis, chosen in varied.items()}
    height = 3.2 + 2 * any(upright.values())
    figure = new_figure(0.8 + 4 * columns, 0.8 + height * rows, title)
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
    colour = LINES[0][0]
    for axes, (axis, chosen) in zip(grid.flat, varied.items(), strict=False):
        names = _in_order(chosen)
        groups = [
            [score for each, score in zip(chosen, scores, strict=True) if each == choice]
            for choice in names
        ]
        axes.boxplot(
            groups,
            widths=0.6,
            patch_artist=True,
            showfliers=False,  # the dots show them
            boxprops={"facecolor": colour, "alpha": 0.25, "linewidth": 0.8},
            medianprops={"color": colour, "linewidth": 2},
            whiskerprops={"color": colour},
            capprops={"color": colour},
        )
        for place, group in enumerate(groups, 1):
            beside = place + rng.uniform(-0.2, 0.2, len(group))
            axes.plot(beside, group, ".", color="#333333", markersize=3, alpha=0.5)
        labels = [each.partition("=")[2] or each for each in names]
        if not upright[axis]:
            labels = [fill(each, 42 // len(names)) for each in labels]  # at hyphens
        axes.set_xticks(range(1, len(names) + 1), labels, fontsize=9, rotation=90 * upright[axis])
        axes.set_title(axis, loc="left", fontsize=10)
    for axes in grid.flat[len(varied) :]:
        axes.set_axis_off()
    for axes in grid[:, 0]:
        axes.set_ylabel(called)
    return figure


def draw_correlations(
    found: list[tuple[str, float, float]], called: str, less_is_better: bool, title: str
) -> Figure:
    """Draw a bar per choice, and behind it how far chance alone would go in 95% of cases.

    found: label, correlation, and how far chance goes.
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


def draw_covariance(points: dict[str, dict[str, float]], title: str) -> Figure:
    """Draw the mean alpha-covariance by number of symbols, a line per point."""
    figure, axes = new_axes(7, 4.5, title)
    for (label, by_symbols), style in zip(points.items(), line_styles(), strict=False):
        pairs = sorted((int(key), value) for key, value in by_symbols.items() if key != "all")
        symbols, values = zip(*pairs, strict=True)
        axes.plot(symbols, values, label=label, markersize=5, **style)
    whole_numbers(axes.xaxis)
    axes.set_ylim(-0.03, 1.03)
    axes.set(xlabel="symbols in the problem", ylabel="alpha-covariance (mean, exact strings)")
    columns = 77 // (max(map(len, points)) + 6)  # of text that fits the width
    legend_below(figure, min(max(columns, 1), 3))
    return figure


# Of bars whose colours begin again.
HATCHES: list[dict[str, Any]] = [
    {},
    {"hatch": "////", "edgecolor": "white"},
    {"hatch": "....", "edgecolor": "white"},
]


def draw_shares(points: dict[str, dict[str, dict[str, float]]], title: str) -> Figure:
    """Draw the right answers to each measure as bars with 95% intervals, a colour per point."""
    measures = list(next(iter(points.values())))
    figure, axes = new_axes(max(6, 1.6 * len(measures) + 2), 4.2, title)
    width = 0.8 / len(points)
    for number, ((label, found), style) in enumerate(
        zip(points.items(), line_styles(), strict=False)
    ):
        places = np.arange(len(measures)) + (number - (len(points) - 1) / 2) * width
        right, low, high = (
            np.array([found[measure][f"accuracy{end}"] for measure in measures])
            for end in ("", "_low", "_high")
        )
        hatch = HATCHES[number // len(LINES) % len(HATCHES)]
        axes.bar(places, right, 0.92 * width, color=style["color"], label=label, **hatch)
        ends = [right - low, high - right]
        axes.errorbar(places, right, ends, fmt="none", ecolor="#333333", capsize=2)
    axes.set_xticks(range(len(measures)), [fill(measure, 16) for measure in measures], fontsize=9)
    axes.set_ylim(0, 1.03)
    shares(axes.yaxis)
    axes.set_ylabel("right answers")
    legend_below(figure)
    return figure


def draw_learning(points: dict[str, list[list[tuple[float, float]]]], title: str) -> Figure:
    """Draw the share of exact answers to held-out problems against minutes of training.

    points: by label, the pairs (minutes, share) of each training seed; a line each.
    """
    figure, axes = new_axes(7, 4.2, title)
    for (label, seeds), style in zip(points.items(), line_styles(), strict=False):
        for number, pairs in enumerate(seeds):
            minutes, exact = zip(*pairs, strict=True)
            axes.plot(minutes, exact, label=None if number else label, markersize=4, **style)
    axes.set_ylim(0, 1.03)
    shares(axes.yaxis)
    axes.set(xlabel="minutes of training", ylabel="exact answers, held-out problems")
    legend_below(figure)
    return figure


def draw_answers_by(
    points: dict[str, list[tuple[float, float, float, float]]], by: str, title: str
) -> Figure:
    """Draw the share of right answers over the number of symbols, or the length, of problems.

    points: by label, (place, share, and the ends of its 95% interval) in order; a line each.
    """
    figure, axes = new_axes(7, 4.2, title)
    for (label, line), style in zip(points.items(), line_styles(), strict=False):
        places, right, low, high = zip(*line, strict=True)
        axes.plot(places, right, label=label, markersize=5, **style)
        band(axes, places, low, high, style["color"])
    whole_numbers(axes.xaxis)
    axes.set_ylim(0, 1.03)
    shares(axes.yaxis)
    named = {"symbols": "symbols in the problem", "length": "length of the problem (tokens)"}
    axes.set(xlabel=named[by], ylabel="right answers")
    legend_below(figure)
    return figure


def draw_windows(points: dict[str, list[dict[str, float]]], title: str) -> Figure:
    """Draw key precision by window with 95% intervals, a line per point."""
    figure, axes = new_axes(7, 4.2, title)
    for (label, windows), style in zip(points.items(), line_styles(), strict=False):
        places = [window["last"] for window in windows]
        low, high = ([window[end] for window in windows] for end in ("low", "high"))
        axes.plot(places, [w["precision"] for w in windows], label=label, markersize=5, **style)
        band(axes, places, low, high, style["color"])
    axes.set_ylim(0, 1)
    shares(axes.yaxis)
    axes.set(xlabel="end of the window (characters)", ylabel="key precision")
    legend_below(figure, max(1, 75 // (max(map(len, points)) + 8)))  # of text that fits the width
    return figure


def _in_order(names: list[str]) -> list[str]:
    """Return different names: numbers by size, others as they were first seen."""
    different = list(dict.fromkeys(names))
    try:
        return sorted(different, key=lambda name: float(name.partition("=")[2]))
    except ValueError:
        return different
