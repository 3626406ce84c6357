"""Create figures in a common style, and write them to files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator, PercentFormatter
from numpy.typing import ArrayLike

from logicgen.files import write_atomically

# The color of the outline of the training region.
REGION_COLOUR = "#1f3b73"

# Colors, markers and dashes of lines. The colors of Okabe and Ito can be distinguished with any
# kind of color vision; their yellow is left out, because it is hard to see on white.
LINES = [
    ("#0072B2", "o", "-"),
    ("#D55E00", "s", "--"),
    ("#009E73", "^", "-."),
    ("#CC79A7", "D", ":"),
    ("#56B4E9", "v", "-"),
    ("#E69F00", "P", "--"),
    ("#000000", "X", "-."),
]


def new_figure(width: float, height: float, title: str) -> Figure:
    """Return an empty figure with its title at the top left. width, height: inches."""
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    return figure


def new_axes(width: float, height: float, title: str) -> tuple[Figure, Axes]:
    """Return a new figure with one plot, and the axes of the plot. width, height: inches."""
    figure = new_figure(width, height, title)
    return figure, figure.subplots()


def line_styles() -> Iterator[dict[str, Any]]:
    """Yield the styles of the lines of a plot, as keyword arguments of `plot`, without end.

    Lines with the same color have different markers and dashes.
    """
    for number in count():
        turn, place = divmod(number, len(LINES))
        colour = LINES[place][0]
        _, marker, dashes = LINES[(place + 3 * turn) % len(LINES)]
        yield {"color": colour, "marker": marker, "linestyle": dashes}


def legend_below(figure: Figure | SubFigure, columns: int = 3, *args: Any, **how: Any) -> None:
    """Add a legend below the axes. args, how: arguments of `Figure.legend`."""
    figure.legend(*args, loc="outside lower center", ncols=columns, frameon=False, **how)


def band(axes: Axes, x: Sequence[float], low: ArrayLike, high: ArrayLike, colour: str) -> None:
    """Shade the area between the curves `low` and `high`, such as a 95% interval."""
    axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)


def whole_numbers(*axes: Axis) -> None:
    """Make axes place their ticks at whole numbers only."""
    for axis in axes:
        axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def shares(axis: Axis) -> None:
    """Make an axis show shares from 0 to 1 as 0% to 100%."""
    axis.set_major_formatter(PercentFormatter(xmax=1, decimals=0))


def region_box(axes: Axes, x: tuple[float, float], y: tuple[float, float]) -> Rectangle | None:
    """Draw a box around the part of the training region that is inside the axes; return the box.

    If the whole region is outside the axes, return None.

    x, y: the first and the last value of the training region on each axis.
    """
    left, right = max(x[0], axes.get_xlim()[0]), min(x[1], axes.get_xlim()[1])
    bottom, top = max(y[0], axes.get_ylim()[0]), min(y[1], axes.get_ylim()[1])
    if left >= right or bottom >= top:
        return None
    box = Rectangle((left, bottom), right - left, top - bottom, fill=False, linewidth=2.5)
    box.set(edgecolor=REGION_COLOUR, zorder=3, label="training region")
    axes.add_patch(box)
    box.set_clip_on(False)
    return box


def save(figure: Figure, folder: Path, name: str, kinds: Sequence[str] = ("png", "svg")) -> None:
    """Write a figure to files such as `name.png`. Equal figures give equal files.

    kinds: the endings of the names of the files.
    """
    for kind in kinds:
        # Omit the date and use a fixed salt for ids in SVG, so that equal figures give equal files.
        metadata = {"Date": None} if kind == "svg" else None
        write = partial(figure.savefig, dpi=130, format=kind, metadata=metadata)
        with matplotlib.rc_context({"svg.hashsalt": "logicgen"}):
            write_atomically(folder / f"{name}.{kind}", write)
