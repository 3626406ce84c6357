"""Greedy decoding of a batch, with a key-value cache and, if wanted, inside a grammar."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from logicgen.errors import LogicgenError
from logicgen.nn.transformer import Transformer
from logicgen.vocabulary import Vocabulary

_ASK_EVERY = 8  # steps between two looks at whether all are finished: each makes a GPU wait


@dataclass(frozen=True)
class GrammarMask:
    """A finite automaton over tokens; state 0 is the start.

    transition: int64 (states, F + 1), the next state for each fixed token, then one column for all
        symbols; -1 where the token is not allowed.
    distance: int64 (states,), the fewest further tokens after which the answer may end; 0 where it
        may end here. A state from which no answer can be completed holds a number above any budget.
    """

    transition: Tensor
    distance: Tensor


@torch.inference_mode()
def greedy(
    transformer: Transformer,
    matrix: Tensor,
    problems: Tensor,
    vocabulary: Vocabulary,
    max_length: int,
    grammar: GrammarMask | None = None,
) -> Tensor:
    """The likeliest token after each prefix: ids (B, T), `<end>` included and padded after it.

    problems: (B, S) ids, padded. With a grammar every answer is a word of it with at most
    `max_length` tokens before `<end>`. Without one any token but `<pad>` and `<start>` may come,
    and an answer that does not end in time comes back with `max_length + 1` tokens and no `<end>`,
    so that it cannot be taken for one that ended.

    Raises LogicgenError where the grammar has no answer of `max_length` tokens or fewer.
    """
    fixed, device = len(vocabulary), problems.device
    batch, rows = problems.shape[0], matrix.shape[-2]
    # The automaton's column for each row of the matrix: all symbols share the last.
    column = torch.arange(rows, device=device).clamp(max=fixed)  # (V,)
    never = torch.zeros(rows, dtype=torch.bool, device=device)  # (V,)
    never[[vocabulary.pad, vocabulary.start]] = True
    if grammar is not None:
        transition, distance = grammar.transition.to(device), grammar.distance.to(device)
        shortest = int(distance[0])
        if shortest > max_length:
            raise LogicgenError(
                f"the shortest answer has {shortest} tokens, but only {max_length} are allowed:"
                " raise the length budget"
            )
        state = torch.zeros(batch, dtype=torch.int64, device=device)  # (B,)

    memory = transformer.encode(matrix, problems)
    token = torch.full((batch,), vocabulary.start, device=device)  # (B,)
    finished = torch.zeros(batch, dtype=torch.bool, device=device)  # (B,)
    answers = []
    for step in range(max_length + 1):
        features = transformer.decode(matrix, token[:, None], memory)  # (B, 1, width)
        logits = transformer.logits(matrix, features)[:, 0]  # (B, V)
        forbidden = never.expand(batch, -1)  # (B, V)
        if grammar is not None:
            following = transition[state]  # (B, F + 1)
            left = max_length - step - 1  # tokens that may still come after this one
            allowed = (following >= 0) & (distance[following.clamp(min=0)] <= left)
            allowed[:, vocabulary.end] = distance[state] == 0
            forbidden = forbidden | ~allowed[:, column]
        token = logits.masked_fill(forbidden, -math.inf).argmax(dim=-1)  # (B,)
        token = token.masked_fill(finished, vocabulary.pad)
        finished = finished | (token == vocabulary.end)
        if grammar is not None:
            following = following.gather(1, column[token][:, None])[:, 0]
            state = torch.where(finished, state, following)
        answers.append(token)
        if step % _ASK_EVERY == _ASK_EVERY - 1 and bool(finished.all()):
            break
    return torch.stack(answers, dim=1)  # (B, T)
