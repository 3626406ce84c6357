"""Conversion of a grammar to a weighted automaton, for everything that automata can do."""

from __future__ import annotations

import numpy as np

from logicgen.automata import Automaton
from logicgen.productions.grammar import Grammar
from logicgen.tokens import END

START = "<start>"


def as_automaton(grammar: Grammar, start: str | None = None) -> Automaton:
    """Return the automaton that gives every sentence the same probability.

    States are a beginning, units, named `layer:name`, and an end. Arcs read the words of a unit; a
    string ends in a unit as often as the unit says `<end>`.

    start: a symbol before every sentence, if given.
    """
    names = [[f"{layer}:{unit}" for unit in units] for layer, units in enumerate(grammar.units, 1)]
    names.append(["end"])
    below = [*grammar.below, np.ones((1, len(grammar.units[-1])))]
    states = [name for layer in names for name in layer]
    initial = {unit: float(p) for unit, p in zip(names[0], grammar.start, strict=True) if p}
    symbols = list(grammar.words)
    final = {"end": 1.0}
    if grammar.end is not None:
        symbols.remove(END)
        for units, said in zip(names, grammar.tokens, strict=False):
            shares = zip(units, said[grammar.end], strict=True)
            final |= {unit: float(share) for unit, share in shares if share}
    arcs = []
    if start is not None:
        arcs = [("begin", start, unit, share) for unit, share in initial.items()]
        symbols, states, initial = [start, *symbols], ["begin", *states], {"begin": 1.0}
    for layer in range(grammar.positions):
        for number, unit in enumerate(names[layer]):
            for word, said in zip(grammar.words, grammar.tokens[layer][:, number], strict=True):
                arcs += [
                    (unit, word, to, float(said * share))
                    for to, share in zip(names[layer + 1], below[layer][:, number], strict=True)
                    if said * share and word != END
                ]
    return Automaton.from_arcs(symbols, states, initial, final, arcs)
