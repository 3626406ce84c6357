"""Grammars of productions: exact probabilities, files, random grammars, cutting, equivalence.

A grammar has a layer of units (hidden states) for each word of a sentence. To cut a grammar is to
remove a connection between two units of neighboring layers (`cut.py`).
"""

from logicgen.productions.compare import (
    Distance,
    aligned,
    canonical,
    class_distance,
    difference,
    distance,
    equivalent,
    is_determined,
)
from logicgen.productions.cut import NEGLIGIBLE, cut, find_connection, pruned
from logicgen.productions.grammar import Grammar, divergence
from logicgen.productions.grammar_file import grammar_text, read_grammar
from logicgen.productions.random_grammar import as_automaton, random_grammar

__all__ = [
    "NEGLIGIBLE",
    "Distance",
    "Grammar",
    "aligned",
    "as_automaton",
    "canonical",
    "class_distance",
    "cut",
    "difference",
    "distance",
    "divergence",
    "equivalent",
    "find_connection",
    "grammar_text",
    "is_determined",
    "pruned",
    "random_grammar",
    "read_grammar",
]
