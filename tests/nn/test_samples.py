"""Random answers: their probabilities, seeds and scores, one by one and without replacement."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from logicgen.nn.decoding import decode
from logicgen.nn.samples import Sampling, truncated
from tests.nn.test_decoding import (
    FIXED,
    SCALE,
    SYMBOLS,
    VOCABULARY,
    Table,
    listed,
    random_setting,
    score,
)
from tests.nn.test_transformer import transformer


def test_samples_follow_the_probabilities() -> None:
    """Check the first token against its distribution after top-k and top-p."""
    many = 6_000
    weights = torch.tensor([0.0, 0.0, 0.1, 0.01, 0.3, 0.2, 0.0, 0.25, 0.14])
    network = Table(lambda problem, prefix: weights.tolist())
    problems = torch.arange(many)[:, None] + 3
    exact = weights.double().log()
    for sampling in (
        Sampling(),
        Sampling(temperature=2.5),
        Sampling(top_k=3),
        Sampling(top_p=0.6),
        Sampling(temperature=0.7, top_k=4, top_p=0.8),
    ):
        p = (exact / sampling.temperature).softmax(0)
        ranked = sorted(range(len(p)), key=lambda token: -p[token])[: sampling.top_k]
        if sampling.top_p is not None:
            whole, nucleus = p[ranked].sum(), []
            while p[nucleus].sum() < sampling.top_p * whole:
                nucleus.append(ranked[len(nucleus)])
            ranked = nucleus
        expected = torch.zeros_like(p)
        expected[ranked] = p[ranked] / p[ranked].sum()
        found = decode(network, [weights], problems, VOCABULARY, 0, None, sampling)
        counts = found.ids[:, 0, 0].bincount(minlength=len(p))
        assert not counts[expected == 0].any()
        deviation = (counts - many * expected).abs() / (many * expected).clamp(min=1).sqrt()
        assert deviation.max() < 4.5


def small_tree(_: list[int], prefix: list[int]) -> list[float]:
    """Return weights under which 57 answers have up to two tokens; no two are as likely."""
    weights = np.random.default_rng((5, *prefix)).random(FIXED + SYMBOLS) + 0.05
    weights[[VOCABULARY.pad, VOCABULARY.start]] = 0
    if len(prefix) == 3:
        weights[:] = 0
        weights[VOCABULARY.end] = 1
    return list(weights / weights.sum())


def answers_of_small_tree(sampling: Sampling) -> dict[tuple[int, ...], float]:
    """Return the probability of every answer, from `pick`'s definition of each token's."""
    found: dict[tuple[int, ...], float] = {}
    left: list[tuple[list[int], float]] = [([], 1.0)]
    while left:
        prefix, whole = left.pop()
        weights = torch.tensor(small_tree([], [VOCABULARY.start, *prefix])).double()
        p = truncated(weights.log(), sampling).exp()
        for token in p.nonzero()[:, 0].tolist():
            if token == VOCABULARY.end:
                found[(*prefix, token)] = whole * float(p[token])
            else:
                left.append(([*prefix, token], whole * float(p[token])))
    return found


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.7), Sampling(0.6, 4, 0.8)], ids=str)
def test_different_samples_are_drawn_as_if_one_after_the_other(sampling: Sampling) -> None:
    """Compare the first and the second of three with their exact probabilities."""
    many = 2_000
    problems = torch.arange(many)[:, None] + 3
    three = replace(sampling, answers=3)
    found = listed(
        decode(Table(small_tree), [torch.empty(0)], problems, VOCABULARY, 4, None, three)
    )
    exact = answers_of_small_tree(sampling)
    assert sum(exact.values()) == pytest.approx(1)
    drawn = [[tuple(ids) for _, ids in answers] for answers in found]
    assert all(len({*answers}) == 3 for answers in drawn)
    first, second = (Counter(answers[place] for answers in drawn) for place in (0, 1))
    assert {*first, *second} <= exact.keys()
    for answer, p in exact.items():
        later = sum(q * p / (1 - q) for other, q in exact.items() if other != answer)
        for counted, expected in ((first[answer], many * p), (second[answer], many * later)):
            assert abs(counted - expected) < 5 * max(expected, 1) ** 0.5


def test_as_many_different_samples_as_there_are_answers() -> None:
    problems = torch.arange(20)[:, None] + 3
    for wanted in (57, 80):
        decoded = decode(
            *(Table(small_tree), [torch.empty(0)], problems, VOCABULARY, 4, None),
            Sampling(answers=wanted),
        )
        assert decoded.ids.shape == (20, wanted, 5)
        exact = answers_of_small_tree(Sampling())
        for answers in listed(decoded):
            assert {tuple(ids) for _, ids in answers} == exact.keys()
            for value, ids in answers:
                assert value == pytest.approx(math.log(exact[tuple(ids)]), abs=1e-5)


def test_certain_and_almost_impossible_tokens_are_drawn_without_numbers_going_wrong() -> None:
    """Scores are the network's log-probabilities, whatever the temperature."""
    weights = [0.0, 0.0, 1e-30, 1.0, 1e-38, 0.0, 0.0, 0.0, 0.0]

    def network(_: list[int], prefix: list[int]) -> list[float]:
        return weights if len(prefix) < 3 else [0.0, 0.0, 1.0, *[0.0] * 6]

    problems = torch.arange(50)[:, None] + 3
    for temperature in (0.01, 1.0, 100.0):
        sampling = Sampling(temperature, answers=4)
        decoded = decode(Table(network), [torch.empty(0)], problems, VOCABULARY, 4, None, sampling)
        for answers in listed(decoded):
            assert len({str(ids) for _, ids in answers}) == len(answers)
            for value, ids in answers:
                steps = [network([], [1, *ids[:place]])[token] for place, token in enumerate(ids)]
                assert value == pytest.approx(sum(np.log(np.float32(steps))), rel=1e-4, abs=1e-4)
            if temperature <= 1:
                assert answers[0][1] == [3, 3, VOCABULARY.end]


def test_a_sample_is_scored_with_its_log_probability() -> None:
    net, (rows, problems) = transformer(), random_setting(4, batch=40)
    decoded = decode(net, [rows], problems, VOCABULARY, 30, None, Sampling(SCALE), SCALE)
    assert decoded.scores.isfinite().sum() >= 3
    for problem, [(value, ids)] in zip(problems, listed(decoded), strict=True):
        expected = score(net, [rows], problem, ids, 0.0)
        assert value == pytest.approx(expected if ids[-1] == VOCABULARY.end else -math.inf)


def test_seeds_and_problems_draw_different_numbers() -> None:
    net, (rows, problems) = transformer(), random_setting(4)
    answers = {
        str(ids)
        for seed in range(20)
        for [(_, ids)] in listed(
            decode(net, [rows], problems, VOCABULARY, 20, None, Sampling(3.0, seed=seed))
        )
    }
    assert len(answers) > 80  # of 120; short ones are few
