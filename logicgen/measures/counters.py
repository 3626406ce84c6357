"""The best counter of a text: the control beside every language model that is evaluated.

See `model/text_ngram.py`: it knows what followed what in the text it reads, and no language.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from logicgen.data.corpus import Corpus
from logicgen.model.sequences import corpus_sequences
from logicgen.model.text_ngram import AT_A_TIME, FITTED_ON, TextNGram
from logicgen.tokens import NOTHING

COUNTERS = {
    "bigram": (2, "fitted"),
    "trigram": (3, "fitted"),
    "4-gram": (4, "fitted"),
    "PPM of order 3": (4, "ppm"),
}
"""Order and smoothing of each counter, by name."""


def counter_bits(counter: TextNGram, texts: np.ndarray, tokens: int) -> np.ndarray:
    """Return the bits of each token of (B, T) texts behind the first, (B, T - 1); nan if none.

    tokens: number of different ones.
    """
    found = []
    for some in torch.split(torch.from_numpy(texts), max(1, AT_A_TIME // texts.shape[1] ** 2)):
        bits = counter.chosen(some, tokens) / -math.log(2)
        found.append(torch.where(some[:, 1:] != NOTHING, bits, math.nan))
    return torch.cat(found).numpy()


def best_counter(corpus: Corpus, context: int) -> TextNGram | None:
    """Return the counter with the fewest bits on training texts, to which it is fitted.

    context: tokens of a text. None for a corpus without training texts.
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
