"""Matrices of the guesses of a probe: probabilities of guesses against true symbols.

`keys.py` measures the matrices. Entry (i, j) is the mean probability of the guess j where the true
plain symbol is i. A matrix over the last window is always drawn. On request, matrices over the
windows that follow given numbers of tokens are drawn side by side, as in Huang et al. (NeurIPS
2023).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, get_font
from matplotlib.image import AxesImage

from logicgen.measures.keys import Keys
from logicgen.measures.measure import Json
from logicgen.report.figure_style import LINES, new_axes, new_figure, shares
from logicgen.tokens import Tokens

# Colors of probabilities, from white to the first color of lines.
PROBABILITY = LinearSegmentedColormap.from_list("probability", ["white", LINES[0][0]])

FONT = "DejaVu Sans Mono"  # comes with Matplotlib


MOST_GUESSED = 64  # most symbols in the figure of guesses


def readable(text: str) -> str:
    """Return a token as a label of a figure.

    A blank is shown as ␣. Characters without a glyph are escaped.
    """
    if text == " ":
        return "␣"
    font = get_font(findfont(FONT))
    shown = "".join(
        each if each.isprintable() and font.get_char_index(ord(each)) else ascii(each)[1:-1]
        for each in text
    )
    return shown.replace("$", r"\$")  # Matplotlib reads two $ as a formula


def draw_guesses(guesses: np.ndarray, tokens: Tokens, title: str) -> Figure | None:
    """Draw the mean probability of each guess, for each true plain symbol.

    guesses: the probabilities as in `LayerKeys.guesses`, with an entry for each true plain symbol
        and each guess, (vocabulary, vocabulary).

    Symbols are in the order of their ids; at most `MOST_GUESSED` are drawn. Returns None if no
    symbol occurs.
    """
    met = np.flatnonzero(guesses.sum(axis=1) > 0)[:MOST_GUESSED]
    if not len(met):
        return None
    texts, says = labels_of(tokens, met), "mean probability in the last window"
    figure, axes = draw_matrix(guesses[np.ix_(met, met)], texts, texts, title, says)
    axes.set(xlabel="guess", ylabel="true plain symbol")
    return figure


def labels_of(tokens: Tokens, ids: Iterable[int]) -> list[str]:
    """Return the labels of tokens in a figure."""
    return [readable(tokens.texts[each]) for each in ids]


def draw_matrix(
    matrix: np.ndarray, columns: list[str], rows: list[str], title: str, says: str
) -> tuple[Figure, Axes]:
    """Draw a matrix of probabilities as squares.

    columns, rows: labels of the columns and rows.
    says: label of the color bar.
    """
    size = 0.24
    figure, axes = new_axes(max(2.4 + size * len(columns), 5), 1.5 + size * len(rows), title)
    draw_probabilities(figure, axes, matrix, says, 0.6)
    _label(axes, columns, rows, 8)
    return figure, axes


def _label(axes: Axes, columns: list[str], rows: list[str], size: int) -> None:
    axes.xaxis.set_ticks(range(len(columns)), columns)
    axes.yaxis.set_ticks(range(len(rows)), rows)
    if max(map(len, columns)) > 3:
        axes.xaxis.set_tick_params(rotation=90)
    axes.tick_params(length=0, labelsize=size, labelfontfamily=FONT)


def draw_probabilities(
    figure: Figure, axes: Axes, values: np.ndarray, says: str, shrink: float, **how: Any
) -> None:
    """Draw probabilities as colors, with a color bar.

    says: label of the color bar.
    shrink: the length of the color bar as a share of its place.
    how: arguments of `Axes.imshow`.
    """
    _add_bar(figure, axes, _colored(axes, values, **how), says, shrink)


def _colored(axes: Axes, values: np.ndarray, **how: Any) -> AxesImage:
    return axes.imshow(values, cmap=PROBABILITY, vmin=0, vmax=1, **how)


def _add_bar(figure: Figure, axes: Any, picture: AxesImage, says: str, shrink: float) -> None:
    bar = figure.colorbar(picture, ax=axes, shrink=shrink)
    bar.set_label(says)
    shares(bar.ax.yaxis)


def matrices_json(found: Keys, tokens: Tokens) -> Json:
    """Return the matrices of the best probe that were asked for, as JSON data.

    `after` contains the number of tokens before the window of each matrix, and `window` the width
    of a window. `symbols` contains the plain symbols that occur in a window. `probabilities`
    contains a matrix for each number: a row for each true symbol, with an entry for each guess.
    """
    matrices = np.stack(list(found.best.matrices.values()))
    met = np.flatnonzero(matrices.sum(axis=(0, 2)) > 0)
    return {
        "window": found.about["window"],
        "after": list(found.best.matrices),
        "symbols": [tokens.texts[each] for each in met],
        "probabilities": matrices[:, met][:, :, met].round(3).tolist(),
    }


def draw_matrices(found: Json, title: str) -> Figure | None:
    """Draw the matrices of guesses side by side, in the order of the tokens read before.

    found: matrices as from `matrices_json`.

    At most `MOST_GUESSED` symbols are drawn. Returns None if no symbol occurs.
    """
    texts = [readable(each) for each in found["symbols"][:MOST_GUESSED]]
    if not texts:
        return None
    count, edge = len(found["after"]), max(1.6, 0.12 * len(texts))
    figure = new_figure(1.8 + count * (edge + 0.3), edge + 1.5, title)
    row = figure.subplots(1, count, squeeze=False, sharey=True)[0]
    for axes, after, matrix in zip(row, found["after"], found["probabilities"], strict=True):
        values = np.array(matrix)[: len(texts), : len(texts)]
        picture = _colored(axes, values)
        _label(axes, texts, texts, 5)
        axes.set_title(f"after {after:,} characters", fontsize=9)
    row[0].set(xlabel="guess", ylabel="true plain symbol")
    says = f"mean probability in\nthe next {found['window']:,} characters"
    _add_bar(figure, row, picture, says, 0.8)
    return figure
