"""Grammars of productions, as plain data: each unit emits a word and chooses the next unit.

A unit is a hidden state. A sentence has P words, and the grammar has P layers of units, one layer
for each position of a word. The first unit is drawn from the distribution `start`. An active unit
emits one word, drawn from its distribution over words. Then it chooses a unit of the next layer,
drawn from its distribution over these units. The next layer is also called the layer below. The
chosen unit emits the next word. So exactly one unit of every layer is active. The active units are
a path. The probability of a sentence is the sum over all paths, as in a hidden Markov model with
different states at each position.

If `<end>` is a word, sentences may be shorter. A sentence ends before the first `<end>`; the words
of later layers do not count. The ids of a shorter sentence are padded with `<end>`.

Source: Vigoda, Rochais, "Inductive Transformers" (2023), section 2. The paper calls the
distributions over units pi_Z (equation 4), and the distributions over words pi_T (equation 5). The
distribution `start` is not in the paper.

In shapes of arrays, P is the number of layers, and Z the number of units of a layer, which may
differ by layer. T is the number of different words, and N the number of sentences. L is the number
of given words of each sentence. Each distribution is a column.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise, takewhile
from typing import Any, NamedTuple

import numpy as np

from logicgen.errors import LogicgenError, nearest
from logicgen.tokens import END, NOTHING

# Largest error of the sum of a given distribution; the distribution is then normalized.
TOLERANCE = 1e-6

# The largest number of sentences that `Grammar.sentences` lists.
MOST = 1 << 20

# The largest number of elements of a (sentences, words) array in `Grammar.sentences`.
AT_A_TIME = 1 << 22

# The id `NOTHING` in a sentence means any word. The id `_WORD` means any word except `<end>`.
_WORD = NOTHING - 1


class Messages(NamedTuple):
    """The forward and backward weights of the units of each layer, given some words.

    The lists contain an (N, Z) array for each layer: N sentences, Z units of the layer.
    """

    # The total weight of all paths to a unit that emit the words of earlier layers. Each row is
    # scaled by an arbitrary factor.
    outside: list[np.ndarray]
    # The probability that a unit emits the sentence's word in its layer; 1 if the word is not known
    words: list[np.ndarray]
    # The total weight of all paths from a unit to the last layer that emit the unit's own word and
    # the words of later layers. Each row is scaled by an arbitrary factor.
    inside: list[np.ndarray]
    log_total: np.ndarray  # (N,) natural logarithm of the probability of the known words


@dataclass(frozen=True, eq=False)
class Grammar:
    """A grammar of P layers over T words. A layer has Z units, which are hidden states.

    Raises LogicgenError if a distribution does not sum to 1; the message contains the unit and the
    sum. The column of a unit that is never active may be all zeros.
    """

    words: tuple[str, ...]  # T words, all different
    # P tuples: the names of the units of each layer. Names in a layer are different.
    units: tuple[tuple[str, ...], ...]
    start: np.ndarray  # (Z,) probabilities of the units of the first layer.
    # P arrays (T, Z): the probability that each unit emits each word
    tokens: tuple[np.ndarray, ...]
    # P - 1 arrays (Z of the next layer, Z): the probability that each unit chooses each unit of the
    # next layer
    below: tuple[np.ndarray, ...]
    where: str = field(default="grammar", repr=False)  # how error messages name the grammar

    def __post_init__(self) -> None:
        positions = len(self.units)
        if not positions or not all(self.units) or not self.words:
            raise LogicgenError(f"{self.where}: needs a word, a layer, and a unit in each layer")
        if len(set(self.words)) != len(self.words):
            raise LogicgenError(f"{self.where}: a word is listed twice")
        for number, units in enumerate(self.units, 1):
            if len(set(units)) != len(units):
                raise LogicgenError(f"{self.where}: layer {number}: two units have one name")
        if len(self.tokens) != positions or len(self.below) != positions - 1:
            raise LogicgenError(
                f"{self.where}: {positions} layers need {positions} distributions over words for"
                f" each unit and {positions - 1} over units below"
            )
        sizes = [len(units) for units in self.units]
        start = self._distributions(
            np.asarray(self.start)[:, None], (sizes[0], 1), ["start"], np.ones(1, bool)
        )
        object.__setattr__(self, "start", start[:, 0])
        reached: np.ndarray = self.start > 0
        tokens, below = [], []
        for layer, units in enumerate(self.units):
            places = [f"layer {layer + 1}: unit {unit}" for unit in units]
            shape = len(self.words), sizes[layer]
            said = [f"{place}: tokens" for place in places]
            tokens.append(self._distributions(self.tokens[layer], shape, said, reached))
            if layer + 1 < positions:
                shape = sizes[layer + 1], sizes[layer]
                chosen = [f"{place}: below" for place in places]
                below.append(self._distributions(self.below[layer], shape, chosen, reached))
                reached = np.asarray((below[-1][:, reached] > 0).any(axis=1))
        object.__setattr__(self, "tokens", tuple(tokens))
        object.__setattr__(self, "below", tuple(below))

    def _distributions(
        self, given: object, shape: tuple[int, int], places: Sequence[str], reached: np.ndarray
    ) -> np.ndarray:
        """Check distributions, one in each column; return them as a copy, normalized.

        places: the name of each column, for messages.
        reached: for each column, whether its unit is ever active. If it is never active, the column
            may be all zeros.
        """
        array = np.array(given, dtype=np.float64)
        if array.shape != shape:
            raise LogicgenError(f"{self.where}: {places[0]}: shape {array.shape}, not {shape}")
        sums = array.sum(axis=0)
        for place, column, total, used in zip(places, array.T, sums, reached, strict=True):
            if not (np.isfinite(column) & (column >= 0)).all():
                raise LogicgenError(f"{self.where}: {place}: a probability is not from 0 to 1")
            if abs(total - 1) > TOLERANCE and (used or total):
                raise LogicgenError(
                    f"{self.where}: {place}: sums to {total:.10g}, not to 1: change the"
                    " probabilities"
                )
        return array / np.where(sums, sums, 1)

    @property
    def positions(self) -> int:
        """Return P, the number of layers, which is the number of words in a longest sentence."""
        return len(self.units)

    @cached_property
    def end(self) -> int | None:
        """Return the id of the word `<end>`, or None if all sentences have P words."""
        return self.words.index(END) if END in self.words else None

    def _is_behind_end(self, ids: np.ndarray) -> np.ndarray:
        """Return whether each of (N, L) word ids comes after an `<end>`, (N, L) bool."""
        if self.end is None:
            return np.zeros(ids.shape, dtype=bool)
        ends = ids == self.end
        return np.asarray(np.cumsum(ends, axis=1) - ends > 0)

    def as_dict(self) -> dict[str, Any]:
        """Return the grammar as a dictionary for JSON; `Grammar.of_dict` reads it."""
        return {
            "words": list(self.words),
            "units": [list(units) for units in self.units],
            "start": self.start.tolist(),
            "tokens": [said.tolist() for said in self.tokens],
            "below": [below.tolist() for below in self.below],
        }

    @staticmethod
    def of_dict(content: dict[str, Any]) -> Grammar:
        """Make a grammar from the result of `as_dict`; weights are equal up to rounding."""
        return Grammar(
            tuple(content["words"]),
            tuple(map(tuple, content["units"])),
            np.array(content["start"]),
            tuple(map(np.array, content["tokens"])),
            tuple(map(np.array, content["below"])),
        )

    def encode(self, sentence: str) -> np.ndarray:
        """Split a sentence at blanks, and return the ids of its L words, (L,).

        The word `_` stands for any word; its id is `NOTHING`.

        Raises LogicgenError if a word is unknown or there are too many words. The message suggests
        similar words.
        """
        said = sentence.split()
        if len(said) > self.positions:
            raise LogicgenError(
                f"{sentence!r} has {len(said)} words; the model explains at most {self.positions},"
                " one with each layer"
            )
        known = {word: number for number, word in enumerate(self.words)}
        for word in said:
            if word != "_" and word not in known:
                raise LogicgenError(
                    f"{word!r} is no word of the grammar: {nearest(word, list(known))}"
                )
        return np.array([known.get(word, NOTHING) for word in said], dtype=np.int64)

    def decode(self, ids: np.ndarray) -> str:
        """Return the text of a sentence with the word ids (L,), without `<end>` and later words."""
        said = takewhile(lambda number: number != self.end, ids)
        return " ".join("_" if number == NOTHING else self.words[number] for number in said)

    def _padded(self, sentences: np.ndarray) -> np.ndarray:
        """Pad N sentences, (N, L) word ids, with `NOTHING` to P words each; return (N, P) ids.

        `NOTHING` also replaces all ids after an `<end>`. If a known word follows a `NOTHING`, this
        `NOTHING` cannot mean `<end>`, so it becomes `_WORD`. Raises LogicgenError if there are too
        many ids, or if an id belongs to no word.
        """
        sentences = np.asarray(sentences, dtype=np.int64)
        if sentences.ndim != 2 or sentences.shape[1] > self.positions:
            raise LogicgenError(
                f"sentences have shape {sentences.shape}: the grammar's have {self.positions} words"
            )
        if sentences.max(initial=0) >= len(self.words):
            raise LogicgenError(f"word {sentences.max()}: there are {len(self.words)}")
        missing = self.positions - sentences.shape[1]
        sentences = np.where(self._is_behind_end(sentences), NOTHING, sentences)
        if self.end is not None:
            known_follows = np.cumsum((sentences >= 0)[:, ::-1], axis=1)[:, ::-1] > 0
            sentences = np.where((sentences == NOTHING) & known_follows, _WORD, sentences)
        return np.pad(sentences, ((0, 0), (0, missing)), constant_values=NOTHING)

    def _words_only(self, layer: int) -> np.ndarray:
        """Return the word probabilities of a layer's units, (T, Z), with 0 for `<end>`."""
        said = self.tokens[layer].copy()
        said[self.end] = 0.0
        return said

    def agree(self, sentences: np.ndarray, prompt: np.ndarray) -> np.ndarray:
        """Return whether each of N sentences begins with a prompt, (N,) bool.

        sentences: (N, P) word ids.
        prompt: (L,) word ids. `NOTHING` in the prompt agrees with any word. If a known word follows
            a `NOTHING`, this `NOTHING` does not agree with `<end>`.
        """
        given = self._padded(prompt[None])
        words = (given == _WORD) & (sentences != self.end)
        return np.asarray(((given == NOTHING) | words | (sentences == given)).all(axis=1))

    def messages(self, sentences: np.ndarray) -> Messages:
        """Return the forward and backward weights of all units, given the words of N sentences.

        sentences: (N, L) word ids; `NOTHING` stands for an unknown word. If a known word follows an
        unknown word, the unknown word is not `<end>`.
        """
        ids = self._padded(sentences)
        words = []
        for layer in range(self.positions):
            known = ids[:, [layer]]
            said = self.tokens[layer][np.maximum(ids[:, layer], 0)]
            not_over = self._words_only(layer).sum(axis=0) if (known == _WORD).any() else 1.0
            words.append(np.select([known == NOTHING, known == _WORD], [1.0, not_over], said))
        log_total = np.zeros(len(ids))
        inside: list[np.ndarray] = []
        for layer in reversed(range(self.positions)):
            found = words[layer] * (inside[-1] @ self.below[layer] if inside else 1.0)
            scaled, scale = _scaled(found)
            inside.append(scaled)
            log_total += scale
        inside.reverse()
        outside = [np.broadcast_to(self.start, words[0].shape)]
        for layer in range(self.positions - 1):
            outside.append(_scaled((outside[-1] * words[layer]) @ self.below[layer].T)[0])
        with np.errstate(divide="ignore"):
            log_total += np.log(inside[0] @ self.start)
        return Messages(outside, words, inside, log_total)

    def log_probabilities(self, sentences: np.ndarray) -> np.ndarray:
        """Return the natural logarithm of the probability of each of N sentences, (N,).

        sentences: (N, L) word ids. If L is less than P, the result is for all sentences that begin
        with these words.
        """
        return self.messages(sentences).log_total

    def connection(self, sentences: np.ndarray, layer: int) -> np.ndarray:
        """Return the probability that a sentence uses each connection from a layer to the next.

        The shape is (N, units of the next layer, units of the layer), for N sentences with word ids
        (N, L). The result is nan for a sentence of probability 0.

        layer: the number of the first of the two layers, from 0.
        """
        known = self.messages(sentences)
        above = known.outside[layer] * known.words[layer]
        joint = known.inside[layer + 1][:, :, None] * self.below[layer] * above[:, None, :]
        total = joint.sum(axis=(1, 2), keepdims=True)
        return np.asarray(joint / np.where(total > 0, total, np.nan))

    @cached_property
    def reach(self) -> tuple[np.ndarray, ...]:
        """Return the probability that each unit is active in a random sentence, P arrays (Z,)."""
        found = [self.start]
        for below in self.below:
            found.append(below @ found[-1])
        return tuple(found)

    def next_word(self, sentences: np.ndarray) -> np.ndarray:
        """Return the distribution of the next word after each of N beginnings of sentences, (N, T).

        sentences: (N, L) word ids of the beginnings; `NOTHING` stands for any word but `<end>`.

        The result is nan after a beginning of probability 0. After `<end>`, the next word is
        `<end>`. Raises LogicgenError if L is not less than P.
        """
        sentences = np.asarray(sentences)
        layer = sentences.shape[1]
        if layer >= self.positions:
            raise LogicgenError(f"no word follows {layer}: sentences have {self.positions}")
        if self.end is not None:
            sentences = np.where(sentences == NOTHING, _WORD, sentences)
        on = self.messages(sentences).outside[layer]
        weights = on @ self.tokens[layer].T
        if self.end is not None:
            over = (sentences == self.end).any(axis=1)
            weights[over] = on[over].sum(axis=1, keepdims=True) * np.eye(len(self.words))[self.end]
        total = weights.sum(axis=1, keepdims=True)
        return np.asarray(weights / np.where(total > 0, total, np.nan))

    def sentences(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all N sentences of nonzero probability, sorted, with their probabilities.

        The results are word ids (N, P) and probabilities (N,). Raises LogicgenError if there are
        more than `MOST` sentences.
        """
        ids, on = np.zeros((1, 0), dtype=np.int64), self.start[None]
        together = max(1, AT_A_TIME // len(self.words))
        for layer in range(self.positions):
            said = self.tokens[layer]
            pieces: list[np.ndarray] = []
            for first in range(0, len(on), together):
                some = slice(first, first + together)
                possible = on[some] @ said.T > 0
                if self.end is not None and layer:  # after an <end>, only <end> is possible
                    possible[ids[some, -1] == self.end] = np.arange(len(self.words)) == self.end
                pieces.append(np.argwhere(possible) + np.array([first, 0]))
                if sum(map(len, pieces)) > MOST:
                    raise LogicgenError(
                        f"the grammar has more than {MOST:,} sentences, too many to list"
                    )
            sentence, word = np.concatenate(pieces).T
            over = ids[sentence, -1:] == self.end if layer else np.zeros((len(word), 1), bool)
            on = on[sentence] * np.where(over, 1.0, said[word])
            if layer + 1 < self.positions:
                on = on @ self.below[layer].T
            ids = np.column_stack([ids[sentence], word])
        return ids, on.sum(axis=1)

    def sample(
        self, rng: np.random.Generator, count: int, prompt: np.ndarray | None = None
    ) -> np.ndarray:
        """Draw random sentences that begin with a prompt; return word ids (count, P).

        prompt: (L,) word ids, which may contain `NOTHING` for any word (see `agree`). After an
        `<end>`, all ids are `<end>`.

        Raises LogicgenError if no sentence agrees with the prompt.
        """
        given = np.zeros(0, dtype=np.int64) if prompt is None else prompt
        known = self.messages(given[None])
        padded = self._padded(given[None])
        ids = np.repeat(padded, count, axis=0)
        if np.isneginf(known.log_total[0]):
            raise LogicgenError(f"no sentence agrees with {self.decode(given)!r}: give another")
        chosen = _draw(rng, np.repeat(self.start[:, None] * known.inside[0].T, count, axis=1))
        for layer in range(self.positions):
            said = self._words_only(layer) if padded[0, layer] == _WORD else self.tokens[layer]
            words = _draw(rng, said[:, chosen])
            ids[:, layer] = np.where(ids[:, layer] < 0, words, ids[:, layer])
            if layer + 1 < self.positions:
                weights = self.below[layer][:, chosen] * known.inside[layer + 1].T
                chosen = _draw(rng, weights)
        return ids if self.end is None else np.where(self._is_behind_end(ids), self.end, ids)

    def permuted(self, orders: Sequence[np.ndarray]) -> Grammar:
        """Reorder the units of each layer.

        orders: a permutation for each layer. New unit i of the layer is the old unit with the
            number at index i of the permutation.
        """
        layers = zip(self.units, orders, strict=True)
        return replace(
            self,
            units=tuple(tuple(units[i] for i in order) for units, order in layers),
            start=self.start[orders[0]],
            tokens=tuple(said[:, order] for said, order in zip(self.tokens, orders, strict=True)),
            below=tuple(
                below[np.ix_(lower, order)]
                for below, (order, lower) in zip(self.below, pairwise(orders), strict=True)
            ),
        )


def check_comparable(one: Grammar, other: Grammar) -> None:
    """Raise LogicgenError if the words or the numbers of layers of two grammars differ."""
    if one.words != other.words or one.positions != other.positions:
        raise LogicgenError(
            "the two grammars have different words, or sentences of different lengths"
        )


def divergence(true: Grammar, other: Grammar) -> float:
    """Return the exact divergence KL(true || other) of the distributions over sentences, in bits.

    It is infinite if `other` gives probability 0 to a possible sentence. Raises LogicgenError if
    words or lengths differ, or if there are too many sentences to list.
    """
    check_comparable(true, other)
    ids, probabilities = true.sentences()
    logs = np.log(probabilities) - other.log_probabilities(ids)
    return max(0.0, float(probabilities @ logs) / math.log(2))


def _scaled(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Divide each row of (N, Z) weights by its largest number, if that is not 0.

    Returns the divided weights, and the natural logarithms of the divisors, (N,).
    """
    largest = weights.max(axis=1)
    with np.errstate(divide="ignore"):
        scale = np.log(largest)
    return weights / np.where(largest > 0, largest, 1)[:, None], np.where(largest > 0, scale, 0)


def _draw(rng: np.random.Generator, weights: np.ndarray) -> np.ndarray:
    """Draw a row number for each of N columns; weights (rows, N) need not be normalized."""
    cumulative = np.cumsum(weights, axis=0)
    drawn = rng.random(weights.shape[1]) * cumulative[-1]
    drawn = np.minimum(drawn, np.nextafter(cumulative[-1], 0))  # the product may be rounded up
    # A row of weight 0 does not raise the sum, so it is never the first row above the drawn number.
    return np.asarray((cumulative <= drawn).sum(axis=0))
