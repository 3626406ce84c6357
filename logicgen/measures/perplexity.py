"""Bits per token and perplexity of a language model on a corpus, by position.

The position of a token is the number of tokens before it. Position 0 is ignored, because no model
of logicgen predicts the first token. In shapes of arrays, T is the number of tokens of a sequence.
A model is compared with three references:

    best counter               the best n-gram model that counts tokens in the text read so far; a
                               better model has learned something about the language
    truth p                    the probabilities of the automaton that generated the strings
    exact lexinvariant model   p', the best model that does not know the names of the symbols, also
                               called the ideal model

The truth is known only if one automaton generated the corpus. The exact lexinvariant model is known
only if this automaton has at most 8 symbols. The distances from the truth and from the exact
lexinvariant model are Kullback-Leibler divergences in bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch

from logicgen.automata import (
    Automaton,
    Strings,
    divergences,
    lexinvariant,
    next_probabilities,
    read_automaton,
)
from logicgen.automata.lexinvariant import MOST_SYMBOLS
from logicgen.callbacks import Progress, no_progress
from logicgen.data.corpus import Corpus
from logicgen.errors import LogicgenError
from logicgen.measures.statistics import ratio_interval
from logicgen.model.language_model import LanguageModel
from logicgen.model.ngrams import AT_A_TIME, FITTED_ON, TextNGram
from logicgen.model.sequences import corpus_sequences
from logicgen.tasks.automaton_strings import AUTOMATON
from logicgen.tokens import NOTHING


def exact_probabilities(
    automaton: Automaton, tokens: np.ndarray, *, names_known: bool = True
) -> np.ndarray:
    """Return the exact probabilities of the next token after each token of some strings.

    tokens: ids of the tokens, (strings, T).
    names_known: whether the names of the symbols are known. If True, return probabilities under the
        automaton. If False, return probabilities under the exact lexinvariant model p', the mean
        over all renamings of the symbols; this needs an automaton of at most 8 symbols.

    The shape is (strings, T, vocabulary). The result is nan after the end of a string, and after a
    prefix of probability 0.
    """
    ids = tokens - 1  # numbers of symbols; negative for `<end>` and for padding after it
    strings = Strings(np.maximum(ids, 0), (ids >= 0).sum(axis=1))
    following = next_probabilities if names_known else lexinvariant.next_probabilities
    found = following(automaton, strings)[:, 1:]  # without the distribution before the first token
    missing = tokens.shape[1] - found.shape[1]
    found = np.pad(found, ((0, 0), (0, missing), (0, 0)), constant_values=np.nan)
    return np.concatenate([found[..., -1:], found[..., :-1]], axis=-1)


COUNTERS = {
    "bigram": (2, "fitted"),
    "trigram": (3, "fitted"),
    "4-gram": (4, "fitted"),
    "PPM of order 3": (4, "ppm"),
}
"""Order n and smoothing of each n-gram counter, by the name of the counter."""


def counter_bits(counter: TextNGram, texts: np.ndarray, tokens: int) -> np.ndarray:
    """Return the bits that a counter needs for each token of some texts after the first token.

    texts: token ids, (number of texts, T).
    tokens: size of the vocabulary.

    The shape is (number of texts, T - 1). The result is nan after the end of a text.
    """
    found = []
    for some in torch.split(torch.from_numpy(texts), max(1, AT_A_TIME // texts.shape[1] ** 2)):
        bits = counter.chosen(some, tokens) / -math.log(2)
        found.append(torch.where(some[:, 1:] != NOTHING, bits, math.nan))
    return torch.cat(found).numpy()


def best_counter(corpus: Corpus, context: int) -> TextNGram | None:
    """Fit the `COUNTERS` to training texts; return the counter with the fewest bits on them.

    context: the number of tokens of a text.

    Returns None if the corpus has no training texts.
    """
    if not corpus.splits.get("train"):
        return None
    tokens = len(corpus.tokens)
    texts, _ = corpus_sequences(corpus, "train").spread(max(1, FITTED_ON // context), context)
    fitted = []
    for order, smoothing in COUNTERS.values():
        counter = TextNGram(order, smoothing)
        counter.learn([torch.from_numpy(texts)], tokens)
        fitted.append((float(np.nanmean(counter_bits(counter, texts, tokens))), counter))
    return min(fitted, key=lambda each: each[0])[1]


# The number of sequences that are stored with the measures of each token.
READ = 16

MEASURES = {
    "bits": "bits per token",
    "kl_ideal": "bits above the ideal lexinvariant model (KL)",
    "kl_true": "bits above the truth (KL)",
    "l1_true": "distance from the truth (L1)",
    "counter_bits": "bits per token of the best counter of the text",
    "ideal_bits": "bits per token of the ideal lexinvariant model",
    "true_bits": "bits per token of the truth",
    "cache_share": "share of the cache in the model's probabilities (0 to 1)",
}
"""The measures at each position, with their names in tables.

