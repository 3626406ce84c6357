"""The heat map of the literature: accuracy by number of symbols and length."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from logicgen.atomic import write_atomically
from logicgen.evaluate.cells import Score
from logicgen.evaluate.score import About

# The darkest a cell gets, however few examples it has.
DARKEST = 0.45


def draw_heatmap(
    scores: dict[tuple[int, int], Score], about: About, title: str, paths: list[Path]
) -> None:
    """Draw accuracy per cell, x length, y symbols, and save it to each of `paths`.

    A cell is as wide as it has lengths.

    Colour runs from red (0) over yellow to green (1); a cell with fewer examples than the fullest
    one is darker; a cell without examples is white; the box is the training region.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import colormaps, pyplot
    from matplotlib.cm import ScalarMappable
    from matplotlib.patches import Rectangle
    from matplotlib.ticker import MaxNLocator

    symbols = [key[0] for key in scores]
    lengths = [key[1] for key in scores]
    low_y, high_y = min(symbols), max(symbols)
    low_x, high_x = min(lengths), max(lengths) + about.step - 1
    picture = np.ones((high_y - low_y + 1, (high_x + 1 - low_x) // about.step, 3))
    most = max(score.examples for score in scores.values())
    colours = colormaps["RdYlGn"]
    for (y, x), score in scores.items():
        brightness = DARKEST + (1 - DARKEST) * np.sqrt(score.examples / most)
        picture[y - low_y, (x - low_x) // about.step] = (
            np.array(colours(score.accuracy[0])[:3]) * brightness
        )

    width, height = picture.shape[1], picture.shape[0]
    figure, axes = pyplot.subplots(
        figsize=(8, float(np.clip(8 * height / width, 3.2, 8)) + 0.6), layout="constrained"
    )
    axes.imshow(
        picture,
        origin="lower",
        aspect="auto",
        interpolation="nearest",
        extent=(low_x - 0.5, high_x + 0.5, low_y - 0.5, high_y + 0.5),
    )
    # Half a cell around the region, cut to what is shown.
    left, right = max(about.length[0], low_x) - 0.5, min(about.length[1], high_x) + 0.5
    bottom, top = max(about.symbols[0], low_y) - 0.5, min(about.symbols[1], high_y) + 0.5
    if left < right and bottom < top:
        axes.add_patch(
            Rectangle(
                (left, bottom),
                right - left,
                top - bottom,
                fill=False,
                edgecolor="#1f3b73",
                linewidth=2.5,
                clip_on=False,
                label="training region",
            )
        )
        axes.legend(loc="upper left", framealpha=0.9, handlelength=1.2)
    axes.set_xlabel("length (tokens)")
    axes.set_ylabel("symbols")
    axes.set_title(title, loc="left", fontsize=11)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    bar = figure.colorbar(ScalarMappable(cmap=colours), ax=axes, fraction=0.05, pad=0.02)
    bar.set_label("share of right answers (darker: fewer examples)")
    for path in paths:
        # Without the date and random ids, equal scores give equal files.
        metadata = {"Date": None} if path.suffix == ".svg" else None
        save = partial(figure.savefig, dpi=130, format=path.suffix[1:], metadata=metadata)
        with pyplot.rc_context({"svg.hashsalt": "logicgen"}):
            write_atomically(path, save)
    pyplot.close(figure)
