"""Problems that an encoder-decoder has answered: padding, decoding in batches, canonical names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from logicgen.data.dataset import Ragged
from logicgen.errors import LogicgenError
from logicgen.model import capacity
from logicgen.model.answer_form import grammar_mask
from logicgen.model.batches import ended
from logicgen.model.model import Answer, Request, read_answers
from logicgen.nn.canonical import first_occurrence
from logicgen.nn.decoding import BeamSearch, decode
from logicgen.tasks import load_task

if TYPE_CHECKING:
    from logicgen.model.encoder_decoder import EncoderDecoder


def answered(
    model: EncoderDecoder, request: Request, matrices: Sequence[Tensor]
) -> list[list[Answer]]:
    """Return a model's answers to each problem of a request.

    matrices: the embedding matrices over which probabilities are averaged.
    """
    model.eval()
    problems, symbols, fixed = request.problems, request.symbols, len(model.vocabulary)
    if not (model.canonical and problems):
        return _decoded(model, request, matrices)
    naming = first_occurrence(_padded(model, problems, symbols), fixed, symbols)
    numbers, names = naming.number.tolist(), naming.symbol.tolist()
    renamed = [tuple(_renamed(p, n, fixed)) for p, n in zip(problems, numbers, strict=True)]
    # Decode problems that are equal after renaming only once, so that their answers are equal.
    # Rounding errors depend on the batch, so separate decoding could give different answers.
    different = list(dict.fromkeys(renamed))
    answers = _decoded(model, replace(request, problems=different), matrices)
    found = dict(zip(different, answers, strict=True))
    return [
        [Answer(_renamed(ids, own, fixed), score) for ids, score in found[problem]]
        for problem, own in zip(renamed, names, strict=True)
    ]


def _decoded(
    model: EncoderDecoder, request: Request, matrices: Sequence[Tensor]
) -> list[list[Answer]]:
    """Return the answers to the problems of a request, whose names stay as they are."""
    problems, decoding, form = request.problems, request.decoding, model.form
    most, grammar = request.max_length, request.grammar
    if form is not None:
        most = form.most(most)
        if grammar is not None:
            grammar = grammar_mask(load_task(model.task_name), most, form.form)
    several: list[list[Answer]] = [[] for _ in problems]
    sizes = [model.size(problem) for problem in problems]
    prefixes = decoding.beams if isinstance(decoding, BeamSearch) else decoding.answers
    together = capacity.answered_together(sizes, prefixes, request.batch_size, model.device)
    for rows in together:
        decoded = decode(
            model.transformer,
            matrices,
            _padded(model, [problems[row] for row in rows], request.symbols),
            model.vocabulary,
            most,
            grammar,
            decoding,
            model.loss.scale,
            model.loss.never,
        )
        for row, answers in zip(rows, read_answers(decoded, model.vocabulary), strict=True):
            several[row] = answers
    return several if form is None else [form.different(answers) for answers in several]


def _renamed(ids: Sequence[int], names: Sequence[int], fixed: int) -> list[int]:
    """Replace symbol k in ids by symbol names[k]."""
    return [fixed + names[i - fixed] if i >= fixed else i for i in ids]


def _padded(model: EncoderDecoder, problems: Sequence[Sequence[int]], symbols: int) -> Tensor:
    """Return problems as the encoder reads them, with `<end>` and padding, (B, S).

    Raises LogicgenError if they have more than `symbols` symbols.
    """
    fixed = len(model.vocabulary)
    ids = ended(Ragged.of(problems), np.arange(len(problems)), model.vocabulary)
    if ids.max() >= fixed + symbols:
        raise LogicgenError(
            f"the problems need {int(ids.max()) - fixed + 1} symbol rows, but only {symbols} were"
            " asked for"
        )
    return torch.from_numpy(ids).to(model.device)
