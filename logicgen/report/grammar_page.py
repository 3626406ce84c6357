"""Draw a grammar of productions as a picture and as an HTML page.

Each layer of the grammar writes one word of a sentence. A unit is a state of a layer: it chooses a
word and a unit of the layer below. The width of an edge shows the probability of a choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from logicgen.productions import Grammar
from logicgen.report.document import Document, FactTable, write_document
from logicgen.report.figure_style import LINES

# LEAST: the least probability that is drawn. NAMED: the largest number of words listed for a unit.
LEAST, NAMED = 0.01, 4

# Colors of an edge, of a removed edge, and of the box of a unit.
EDGE, GONE, UNIT = LINES[0][0], LINES[1][0], "#eef3f8"

Connection = tuple[int, int, int]
"""The numbers (from 0) of a layer, of a unit in this layer, and of a unit in the layer below."""


def draw_grammars(
    grammars: list[tuple[str, Grammar]], title: str, gone: Connection | None = None
) -> Figure:
    """Draw grammars side by side, each below its label.

    The first layer is at the top. A unit's words are below its name. An edge from a unit to a unit
    of the next layer shows the probability of this choice. A unit is pale if a random sentence uses
    it with a probability below `LEAST`.

    gone: a connection that some of the grammars lack. It is drawn dotted in each grammar in which
        its probability is below `LEAST`.
    """
    widest = max(len(units) for _, grammar in grammars for units in grammar.units)
    tallest = max(grammar.positions for _, grammar in grammars)
    panel = max(3.2, 1.5 * widest), 1.1 + 1.55 * tallest
    figure = Figure(figsize=(panel[0] * len(grammars), panel[1]), layout="constrained")
    for number, (label, grammar) in enumerate(grammars):
        axes = figure.add_subplot(1, len(grammars), number + 1)
        axes.set_title(label, fontsize=10, parse_math=False)
        _draw(axes, grammar, widest, gone)
    figure.suptitle(title, fontsize=11, parse_math=False)
    return figure


def _draw(axes: Axes, grammar: Grammar, widest: int, gone: Connection | None) -> None:
    # The x coordinates of the units of each layer, which center the layer.
    places = [np.arange(len(units)) + (widest - len(units)) / 2 for units in grammar.units]
    root = (widest - 1) / 2
    axes.plot(root, 0, marker="v", color="black", markersize=9)
    above: dict[str, Any] = {"textcoords": "offset points", "xytext": (0, 8)}
    axes.annotate("start", (root, 0), ha="center", fontsize=8, **above)
    for unit, share in enumerate(grammar.start):
        _edge(axes, (root, 0), (places[0][unit], -1), float(share), 0.5)
    for layer, below in enumerate(grammar.below):
        for unit, x in enumerate(places[layer]):
            for chosen, to in enumerate(places[layer + 1]):
                ends = (x, -layer - 1), (to, -layer - 2)
                share = float(below[chosen, unit])
                if (layer, unit, chosen) == gone and share < LEAST:
                    axes.plot(*zip(*ends, strict=True), color=GONE, linestyle=":", linewidth=2)
                    middle = np.mean(ends, axis=0)
                    axes.annotate("cut", middle, color=GONE, fontsize=9, ha="center")
                elif grammar.reach[layer][unit] >= LEAST:
                    # Labels at two alternating heights near the upper unit rarely overlap.
                    _edge(axes, *ends, share, 0.32 + 0.1 * (unit % 2))
    for layer, units in enumerate(grammar.units):
        for unit, unit_name in enumerate(units):
            on = grammar.reach[layer][unit] >= LEAST
            text = f"{unit_name}\n{_words(grammar, layer, unit)}" if on else unit_name
            colour, face, edge = (
                ("black", UNIT, "#555555") if on else ("#999999", "white", "#cccccc")
            )
            box = {"boxstyle": "round", "facecolor": face, "edgecolor": edge}
            place = places[layer][unit], -layer - 1
            _text(axes, text, place, 8, box, color=colour, zorder=3, parse_math=False)
    axes.set(xlim=(-0.6, widest - 0.4), ylim=(-grammar.positions - 0.5, 0.4))
    axes.axis("off")


def _edge(
    axes: Axes, begin: tuple[float, float], end: tuple[float, float], share: float, along: float
) -> None:
    """Draw an edge. Its probability `share` is written at the fraction `along` of its length."""
    if share < LEAST:
        return
    x, y = zip(begin, end, strict=True)
    axes.plot(x, y, color=EDGE, linewidth=0.5 + 5 * share, alpha=0.35 + 0.5 * share, zorder=1)
    place = begin[0] + along * (end[0] - begin[0]), begin[1] + along * (end[1] - begin[1])
    text = f"{share:.2f}".removeprefix("0") if share < 0.995 else "1"
    box = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"}
    _text(axes, text, place, 7, box, zorder=2)


def _text(
    axes: Axes, text: str, place: tuple[float, float], size: int, box: dict[str, str], **how: Any
) -> None:
    axes.annotate(text, place, fontsize=size, ha="center", va="center", bbox=box, **how)


def _words(grammar: Grammar, layer: int, unit: int) -> str:
    """Return up to `NAMED` most probable words of a unit, each with its probability on a line."""
    said = grammar.tokens[layer][:, unit]
    order = np.argsort(-said, kind="stable")
    shown = [number for number in order if said[number] >= LEAST]
    lines = [
        f"“{grammar.words[number]}”" + (f" {said[number]:.2f}" if said[number] < 0.995 else "")
        for number in shown[:NAMED]
    ]
    return "\n".join([*lines, *(["…"] if len(shown) > NAMED else [])])


def write_grammar_page(
    grammars: Sequence[tuple[str, Grammar]], title: str, path: Path, gone: Connection | None = None
) -> Path:
    """Write a page that shows grammars side by side, each with its label; return its path.

    gone: a connection that one of the grammars lacks, because it was removed.
    """
    document = Document(
        title=title,
        lead="Each layer writes one word of a sentence. A unit that is on writes one of its words"
        " and switches on one unit of the layer below.",
        summary=[],
        data={
            "grammars": [{"label": label, **_plain(grammar)} for label, grammar in grammars],
            "gone": None if gone is None else list(gone),
        },
        facts=[_rules(label, grammar) for label, grammar in grammars],
        notes=[f"Made by logicgen. Words and choices below {LEAST:.0%} are left out."],
    )
    return write_document(document, path)


def _plain(grammar: Grammar) -> dict[str, Any]:
    """Return a grammar as JSON data for the scripts of the page."""
    layers = []
    for number, units in enumerate(grammar.units):
        below = grammar.below[number] if number < len(grammar.below) else np.empty((0, len(units)))
        layers.append(
            [
                {
                    "name": name,
                    "reach": round(float(grammar.reach[number][unit]), 4),
                    "words": _shares(grammar.words, grammar.tokens[number][:, unit]),
                    "next": _choices(below[:, unit]),
                }
                for unit, name in enumerate(units)
            ]
        )
    return {"layers": layers, "start": _choices(grammar.start)}


def _choices(shares: np.ndarray) -> list[list[Any]]:
    """Return [number of the unit, probability] for each unit that is chosen often enough.

    Its probability has to be at least `LEAST`.

    shares: (units,), the probability with which each unit is chosen.
    """
    rounded = [round(float(share), 4) for share in shares]
    return [[number, share] for number, share in enumerate(rounded) if share >= LEAST]


def _shares(words: Sequence[str], shares: np.ndarray) -> list[list[Any]]:
    """Return [word, probability] for each word with a probability of at least `LEAST`.

    The most probable word comes first.

    shares: (words,), the probabilities of the words.
    """
    order = np.argsort(-shares, kind="stable")
    kept = [number for number in order.tolist() if shares[number] >= LEAST]
    return [[words[number], round(float(shares[number]), 4)] for number in kept]


def _rules(label: str, grammar: Grammar) -> FactTable:
    """Return a table of the units of a grammar: their words, and the units that they choose."""
    rows = []
    for number, layer in enumerate(_plain(grammar)["layers"]):
        names = grammar.units[number + 1] if number + 1 < len(grammar.units) else ()
        for unit in layer:
            words = ", ".join(f"{word} {share:.2f}" for word, share in unit["words"])
            below = ", ".join(f"{names[to]} {share:.2f}" for to, share in unit["next"])
            rows.append([unit["name"], str(number + 1), f"{unit['reach']:.2f}", words, below])
    heads = ["unit", "layer", "on in", "words", "units below"]
    return FactTable(f"Rules: {label}", heads, rows)
