"""The figure and the page of an evaluation on a corpus."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from logicgen.measures.perplexity import MEASURES, Curve
from logicgen.report.document import Document, FactTable, write_document
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
    weighted = np.convolve(np.where(there, values, 0.0) * counts, kernel, "same")
    weight = np.convolve(np.where(there, counts, 0).astype(np.float64), kernel, "same")
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(there, weighted / weight, np.nan)


def draw_curves(groups: dict[str, list[tuple[str, Curve]]], title: str) -> Figure:
    """Draw perplexity by position: a column per group, in it a line per (label, curve).

    Below it, where a group has several, by how much each exceeds the first, as a multiple of the
    first's perplexity; on automaton languages, the distance to the ideal or the truth, the share of
    the way from the best counter to the ideal, and the distance to the truth as L1. A group alone
    needs no label beside the title.
    """
    panels = max(1 + len(_panels(curves)) for curves in groups.values())
    if len(groups) == 1:
        figure = new_figure(7.5, 0.9 + 3 * panels, title)
        (curves,) = groups.values()
        _draw_group(figure, curves, min(3, _legend_columns(curves, 90)))
        return figure
    figure = new_figure(5.5 * len(groups), 1.2 + 3 * panels, title)
    columns = figure.subfigures(1, len(groups), squeeze=False)[0]
    for column, (label, curves) in zip(columns, groups.items(), strict=True):
        column.suptitle(label, fontsize=10)
        _draw_group(column, curves, _legend_columns(curves, 60))
    return figure


def _legend_columns(curves: list[tuple[str, Curve]], width: int) -> int:
    """Return how many labels fit beside each other into a width, in characters."""
    longest = max(24, *(len(name) for name, _ in curves))  # of "exact lexinvariant model"
    return max(1, width // (longest + 6))


def _panels(curves: list[tuple[str, Curve]]) -> list[Callable[[Axes], None]]:
    """Return what draws each panel below the first."""
    wanted = (
        (_draw_gaps, len(curves) > 1),
        (_draw_distance, _some_have(curves, "kl_true")),
        (_draw_closed, _some_have(curves, *_WAY)),
        (_draw_l1, _some_have(curves, "l1_true")),
    )
    return [partial(draw, curves) for draw, there in wanted if there]


_WAY = "counter_bits", "ideal_bits"


def _some_have(curves: list[tuple[str, Curve]], *measures: str) -> bool:
    """Return whether a curve has these measures. Only some data have an ideal or a truth."""
    return any({*measures} <= curve.means.keys() for _, curve in curves)


def _draw_group(
    figure: Figure | SubFigure, curves: list[tuple[str, Curve]], legend_columns: int
) -> None:
    panels = _panels(curves)
    top, *below = figure.subplots(1 + len(panels), 1, squeeze=False, sharex=True)[:, 0]
    for (label, curve), style in zip(curves, line_styles(), strict=False):
        _line(top, curve, 2 ** _smooth(curve, "bits"), label, style)
    known = (
        ("counter_bits", COUNTER, "-."),
        ("ideal_bits", "exact lexinvariant model", ":"),
        ("true_bits", "truth", "--"),
    )
    curve = curves[0][1]
    for measure, label, dashes in known:
        if measure in curve.means:
            style = {**GREY, "linestyle": dashes, "marker": ""}
            _line(top, curve, 2 ** _smooth(curve, measure), label, style)
    top.set_yscale("log")
    top.yaxis.set_major_formatter(_plain)
    top.yaxis.set_minor_formatter(_plain)
    top.tick_params(axis="y", which="minor", labelsize=7)
    top.set_ylabel("perplexity")
    for draw, axes in zip(panels, below, strict=True):
        draw(axes)
    [top, *below][-1].set_xlabel("tokens before")
    handles, labels = top.get_legend_handles_labels()
    legend_below(figure, legend_columns, handles, labels)


def _draw_gaps(curves: list[tuple[str, Curve]], axes: Axes) -> None:
    reference = 2 ** _smooth(curves[0][1], "bits")
    for (label, curve), style in list(zip(curves, line_styles(), strict=False))[1:]:
        ours = 2 ** _smooth(curve, "bits")
        shared = min(len(ours), len(reference))
        _line(axes, curve, ours[:shared] / reference[:shared] - 1, label, style)
    axes.axhline(0, color="#999999", linewidth=0.8)
    axes.set_ylabel(f"excess over {curves[0][0]}\n(times its perplexity)")


def _draw_distance(curves: list[tuple[str, Curve]], axes: Axes) -> None:
    for (label, curve), style in zip(curves, line_styles(), strict=False):
        if "kl_true" not in curve.means:
            continue
        measure = "kl_ideal" if "kl_ideal" in curve.means else "kl_true"
        _line(axes, curve, _smooth(curve, measure), label, style)
    first = next(curve for _, curve in curves if "kl_true" in curve.means)
    if first.means.keys() >= {*_WAY}:
        values = _smooth(first, "counter_bits") - _smooth(first, "ideal_bits")
        _line(axes, first, values, COUNTER, {**GREY, "linestyle": "-.", "marker": ""})
    best = "exact lexinvariant model" if "kl_ideal" in first.means else "truth"
    axes.set(ylabel=f"bits above the\n{best} (KL)", yscale="log")
    axes.set_ylim(bottom=1e-3)
    axes.yaxis.set_major_formatter(_plain)


def _draw_closed(curves: list[tuple[str, Curve]], axes: Axes) -> None:
    for (label, curve), style in zip(curves, line_styles(), strict=False):
        if not curve.means.keys() >= {*_WAY}:
            continue
        counter, bits, ideal = (
            _smooth(curve, f"{each}bits") for each in ("counter_", "", "ideal_")
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            _line(axes, curve, (counter - bits) / (counter - ideal), label, style)
    axes.axhline(0, color="#999999", linewidth=0.8)
    axes.set(ylabel="share of the way from\nthe best counter to the ideal", ylim=(-0.5, 1.1))


def _draw_l1(curves: list[tuple[str, Curve]], axes: Axes) -> None:
    for (label, curve), style in zip(curves, line_styles(), strict=False):
        if "l1_true" in curve.means:
            _line(axes, curve, _smooth(curve, "l1_true"), label, style)
    axes.set_ylabel("distance from the truth (L1)")
    axes.set_ylim(bottom=0)


def _plain(value: float, place: float | None) -> str:
    return f"{value:g}"


def _smooth(curve: Curve, measure: str) -> np.ndarray:
    width = max(1, int(len(curve.tokens) * WINDOW))
    return moving_average(curve.means[measure], curve.tokens, width)


def _line(axes: Axes, curve: Curve, values: np.ndarray, label: str, style: dict[str, Any]) -> None:
    every = max(1, len(values) // 12)
    axes.plot(np.arange(len(values)), values, label=label, markevery=every, markersize=4, **style)


# Measures that are bits, which one axis can have, with their short names.
LINES = {
    "bits": "the model",
    "counter_bits": "the best counter of the text",
    "ideal_bits": "the ideal lexinvariant model",
    "true_bits": "the truth",
}


def write_perplexity_page(curve: Curve, path: Path) -> Path:
    """Write the page of an evaluation on a corpus; return its path."""
    write_document(perplexity_document(curve), path)
    return path


def perplexity_document(curve: Curve) -> Document:
    """Return the page of an evaluation on a corpus."""
    about, there = curve.about, [name for name in LINES if name in curve.means]
    places = np.flatnonzero(curve.tokens)
    width = max(1, round(WINDOW * len(curve.tokens)))
    averages = {n: moving_average(curve.means[n], curve.tokens, width) for n in there}
    lines = [
        {
            "name": name,
            "label": LINES[name],
            "values": [
                round(value, 4) if math.isfinite(value) else None
                for value in averages[name][places].tolist()
            ],
        }
        for name in there
    ]
    readings = [
        {
            "tokens": list(reading.tokens),
            "measured": {name: reading.measured[name] for name in there},
        }
        for reading in curve.readings
    ]
    data = {
        "positions": places.tolist(),
        "lines": lines,
        "readings": readings,
        "blanks": about.task in ("automaton", "production"),
    }
    overall = curve.parts["overall"]
    return Document(
        title=f"{about.model} on {about.data} ({about.split})",
        lead=f"Perplexity {overall['perplexity']:.3f} over {overall['tokens']:,} tokens of"
        f" {about.sequences:,} sequences.",
        summary=[_parts(curve)],
        data=data,
        facts=[_facts(curve)],
        notes=[f"Made by logicgen. Lines are means over {width} positions around each."],
    )


def _parts(curve: Curve) -> FactTable:
    """Return the table of means over all positions, and from one on."""
    rows = []
    for part, found in curve.parts.items():
        where = "all positions" if part == "overall" else f"from position {found['from']} on"
        rows.append([where, "perplexity", f"{found['perplexity']:.3f}", f"{found['tokens']:,}"])
        for name, called in MEASURES.items():
            if name in found:
                low, high = found[f"{name}_low"], found[f"{name}_high"]
                value = f"{found[name]:.4f} [{low:.4f}, {high:.4f}]"
                rows.append([where, called, value, f"{found['tokens']:,}"])
    return FactTable("Means", ["where", "what", "value", "tokens"], rows)


def _facts(curve: Curve) -> FactTable:
    about: dict[str, Any] = {
        "model": curve.about.model,
        "data": f"{curve.about.data}, split {curve.about.split}",
        "task": curve.about.task,
        "tokens of a sequence": curve.about.context,
        "sequences": curve.about.sequences,
        "embedding seeds": curve.about.embedding_seeds,
    }
    return FactTable("What was evaluated", ["", ""], [[name, str(about[name])] for name in about])
