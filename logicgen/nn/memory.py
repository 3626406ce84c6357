"""The key-value cache of a decoder: for problems and for their hypotheses (unfinished answers).

During a search, hypotheses of a problem fork and are dropped. Each hypothesis has its own row of
keys and values. Its first continuation keeps the row, and every other continuation gets a copy, in
the row of a dropped hypothesis. So the order of the rows differs from the order of the hypotheses.

Shapes: B problems, K hypotheses for each problem, R = B K, S problem tokens, H heads, D features of
a head.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

KeysValues = tuple[Tensor, Tensor]  # (rows, ..., tokens, features of a head) each

_LEAST_ROOM = 16  # least number of tokens to allocate at once


@dataclass
class Memory:
    """The keys and values of each layer, for problems and for the tokens of answers.

    Keys and values have one or two dimensions between rows and tokens: heads, or streams and heads.
    """

    mask: Tensor  # (problems, 1, 1, tokens), True where a problem has a token
    problems: list[KeysValues]
    answers: list[KeysValues] = field(default_factory=list)  # may have unused room at the end
    length: int = 0  # number of tokens of each answer
    # int64 (problems, hypotheses), the row of each hypothesis; None if both have the same order
    rows: Tensor | None = None
    positions: Tensor | None = None  # (problems, positions), randomized positions of answer tokens

    @property
    def grown(self) -> list[list[KeysValues]]:
        """Return the lists of keys and values to which each new token of an answer is added."""
        return [self.answers]

    def remember(self, layers: list[KeysValues], layer: int, new: KeysValues) -> KeysValues:
        """Add new keys and values of a layer; return all of its keys and values.

        new: (rows, ..., tokens, features of a head) each.

        The tokens have to be counted in `length` already.
        """
        if layer == len(layers):
            layers.append(new)
            return new
        keys, values = (
            self._written(past, of_new) for past, of_new in zip(layers[layer], new, strict=True)
        )
        layers[layer] = keys, values
        return keys[..., : self.length, :], values[..., : self.length, :]

    def _written(self, past: Tensor, new: Tensor) -> Tensor:
        """Write `new` (rows, ..., 1, features of a head) as the last token of `past`.

        Returns `past`, or an enlarged copy if it has no room.
        """
        first = self.length - 1
        if first == past.shape[-2]:
            room = max(_LEAST_ROOM, first + first // 2)
            larger = past.new_empty(*past.shape[:-2], room, past.shape[-1])
            larger[..., :first, :] = past
            past = larger
        past[..., first : self.length, :] = new
        return past

    def in_rows(self, tokens: Tensor) -> Tensor:
        """Return the tokens (R, 1) of all hypotheses in the order of their rows."""
        if self.rows is None:
            return tokens
        return torch.empty_like(tokens).index_copy(0, self.rows.flatten(), tokens)

    def in_order(self, x: Tensor) -> Tensor:
        """Return values (R, ...) of all rows in the order of the hypotheses."""
        return x if self.rows is None else x.index_select(0, self.rows.flatten())

    def select(self, hypotheses: Tensor) -> None:
        """Continue from these hypotheses (B', K'); see `decoding.DecoderMemory`."""
        parents = hypotheses if self.rows is None else self.rows.flatten()[hypotheses]
        count = len(self.mask)
        if self.rows is not None and parents.shape == self.rows.shape:
            self._fork(parents)
            return
        width = 1 if self.rows is None else self.rows.shape[1]
        self._replace(lambda past: past.index_select(0, parents.flatten()))
        new = torch.arange(parents.numel(), device=parents.device)
        self.rows = new.view_as(parents) if parents.shape[1] > 1 else None
        if len(parents) < count:
            self.keep_problems(parents[:, 0] // width)

    def _fork(self, parents: Tensor) -> None:
        """Give each hypothesis a row. Its parent was in the row `parents` (B, K)."""
        device, (batch, width) = parents.device, parents.shape
        first = torch.arange(0, batch * width, width, device=device)[:, None]
        # (problems, hypotheses): whether an earlier hypothesis has the same parent
        later = (parents[:, :, None] == parents[:, None, :]).tril(-1).any(2)
        taken = torch.zeros(batch, width, dtype=torch.bool, device=device)
        taken.scatter_(1, parents - first, True)
        free = taken.to(torch.int8).argsort(dim=1, stable=True) + first  # free rows come first
        number = (later.cumsum(1) - 1).clamp(min=0)
        self.rows = torch.where(later, free.gather(1, number), parents)
        source = torch.empty(batch * width, dtype=torch.int64, device=device)
        source[self.rows.flatten()] = parents.flatten()
        if device.type != "cpu":  # do not wait for the number of copies
            self._replace(lambda past: past.index_select(0, source))
            return
        to = (source != torch.arange(len(source))).nonzero()[:, 0]
        if len(to):
            self._replace(lambda past: past.index_copy_(0, to, past.index_select(0, source[to])))

    def _replace(self, function: Callable[[Tensor], Tensor]) -> None:
        """Replace the keys and values of answers by the results of a function."""
        for layers in self.grown:
            layers[:] = replaced(layers, function)

    def keep(self, problems: Tensor) -> None:
        """Keep the problems with these numbers, which may repeat, with one answer each."""
        self._replace(lambda past: past.index_select(0, problems))
        self.keep_problems(problems)

    def keep_problems(self, problems: Tensor) -> None:
        """Keep the problems with these numbers; answers stay as they are."""
        self.mask = self.mask[problems]
        if self.positions is not None:
            self.positions = self.positions[problems]
        # `index_select` is five times as fast as `past[problems]`.
        self.problems = replaced(self.problems, lambda past: past.index_select(0, problems))


def replaced(layers: list[KeysValues], function: Callable[[Tensor], Tensor]) -> list[KeysValues]:
    """Return the results of a function for the keys and the values of each layer."""
    return [(function(keys), function(values)) for keys, values in layers]
