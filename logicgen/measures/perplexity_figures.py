"""The figure and the page of a language model's perplexity on a corpus."""

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

# Every line is a moving average over this share of the positions.
WINDOW = 1 / 20
COUNTER = "best counter of the text"
IDEAL = "exact lexinvariant model"
PLAIN = "{x:g}"  # format of the numbers on logarithmic axes


def moving_average(values: np.ndarray, counts: np.ndarray, width: int) -> np.ndarray:
    """Return the moving average of `values`, weighted by `counts`, over `width` positions.

    values: the mean at each position.
    counts: the number of tokens at each position.

    At the borders the average has fewer positions. It is nan at positions without a value.
    """
    there = (counts > 0) & ~np.isnan(values)
    kernel = np.ones(width)
    weighted = np.convolve(np.where(there, values, 0.0) * counts, kernel, "same")
    weight = np.convolve(np.where(there, counts, 0).astype(np.float64), kernel, "same")
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(there, weighted / weight, np.nan)


def draw_curves(groups: dict[str, list[tuple[str, Curve]]], title: str) -> Figure:
    """Draw perplexity by position: a column of panels per group, and a line per (label, curve).

    Further panels show these values, if the curves have them:

    - the share by which the perplexity of a curve exceeds the perplexity of the group's first curve
    - the divergence from the exact lexinvariant model or, if it is not known, from the truth
    - the bits per token on a scale from the best counter (0) to the exact lexinvariant model (1)
    - the L1 distance from the true probabilities

    `perplexity.py` defines these models. A single group has no label.
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
    """Return the number of labels that fit side by side into the legend.

    width: width of the legend in characters.
    """
    longest = max(24, *(len(name) for name, _ in curves))  # 24 is the length of IDEAL
    return max(1, width // (longest + 6))


_WAY = "counter_bits", "ideal_bits"


def _panels(curves: list[tuple[str, Curve]]) -> list[Callable[[Axes], None]]:
    """Return a function for each panel below the first. The function draws the panel on given axes.

    A panel is omitted if no curve has its measures.
    """

    def some_have(*measures: str) -> bool:
        return any({*measures} <= curve.means.keys() for _, curve in curves)

    wanted = (
        (_draw_gaps, len(curves) > 1),
        (_draw_distance, some_have("kl_true")),
        (_draw_closed, some_have(*_WAY)),
        (_draw_l1, some_have("l1_true")),
    )
    return [partial(draw, curves) for draw, there in wanted if there]


def _draw_group(
    figure: Figure | SubFigure, curves: list[tuple[str, Curve]], legend_columns: int
) -> None:
    panels = _panels(curves)
    top, *below = figure.subplots(1 + len(panels), 1, squeeze=False, sharex=True)[:, 0]
    _lines(top, curves, lambda curve: 2 ** _smooth(curve, "bits"))
    known = (
        ("counter_bits", COUNTER, "-."),
        ("ideal_bits", IDEAL, ":"),
        ("true_bits", "truth", "--"),
    )
    curve = curves[0][1]
    for measure, label, dashes in known:
        if measure in curve.means:
            _line(top, 2 ** _smooth(curve, measure), label, _grey(dashes))
    top.set_yscale("log")
    top.yaxis.set_major_formatter(PLAIN)
    top.yaxis.set_minor_formatter(PLAIN)
    top.tick_params(axis="y", which="minor", labelsize=7)
    top.set_ylabel("perplexity")
    for draw, axes in zip(panels, below, strict=True):
        draw(axes)
    [top, *below][-1].set_xlabel("tokens before")
    handles, labels = top.get_legend_handles_labels()
    legend_below(figure, legend_columns, handles, labels)


def _draw_gaps(curves: list[tuple[str, Curve]], axes: Axes) -> None:
    name, reference = curves[0][0], 2 ** _smooth(curves[0][1], "bits")

    def gap(curve: Curve) -> np.ndarray:
        ours = 2 ** _smooth(curve, "bits")
        shared = min(len(ours), len(reference))
        return np.asarray(ours[:shared] / reference[:shared] - 1)

    _lines(axes, curves, gap, first=1)
    axes.axhline(0, color="#999999", linewidth=0.8)
    axes.set_ylabel(f"excess over {name}\n(times its perplexity)")


def _draw_distance(curves: list[tuple[str, Curve]], axes: Axes) -> None:
    def distance(curve: Curve) -> np.ndarray:
        return _smooth(curve, "kl_ideal" if "kl_ideal" in curve.means else "kl_true")

    _lines(axes, curves, distance, "kl_true")
    there = [curve for _, curve in curves if "kl_true" in curve.means]
    best = IDEAL if "kl_ideal" in there[0].means else "truth"
    if there[0].means.keys() >= {*_WAY}:
        values = _smooth(there[0], "counter_bits") - _smooth(there[0], "ideal_bits")
        _line(axes, values, COUNTER, _grey("-."))
    axes.set(ylabel=f"bits above the\n{best} (KL)", yscale="log")
    axes.set_ylim(bottom=1e-3)
    axes.yaxis.set_major_formatter(PLAIN)


def _draw_closed(curves: list[tuple[str, Curve]], axes: Axes) -> None:
    def way(curve: Curve) -> np.ndarray:
        counter, bits, ideal = (
            _smooth(curve, each) for each in ("counter_bits", "bits", "ideal_bits")
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((counter - bits) / (counter - ideal))

    _lines(axes, curves, way, *_WAY)
    axes.axhline(0, color="#999999", linewidth=0.8)
    axes.set(ylabel="share of the way from\nthe best counter to the ideal", ylim=(-0.5, 1.1))


def _draw_l1(curves: list[tuple[str, Curve]], axes: Axes) -> None:
    _lines(axes, curves, lambda curve: _smooth(curve, "l1_true"), "l1_true")
    axes.set_ylabel("distance from the truth (L1)")
    axes.set_ylim(bottom=0)


def _smooth(curve: Curve, measure: str) -> np.ndarray:
    width = max(1, int(len(curve.tokens) * WINDOW))
    return moving_average(curve.means[measure], curve.tokens, width)


def _lines(
    axes: Axes,
    curves: list[tuple[str, Curve]],
    values: Callable[[Curve], np.ndarray],
    *needed: str,
    first: int = 0,
) -> None:
    """Draw a line for each curve that has the measures `needed`.

    first: index of the first curve to draw.
    """
    for (label, curve), style in list(zip(curves, line_styles(), strict=False))[first:]:
        if {*needed} <= curve.means.keys():
            _line(axes, values(curve), label, style)


def _line(axes: Axes, values: np.ndarray, label: str, style: dict[str, Any]) -> None:
    every = max(1, len(values) // 12)
    axes.plot(np.arange(len(values)), values, label=label, markevery=every, markersize=4, **style)


def _grey(dashes: str) -> dict[str, Any]:
    return {"color": "#555555", "linestyle": dashes, "marker": ""}


# Labels of the measures that share an axis (bits) of the page.
LINES = {
    "bits": "the model",
    "counter_bits": "the best counter of the text",
    "ideal_bits": "the ideal lexinvariant model",
    "true_bits": "the truth",
}


def write_perplexity_page(curve: Curve, path: Path) -> Path:
    """Write the HTML page of a model's perplexity on a corpus; return its path."""
    about, there = curve.about, [name for name in LINES if name in curve.means]
    places = np.flatnonzero(curve.tokens)
    width = max(1, round(WINDOW * len(curve.tokens)))
    lines = []
    for name in there:
        average = moving_average(curve.means[name], curve.tokens, width)[places].tolist()
        values = [round(value, 4) if math.isfinite(value) else None for value in average]
        lines.append({"name": name, "label": LINES[name], "values": values})
    readings = [
        {"tokens": each.tokens, "measured": {name: each.measured[name] for name in there}}
        for each in curve.readings
    ]
    data = {
        "positions": places.tolist(),
        "lines": lines,
        "readings": readings,
        "blanks": about.task in ("automaton", "production"),
    }
    facts = {
        "model": about.model,
        "data": f"{about.data}, split {about.split}",
        "task": about.task,
        "tokens of a sequence": str(about.context),
        "sequences": str(about.sequences),
        "embedding seeds": str(about.embedding_seeds),
    }
    overall = curve.parts["overall"]
    document = Document(
        title=f"{about.model} on {about.data} ({about.split})",
        lead=f"Perplexity {overall['perplexity']:.3f} over {overall['tokens']:,} tokens of"
        f" {about.sequences:,} sequences.",
        summary=[_parts(curve)],
        data=data,
        facts=[FactTable("What was evaluated", ["", ""], [[*each] for each in facts.items()])],
        notes=[f"Made by logicgen. Lines are moving averages over {width} positions."],
    )
    return write_document(document, path)


def _parts(curve: Curve) -> FactTable:
    """Return the table of means over all positions, and over positions from `beyond` on."""
    rows = []
    for part, found in curve.parts.items():
        where = "all positions" if part == "overall" else f"from position {found['from']} on"
        values = {"perplexity": f"{found['perplexity']:.3f}"}
        for name, called in MEASURES.items():
            if name in found:
                low, high = found[f"{name}_low"], found[f"{name}_high"]
                values[called] = f"{found[name]:.4f} [{low:.4f}, {high:.4f}]"
        rows += [[where, *each, f"{found['tokens']:,}"] for each in values.items()]
    return FactTable("Means", ["positions", "measure", "value", "tokens"], rows)
