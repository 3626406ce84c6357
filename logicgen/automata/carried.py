"""What is carried through strings, one for each way to assign meanings to the symbols seen.

In general a forward vector over the states. In a deterministic automaton only one of its numbers is
not 0, so a state and a weight say it all, whatever the number of states.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from logicgen.automata.assignments import assignments, blocks
from logicgen.automata.automaton import Automaton
from logicgen.automata.weights import LEAST

# Up to so many states a dense matrix multiplies faster than a sparse one.
DENSE = 100


class Vectors:
    """Forward vectors (m, P, n): of m strings, for P assignments, over n states.

    Args:
        model: any automaton.
        count: strings.
        most: assignments there will be at most.
    """

    def __init__(self, model: Automaton, count: int, most: int) -> None:
        n = len(model.states)
        self.symbols = len(model.symbols)
        self.steps: list[np.ndarray | csr_array] = [
            matrix.toarray() if n <= DENSE else matrix for matrix in model.transitions
        ]
        self.vectors = np.tile(model.initial, (count, 1, 1))
        # Room for two more of them: fresh memory costs more than the arithmetic.
        self.spare = np.empty(2 * count * most * n)

    @staticmethod
    def size(model: Automaton) -> int:
        """Numbers held for each string and assignment."""
        return 3 * len(model.states)

    def choose(self, rows: np.ndarray) -> None:
        """Only some of the strings, or others of their order."""
        self.vectors = self.vectors[rows]

    def read_new(self, source: np.ndarray, symbols: np.ndarray) -> None:
        """A symbol not seen before: assignment number `source[i]` goes on, it being symbols[i]."""
        before = self.vectors
        self.vectors = np.empty((len(before), len(source), before.shape[2]))
        for symbol, matrix in enumerate(self.steps):
            chosen = symbols == symbol
            some = before[:, source[chosen]]
            self.vectors[:, chosen] = (some.reshape(-1, some.shape[2]) @ matrix).reshape(some.shape)

    def read_seen(self, read: np.ndarray, seen: int) -> None:
        """In the first strings one of the `seen` symbols: `read` (m,), by first occurrence.

        Each symbol of the automaton has one matrix to multiply with. Of the assignments to what was
        read, as many stand for each, so all can be ordered by it, multiplied in k blocks, and
        ordered back.
        """
        vectors = self.vectors[: len(read)]
        m, classes, n = vectors.shape
        k = self.symbols
        by_symbol, symbols, within = blocks(k, seen)
        each = classes // k  # assignments for a symbol
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
        """Move the size of each vector into `scale` (m, P), its logarithm, in place.

        Returns (m,) bool: where the numbers of one vector range too far for that.
        """
        sums = self.vectors.sum(axis=2)
        scale += np.log(sums)
        self.vectors /= np.where(sums > 0, sums, 1)[..., None]
        return np.where(self.vectors > 0, self.vectors, 1).min(axis=(1, 2)) < LEAST

    def readout(self, strings: np.ndarray | slice, matrix: np.ndarray) -> np.ndarray:
        """(m, P, r): forward vectors of some strings times a matrix (n, r)."""
        return self.vectors[strings] @ matrix


class Points:
    """As `Vectors`, for a deterministic automaton: a state (m, P) and a weight (m, P)."""

    def __init__(self, model: Automaton, count: int, most: int) -> None:
        k, self.states = len(model.symbols), len(model.states)
        self.symbols = k
        # Where each symbol leads from each state, and at what weight; 0 where nowhere.
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
        self._go(len(read), assignments(self.symbols, seen).T[read])

    def _go(self, count: int, symbols: np.ndarray) -> None:
        place = symbols * self.states + self.state[:count]
        self.weight[:count] *= self.step[place]
        self.state[:count] = self.target[place]

    def rescale(self, scale: np.ndarray) -> np.ndarray:
        scale += np.log(self.weight)
        self.weight[:] = self.weight > 0
        return np.zeros(len(scale), dtype=bool)

    def readout(self, strings: np.ndarray | slice, matrix: np.ndarray) -> np.ndarray:
        return matrix[self.state[strings]] * self.weight[strings][..., None]
