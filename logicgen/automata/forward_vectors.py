"""Forward vectors of strings, one for each partial permutation of the symbols seen.

In general a forward vector has one weight for each state. In a deterministic automaton only one of
them is not 0, so a state and a weight are enough, whatever the number of states.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from logicgen.automata.automaton import Automaton
from logicgen.automata.partial_permutations import blocks, partial_permutations
from logicgen.automata.weights import LEAST

# Up to so many states a dense matrix multiplies faster than a sparse one.
DENSE = 100


class ForwardVectors:
    """Forward vectors (m, P, n): of m strings, for P partial permutations, over n states.

    count: number of strings. most: the largest number of partial permutations that there will be.
    """

    def __init__(self, model: Automaton, count: int, most: int) -> None:
        n = len(model.states)
        self.symbols = len(model.symbols)
        self.steps: list[np.ndarray | csr_array] = [
            matrix.toarray() if n <= DENSE else matrix for matrix in model.transitions
        ]
        self.vectors = np.tile(model.initial, (count, 1, 1))
        # Buffers for two more such arrays: allocating memory costs more than the arithmetic.
        self.spare = np.empty(2 * count * most * n)

    @staticmethod
    def size(model: Automaton) -> int:
        """Return the numbers held for each string and partial permutation."""
        return 3 * len(model.states)

    def choose(self, rows: np.ndarray) -> None:
        """Keep only some of the strings, or put them in another order."""
        self.vectors = self.vectors[rows]

    def read_new(self, source: np.ndarray, symbols: np.ndarray) -> None:
        """Read a symbol not seen before: number `source[i]` is extended by `symbols[i]`."""
        before = self.vectors
        self.vectors = np.empty((len(before), len(source), before.shape[2]))
        for symbol, matrix in enumerate(self.steps):
            chosen = symbols == symbol
            some = before[:, source[chosen]]
            self.vectors[:, chosen] = (some.reshape(-1, some.shape[2]) @ matrix).reshape(some.shape)

    def read_seen(self, read: np.ndarray, seen: int) -> None:
        """Read one of the `seen` symbols in the first strings: `read` (m,), by first occurrence.

        Each vector is multiplied by the matrix of the symbol that it maps the read one to. Equally
        many map to each: vectors are sorted by it, multiplied in k blocks, and sorted back.
        """
        vectors = self.vectors[: len(read)]
        m, classes, n = vectors.shape
        k = self.symbols
        by_symbol, symbols, within = blocks(k, seen)
        each = classes // k  # partial permutations for each symbol
        strings = np.arange(m)[:, None]
        source = by_symbol[:, read] + classes * strings  # (k, m, P / k)
        ordered, after = self.spare[: 2 * vectors.size].reshape(2, k, m * each, n)
        vectors.reshape(-1, n).take(source.reshape(k, -1), axis=0, mode="clip", out=ordered)
        for symbol, matrix in enumerate(self.steps):
            if isinstance(matrix, np.ndarray):
                np.matmul(ordered[symbol], matrix, out=after[symbol])
            else:
                after[symbol] = ordered[symbol] @ matrix
        back = (symbols[read] * m + strings) * each + within[read]  # (m, P)
        after.reshape(-1, n).take(back, axis=0, mode="clip", out=vectors)

    def rescale(self, scale: np.ndarray) -> np.ndarray:
        """Divide each vector by its sum and add the logarithm of that to `scale` (m, P), in place.

        Returns (m,) bool: whether the numbers of one vector differ too much for a common scale.
        """
        sums = self.vectors.sum(axis=2)
        scale += np.log(sums)
        self.vectors /= np.where(sums > 0, sums, 1)[..., None]
        smallest: np.ndarray = np.where(self.vectors > 0, self.vectors, 1).min(axis=(1, 2))
        return smallest < LEAST

    def readout(self, strings: np.ndarray | slice, matrix: np.ndarray) -> np.ndarray:
        """Return the forward vectors of some strings times a matrix (n, r), (m, P, r)."""
        return np.asarray(self.vectors[strings] @ matrix)


class ForwardStates:
    """Forward vectors of a deterministic automaton: a state and a weight, (m, P); same methods."""

    def __init__(self, model: Automaton, count: int, most: int) -> None:
        k, self.states = len(model.symbols), len(model.states)
        self.symbols = k
        # The target and the weight of each symbol's arc from each state; 0 if there is none.
        self.target = np.zeros(k * self.states, dtype=np.int64)
        self.step = np.zeros(k * self.states)
        for symbol, matrix in enumerate(model.transitions):
            source, target = matrix.tocoo().coords
            self.target[symbol * self.states + source] = target
            self.step[symbol * self.states + source] = matrix.data
        start = int(model.initial.argmax())
        self.state = np.full((count, 1), start)
        self.weight = np.full((count, 1), model.initial[start])

    @staticmethod
    def size(model: Automaton) -> int:
        return 6

    def choose(self, rows: np.ndarray) -> None:
        self.state, self.weight = self.state[rows], self.weight[rows]

    def read_new(self, source: np.ndarray, symbols: np.ndarray) -> None:
        self.state, self.weight = self.state[:, source], self.weight[:, source]
        self._go(len(self.state), symbols)

    def read_seen(self, read: np.ndarray, seen: int) -> None:
        self._go(len(read), partial_permutations(self.symbols, seen).T[read])

    def _go(self, count: int, symbols: np.ndarray) -> None:
        place = symbols * self.states + self.state[:count]
        self.weight[:count] *= self.step[place]
        self.state[:count] = self.target[place]

    def rescale(self, scale: np.ndarray) -> np.ndarray:
        """Move each weight into `scale` (m, P), as its logarithm, in place; return all False."""
        scale += np.log(self.weight)
        self.weight[:] = self.weight > 0
        return np.zeros(len(scale), dtype=bool)

    def readout(self, strings: np.ndarray | slice, matrix: np.ndarray) -> np.ndarray:
        return np.asarray(matrix[self.state[strings]] * self.weight[strings][..., None])
