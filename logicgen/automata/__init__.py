"""Weighted and probabilistic finite-state automata and their exact lexinvariant models.

A lexinvariant model averages an automaton over all renamings of its symbols.
"""

from logicgen.automata.automaton import Automaton
from logicgen.automata.automaton_file import read_automaton, write_automaton
from logicgen.automata.entropy import (
    ambiguous_pair,
    divergences,
    entropy,
    estimated_entropy,
    expected_length,
    l1_distances,
    mean_by_position,
    path_entropy,
)
from logicgen.automata.ngram_automaton import (
    NGramCounts,
    ngram,
    ngram_automaton,
    ngram_log_probabilities,
)
from logicgen.automata.random_automaton import random_automaton
from logicgen.automata.strings import Strings, encode, sample
from logicgen.automata.sums import Tightness, allsum, log_allsum, normalise, tightness, trim
from logicgen.automata.weights import log_prefix_weights, log_weights, next_probabilities

__all__ = [
    "Automaton",
    "NGramCounts",
    "Strings",
    "Tightness",
    "allsum",
    "ambiguous_pair",
    "divergences",
    "encode",
    "entropy",
    "estimated_entropy",
    "expected_length",
    "l1_distances",
    "log_allsum",
    "log_prefix_weights",
    "log_weights",
    "mean_by_position",
    "next_probabilities",
    "ngram",
    "ngram_automaton",
    "ngram_log_probabilities",
    "normalise",
    "path_entropy",
    "random_automaton",
    "read_automaton",
    "sample",
    "tightness",
    "trim",
    "write_automaton",
]
