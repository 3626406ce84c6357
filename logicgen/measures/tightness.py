"""Tightness of language models: whether a text that they write ends with probability 1.

A model that gives `<end>` at least p > 0 after every text writes n more tokens with a probability
of at most (1 - p)^n, so it is tight, and writes 1 / p more tokens at most on average. Source: Du,
Torroba Hennigen, Pimentel, Meister, Eisner, Cotterell, A Measure-Theoretic Characterization of
Tight Language Models (ACL 2023): bounded features make bounded logits, whether a Transformer or a
recurrent network computes them. Here p is computed from the weights.

Features h of Transformers and recurrent networks leave a layer normalisation of gain g and bias b:
h = g * n + b for numbers n whose sum is 0 and whose norm is at most sqrt(width). So a difference of
logits, (r_v - r_end) . h, is at most sqrt(width) |c(g * (r_v - r_end))| + (r_v - r_end) . b, where
c subtracts the mean; and P(<end>) is at least 1 / (1 + the sum over v of exp of this). A continuous
cache gives its share of the probability to tokens that occurred, a sigmoid of s . h + a: the sum
is multiplied by 1 + exp(s . h + a), whose products with exp are bounded in the same way.

Bounds are about the function that weights define, for texts of any length without an `<end>` and
the whole distribution: decoding that leaves out improbable tokens is another model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from logicgen.data.corpus import Corpus
from logicgen.errors import LogicgenError
from logicgen.model.inductive import InductiveModel
from logicgen.model.language_model import LanguageModel, NeuralLanguageModel
from logicgen.model.ngrams import NGram, NGramModel, TextNGramModel
from logicgen.model.sequences import corpus_sequences
from logicgen.nn.language_model import CausalLM
from logicgen.tokens import NOTHING, Tokens

# Numbers in (sequences, tokens, tokens or width) that are made at a time.
AT_A_TIME = 2**24


@dataclass(frozen=True)
class ModelTightness:
    """Whether a model is tight, why, and how improbable `<end>` can be."""

    is_tight: bool
    reason: str  # one line
    # Natural logarithm of a lower bound of P(<end>) after any text; -inf if there is none above 0
    log_least: float = -math.inf
    # At most so many tokens follow any text on average, the `<end>` included
    mean_length: float = math.inf


@dataclass(frozen=True)
class LeastEnd:
    """The place of a corpus at which a model gives `<end>` the least probability."""

    log_probability: float  # natural logarithm
    sequence: int
    position: int  # tokens before `<end>` would stand there
    sequences: int  # that were read


def tightness(model: LanguageModel, seeds: Sequence[int] = (0,)) -> ModelTightness:
    """Return whether a model is tight, with a lower bound of P(<end>) after any text.

    seeds: of random rows, on which the bound depends; it holds for all of these draws. For
    models with trained rows it holds whatever is drawn. The bound of n-grams is their exact least.
    Raises LogicgenError for a kind of model of which nothing is known.
    """
    match model:
        case NeuralLanguageModel():
            log_least = float(neural_log_least(model.network, seeds).min())
            reason = "features are bounded by the last layer normalisation, and so are logits"
        case NGramModel():
            log_least = math.log(ngram_least(model.network))
            reason = "there are finitely many contexts, and <end> may follow each"
        case InductiveModel():
            words = model.network.network.positions
            return ModelTightness(
                True, f"sentences have {words} words at most", mean_length=words + 1
            )
        case TextNGramModel():
            return _of_text_ngram(model)
        case _:
            raise LogicgenError(
                f"{model.noun}: no bound of the probability of <end> is known for this kind of"
                " model: give a Transformer, a recurrent network or n-grams"
            )
    return ModelTightness(True, reason, log_least, _reciprocal(log_least))


def _reciprocal(log: float) -> float:
    """Return exp(-log), infinite where that is no number."""
    return math.exp(-log) if log > -700 else math.inf


@torch.no_grad()
def neural_log_least(network: CausalLM, seeds: Sequence[int]) -> Tensor:
    """Return the logarithms of lower bounds of P(<end>), one for each draw of rows.

    One for each seed where rows are random; one for each row that may be dealt to `<end>`, whatever
    the seed, where rows are trained and their order is random; else a single one.
    """
    rows = network.rows
    if rows.method == "lexinvariant":
        found = [_log_least(network, rows.seeded([seed]).matrix[0], [Tokens.end]) for seed in seeds]
        return torch.cat(found)
    assert rows.trained is not None
    dealt = range(rows.tokens) if rows.method == "lexinvariant-names" else [Tokens.end]
    return _log_least(network, rows.trained.matrix(rows.tokens), dealt)


def _log_least(network: CausalLM, matrix: Tensor, ends: Sequence[int]) -> Tensor:
    """Return bounds (len(ends),), one for each of rows (R, width) that may be that of `<end>`."""
    matrix = matrix.double()
    at_a_time = max(1, AT_A_TIME // matrix.numel())
    found = []
    for first in range(0, len(ends), at_a_time):
        end = matrix[list(ends[first : first + at_a_time])]
        directions = matrix - end[:, None]  # (ends, R, width)
        largest = _largest(network, directions)
        if network.cache is not None:  # the sum of exp is multiplied by 1 + exp(share of the cache)
            share = network.cache.share
            both = _largest(network, directions + share.weight.double()) + share.bias.double()
            largest = torch.cat([largest, both], -1)
        found.append(-largest.logsumexp(-1))
    return torch.cat(found)


def _largest(network: CausalLM, direction: Tensor) -> Tensor:
    """Return the largest product (...) of features with directions (..., width)."""
    norm, direction = network.network.norm, direction.double()
    turned = direction * norm.weight.double()
    centred = turned - turned.mean(-1, keepdim=True)
    width = direction.shape[-1]
    largest: Tensor = math.sqrt(width) * centred.norm(dim=-1) + direction @ norm.bias.double()
    return largest


@torch.no_grad()
def ngram_least(network: NGram) -> float:
    """Return the least probability of `<end>` after any text of a token or more, exactly."""
    lower = torch.tensor([1 / network.tokens], dtype=torch.float64)
    least = 1.0
    for n in range(1, network.order + 1):
        counts = network.get_buffer(f"counts_{n}").cpu()  # (contexts, V)
        different = (counts > 0).sum(1).double()
        total = counts.sum(1) + different
        # A context without its first token: the last digits of its number.
        shorter = lower.repeat(len(counts) // len(lower))
        mixed = (counts[:, Tokens.end] + different * shorter) / total.clamp(min=1)
        lower = torch.where(total > 0, mixed, shorter)
        if n > 1 or network.order == 1:  # a token stands before all that is predicted
            least = min(least, float(lower.min()))
    return least


def _of_text_ngram(model: TextNGramModel) -> ModelTightness:
    """Return what is known of counts of the text itself.

    In a text of t times the same token, n-grams of `fitted` smoothing give all other tokens
    together a probability that falls as t^-n. The sum of these is finite for n > 1, so with a
    positive probability the same token follows for ever. Of n = 1 it is infinite, in any text.

    An escape of `ppm` from a context that occurred c times has the probability 1 / 2c or more, and
    the sum of these is infinite. So after a context that occurs infinitely often there would be
    infinitely many escapes (Borel, Cantelli, Lévy), of which each leads to a token that is new
    there, and of those there are finitely many.
    """
    order, smoothing = model.network.order, model.network.smoothing
    if smoothing == "ppm":
        return ModelTightness(
            True, "no context can occur for ever without an escape to a new token"
        )
    if order == 1:
        return ModelTightness(True, "after t tokens <end> has about 1 / t, an infinite sum")
    return ModelTightness(
        False, f"after t times one token all others together have about t^-{order}, a finite sum"
    )


def least_end(
    model: LanguageModel,
    corpus: Corpus,
    called: str,
    *,
    split: str = "test",
    limit: int = 256,
    context: int | None = None,
) -> LeastEnd:
    """Return where in up to `limit` sequences of a split `<end>` has the least probability.

    Sequence i is read in the random rows of seed i. context: tokens of a sequence; those of
    training if not given. Raises LogicgenError where the model has other tokens than the corpus.
    """
    model.check_same_tokens(corpus, called)
    tokens, _ = corpus_sequences(corpus, split).spread(limit, context or model.context)
    longest = tokens.shape[1]
    at_a_time = max(1, AT_A_TIME // (longest * max(longest, len(model.tokens))))
    least = LeastEnd(math.inf, 0, 0, len(tokens))
    for first in range(0, len(tokens), at_a_time):
        some = torch.from_numpy(tokens[first : first + at_a_time])
        logs = model.log_probabilities(some, range(first, first + len(some)))
        ends = logs[..., Tokens.end].cpu().masked_fill(some == NOTHING, math.inf)
        if float(ends.min()) < least.log_probability:
            sequence, position = divmod(int(ends.argmin()), longest)
            least = LeastEnd(float(ends.min()), first + sequence, position + 1, len(tokens))
    return least


def tightness_lines(
    model: LanguageModel,
    run: str,
    corpus: Corpus | None,
    split: str,
    limit: int,
    context: int | None,
) -> list[str]:
    """Return in words whether a model is tight, and how improbable `<end>` is at least.

    corpus: in whose split the least probability is looked for, if given.
    """
    found = tightness(model, range(limit))
    lines = [f"{'tight' if found.is_tight else 'not tight'}: {found.reason}"]
    # Rows that are drawn have no bound together: theirs is that of so many draws.
    of_draws = f" (in {limit:,} draws of rows)" if model.random and model.any_tokens else ""
    if found.log_least > -math.inf:
        least_ever = power_of_ten(found.log_least)
        lines.append(f"probability of <end> after any text: at least {least_ever}{of_draws}")
    if found.mean_length < math.inf:
        mean = f"{found.mean_length:,.4g}"
        lines.append(f"tokens that follow, on average: at most {mean}{of_draws}")
    if corpus is not None:
        least = least_end(model, corpus, run, split=split, limit=limit, context=context)
        lines.append(
            f"least in {least.sequences:,} sequences of {corpus.name}, {split}:"
            f" {power_of_ten(least.log_probability)}, after {least.position:,} tokens of number"
            f" {least.sequence:,}"
        )
    return lines


def power_of_ten(log: float) -> str:
    """Return the number whose natural logarithm is given, also where it is below all floats."""
    if log == -math.inf:
        return "0"
    return f"{math.exp(log):.3g}" if log > -600 else f"1e{log / math.log(10):.0f}"
