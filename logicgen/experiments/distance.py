"""Measure how the distance of the exact lexinvariant model from the truth falls along a string.

A lexinvariant model does not know the symbols of a string in advance (`automata/lexinvariant.py`).
Huang et al. (NeurIPS 2023, theorem 2.1) prove that the distance falls below any eps. For an
alphabet of d symbols, a string needs about d / eps^4 symbols. The distance is the mean L1 distance
of the next-symbol distributions over all positions. Here the distributions are exact, and the
distance is a mean over strings of random automata of 2 to 8 symbols. The report also shows the
bound from the Kullback-Leibler divergence.
"""

from __future__ import annotations

from math import log, sqrt
from typing import Annotated

import numpy as np
from matplotlib.figure import Figure
from pydantic import Field

from logicgen.automata import Strings, l1_distances, lexinvariant, next_probabilities
from logicgen.automata.random_automaton import random_automaton
from logicgen.automata.strings import sample_beginnings
from logicgen.experiments import Call, Experiment, ExperimentSettings, Json, Positive, Seed
from logicgen.report.figure_style import legend_below, line_styles, new_axes
from logicgen.report.tables import Report
from logicgen.tokens import symbol_name

# The distance for which the table shows the length of string that reaches it.
REACHED = 0.1


class DistanceSettings(ExperimentSettings):
    """Keys of a study of this experiment.

    symbols: the numbers of symbols.
    languages: the number of random automata for each number of symbols.
    strings: the number of strings of each automaton.
    length: the number of symbols of each string.
    """

    symbols: list[Annotated[int, Field(ge=2, le=lexinvariant.MOST_SYMBOLS)]]
    states: Positive
    concentration: Annotated[float, Field(ge=0.01, le=1e9)]
    languages: Positive
    strings: Positive
    length: Annotated[int, Field(ge=2)]
    seed: Seed


def measure(
    symbols: int, draw: int, states: int, concentration: float, strings: int, length: int, seed: int
) -> Json:
    """Draw an automaton; return the distance of its exact lexinvariant model from it.

    Entry i of `distances` is the L1 distance after i symbols, as a mean over the strings.

    draw: the seed of the automaton.
    """
    names = map(symbol_name, range(symbols))
    rng = np.random.default_rng((seed, symbols, draw))
    automaton = random_automaton(names, states, 1e6, rng, 1, concentration)
    read = sample_beginnings(automaton, strings, length - 1, rng).ids
    whole = Strings(read, np.full(len(read), read.shape[1]))
    truth = next_probabilities(automaton, whole)
    ideal = lexinvariant.next_probabilities(automaton, whole)
    return {"distances": l1_distances(truth, ideal).mean(axis=0).round(6).tolist()}


def trials(settings: DistanceSettings) -> dict[str, Call]:
    """Return a trial for each number of symbols and each automaton."""
    left_out = {"description", "experiment", "symbols", "languages"}
    common = settings.model_dump(exclude=left_out)
    return {
        f"{symbols}-symbols-{draw}": (measure, {**common, "symbols": symbols, "draw": draw})
        for symbols in settings.symbols
        for draw in range(settings.languages)
    }


def bound(symbols: int, length: float) -> float:
    """Return an upper bound of the expected distance over the first `length` positions.

    It follows from `lexinvariant.information_bound`.
    """
    return sqrt(2 * log(2) * lexinvariant.information_bound(symbols) / length)


def report(settings: DistanceSettings, found: dict[str, Json]) -> Report:
    """Return the report: for each number of symbols, the distance by length and its bound."""
    lengths = np.arange(1, settings.length + 1)
    curves: dict[int, np.ndarray] = {}
    for symbols in settings.symbols:
        names = [f"{symbols}-symbols-{draw}" for draw in range(settings.languages)]
        each = [found[name]["distances"] for name in names if name in found]
        if each:
            curves[symbols] = np.mean(each, axis=0).cumsum() / lengths
    shown = [4**power for power in range(10) if 4**power <= settings.length]
    rows = [
        [
            str(symbols),
            *(f"{curve[t - 1]:.3f} ({min(2.0, bound(symbols, t)):.3f})" for t in shown),
            _reached(curve),
            f"{symbols / REACHED**4:,.0f}",
        ]
        for symbols, curve in curves.items()
    ]
    says = (
        "Mean L1 distance over the positions of strings of this length, and in brackets the bound."
        f" {settings.languages} random automata of {settings.states} states for each number of"
        f" symbols, {settings.strings} strings each. The last columns compare the length of strings"
        f" whose distance is at most {REACHED} with the order of the published length, d / eps^4."
    )
    heads = ["symbols", *(f"length {t}" for t in shown), f"at most {REACHED}", "published order"]
    about = (
        "The exact lexinvariant model approaches the true distribution along a string. The bound is"
        " the square root of 2 ln(d!) / length, for d symbols (at most 2)."
    )
    caption = "mean distance by length, with the bound"
    picture = ("distance", caption, _figure(lengths, curves))
    return Report("Distance from the truth", about, [(says, heads, rows)], [picture])


def _reached(curve: np.ndarray) -> str:
    """Return the least length with a mean distance of at most `REACHED`, as text."""
    below = np.flatnonzero(curve <= REACHED)
    return f"{below[0] + 1:,}" if len(below) else f"above {len(curve):,}"


def _figure(lengths: np.ndarray, curves: dict[int, np.ndarray]) -> Figure:
    """Draw the distance for each number of symbols as a line, and its bound as a thin line."""
    figure, axes = new_axes(7.5, 5.2, "Distance of the exact lexinvariant model from the truth")
    for style, (symbols, curve) in zip(line_styles(), curves.items(), strict=False):
        plain = {"color": style["color"], "linestyle": "-"}
        axes.plot(lengths, curve, label=f"{symbols} symbols", linewidth=1.8, **plain)
        limits = [min(2.0, bound(symbols, t)) for t in lengths]
        axes.plot(lengths, limits, color=style["color"], linestyle=":", linewidth=1.0)
    axes.set(xscale="log", yscale="log", xlabel="number of symbols read")
    axes.set_ylabel("mean L1 distance up to there (dotted: bound)")
    axes.grid(visible=True, alpha=0.3)
    legend_below(figure, columns=4)
    return figure


EXPERIMENT = Experiment(DistanceSettings, trials, report)
