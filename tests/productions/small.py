"""Grammars of files, and their sentences."""

from __future__ import annotations

from logicgen.productions import read_grammar


def read(tmp_path, text):
    """Read a grammar from a file of some text."""
    path = tmp_path / "g.toml"
    path.write_text(text)
    return read_grammar(path)


def listed(grammar):
    """Return the probability of each sentence, up to its end."""
    ids, probabilities = grammar.sentences()
    found = {grammar.decode(row): p for row, p in zip(ids, probabilities, strict=True)}
    assert len(found) == len(ids)
    return found
