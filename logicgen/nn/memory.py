"""What a decoder remembers of problems and of the answers under way.

A problem's answers under way fork and are given up as a beam search goes on. Their tokens are kept
once, in one row of slots for each problem, and never move: an answer knows which slots are its own
tokens, and attention masks the others. Going on from other answers selects rows of that mask, not
keys and values, which would be copied anew for every token otherwise.

Shapes: B problems, K answers under way for each, R = B K, in this order; S problem tokens, H heads,
D entries of a head.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

KeysValues = tuple[Tensor, Tensor]  # each (B, ..., tokens, D)

_LEAST_ROOM = 64  # slots


@dataclass
class Memory:
    """Keys and values of problems, made once, and of answer tokens, growing; one of each per layer.

    Between B and tokens there may be further dimensions: heads, or streams and heads.
    """

    mask: Tensor  # (B, 1, 1, S), True where a problem has a token
    problems: list[KeysValues]
    answers: list[KeysValues] = field(default_factory=list)  # with room for further slots
    length: int = 0  # tokens of each answer
    slots: int = 0  # that hold a token
    sees: Tensor | None = None  # (B, K, slots), True at an answer's own tokens; None: at all
    depth: Tensor | None = None  # (slots,), how many tokens came before each; as `sees`

    @property
    def under_way(self) -> int:
        """K."""
        return 1 if self.sees is None else self.sees.shape[1]

    def begin(self, tokens: int) -> None:
        """`tokens` more of each answer are about to be remembered, in every layer."""
        if self.sees is not None:
            batch, width, _ = self.sees.shape
            own = torch.eye(width, dtype=torch.bool, device=self.sees.device)
            self.sees = torch.cat([self.sees, own.expand(batch, -1, -1)], dim=2)
            assert self.depth is not None
            self.depth = torch.cat([self.depth, self.depth.new_full((width,), self.length)])
        self.slots += tokens * self.under_way
        self.length += tokens

    def remember(self, layers: list[KeysValues], layer: int, new: KeysValues) -> KeysValues:
        """Add the keys and values of new tokens, (R, ..., tokens, D), to those of a layer.

        Returns them all: (B, ..., slots, D). Where answers have begun, tokens come one at a time.
        """
        if layer == len(layers):
            layers.append(new)
            return new
        first = self.slots - self.under_way
        keys, values = (
            self._written(past, first, of_new)
            for past, of_new in zip(layers[layer], new, strict=True)
        )
        layers[layer] = keys, values
        return keys[..., : self.slots, :], values[..., : self.slots, :]

    def _written(self, past: Tensor, first: int, new: Tensor) -> Tensor:
        """`past` with `new` (R, ..., 1, D) from slot `first` on, in a larger place if need be."""
        if self.slots > past.shape[-2]:
            room = max(_LEAST_ROOM, 2 * self.slots)
            larger = past.new_empty(*past.shape[:-2], room, past.shape[-1])
            larger[..., :first, :] = past[..., :first, :]
            past = larger
        # The answers of a problem side by side, as tokens: (B, ..., K, D).
        past[..., first : self.slots, :] = (
            new[..., 0, :].unflatten(0, (len(past), -1)).movedim(1, -2)
        )
        return past

    def select(self, rows: Tensor) -> None:
        """Go on from the answers in `rows` (B', K'), each line some of one problem's.

        Problems stay in order; those without a line are dropped.
        """
        batch, width = len(self.mask), self.under_way
        if self.sees is None and rows.shape[1] > 1:
            self.sees = rows.new_ones(batch, 1, self.slots, dtype=torch.bool)
            self.depth = torch.arange(self.slots, device=rows.device)
        if self.sees is not None:
            self.sees = self.sees.flatten(0, 1)[rows]
        if len(rows) < batch:
            self.keep(rows[:, 0] // width)

    def keep(self, problems: Tensor) -> None:
        """Drop the keys and values of all problems but these."""
        self.mask = self.mask[problems]
        self.problems = [of_rows(pair, problems) for pair in self.problems]
        self.answers = [of_rows(pair, problems) for pair in self.answers]


def of_rows(keys_values: KeysValues, rows: Tensor) -> KeysValues:
    keys, values = keys_values
    return keys.index_select(0, rows), values.index_select(0, rows)  # five times as fast as [rows]
