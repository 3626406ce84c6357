"""Exact models on the interface of trained ones."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from logicgen.automata import (
    Automaton,
    lexinvariant,
    log_prefix_weights,
    log_weights,
    random_automaton,
)
from logicgen.measures.perplexity import Exact
from logicgen.nn.generation import generate, reading_again


@pytest.fixture(scope="module")
def language() -> Automaton:
    return random_automaton("abc", 3, 6.0, np.random.default_rng(1))


def test_probabilities_of_a_string_multiply_to_its_weight(language: Automaton) -> None:
    """The first token is given; what follows it, and the end, is what the model says."""
    tokens = torch.tensor([[1, 2, 1, 0], [3, 0, 0, 0]])
    logs = Exact(language).log_probabilities(tokens)
    assert logs.shape == (2, 4, 4)
    texts, first = ["aba", "c"], ["a", "c"]
    starts = Exact(language).automaton
    for line, (text, begin) in enumerate(zip(texts, first, strict=True)):
        steps = [logs[line, t, tokens[line, t + 1]] for t in range(len(text))]
        whole = log_weights(starts, [text])[0]
        assert float(sum(steps)) == pytest.approx(whole - log_prefix_weights(starts, [begin])[0, 1])
    assert logs[0, 3].isnan().all()  # behind the end


def test_the_lexinvariant_one_is_p_prime(language: Automaton) -> None:
    tokens = torch.tensor([[2, 2, 3, 1]])
    found = Exact(language, lexinvariant=True).log_probabilities(tokens)[0].exp().numpy()
    expected = lexinvariant.next_probabilities(language, ["bbca"])[0, 1:]
    np.testing.assert_allclose(found[:, 1:], expected[:, :3])
    np.testing.assert_allclose(found[:, 0], expected[:, 3])


def test_it_goes_on_from_a_text(language: Automaton) -> None:
    found = generate(
        reading_again(Exact(language).log_probabilities), torch.tensor([[1], [2]]), 5, end=0
    )
    assert found.tokens.shape[0] == 2
    assert found.log_probabilities.isfinite().all()
