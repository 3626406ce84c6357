"""Write the HTML page of a corpus: its recipe, its most frequent tokens and some passages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from logicgen.data.corpus import Corpus, checked_ids
from logicgen.report.dataset_page import recipe_facts, version_facts
from logicgen.report.document import Document, FactTable, write_document
from logicgen.report.rows import column, page_data

# PASSAGES: the number of passages of each split. LONGEST: the most tokens in a passage.
PASSAGES, LONGEST = 200, 200

# COUNTED: the number of tokens at the start of a split in which frequencies are counted.
# NAMED: the number of most frequent tokens in the table.
COUNTED, NAMED = 1_000_000, 40


def write_corpus_page(corpus: Corpus, path: Path) -> Path:
    """Write the page of a corpus; return its path."""
    splits = [split for split, tokens in corpus.splits.items() if tokens]
    between = " " if corpus.tokens.kind == "names" else ""
    rows: dict[str, list[Any]] = {name: [] for name in ("key", "split", "place", "length", "text")}
    for split in splits:
        for place, ids in _passages(corpus, split):
            text = between.join(corpus.tokens.texts[number] for number in ids)
            values = f"{split}-{place}", split, place, len(ids), text
            for column_of, value in zip(rows.values(), values, strict=True):
                column_of.append(value)
    columns = [
        column("place", "place", "number", shown=True),
        column("split", "split", "choice", facet=True, shown=True),
        column("length", "tokens", "number", shown=True),
        column("text", "text", "text", shown=True),
    ]
    tasks = {corpus.task_name: {"arities": None, "temporal": False}}
    rows["prefix"] = rows["text"]
    called = {"problem": "text", "called": "text", "noun": "passage"}
    sizes = [[split, f"{tokens:,}"] for split, tokens in corpus.splits.items()]
    said = f"{len(corpus.tokens):,} different tokens ({corpus.tokens.kind})."
    of = corpus.description
    frequent = [_frequencies(corpus, split) for split in splits[:1]]
    document = Document(
        title=f"{corpus.name}, seed {of['seed']}",
        lead=corpus.recipe.description or f"A corpus of the task {corpus.task_name}.",
        summary=[FactTable("Splits", ["split", "tokens"], sizes, said)],
        data=page_data(tasks, columns, rows, [], total=len(rows["key"]), **called),
        facts=[*frequent, recipe_facts(of), version_facts(of)],
        notes=["Made by logicgen."],
    )
    return write_document(document, path)


def _passages(corpus: Corpus, split: str) -> list[tuple[int, list[int]]]:
    """Return pairs (number, token ids) of the passages of a split that the page shows.

    A passage is the beginning of a row, and its number is the index of the row. If the split is one
    long sequence, a passage is a piece of it, and its number is the index of its first token.
    """
    found: list[tuple[int, list[int]]] = []
    arrays = corpus.arrays(split)
    before = 0
    for array in arrays:
        wanted = max(1, PASSAGES // len(arrays))
        starts = np.unique(np.linspace(0, max(0, len(array) - 1), wanted).astype(np.int64))
        if array.ndim == 1:  # the split is one long sequence of tokens
            starts = np.unique(starts // LONGEST * LONGEST)
        for start in starts.tolist():
            ids = array[start : start + LONGEST] if array.ndim == 1 else array[start, :LONGEST]
            kept = checked_ids(np.asarray(ids), len(corpus.tokens)).tolist()
            found.append((before + start, kept))
        before += len(array)
    return found


def _frequencies(corpus: Corpus, split: str) -> FactTable:
    """Return the table of the most frequent tokens among the first `COUNTED` tokens of a split."""
    first = np.asarray(corpus.arrays(split)[0]).reshape(-1)[:COUNTED]
    counts = np.bincount(checked_ids(first, len(corpus.tokens)), minlength=len(corpus.tokens))
    order = np.argsort(-counts, kind="stable")[:NAMED]
    met = [number for number in order.tolist() if counts[number]]
    rows = [
        [repr(corpus.tokens.texts[n]), f"{counts[n]:,}", f"{counts[n] / len(first):.2%}"]
        for n in met
    ]
    says = f"Counted in the first {len(first):,} tokens of {split}."
    return FactTable("Most frequent tokens", ["token", "times", "share"], rows, says)
