"""Completion of texts by a language model: text in, text out."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from logicgen.errors import LogicgenError
from logicgen.model.language_model import LanguageModel
from logicgen.nn.generation import Texts, beam_search, generate
from logicgen.nn.samples import Sampling
from logicgen.tokens import NOTHING, OTHER, Tokens

# Number of continuations that are generated together.
AT_A_TIME = 64


class Completion(NamedTuple):
    """A continuation of a prompt, and its log-probability in nats.

    The log-probability includes the token or the text that ended the continuation.
    """

    text: str
    log_probability: float


def complete(
    model: LanguageModel,
    prompt: str,
    tokens: int,
    *,
    sampling: Sampling | None = None,
    count: int = 1,
    until: str | None = None,
    seed: int = 0,
) -> list[Completion]:
    """Return `count` continuations of a prompt, each of up to `tokens` tokens.

    A continuation ends at the end of the document, or before the text `until`. Without `sampling`,
    each token is the most probable token. `seed` determines the random embedding rows of a
    lexinvariant model. Continuation n depends only on n, on `seed`, and on the seed of `sampling`.
    Raises LogicgenError if the prompt is empty or the model cannot read it, or if the model cannot
    write `until`.
    """
    prompt_ids = _prompt(model, prompt)
    finished, shown = _ending(model.tokens, until)
    found: list[Completion] = []
    for first in range(0, count, AT_A_TIME):
        numbers = range(first, min(first + AT_A_TIME, count))
        read = model.reader([(seed << 32) + number for number in numbers])
        prompts = prompt_ids.expand(len(numbers), -1)
        end = model.tokens.end
        written = generate(read, prompts, tokens, sampling, end=end, first=first, finished=finished)
        found += _completions(written, shown)
    return found


def most_probable(
    model: LanguageModel,
    prompt: str,
    tokens: int,
    *,
    beams: int,
    count: int = 1,
    until: str | None = None,
    seed: int = 0,
) -> list[Completion]:
    """Return up to `count` continuations by beam search, the most probable first.

    The continuations are different sequences of tokens. With byte-pair tokens, different sequences
    can write the same text. All continuations use the random embedding rows of `seed`.
    Raises LogicgenError for a `count` above `beams`, and the errors of `complete`.
    """
    if count > beams:
        raise LogicgenError(
            f"--count {count}: {beams} beams find {beams} texts at most; give --beams {count}"
        )
    prompt_ids = _prompt(model, prompt)
    finished, shown = _ending(model.tokens, until)
    read = model.reader([seed << 32] * beams)
    end = model.tokens.end
    found = beam_search(read, prompt_ids, tokens, beams, end=end, finished=finished)
    return _completions(found, shown)[:count]


def _prompt(model: LanguageModel, prompt: str) -> Tensor:
    """Return the token ids of a prompt, shape (tokens,).

    Raises LogicgenError for an empty prompt.
    """
    try:
        ids = model.tokens.encode(prompt)
    except UnicodeEncodeError:  # a command line may contain bytes that are not UTF-8
        raise LogicgenError("the prompt is not UTF-8: convert it") from None
    if not len(ids):
        raise LogicgenError(
            "the prompt is empty, but a model only predicts the next token: give at least one token"
        )
    return torch.from_numpy(ids).to(model.device)


def _completions(written: Texts, shown: Callable[[list[int]], str]) -> list[Completion]:
    lines = written.tokens.tolist(), written.log_probabilities.tolist()
    return [
        Completion(shown([each for each in line if each != NOTHING]), log_p)
        for line, log_p in zip(*lines, strict=True)
    ]


def _ending(
    tokens: Tokens, until: str | None
) -> tuple[Callable[[list[int]], bool], Callable[[list[int]], str]]:
    """Return two functions of the token ids of a continuation that may end with the text `until`.

    The first function returns whether the continuation has reached `until`. The second function
    returns the text before `until`.
    """
    if until is None:
        return lambda ids: False, tokens.decode
    try:
        # A model of letters writes a blank only after letters.
        before = "a" if tokens.kind == "letters" else ""
        wanted = tokens.encode(before + until).tolist()[len(before) :]
    except UnicodeEncodeError:
        raise LogicgenError("--until: not UTF-8: convert it") from None
    if not wanted:
        raise LogicgenError("--until: is empty, so that nothing would be written: leave it out")
    if tokens.kind == "names":

        def ends(ids: list[int]) -> bool:
            return bool(ids[-len(wanted) :] == wanted)

        return ends, lambda ids: tokens.decode(ids[: -len(wanted)] if ends(ids) else ids)
    if tokens.by_character and tokens.id(OTHER) in wanted:
        raise LogicgenError(f"--until: the model cannot write {until!r}: it lacks a token for it")
    # A model of letters writes `until` in its own letters, for example without capitals.
    until = tokens.decode(wanted) if tokens.kind == "letters" else until
    # Different sequences of byte-pair tokens can write `until`, but each token has at least a byte.
    # So the last `longest` tokens contain `until` when a token completes it.
    longest = len(until.encode())
    return (
        lambda ids: until in tokens.decode(ids[-longest:]),
        lambda ids: tokens.decode(ids).partition(until)[0],
    )
