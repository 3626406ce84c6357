"""Tightness of language models: whether every text ends with probability 1.

Let a model give `<end>` a probability of at least p > 0 after every text. Then it writes n more
tokens with probability at most (1 - p)^n. So the model is tight, and writes at most 1 / p more
tokens on average. Source: Du, Torroba Hennigen, Pimentel, Meister, Eisner, Cotterell, A
Measure-Theoretic Characterization of Tight Language Models (ACL 2023): bounded features give
bounded logits, in Transformers and in recurrent networks. Here p is computed from the weights.

The logit of a token is the product of the token's output row and a vector h of features. In both
kinds of networks, h is the output of a layer normalization with gain g and bias b:

    h = g * n + b, where n has sum 0 and norm at most sqrt(width)

Let d be the output row of a token v minus the output row of `<end>`. Then d . h, the logit of v
minus the logit of `<end>`, has an upper bound:

    d . h <= sqrt(width) |c(g * d)| + d . b, where c subtracts the mean of a vector from its entries

P(<end>) is at least 1 / (1 + S). Here S is the sum of exp of this bound over all other tokens v.

A continuous cache gives a share of the probability to tokens that occurred before. The share is a
sigmoid of s . h + a, with weights s and bias a. Then S is multiplied by 1 + exp(s . h + a), and
the products with exp are bounded in the same way.

The bounds hold for the function that the weights define, for texts of any length without `<end>`.
They do not hold for decoding that excludes improbable tokens.
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

# The most numbers in a tensor. It limits the size of batches.
AT_A_TIME = 2**24


@dataclass(frozen=True)
class ModelTightness:
    """The tightness of a model, the reason, and a bound of the probability of `<end>`."""

    is_tight: bool
    reason: str  # one line
    # Natural logarithm of a lower bound of P(<end>) after any text; -inf if no bound is known
    log_least: float = -math.inf
    # Upper bound of the mean number of tokens that follow any text, `<end>` included
    mean_length: float = math.inf


@dataclass(frozen=True)
class LeastEnd:
    """The place in a corpus with the least probability of `<end>`."""

    log_probability: float  # natural logarithm
    sequence: int  # index of the sequence
    position: int  # number of tokens before this place
    sequences: int  # number of sequences read


def tightness(model: LanguageModel, seeds: Sequence[int] = (0,)) -> ModelTightness:
    """Return whether a model is tight, with a lower bound of P(<end>) after any text.

    seeds: seeds of random embedding rows. The bound holds for the rows of these seeds. If a model
        assigns trained rows to tokens at random, the bound holds for every assignment. For n-grams,
        the bound is the exact minimum.
    Raises LogicgenError for other kinds of models.
    """
    match model:
        case NeuralLanguageModel():
            log_least = float(neural_log_least(model.network, seeds).min())
            reason = "the last layer normalization bounds the features and the logits"
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
    # 1 / p, or infinity if that is too large for a float.
    mean_length = math.exp(-log_least) if log_least > -700 else math.inf
    return ModelTightness(True, reason, log_least, mean_length)


@torch.no_grad()
def neural_log_least(network: CausalLM, seeds: Sequence[int]) -> Tensor:
    """Return the logarithm of a lower bound of P(<end>) for each possible set of embedding rows.

    If rows are random, each seed has a bound. If trained rows are assigned to tokens at random,
    each row that `<end>` can get has a bound. In other models there is a single bound.
    """
    rows = network.rows
    if rows.method == "lexinvariant":
        found = [_log_least(network, rows.seeded([seed]).matrix[0], [Tokens.end]) for seed in seeds]
        return torch.cat(found)
    matrix = rows.trained_matrix()
    dealt = rows.method == "lexinvariant-names" and not rows.fixed
    return _log_least(network, matrix, range(len(matrix)) if dealt else [Tokens.end])


def _log_least(network: CausalLM, matrix: Tensor, ends: Sequence[int]) -> Tensor:
    """Return logarithms of lower bounds of P(<end>), (number of ends,).

    matrix: the embedding rows, (number of rows, width).
    ends: indices of the rows that `<end>` can have.
    """
    matrix = matrix.double()
    at_a_time = max(1, AT_A_TIME // matrix.numel())
    found = []
    for first in range(0, len(ends), at_a_time):
        end = matrix[list(ends[first : first + at_a_time])]
        directions = matrix - end[:, None]  # (ends, rows, width)
        largest = _largest(network, directions)
        if network.cache is not None:  # the cache multiplies the sum by 1 + exp(s . h + a)
            share = network.cache.share
            both = _largest(network, directions + share.weight.double()) + share.bias.double()
            largest = torch.cat([largest, both], -1)
        found.append(-largest.logsumexp(-1))
    return torch.cat(found)


def _largest(network: CausalLM, direction: Tensor) -> Tensor:
    """Return, for each direction, an upper bound of its product with the features of any text.

    direction: vectors, (..., width). The bounds have the shape (...).
    """
    norm, direction = network.network.norm, direction.double()
    turned = direction * norm.weight.double()
    centred = turned - turned.mean(-1, keepdim=True)
    width = direction.shape[-1]
    largest: Tensor = math.sqrt(width) * centred.norm(dim=-1) + direction @ norm.bias.double()
    return largest


@torch.no_grad()
def ngram_least(network: NGram) -> float:
    """Return the exact minimum of P(<end>) after any text of at least one token."""
    lower = torch.tensor([1 / network.tokens], dtype=torch.float64)
    least = 1.0
    for n in range(1, network.order + 1):
        counts = network.get_buffer(f"counts_{n}").cpu()  # (contexts, vocabulary)
        different = (counts > 0).sum(1).double()
        total = counts.sum(1) + different
        # The row of a context is a number with the context's tokens as digits. Without its first
        # token, a context keeps the last digits. So the probabilities of shorter contexts repeat.
        shorter = lower.repeat(len(counts) // len(lower))
        mixed = (counts[:, Tokens.end] + different * shorter) / total.clamp(min=1)
        lower = torch.where(total > 0, mixed, shorter)
        # A text has at least one token. So the empty context (n = 1) counts only if the order is 1.
        if n > 1 or network.order == 1:
            least = min(least, float(lower.min()))
    return least


def _of_text_ngram(model: TextNGramModel) -> ModelTightness:
    """Return whether a model that counts the n-grams of the preceding text is tight.

    Let a text repeat one token t times. N-grams with `fitted` smoothing give all other tokens
    together a probability that falls as t^-n. For n > 1 the sum over t is finite, so the same token
    follows for ever with positive probability. For n = 1 the sum is infinite in any text, so the
    model is tight.

    An escape of `ppm` is a step from a context to a shorter context. If the context has
    occurred c times, an escape has probability at least 1 / 2c, and the sum over c is infinite. So
    a context that occurs infinitely often would have infinitely many escapes (Borel, Cantelli,
    Lévy). But each escape leads to a token that is new in this context, and the number of tokens is
    finite. So the model is tight.
    """
    order, smoothing = model.network.order, model.network.smoothing
    if smoothing == "ppm":
        return ModelTightness(
            True, "no context can occur for ever without an escape to a new token"
        )
    if order == 1:
        return ModelTightness(True, "after t tokens <end> has about 1 / t, an infinite sum")
    return ModelTightness(
        False, f"after t times one token, all other tokens have about t^-{order}, a finite sum"
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
    """Return the place with the least probability of `<end>` in up to `limit` sequences of a split.

    context: number of tokens of a sequence; by default as in training.

    Sequence i is read with the random embedding rows of seed i. Raises LogicgenError if the model
    has other tokens than the corpus.
    """
    model.check_same_tokens(corpus, called)
    sequences = corpus_sequences(corpus, split)
    tokens, _ = sequences.spread(limit, context or model.context)
    longest = tokens.shape[1]
    at_a_time = max(1, AT_A_TIME // (longest * max(longest, len(model.tokens))))
    least = LeastEnd(math.inf, 0, 0, len(tokens))
    for first in range(0, len(tokens), at_a_time):
        some = torch.from_numpy(tokens[first : first + at_a_time])
        logs = model.log_probabilities(some, range(first, first + len(some)))
        after = some == NOTHING
        if sequences.length is not None:  # rows, in which nothing follows `<end>`
            after |= some == Tokens.end
        ends = logs[..., Tokens.end].cpu().masked_fill(after, math.inf)
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
    """Return printed lines: whether a model is tight, and bounds of the probability of `<end>`.

    corpus: if given, a line contains the least probability of `<end>` in a split of this corpus.
    """
    found = tightness(model, range(limit))
    lines = [f"{'tight' if found.is_tight else 'not tight'}: {found.reason}"]
    # No bound holds for all random embedding rows. This bound holds for the rows of these seeds.
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
    """Return exp(log) as text, even if it is too small for a float."""
    if log == -math.inf:
        return "0"
    return f"{math.exp(log):.3g}" if log > -600 else f"1e{log / math.log(10):.0f}"
