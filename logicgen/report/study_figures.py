"""Figures of a study: scores by choice, correlations with the score, alpha-covariance by point."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from math import ceil
from pathlib import Path
from textwrap import fill
from typing import Any
from unittest.mock import patch

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from logicgen.report.figure_style import LINES, line_styles, whole_numbers
from logicgen.report.figure_style import shares as percentages

BETTER, WORSE, NOTHING = "#0072B2", "#D55E00", "#b8b8b8"


def draw_choices(
    choices: list[dict[str, str]],
    scores: list[float],
    called: str,
    title: str,
) -> Figure:
    """Draw a panel per axis with a box of the points' scores for each of its choices.

    Every point is a dot as well. Axes of one choice are left out.
    """
    axes_of_study = [axis for axis in choices[0] if len({each[axis] for each in choices}) > 1]
    rng = np.random.default_rng(0)  # for dots beside each other
    columns = min(3, len(axes_of_study))
    rows = ceil(len(axes_of_study) / columns)
    figure = Figure(figsize=(0.8 + 4 * columns, 0.8 + 3.2 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
    colour = LINES[0][0]
    for axes, axis in zip(grid.flat, axes_of_study, strict=False):
        names = _in_order({each[axis] for each in choices}, [each[axis] for each in choices])
        groups = [
            [score for each, score in zip(choices, scores, strict=True) if each[axis] == choice]
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
        labels = [
            fill(each.partition("=")[2] or each, max(1, 42 // len(names))) for each in names
        ]  # broken at hyphens
        axes.set_xticks(range(1, len(names) + 1), labels, fontsize=9)
        axes.set_title(axis, loc="left", fontsize=10)
    for axes in grid.flat[len(axes_of_study) :]:
        axes.set_axis_off()
    for axes in grid[:, 0]:
        axes.set_ylabel(called)
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    return figure


def draw_correlations(
    found: list[tuple[str, float, float]], called: str, less_is_better: bool, title: str
) -> Figure:
    """Draw a bar per choice, and behind it how far chance alone would go in 95% of cases.

    found: label, correlation, and how far chance goes.
    """
    figure = Figure(figsize=(8, 1.5 + 0.32 * len(found)), layout="constrained")
    axes = figure.subplots()
    order = sorted(found, key=lambda each: each[1], reverse=less_is_better)
    for place, (_, rho, chance) in enumerate(order):
        axes.barh(place, 2 * chance, 0.9, -chance, color="#e8e8e8", zorder=1)
        better = (rho < 0) == less_is_better
        colour = NOTHING if abs(rho) <= chance else BETTER if better else WORSE
        axes.barh(place, rho, 0.55, color=colour, zorder=2)
    axes.axvline(0, color="#333333", linewidth=0.8, zorder=3)
    axes.set_yticks(range(len(order)), [label for label, _, _ in order], fontsize=9)
    farthest = max([0.1, *(max(abs(rho), chance) for _, rho, chance in order)])
    axes.set_xlim(-1.05 * farthest, 1.05 * farthest)
    axes.set_xlabel(f"Spearman's correlation with the {called}")
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    legend = [
        Patch(color=BETTER, label="better"),
        Patch(color=WORSE, label="worse"),
        Patch(color=NOTHING, label="no more than chance"),
        Patch(color="#e8e8e8", label="chance (95%)"),
    ]
    figure.legend(handles=legend, loc="outside lower center", ncols=4, frameon=False)
    return figure


def draw_covariance(points: dict[str, dict[str, float]], title: str) -> Figure:
    """Draw the mean alpha-covariance by number of symbols, a line per point."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for (label, by_symbols), style in zip(points.items(), line_styles(), strict=False):
        pairs = sorted((int(key), value) for key, value in by_symbols.items() if key != "all")
        symbols, values = zip(*pairs, strict=True)
        axes.plot(symbols, values, label=label, markersize=5, **style)
    whole_numbers(axes.xaxis)
    axes.set_ylim(-0.03, 1.03)
    axes.set_xlabel("symbols in the problem")
    axes.set_ylabel("alpha-covariance (mean, exact strings)")
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    columns = 77 // (max(map(len, points)) + 6)  # of text that fits the width
    figure.legend(loc="outside lower center", ncols=min(max(columns, 1), 3), frameon=False)
    return figure


def draw_shares(points: dict[str, dict[str, dict[str, float]]], title: str) -> Figure:
    """Draw the right answers to each measure as bars with 95% intervals, a colour per point."""
    measures = list(next(iter(points.values())))
    figure = Figure(figsize=(max(6, 1.6 * len(measures) + 2), 4.2), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / len(points)
    for number, ((label, found), style) in enumerate(
        zip(points.items(), line_styles(), strict=False)
    ):
        places = np.arange(len(measures)) + (number - (len(points) - 1) / 2) * width
        shares = [found[measure]["accuracy"] for measure in measures]
        below = [found[m]["accuracy"] - found[m]["accuracy_low"] for m in measures]
        above = [found[m]["accuracy_high"] - found[m]["accuracy"] for m in measures]
        axes.bar(places, shares, 0.92 * width, color=style["color"], label=label)
        axes.errorbar(places, shares, [below, above], fmt="none", ecolor="#333333", capsize=2)
    axes.set_xticks(range(len(measures)), [fill(measure, 16) for measure in measures], fontsize=9)
    axes.set_ylim(0, 1)
    percentages(axes.yaxis)
    axes.set_ylabel("right answers")
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return figure


def draw_windows(points: dict[str, list[dict[str, float]]], title: str) -> Figure:
    """Draw key precision by window with 95% intervals, a line per point."""
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    for (label, windows), style in zip(points.items(), line_styles(), strict=False):
        places = [window["last"] for window in windows]
        low, high = ([window[end] for window in windows] for end in ("low", "high"))
        axes.plot(places, [w["precision"] for w in windows], label=label, markersize=5, **style)
        axes.fill_between(places, low, high, color=style["color"], alpha=0.15, linewidth=0)
    axes.set_ylim(0, 1)
    percentages(axes.yaxis)
    axes.set_xlabel("end of the window (characters)")
    axes.set_ylabel("key precision")
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return figure


def as_figure(draw: Callable[..., Any], *arguments: Any, **named: Any) -> Figure:
    """Return the figure that a drawing function saves, or returns."""
    if "folder" not in signature(draw).parameters:
        returned: Figure = draw(*arguments, **named)
        return returned
    saved: list[Figure] = []
    with patch.dict(draw.__globals__, save=lambda figure, *_: saved.append(figure)):
        draw(*arguments, folder=Path(), name="", **named)
    return saved[0]


def _in_order(names: set[str], seen: list[str]) -> list[str]:
    """Return numbers by size, other names as they were first seen."""
    try:
        return sorted(names, key=lambda name: float(name.partition("=")[2]))
    except ValueError:
        return list(dict.fromkeys(seen))
