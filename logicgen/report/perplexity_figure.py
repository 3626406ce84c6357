"""Perplexity by position as a picture: several models in one plot, and how far they are apart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from logicgen.report.figure_style import line_styles, save

if TYPE_CHECKING:
    from logicgen.evaluate.perplexity import Curve

# Positions are many: every line is a moving average over this share of them.
WINDOW = 1 / 20


def moving_average(values: np.ndarray, counts: np.ndarray, width: int) -> np.ndarray:
    """(T,): the mean over `width` positions around each, weighted; fewer at the borders.

    nan where there is nothing to average.
    """
    there = (counts > 0) & ~np.isnan(values)
    kernel = np.ones(width)
    weighted = np.convolve(np.where(there, values * counts, 0.0), kernel, "same")
    weight = np.convolve(np.where(there, counts, 0).astype(np.float64), kernel, "same")
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(there, weighted / weight, np.nan)


def draw_curves(curves: list[tuple[str, Curve]], title: str, folder: Path, name: str) -> None:
    """Draw perplexity by position, a line per model.

    Below it, where there are several, by how much each exceeds the first, as a multiple of the
    first's perplexity; on automaton languages, the distance to the ideal and to the truth.
    """
    save(draw_curve_groups({"": curves}, title), folder, name)


def draw_curve_groups(groups: dict[str, list[tuple[str, Curve]]], title: str) -> Figure:
    """Draw perplexity by position, a column for each group of curves that read the same data."""
    rows = max(panels(curves) for curves in groups.values())
    width = 7 if len(groups) == 1 else 4.6
    size = 0.5 + width * len(groups), 0.9 + 3 * rows
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(rows, len(groups), squeeze=False, sharex="col")
    for column, (group, curves) in enumerate(groups.items()):
        used = panels(curves)
        draw_panels(list(grid[:used, column]), curves)
        for axes in grid[used:, column]:
            axes.set_axis_off()
        grid[0, column].set_title(group, loc="left", fontsize=10)
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    named: dict[str, Any] = {}
    for axes in grid[0]:
        handles, labels = axes.get_legend_handles_labels()
        named = dict(zip(labels, handles, strict=True)) | named
    figure.legend(named.values(), named, loc="outside lower center", ncols=3, frameon=False)
    return figure


def panels(curves: list[tuple[str, Curve]]) -> int:
    """Return how many panels curves need: one, one for gaps, one for the distance to the truth."""
    return 1 + (len(curves) > 1) + any("kl_true" in curve.means for _, curve in curves)


def draw_panels(all_axes: list[Axes], curves: list[tuple[str, Curve]]) -> None:
    """Draw curves into as many axes as `panels` says, one below the other."""
    with_truth = [each for each in curves if "kl_true" in each[1].means]
    top, *below = all_axes
    for (label, curve), style in zip(curves, line_styles(), strict=False):
        _line(top, curve, 2 ** _smooth(curve, "bits"), label, style)
    if with_truth:
        curve = with_truth[0][1]
        for measure, label, dashes in (
            ("ideal_bits", "exact lexinvariant model", ":"),
            ("true_bits", "truth", "--"),
        ):
            if measure in curve.means:
                values = 2 ** _smooth(curve, measure)
                style = {"color": "#555555", "linestyle": dashes, "marker": ""}
                _line(top, curve, values, label, style)
    top.set_yscale("log")
    top.yaxis.set_major_formatter(lambda value, place: f"{value:g}")
    top.yaxis.set_minor_formatter(lambda value, place: f"{value:g}")
    top.tick_params(axis="y", which="minor", labelsize=7)
    top.set_ylabel("perplexity")
    if len(curves) > 1:
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
        best = "exact lexinvariant model" if "kl_ideal" in with_truth[0][1].means else "truth"
        axes.set_ylabel(f"bits above the\n{best} (KL)")
        axes.set_yscale("log")
        axes.set_ylim(bottom=1e-3)
        axes.yaxis.set_major_formatter(lambda value, place: f"{value:g}")
    all_axes[-1].set_xlabel("tokens before")


def _smooth(curve: Curve, measure: str) -> np.ndarray:
    width = max(1, int(len(curve.tokens) * WINDOW))
    return moving_average(curve.means[measure], curve.tokens, width)


def _line(axes: Axes, curve: Curve, values: np.ndarray, label: str, style: dict) -> None:
    every = max(1, len(values) // 12)
    axes.plot(np.arange(len(values)), values, label=label, markevery=every, markersize=4, **style)
