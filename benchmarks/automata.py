"""Speed of automata on one core: `OMP_NUM_THREADS=1 python benchmarks/automata.py`.

The first part times operations on 1,000 states and 10 symbols, with strings of 100 random symbols.
The second part times exact lexinvariant scoring: 1,000 strings over 6 symbols, and 20 strings over
8 symbols. Every figure is the best of a few runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from logicgen import automata
from logicgen.automata import Strings, lexinvariant


def show(what: str, work: Callable[[], Any], runs: int = 3) -> None:
    shortest = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        work()
        shortest = min(shortest, time.perf_counter() - start)
    print(f"  {what:<64} {shortest:>14.2f} s", flush=True)


def strings(count: int, length: int, symbols: int) -> Strings:
    ids = np.random.default_rng(1).integers(symbols, size=(count, length))
    return Strings(ids, np.full(count, length))


def large(branching: int) -> None:
    kind = "deterministic" if branching == 1 else f"{branching} ways on"
    print(f"1,000 states, 10 symbols, {kind}")

    def drawn() -> automata.Automaton:
        rng = np.random.default_rng(0)
        return automata.random_automaton("abcdefghij", 1000, 100.0, rng, branching)

    automaton, batch = drawn(), strings(1000, 100, 10)
    show("draw, expected length 100", drawn, 1)
    show("allsum", lambda: automata.allsum(automaton))
    show("normalise", lambda: automata.normalise(automaton))
    show("tightness", lambda: automata.tightness(automaton))
    show("expected length and entropy of the path", lambda: automata.path_entropy(automaton))
    show("ambiguity", lambda: automata.ambiguous_pair(automaton), 1)
    rng = np.random.default_rng(2)
    show("10,000 samples", lambda: automata.sample(automaton, 10_000, rng))
    show("weights of 1,000 strings", lambda: automata.log_weights(automaton, batch))
    show("weights of their prefixes", lambda: automata.log_prefix_weights(automaton, batch))
    show("what comes next, everywhere", lambda: automata.next_probabilities(automaton, batch))


def exact(states: int, symbols: int, count: int, branching: int) -> None:
    kind = "deterministic" if branching == 1 else f"{branching} ways on"
    print(f"lexinvariant, {states} states, {kind}, {symbols} symbols, {count:,} strings of 100")
    rng = np.random.default_rng(0)
    automaton = automata.random_automaton("abcdefgh"[:symbols], states, 100.0, rng, branching)
    batch = strings(count, 100, symbols)
    show("p'", lambda: lexinvariant.log_probabilities(automaton, batch), 2)
    show(
        "what comes next, everywhere", lambda: lexinvariant.next_probabilities(automaton, batch), 2
    )
    one = batch.ids[0]
    show("posterior of one string", lambda: lexinvariant.posterior(automaton, one), 2)


def main() -> None:
    large(branching=1)
    large(branching=2)
    for branching in (1, 2):
        for states in (10, 30):
            exact(states, 6, 1000, branching)
        exact(10, 8, 20, branching)


if __name__ == "__main__":
    main()
