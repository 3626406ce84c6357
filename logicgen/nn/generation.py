"""Generation: a language model continues a text token by token.

The prompt is read once, and then each new token alone, with the network's memory of the earlier
ones. A model without a memory reads the whole text again at every step. Either way the
probabilities are those of reading the whole text, up to rounding.

Shapes: B texts, T tokens in each prompt, at most N further tokens, V tokens in the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from logicgen.nn.decoding import Sampling, pick
from logicgen.nn.language_model import LanguageModel
from logicgen.nn.token_rows import Rows
from logicgen.tokens import NOTHING


class Predictor(Protocol):
    """The one method that generation calls on any model."""

    def log_probabilities(self, tokens: Tensor) -> Tensor:
        """Return the log-probabilities of the token after each of (B, T), in nats: (B, T, V)."""


class Generated(NamedTuple):
    """Generated continuations.

    tokens: (B, at most N) int64; a text ends with its end token, then `NOTHING` follows.
    log_probabilities: (B,) float64, the sum over a text's generated tokens, in nats, under the
        model itself: temperature, top-k and top-p do not change them.
    """

    tokens: Tensor
    log_probabilities: Tensor


def reader(
    model: LanguageModel | Predictor, sequences: int, rows: Rows | None = None
) -> Callable[[Tensor], Tensor]:
    """Return a function that reads texts in parts and predicts what follows each part.

    It takes the next (B, T) tokens and returns the log-probabilities (B, V) of the token after the
    last of them.

    rows: the embedding rows of a `LanguageModel`; newly drawn if not given.
    """
    if isinstance(model, LanguageModel):
        own = model.rows(sequences) if rows is None else rows
    if isinstance(model, LanguageModel) and model.cache is None:
        memory = model.network.begin(sequences)

        def read_on(tokens: Tensor) -> Tensor:
            features = model.features(own, tokens, memory=memory)[:, -1:]
            return own.log_probabilities(features)[:, 0]

        return read_on

    read: list[Tensor] = []

    def read_again(tokens: Tensor) -> Tensor:
        read.append(tokens)
        all_of = torch.cat(read, dim=1)
        if isinstance(model, LanguageModel):
            return model.log_probabilities(all_of, own)[:, -1]
        return model.log_probabilities(all_of)[:, -1]

    return read_again


@torch.no_grad()
def generate(
    model: LanguageModel | Predictor,
    prompts: Tensor,
    most: int,
    sampling: Sampling | None = None,
    *,
    end: int,
    rows: Rows | None = None,
    first: int = 0,
    finished: Callable[[list[int]], bool] = lambda written: False,
) -> Generated:
    """Continue (B, T) prompts by up to `most` tokens each, stopping at `end`.

    T and `most` are at least 1: no model of this project predicts a text's first token.

    sampling: how tokens are drawn; if not given, the most probable one is taken. The tokens of text
        number b depend on the sampling's seed and on `first` + b, not on the rest of the batch.
    rows: as for `reader`.
    finished: says, given the tokens after the prompt, whether a text is to stop before `end` comes.
    """
    batch = len(prompts)
    read, new = reader(model, batch, rows), prompts
    total = torch.zeros(batch, dtype=torch.float64)
    generators = []
    if sampling is not None:
        generators = [np.random.default_rng((sampling.seed, first + b)) for b in range(batch)]
    columns: list[Tensor] = []
    texts: list[list[int]] = [[] for _ in range(batch)]
    under_way = torch.ones(batch, dtype=torch.bool)
    for _ in range(most):
        logs = read(new).cpu()  # (B, V)
        if sampling is None:
            chosen = logs.argmax(-1)
        else:
            numbers = torch.tensor([each.random() for each in generators], dtype=torch.float64)
            chosen = pick(logs, sampling, numbers)
        own = logs.gather(1, chosen[:, None])[:, 0].double()
        total += own.masked_fill(~under_way, 0.0)
        columns.append(chosen.masked_fill(~under_way, NOTHING))
        for line in under_way.nonzero()[:, 0].tolist():
            texts[line].append(int(chosen[line]))
            under_way[line] = texts[line][-1] != end and not finished(texts[line])
        if not under_way.any():
            break
        new = chosen[:, None].to(prompts.device)
    return Generated(torch.stack(columns, dim=1), total)
