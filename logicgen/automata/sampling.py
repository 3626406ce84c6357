"""Sampling of many strings at once, from an automaton whose allsum is not 0 (LogicgenError)."""

from __future__ import annotations

import numpy as np

from logicgen.automata.allsum import normalise
from logicgen.automata.automaton import Automaton
from logicgen.automata.strings import Strings
from logicgen.errors import LogicgenError

LONGEST = 1_000_000


def sample(
    automaton: Automaton, count: int, rng: np.random.Generator, longest: int = LONGEST
) -> Strings:
    """Draw independent strings, each with probability weight / allsum.

    Raises LogicgenError for one longer than `longest`: cutting would change the distribution.
    """
    model = normalise(automaton)
    drawn, going_on = _walk(model, count, rng, longest)
    if going_on:
        raise LogicgenError(
            f"sample: a string is longer than {longest} symbols; allow a larger `longest` or"
            " make the automaton's final weights larger"
        )
    return drawn


def sample_beginnings(
    automaton: Automaton, count: int, length: int, rng: np.random.Generator
) -> Strings:
    """Draw the first `length` symbols of independent strings; shorter strings are complete."""
    return _walk(normalise(automaton), count, rng, length)[0]


def _walk(
    model: Automaton, count: int, rng: np.random.Generator, longest: int
) -> tuple[Strings, bool]:
    """Draw strings of a probabilistic automaton, cut at `longest`; return whether any was cut."""
    # The possible outcomes, state by state: a transition or, as symbol -1, the end.
    tables = [matrix.tocoo() for matrix in model.transitions]
    n = len(model.states)
    source = np.concatenate([*(table.coords[0] for table in tables), np.arange(n)])
    target = np.concatenate([*(table.coords[1] for table in tables), np.zeros(n, dtype=np.int64)])
    weight = np.concatenate([*(table.data for table in tables), model.final])
    symbol = np.concatenate([*(np.full(t.nnz, i) for i, t in enumerate(tables)), np.full(n, -1)])
    order = np.lexsort((symbol, source))
    order = order[weight[order] > 0]
    source, symbol, target, weight = (each[order] for each in (source, symbol, target, weight))
    last = np.cumsum(np.bincount(source, minlength=n)) - 1  # of each state
    # State number + cumulative probability of its outcomes: increasing, so one search serves all.
    sums = np.cumsum(weight)
    before = np.concatenate([[0.0], sums[last[:-1]]])
    bound = source + (sums - before[source]) / (sums[last] - before)[source]

    state = rng.choice(n, size=count, p=model.initial)
    going = np.arange(count)
    columns: list[np.ndarray] = []
    lengths = np.zeros(count, dtype=np.int64)
    while len(going):
        outcome = np.searchsorted(bound, state + rng.random(len(state)), side="right")
        outcome = np.minimum(outcome, last[state])
        read = symbol[outcome]
        on = read >= 0
        going, state = going[on], target[outcome[on]]
        if len(columns) == longest:
            break
        if len(going):
            column = np.zeros(count, dtype=np.int64)
            column[going] = read[on]
            columns.append(column)
            lengths[going] += 1
    ids = np.stack(columns, axis=1) if columns else np.zeros((count, 0), dtype=np.int64)
    return Strings(ids, lengths), len(going) > 0
