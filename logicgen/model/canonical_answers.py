"""Answer problems after renaming their symbols by first occurrence (`nn/canonical.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from logicgen.model.batches import padded_problems
from logicgen.model.model import Answer, Request
from logicgen.nn.canonical import first_occurrence
from logicgen.tokens import Vocabulary


def canonical_answers(
    request: Request,
    vocabulary: Vocabulary,
    answer: Callable[[Request], list[list[Answer]]],
) -> list[list[Answer]]:
    """Return the answers to renamed problems, with the original names of symbols.

    answer: a function that returns the answers to each problem of a request.
    """
    problems, symbols, fixed = request.problems, request.symbols, len(vocabulary)
    if not problems:
        return []
    naming = first_occurrence(padded_problems(problems, vocabulary, symbols), fixed, symbols)
    numbers, names = naming.number.tolist(), naming.symbol.tolist()
    renamed = [tuple(_renamed(p, n, fixed)) for p, n in zip(problems, numbers, strict=True)]
    # Answer problems that are equal after renaming only once, so that their answers are equal.
    # Rounding errors depend on the batch, so separate decoding could give different answers.
    different = list(dict.fromkeys(renamed))
    found = dict(zip(different, answer(replace(request, problems=different)), strict=True))
    return [
        [Answer(_renamed(ids, own, fixed), score) for ids, score in found[problem]]
        for problem, own in zip(renamed, names, strict=True)
    ]


def _renamed(ids: Sequence[int], names: Sequence[int], fixed: int) -> list[int]:
    """Replace symbol k in ids by symbol names[k]."""
    return [fixed + names[i - fixed] if i >= fixed else i for i in ids]
