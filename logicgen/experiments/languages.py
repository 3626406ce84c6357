"""Choose languages on which counting is not enough, by a rule, before any model is trained.

A lexinvariant model does not know the symbols of a string in advance (`automata/lexinvariant.py`).
A counter is such a model that predicts the next symbol only from n-gram counts in the beginning of
the string (`model/ngrams.py`). On some languages, a counter is almost optimal. To find other
languages, random automata are drawn. On strings of each automaton, the exact lexinvariant model is
compared with the best counter. The smoothing of the counters is fitted to other strings. The first
automata with a difference of at least `distance` bits per symbol are chosen.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
import torch
from pydantic import Field, model_validator

from logicgen.automata import Strings, lexinvariant, next_probabilities, random_automaton
from logicgen.automata.strings import sample_beginnings
from logicgen.experiments import Call, Experiment, ExperimentSettings, Json, Positive, Seed
from logicgen.measures.perplexity import COUNTERS
from logicgen.model.ngrams import TextNGram
from logicgen.report.tables import Report
from logicgen.tokens import symbol_name


class LanguagesSettings(ExperimentSettings):
    """Keys of a study of this experiment.

    draws: the number of automata that are drawn.
    chosen: the largest number of automata that are chosen.
    first, last: the first and the last position in a string at which bits are measured.
    strings: the number of strings on which bits are measured.
    fitted: the number of other strings to which the counters are fitted.
    """

    symbols: Annotated[int, Field(ge=1, le=lexinvariant.MOST_SYMBOLS)]
    states: Positive
    concentration: Annotated[float, Field(ge=0.01, le=1e9)]
    draws: Positive
    chosen: Positive
    distance: Annotated[float, Field(gt=0)]
    first: Positive
    last: Positive
    strings: Positive
    fitted: Positive
    seed: Seed

    @model_validator(mode="after")
    def _are_in_order(self) -> LanguagesSettings:
        if self.first > self.last:
            raise ValueError(f"first: {self.first} is greater than last, {self.last}")
        return self


def measure(
    symbols: int,
    states: int,
    concentration: float,
    draw: int,
    first: int,
    last: int,
    strings: int,
    fitted: int,
    seed: int,
) -> Json:
    """Draw an automaton, and return the mean bits per symbol of several models on its strings.

    The models are the automaton itself (`truth`), its exact lexinvariant model (`ideal`), and each
    counter.

    draw: the seed of the automaton.
    first, last: the first and the last position to measure. A position is the number of preceding
        symbols.
    strings: the number of strings.
    fitted: the number of other strings, to which the counters are fitted.
    """
    names = map(symbol_name, range(symbols))
    rng = np.random.default_rng(draw)
    automaton = random_automaton(names, states, 1e6, rng, 1, concentration)
    drawn = sample_beginnings(
        automaton, fitted + strings, last + 1, np.random.default_rng((seed, draw))
    )
    others, read = drawn.ids[:fitted], drawn.ids[fitted:]

    def bits(probabilities: np.ndarray) -> float:
        """Return the mean bits per symbol of a model with these next-symbol probabilities.

        probabilities: (strings, L, symbols), for strings of L symbols. Entry (s, i) is the
            distribution after symbol i, from 0, of string s.
        """
        chosen = np.take_along_axis(probabilities[:, :-1], read[:, 1:, None], 2)[..., 0]
        return float(-np.log2(chosen[:, first - 1 :]).mean())

    whole = Strings(read, np.full(len(read), read.shape[1]))
    found = {
        "truth": bits(next_probabilities(automaton, whole)[:, 1:]),
        "ideal": bits(lexinvariant.next_probabilities(automaton, whole)[:, 1:]),
    }
    for name, (order, smoothing) in COUNTERS.items():
        counter = TextNGram(order, smoothing)
        counter.learn([torch.from_numpy(others)], symbols)
        found[name] = bits(counter.log_probabilities(torch.from_numpy(read), symbols).exp().numpy())
    return found


def trials(settings: LanguagesSettings) -> dict[str, Call]:
    """Return a trial for each automaton."""
    left_out = {"description", "experiment", "draws", "chosen", "distance"}
    common = settings.model_dump(exclude=left_out)
    return {f"draw-{draw}": (measure, {**common, "draw": draw}) for draw in range(settings.draws)}


def distance(found: Json) -> float:
    """Return how many bits per symbol the best counter is above the exact lexinvariant model."""
    best: float = min(found[name] for name in COUNTERS) - found["ideal"]
    return best


def report(settings: LanguagesSettings, found: dict[str, Json]) -> Report:
    """Return the report: a table of all automata that marks the chosen automata."""
    far = [name for name, each in found.items() if distance(each) >= settings.distance]
    chosen = far[: settings.chosen]
    rows = [
        [
            name,
            *(f"{each[what]:.3f}" for what in ("truth", "ideal", *COUNTERS)),
            f"{distance(each):.3f}",
            "yes" if name in chosen else "",
        ]
        for name, each in found.items()
    ]
    says = (
        f"Bits per token at positions {settings.first} to {settings.last} of {settings.strings}"
        f" strings. Counters count in the string; their smoothing is fitted to {settings.fitted}"
        f" other strings. The ideal is the exact lexinvariant model. Chosen: the first"
        f" {settings.chosen} automata with a distance of at least {settings.distance} bits between"
        " the best counter and the ideal."
    )
    heads = ["automaton", "truth", "ideal", *COUNTERS, "distance", "chosen"]
    about = (
        f"Automata with {settings.states} states over {settings.symbols} symbols, concentration"
        f" {settings.concentration}, drawn in order: {len(far)} of {len(found)} have the required"
        " distance."
    )
    return Report("Languages", about, [(says, heads, rows)], [])


EXPERIMENT = Experiment(LanguagesSettings, trials, report)
