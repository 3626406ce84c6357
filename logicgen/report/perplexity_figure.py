"""Perplexity by position as a figure: several models in one plot, and how far they are apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from logicgen.evaluate.perplexity import Curve
from logicgen.report.figure_style import legend_below, line_styles, new_figure

# Positions are many: every line is a moving average over this share of them.
WINDOW = 1 / 20
COUNTER = "best counter of the text"
GREY = {"color": "#555555"}


def moving_average(values: np.ndarray, counts: np.ndarray, width: int) -> np.ndarray:
    """Return (T,): the weighted mean over `width` positions around each, fewer at the borders.

    nan where there is nothing to average.
    """
    there = (counts > 0) & ~np.isnan(values)
    kernel = np.ones(width)
    weighted = np.convolve(np.where(there, values * counts, 0.0), kernel, "same")
    weight = np.convolve(np.where(there, counts, 0).astype(np.float64), kernel, "same")
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(there, weighted / weight, np.nan)


def draw_curves(groups: dict[str, list[tuple[str, Curve]]], title: str) -> Figure:
    """Draw perplexity by position: a column per group, in it a line per (label, curve).

    Below it, where a group has several, by how much each exceeds the first, as a multiple of the
    first's perplexity; on automaton languages, the distance to the ideal and to the truth. A
    group alone needs no label beside the title.
    """
    panels = max(1 + (len(curves) > 1) + bool(_with_truth(curves)) for curves in groups.values())
    if len(groups) == 1:
        figure = new_figure(7.5, 0.9 + 3 * panels, title)
        _draw_group(figure, next(iter(groups.values())), 3)
        return figure
    figure = new_figure(5.5 * len(groups), 1.2 + 3 * panels, title)
    columns = figure.subfigures(1, len(groups), squeeze=False)[0]
    for column, (label, curves) in zip(columns, groups.items(), strict=True):
        column.suptitle(label, fontsize=10)
        longest = max(24, *(len(name) for name, _ in curves))  # of "exact lexinvariant model"
        _draw_group(column, curves, max(1, 60 // (longest + 6)))  # of text that fits the width
    return figure


def _with_truth(curves: list[tuple[str, Curve]]) -> list[tuple[str, Curve]]:
    return [each for each in curves if "kl_true" in each[1].means]


def _draw_group(
    figure: Figure | SubFigure, curves: list[tuple[str, Curve]], legend_columns: int
) -> None:
    with_truth = _with_truth(curves)
    gaps = len(curves) > 1
    panels = 1 + gaps + bool(with_truth)
    all_axes = list(figure.subplots(panels, 1, squeeze=False, sharex=True)[:, 0])
    top, *below = all_axes
    for (label, curve), style in zip(curves, line_styles(), strict=False):
        _line(top, curve, 2 ** _smooth(curve, "bits"), label, style)
    known = (
        ("counter_bits", COUNTER, "-."),
        ("ideal_bits", "exact lexinvariant model", ":"),
        ("true_bits", "truth", "--"),
    )
    for measure, label, dashes in known:
        for _, curve in curves[:1]:
            if measure in curve.means:
                style = {**GREY, "linestyle": dashes, "marker": ""}
                _line(top, curve, 2 ** _smooth(curve, measure), label, style)
    top.set_yscale("log")
    top.yaxis.set_major_formatter(_plain)
    top.yaxis.set_minor_formatter(_plain)
    top.tick_params(axis="y", which="minor", labelsize=7)
    top.set_ylabel("perplexity")
    if gaps:
        axes = below.pop(0)
        reference = 2 ** _smooth(curves[0][1], "bits")
        for (label, curve), style in list(zip(curves, line_styles(), strict=False))[1:]:
            ours = 2 ** _smooth(curve, "bits")
            shared = min(len(ours), len(reference))
            _line(axes, curve, ours[:shared] / reference[:shared] - 1, label, style)
        axes.axhline(0, color="#999999", linewidth=0.8)
        axes.set_ylabel(f"excess over {curves[0][0]}\n(times its perplexity)")
    if with_truth:
        axes = below.pop(0)
        for (label, curve), style in zip(with_truth, line_styles(), strict=False):
            measure = "kl_ideal" if "kl_ideal" in curve.means else "kl_true"
            _line(axes, curve, _smooth(curve, measure), label, style)
        for _, curve in with_truth[:1]:
            if {"counter_bits", "ideal_bits"} <= curve.means.keys():
                values = _smooth(curve, "counter_bits") - _smooth(curve, "ideal_bits")
                _line(axes, curve, values, COUNTER, {**GREY, "linestyle": "-.", "marker": ""})
        best = "exact lexinvariant model" if "kl_ideal" in with_truth[0][1].means else "truth"
        axes.set(ylabel=f"bits above the\n{best} (KL)", yscale="log")
        axes.set_ylim(bottom=1e-3)
        axes.yaxis.set_major_formatter(_plain)
    all_axes[-1].set_xlabel("tokens before")
    handles, labels = top.get_legend_handles_labels()
    legend_below(figure, legend_columns, handles, labels)


def _plain(value: float, place: int | None) -> str:
    return f"{value:g}"


def _smooth(curve: Curve, measure: str) -> np.ndarray:
    width = max(1, int(len(curve.tokens) * WINDOW))
    return moving_average(curve.means[measure], curve.tokens, width)


def _line(axes: Axes, curve: Curve, values: np.ndarray, label: str, style: dict[str, Any]) -> None:
    every = max(1, len(values) // 12)
    axes.plot(np.arange(len(values)), values, label=label, markevery=every, markersize=4, **style)
