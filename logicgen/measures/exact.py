"""An automaton, or its exact lexinvariant model, in the place of a language model.

Tokens are those of a corpus of the automaton: `<end>` is token 0, symbol i token i + 1.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from logicgen.automata import Automaton, Strings, lexinvariant, next_probabilities


class Exact:
    """The true distribution of an automaton's strings, on the interface of a language model.

    If `lexinvariant`, the names of the symbols are unknown (p', at most 8 symbols).
    """

    def __init__(self, automaton: Automaton, *, lexinvariant: bool = False) -> None:
        self.automaton, self.lexinvariant = automaton, lexinvariant

    def probabilities(self, tokens: np.ndarray) -> np.ndarray:
        """Return the probabilities of the token after each of (B, T): (B, T, V).

        They are nan after the end of a string, and where a string has probability 0.
        """
        ids = tokens - 1  # symbols by number; the end and what is behind it become negative
        strings = Strings(np.maximum(ids, 0), (ids >= 0).sum(axis=1))
        following = lexinvariant.next_probabilities if self.lexinvariant else next_probabilities
        found = following(self.automaton, strings)[:, 1:]  # after one token and more
        missing = tokens.shape[1] - found.shape[1]
        found = np.pad(found, ((0, 0), (0, missing), (0, 0)), constant_values=np.nan)
        return np.concatenate([found[..., -1:], found[..., :-1]], axis=-1)

    def log_probabilities(self, tokens: Tensor) -> Tensor:
        """Return the same in nats, as every model does."""
        return torch.from_numpy(self.probabilities(tokens.cpu().numpy())).log()
