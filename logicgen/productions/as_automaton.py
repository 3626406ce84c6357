"""Conversion of a grammar to a weighted automaton, for everything that automata can do."""

from __future__ import annotations

from logicgen.automata import Automaton
from logicgen.productions.grammar import Grammar

START = "<start>"


def as_automaton(grammar: Grammar, start: str | None = None) -> Automaton:
    """Return the automaton that gives every sentence the same probability.

    States are a beginning, the units, named `layer:name`, and an end. Arcs from a unit read the
    words that it emits.

    start: a symbol before every sentence, if given.
    """
    states = [
        f"{layer}:{unit}" for layer, units in enumerate(grammar.units, 1) for unit in units
    ] + ["end"]
    symbols = [*([] if start is None else [start]), *grammar.words]
    arcs, initial = [], {}
    for unit, share in zip(grammar.units[0], grammar.start, strict=True):
        if not share:
            continue
        if start is None:
            initial[f"1:{unit}"] = float(share)
        else:
            arcs.append(("begin", start, f"1:{unit}", float(share)))
    if start is not None:
        states, initial = ["begin", *states], {"begin": 1.0}
    for layer, units in enumerate(grammar.units):
        last = layer + 1 == grammar.positions
        for number, unit in enumerate(units):
            for word, said in zip(grammar.words, grammar.tokens[layer][:, number], strict=True):
                if last:
                    choices = [("end", 1.0)]
                else:
                    names = [f"{layer + 2}:{name}" for name in grammar.units[layer + 1]]
                    choices = list(zip(names, grammar.below[layer][:, number], strict=True))
                arcs += [
                    (f"{layer + 1}:{unit}", word, to, float(said * share))
                    for to, share in choices
                    if said * share
                ]
    return Automaton.from_arcs(symbols, states, initial, {"end": 1.0}, arcs)
