"""Random grammars, and the conversion of a grammar to a weighted automaton."""

from __future__ import annotations

import numpy as np

from logicgen.automata import Automaton
from logicgen.errors import LogicgenError
from logicgen.productions.grammar import Grammar
from logicgen.tokens import END


def random_grammar(
    width: int,
    layers: int,
    words: int,
    rng: np.random.Generator,
    *,
    concentration: float = 1.0,
    own_words: bool = False,
) -> Grammar:
    """Draw a grammar; each distribution is drawn from a symmetric Dirichlet distribution.

    width: the number of units of each layer.
    layers: the number of layers, which is the number of words of a sentence.
    words: the number of different words; they are named w0, w1, ...
    concentration: the parameter of the Dirichlet distributions. If it is small, few outcomes are
        probable.
    own_words: whether each word belongs to one unit of each layer, and no other unit emits it.

    Raises LogicgenError if `own_words` is true and there are fewer words than units.
    """
    if own_words and words < width:
        raise LogicgenError(f"{width} units cannot each have words of their own of {words}")
    tokens, below = [], []
    for layer in range(layers):
        if own_words:
            owner = rng.permutation(np.arange(words) % width)
            said = np.zeros((words, width))
            for unit in range(width):
                mine = owner == unit
                said[mine, unit] = _dirichlet(rng, int(mine.sum()), 1, concentration)[:, 0]
        else:
            said = _dirichlet(rng, words, width, concentration)
        tokens.append(said)
        if layer + 1 < layers:
            below.append(_dirichlet(rng, width, width, concentration))
    return Grammar(
        tuple(f"w{number}" for number in range(words)),
        tuple(tuple(f"{layer + 1}.{unit + 1}" for unit in range(width)) for layer in range(layers)),
        _dirichlet(rng, width, 1, concentration)[:, 0],
        tuple(tokens),
        tuple(below),
    )


def _dirichlet(
    rng: np.random.Generator, outcomes: int, columns: int, concentration: float
) -> np.ndarray:
    """Draw a distribution over `outcomes` outcomes for each column, (outcomes, columns).

    Normalized Gamma(a) variables have a Dirichlet distribution with the concentration a. If a is
    small, these variables underflow, so their logarithms are drawn. Gamma(a) has the distribution
    of Gamma(a + 1) U^(1/a), with U uniform from 0 to 1 (Marsaglia, Tsang, 2000).
    """
    logs = np.log(rng.standard_gamma(concentration + 1, (outcomes, columns)))
    logs += np.log1p(-rng.random((outcomes, columns))) / concentration
    weights = np.exp(logs - logs.max(axis=0))
    return np.asarray(weights / weights.sum(axis=0))


START = "<start>"


def as_automaton(grammar: Grammar, start: str | None = None) -> Automaton:
    """Convert a grammar to an automaton that gives every sentence the same probability.

    The states are the units, named `layer:name`, and `end`. A transition leaves a unit, reads a
    word that the unit emits, and leads to a unit of the next layer or to `end`. The final weight of
    a unit is the probability that it emits `<end>`.

    start: a symbol to add at the beginning of every sentence. It is read from the state `begin`.
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
        arcs += _arcs(grammar.words, names, layer, grammar.tokens[layer], below[layer])
    return Automaton.from_arcs(symbols, states, initial, final, arcs)


def _arcs(
    words: tuple[str, ...], names: list[list[str]], layer: int, said: np.ndarray, below: np.ndarray
) -> list[tuple[str, str, str, float]]:
    """Return the transitions from the units of a layer to the units of the next layer.

    names: the names of the states of each layer.
    layer: the number of the first of the two layers, from 0.
    said: (words, units) the probability that each unit emits each word.
    below: (units of the next layer, units) the probability that each unit chooses each next unit.
    """
    return [
        (unit, word, to, float(said[place, number] * share))
        for number, unit in enumerate(names[layer])
        for place, word in enumerate(words)
        for to, share in zip(names[layer + 1], below[:, number], strict=True)
        if word != END and said[place, number] * share
    ]
