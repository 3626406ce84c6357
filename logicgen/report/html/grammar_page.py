"""The page of a grammar of productions: units in layers, as wide as they are probable."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from logicgen.productions import Grammar
from logicgen.report.grammar_figure import LEAST, Connection
from logicgen.report.html.document import Document, Facts, write_document


def write_grammar_page(
    grammars: Sequence[tuple[str, Grammar]],
    title: str,
    path: Path,
    gone: Connection | None = None,
) -> Path:
    """Write the page of each (label, grammar) side by side; return its path.

    gone: a connection that one of them has no longer.
    """
    write_document(grammar_document(grammars, title, gone), path)
    return path


def grammar_document(
    grammars: Sequence[tuple[str, Grammar]], title: str, gone: Connection | None = None
) -> Document:
    """Return the page of grammars, as `write_grammar_page` writes it."""
    return Document(
        title=title,
        lead="Each layer says one word of a sentence. A unit that is on says one of its words, and"
        " switches on one unit of the layer below.",
        summary=[],
        data={
            "grammars": [{"label": label, **_plain(grammar)} for label, grammar in grammars],
            "gone": None if gone is None else list(gone),
        },
        facts=[_rules(label, grammar) for label, grammar in grammars],
        notes=[f"Made by logicgen. What is less probable than {LEAST:.0%} is left out."],
    )


def _plain(grammar: Grammar) -> dict[str, Any]:
    """Return a grammar as the scripts read it."""
    layers = []
    for number, units in enumerate(grammar.units):
        below = grammar.below[number] if number < len(grammar.below) else None
        layers.append(
            [
                {
                    "name": name,
                    "reach": round(float(grammar.reach[number][unit]), 4),
                    "words": _shares(grammar.words, grammar.tokens[number][:, unit]),
                    "next": []
                    if below is None
                    else [[i, p] for i, p in enumerate(_rounded(below[:, unit])) if p >= LEAST],
                }
                for unit, name in enumerate(units)
            ]
        )
    start = [[i, p] for i, p in enumerate(_rounded(grammar.start)) if p >= LEAST]
    return {"layers": layers, "start": start}


def _rounded(shares: np.ndarray) -> list[float]:
    return [round(float(share), 4) for share in shares]


def _shares(words: Sequence[str], shares: np.ndarray) -> list[list[Any]]:
    """Return words with their probabilities, the most probable first."""
    order = np.argsort(-shares, kind="stable")
    kept = [number for number in order.tolist() if shares[number] >= LEAST]
    return [[words[number], round(float(shares[number]), 4)] for number in kept]


def _rules(label: str, grammar: Grammar) -> Facts:
    """Return the table of a grammar's units."""
    rows = []
    for number, layer in enumerate(_plain(grammar)["layers"]):
        names = grammar.units[number + 1] if number + 1 < len(grammar.units) else ()
        for unit in layer:
            words = ", ".join(f"{word} {share:.2f}" for word, share in unit["words"])
            below = ", ".join(f"{names[to]} {share:.2f}" for to, share in unit["next"])
            rows.append([unit["name"], str(number + 1), f"{unit['reach']:.2f}", words, below])
    heads = ["unit", "layer", "on in", "words", "units below"]
    return Facts(f"Rules: {label}", heads, rows)