The docstring of the module defines the ideal lexinvariant model, the truth and the best counter.
"""

CLOSED = "closed"
"""Key of a score that rescales the bits per token of a model.

The best counter has the score 0, and the exact lexinvariant model has the score 1.
"""


Means = dict[str, np.ndarray]


@dataclass(frozen=True)
class CurveAbout:
    """The model, the data and the settings of a curve.

    `About` is the corresponding class for answers.
    """

    model: str
    data: str
    split: str
    context: int  # number of tokens of a sequence
    sequences: int  # number of sequences
    embedding_seeds: int
    task: str = "text"
    precision: str | None = None  # precision of the model's training


@dataclass(frozen=True)
class Reading:
    """One sequence: its tokens, and the measures of each token."""

    tokens: list[str]  # text of each token, (T,)
    # for each name in `MEASURES`, the T values at the tokens; None if a value is not defined
    measured: dict[str, list[float | None]]


@dataclass(frozen=True)
class Curve:
    """Means over sequences by position, and the first sequences with the measures of each token.

    The keys of `parts` are `overall` (all positions) and `beyond` (positions from a given position
    on). A part contains its first position (`from`), the number of predicted `tokens`, and the mean
    of each measure. Each mean has a 95% interval over sequences (`_low`, `_high`).
    """

    about: CurveAbout
    tokens: np.ndarray  # number of predicted tokens at each position, (T,); 0 at position 0
    means: Means  # by name in `MEASURES`: the mean at each position, (T,); nan without tokens
    parts: dict[str, dict[str, float]]
    readings: Sequence[Reading] = ()

    @staticmethod
    def stored(summary: Mapping[str, Any], tokens: np.ndarray, means: Means) -> Curve:
        """Return the curve with a stored `summary` and stored means.

        Raises TypeError if the summary has unknown keys.
        """
        parts = {name: summary[name] for name in ("overall", "beyond") if name in summary}
        about = {name: value for name, value in summary.items() if name not in parts}
        return Curve(CurveAbout(**about), tokens, means, parts)

    def summary(self) -> dict[str, Any]:
        """Return the description and the parts as plain data, without the means by position."""
        return {**asdict(self.about), **self.parts}

    @staticmethod
    def of(about: CurveAbout, values: dict[str, np.ndarray], beyond: int) -> Curve:
        """Return the curve of means over sequences.

        values: for each measure, numbers from position 1 on, (sequences, T - 1); nan after the end
            of a sequence.
        beyond: first position of the part `beyond`.
        """
        there = ~np.isnan(values["bits"])
        count = there.sum(axis=0)
        means = {}
        for name, each in values.items():
            sums = np.where(there, each, 0.0).sum(axis=0)
            means[name] = np.concatenate([[np.nan], sums / np.where(count, count, np.nan)])
        parts = {"overall": _part(values, there, 1)}
        if there[:, beyond - 1 :].any(axis=1).sum() > 1:  # one sequence has no interval
            parts["beyond"] = _part(values, there, beyond)
        return Curve(about, np.concatenate([[0], count]), means, parts)


def _part(values: Means, there: np.ndarray, first: int) -> dict[str, float]:
    """Return the mean of each measure over positions from `first` on, with its 95% interval.

    there: mask of the predicted tokens, (sequences, T - 1).
    """

    def total(each: np.ndarray) -> np.ndarray:
        return np.asarray(np.where(there, each, 0.0)[:, first - 1 :].sum(axis=1))

    counts = there[:, first - 1 :].sum(axis=1)
    ratios = {name: (total(each), counts) for name, each in values.items()}
    if {"counter_bits", "ideal_bits"} <= values.keys():
        counter = values["counter_bits"]
        ratios[CLOSED] = total(counter - values["bits"]), total(counter - values["ideal_bits"])
    found: dict[str, float] = {"from": first, "tokens": int(counts.sum())}
    for name, (above, below) in ratios.items():
        mean, error = ratio_interval(above, below)
        found |= {name: mean, f"{name}_low": mean - error, f"{name}_high": mean + error}
    found["perplexity"] = 2 ** found["bits"]
    return found


def without_ideal(corpus: Corpus) -> str | None:
    """Return the reason why a corpus of strings is not compared with the exact lexinvariant model.

    Returns None if the corpus is compared with it, or does not contain strings of automata.
    """
    symbols = len(corpus.tokens) - 1
    if corpus.recipe.task != "automaton":
        return None
    if not corpus.has_automaton:
        return (
            "strings of many automata have no single truth to compare with; give strings of one"
            " automaton (automata = 1)"
        )
    if symbols <= MOST_SYMBOLS:
        return None
    return (
        f"{symbols} symbols have about 10^{math.lgamma(symbols + 1) / math.log(10):.0f} keys, too"
        f" many for the exact lexinvariant model: use at most {MOST_SYMBOLS}, or estimate it"
        " (logicgen.automata.lexinvariant.estimated_log_probabilities)"
    )


def measure_perplexity(
    model: LanguageModel,
    corpus: Corpus,
    called: str,
    *,
    split: str = "test",
    limit: int = 256,
    context: int | None = None,
    embedding_seeds: int = 1,
    beyond: int = 100,
    progress: Progress = no_progress,
) -> Curve:
    """Measure the perplexity of up to `limit` sequences of a split, as a mean over embedding seeds.

    context: the number of tokens of a sequence; by default as in training.
    beyond: the first position of the part `beyond`.
    Raises LogicgenError if the model has other tokens than the corpus, or if there is only one
    sequence.
    """
    model.check_same_tokens(corpus, called)
    if context is None:
        context = model.context
    tokens, targets = corpus_sequences(corpus, split).spread(limit, context)
    if (targets == NOTHING).all():
        raise LogicgenError(
            f"{corpus.folder}: nothing follows a first token in split {split}: give other strings"
        )
    if (targets != NOTHING).any(axis=1).sum() < 2:
        raise LogicgenError(
            f"{corpus.folder}: a 95% interval needs at least 2 sequences of {context} tokens:"
            " allow more, or, of a text, shorter ones"
        )
    # Sentences of a grammar are too short to count tokens in them.
    counter = None if corpus.recipe.task == "production" else best_counter(corpus, context)
    seeds = embedding_seeds if model.random else 1
    values = _values(model, tokens, targets, seeds, _exact_models(corpus), counter, progress)
    sizes = tokens.shape[1], len(tokens), seeds
    about = CurveAbout(called, corpus.name, split, *sizes, corpus.recipe.task, model.precision)
    readings = [
        _reading([corpus.tokens.texts[number] for number in row], values, place)
        for place, row in enumerate(tokens[:READ].tolist())
    ]
    return replace(Curve.of(about, values, beyond), readings=readings)


def _values(
    model: LanguageModel,
    tokens: np.ndarray,
    targets: np.ndarray,
    seeds: int,
    exact: dict[str, Callable[[np.ndarray], np.ndarray]],
    counter: TextNGram | None,
    progress: Progress,
) -> Means:
    """Return the value of each measure at each token after the first: a mean over embedding seeds.

    exact: for each exact model, a function from token ids to probabilities of the next token.

    The arrays have the shape (sequences, T - 1).
    """
    count, longest = tokens.shape
    at_a_time = max(1, AT_A_TIME // (longest * max(longest, len(model.tokens))))
    found: list[list[Means]] = [[] for _ in range(seeds)]
    for first in range(0, count, at_a_time):
        here = slice(first, min(first + at_a_time, count))
        known = {name: each(tokens[here])[:, :-1] for name, each in exact.items()}
        counted = {}
        if counter is not None:
            counted["counter_bits"] = counter_bits(counter, tokens[here], len(model.tokens))
        for seed in range(seeds):
            # The seed of a sequence's random embedding rows does not depend on the batch.
            own = [(seed << 32) + row for row in range(here.start, here.stop)]
            read = torch.from_numpy(tokens[here])
            logs = model.log_probabilities(read, own)[:, :-1]
            measured = {**_bits(logs, targets[here], known), **counted}
            share = model.cache_share(read, own)
            if share is not None:
                measured["cache_share"] = share[:, :-1].double().cpu().numpy()
            found[seed].append(measured)
            progress(here.start * seeds + (here.stop - here.start) * (seed + 1), count * seeds)
    return {
        name: np.mean([np.concatenate([piece[name] for piece in each]) for each in found], axis=0)
        for name in found[0][0]
    }


def _exact_models(corpus: Corpus) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """Return functions that compute probabilities of the next token under exact models, by name.

    The names are `true` (the automaton) and `ideal` (the exact lexinvariant model). A model that is
    not known is left out.
    """
    if not corpus.has_automaton:
        return {}
    automaton = read_automaton(corpus.folder / AUTOMATON)
    exact = {"true": partial(exact_probabilities, automaton)}
    # Sentences of a grammar begin with a fixed start symbol, which cannot be renamed.
    if corpus.recipe.task == "automaton" and len(automaton.symbols) <= MOST_SYMBOLS:
        exact["ideal"] = partial(exact_probabilities, automaton, names_known=False)
    return {**exact}


def _reading(tokens: list[str], values: Means, place: int) -> Reading:
    """Return the sequence with index `place`, up to its last predicted token, with its measures."""
    last = int(np.flatnonzero(~np.isnan(values["bits"][place])).max(initial=-1)) + 1
    measured: dict[str, list[float | None]] = {name: [None] for name in values}
    for name, each in values.items():
        numbers = each[place, :last].tolist()
        measured[name] += [round(v, 3) if math.isfinite(v) else None for v in numbers]
    return Reading(tokens[: last + 1], measured)


def _bits(logs: torch.Tensor, targets: np.ndarray, known: Means) -> Means:
    """Return the value of each measure at each token after the first; nan if there is no target.

    logs: natural logarithms of the model's probabilities, (B, T - 1, V), for B sequences of T
        tokens from a vocabulary of V tokens.
    targets: ids of the next tokens, (B, T - 1).
    known: probabilities under the exact models by name, (B, T - 1, V).
    """
    logs, places = logs.double().cpu() / math.log(2), targets.clip(min=0)[..., None]
    found = {"bits": -logs.gather(2, torch.from_numpy(places))[..., 0].numpy()}
    expected = np.exp2(logs.numpy())
    for name, exact in known.items():
        found[f"kl_{name}"] = divergences(exact, expected)
        if name == "true":
            found["l1_true"] = np.abs(exact - expected).sum(axis=2)
        with np.errstate(divide="ignore"):
            found[f"{name}_bits"] = -np.log2(np.take_along_axis(exact, places, axis=2)[..., 0])
    return {name: np.where(targets != NOTHING, each, np.nan) for name, each in found.items()}
