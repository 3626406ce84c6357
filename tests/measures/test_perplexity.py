"""Perplexity: against brute force, and against the truth where it is known."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch

from logicgen.automata import (
    Strings,
    lexinvariant,
    log_prefix_weights,
    log_weights,
    next_probabilities,
    random_automaton,
    read_automaton,
)
from logicgen.errors import LogicgenError
from logicgen.measures import perplexity
from logicgen.measures.perplexity import (
    CLOSED,
    best_counter,
    exact_probabilities,
    measure_perplexity,
    without_ideal,
)
from logicgen.model.language_model import NeuralLanguageModel
from logicgen.tokens import Tokens
from tests.data.corpora import automaton_recipe, opened, text_files, text_recipe
from tests.languages import TRANSFORMER, language_model, recipe, untrained


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    return opened(text_recipe(text_files(folder / "files")), folder / "c")


@pytest.fixture(scope="module")
def strings(tmp_path_factory):
    return opened(automaton_recipe(test=60), tmp_path_factory.mktemp("strings") / "c")


@pytest.fixture(scope="module", autouse=True)
def _counters():
    """Fit the counter once for each corpus, since each fit takes a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(perplexity, "best_counter", cache(best_counter))
        yield


class Fake(NeuralLanguageModel):
    """What it expects follows from the token before and the seed."""

    def __init__(self, tokens, random=False):
        super().__init__(recipe("lexinvariant" if random else "learned"), tokens, "text")
        self.seeds = []

    def after(self, token, seed):
        rng = np.random.default_rng((token, seed))
        return torch.from_numpy(rng.normal(size=len(self.tokens))).log_softmax(0)

    def log_probabilities(self, tokens, seeds=None, count=None):
        self.seeds += seeds
        known = seeds if self.random else [0] * len(tokens)
        return torch.stack(
            [
                torch.stack([self.after(max(token, 0), seed) for token in line])
                for line, seed in zip(tokens.tolist(), known, strict=True)
            ]
        )


class Exact(NeuralLanguageModel):
    """Expects what a function of the automaton says."""

    def __init__(self, corpus, function):
        super().__init__(recipe(), corpus.tokens, "automaton")
        self.automaton = read_automaton(corpus.folder / "automaton.toml")
        self.function = function

    def log_probabilities(self, tokens, seeds=None, count=None):
        found = np.full((*tokens.shape, len(self.tokens)), 1.0)
        for line, row in enumerate(tokens.tolist()):
            symbols = [each - 1 for each in row if each > 0]
            one = Strings(np.array([symbols], int).reshape(1, -1), np.array([len(symbols)]))
            probabilities = self.function(self.automaton, one)[0]  # the end is last
            there = min(len(symbols), len(row))
            found[line, :there] = np.roll(probabilities[1 : there + 1], 1, axis=1)
        with np.errstate(divide="ignore"):
            return torch.from_numpy(np.log(found))


@pytest.mark.parametrize("seeds", [1, 3])
@pytest.mark.parametrize("random", [False, True])
def test_bits_by_brute_force(text, random, seeds, monkeypatch):
    model = Fake(text.tokens, random)
    how = {"limit": 7, "context": 9, "embedding_seeds": seeds, "beyond": 5}
    curve = measure_perplexity(model, text, "fake", **how)
    whole = np.concatenate(text.arrays("test")).astype(int)
    count = 7
    bits = np.zeros((count, 8))
    every = seeds if random else 1
    for line in range(count):
        start = line * (len(whole) // count)
        for place in range(8):
            token, following = whole[start + place], whole[start + place + 1]
            for seed in range(every):
                own = (seed << 32) + line if random else 0
                bits[line, place] -= model.after(token, own)[following] / np.log(2) / every
    assert curve.tokens.tolist() == [0] + [count] * 8
    assert np.isnan(curve.means["bits"][0])
    np.testing.assert_allclose(curve.means["bits"][1:], bits.mean(axis=0))
    overall, beyond = curve.parts["overall"], curve.parts["beyond"]
    assert (overall["tokens"], beyond["tokens"], beyond["from"]) == (56, 28, 5)
    assert overall["bits"] == pytest.approx(bits.mean())
    assert beyond["bits"] == pytest.approx(bits[:, 4:].mean())
    assert overall["perplexity"] == pytest.approx(2 ** bits.mean())
    error = 1.96 * bits.mean(axis=1).std(ddof=1) / np.sqrt(count)
    assert overall["bits_high"] - overall["bits"] == pytest.approx(error, rel=1e-3)
    monkeypatch.setattr(perplexity, "AT_A_TIME", 1)
    parts = measure_perplexity(model, text, "fake", **how)
    np.testing.assert_allclose(parts.means["bits"], curve.means["bits"])
    assert set(curve.means) == {"bits", "counter_bits"}


def test_what_comes_behind_the_end_does_not_count(strings):
    curve = measure_perplexity(Fake(strings.tokens), strings, "fake", context=6)
    rows = np.concatenate(strings.arrays("test")).astype(int)
    before = np.cumsum(rows == 0, axis=1)[:, :-1] == 0  # no end has come yet
    assert curve.tokens.tolist() == [0, *before.sum(axis=0)]
    assert curve.about.sequences == 60


@pytest.mark.parametrize(
    ("function", "own", "other"),
    [
        (next_probabilities, "true", "ideal"),
        (lexinvariant.next_probabilities, "ideal", "true"),
    ],
)
def test_an_exact_model_is_no_further_from_itself(strings, function, own, other):
    curve = measure_perplexity(Exact(strings, function), strings, own, context=6)
    assert np.nanmax(np.abs(curve.means[f"kl_{own}"])) < 1e-9
    np.testing.assert_allclose(curve.means["bits"], curve.means[f"{own}_bits"])
    overall = curve.parts["overall"]
    assert overall[f"kl_{other}"] > 0.01
    # p' averages over the names, which p knows.
    assert overall["ideal_bits"] > overall["true_bits"]


def test_the_way_from_the_counter_to_the_ideal(strings):
    """The ideal has gone all of it, the counter nothing; the truth knows the names, and more."""

    class Counter(Fake):
        def log_probabilities(self, tokens, seeds=None, count=None):
            return perplexity.best_counter(strings, 6).log_probabilities(
                tokens, len(strings.tokens)
            )

    shares = {}
    for name, model in {
        "ideal": Exact(strings, lexinvariant.next_probabilities),
        "counter": Counter(strings.tokens),
        "truth": Exact(strings, next_probabilities),
    }.items():
        found = measure_perplexity(model, strings, name, context=6, beyond=2).parts["beyond"]
        shares[name] = found[CLOSED]
        assert found[f"{CLOSED}_low"] <= found[CLOSED] <= found[f"{CLOSED}_high"]
    assert shares["ideal"] == pytest.approx(1)
    assert shares["counter"] == pytest.approx(0, abs=1e-6)
    assert shares["truth"] > 1


def test_without_training_texts_there_is_no_counter(tmp_path):
    strings = opened(automaton_recipe(train=0, test=20), tmp_path / "c")
    curve = measure_perplexity(Fake(strings.tokens), strings, "fake", context=6)
    assert "counter_bits" not in curve.means
    assert CLOSED not in curve.parts["overall"]


def test_nothing_is_nearer_than_the_same(strings):
    models = [Fake(strings.tokens), untrained(strings.tokens), Exact(strings, next_probabilities)]
    for model in models:
        curve = measure_perplexity(model, strings, "some", context=6, embedding_seeds=2)
        for name in ("kl_ideal", "kl_true"):
            assert np.nanmin(curve.means[name]) > -1e-6


def test_embedding_seeds_are_different_draws(strings):
    one, two = (
        measure_perplexity(
            untrained(strings.tokens), strings, "some", context=6, embedding_seeds=seeds
        )
        for seeds in (1, 2)
    )
    assert (one.about.embedding_seeds, two.about.embedding_seeds) == (1, 2)
    assert not np.allclose(one.means["bits"][1:], two.means["bits"][1:], atol=1e-4)


def test_a_model_of_other_tokens(text, strings):
    model = untrained(Tokens("names", ["<end>", "a"]), "automaton")
    with pytest.raises(LogicgenError, match=r"the 2 tokens of some \(automaton\) are not the"):
        measure_perplexity(model, strings, "some")


def test_many_symbols_have_no_ideal_and_the_reason_says_how_many(strings, tmp_path):
    assert without_ideal(strings) is None
    several = opened(automaton_recipe(automata=2), tmp_path / "several")
    assert without_ideal(several).startswith("strings of many automata have no single truth")
    many = opened(automaton_recipe(symbols=9, states=2), tmp_path / "many")
    assert without_ideal(many).startswith("9 symbols have about 10^6 keys, too many")  # 362,880
    curve = measure_perplexity(untrained(many.tokens, "automaton"), many, "it", beyond=2)
    assert "true_bits" in curve.means
    assert "ideal_bits" not in curve.means


def test_one_sequence_has_no_interval(text):
    with pytest.raises(LogicgenError, match="needs at least 2 sequences of 9 tokens"):
        measure_perplexity(untrained(text.tokens), text, "some", limit=1, context=9)
    one = {"bits": np.array([[1.0, 2.0, 3.0], [1.0, np.nan, np.nan]])}
    about = perplexity.CurveAbout("some", "text", "test", 4, 2, 1)
    assert "beyond" not in perplexity.Curve.of(about, one, beyond=2).parts
    assert "beyond" in perplexity.Curve.of(about, one, beyond=1).parts


def test_the_bar_only_moves_forward(text):
    seen = []
    how = {"limit": 7, "context": 9, "embedding_seeds": 3}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(perplexity, "AT_A_TIME", 1)
        model = Fake(text.tokens, random=True)
        measure_perplexity(model, text, "f", progress=lambda *at: seen.append(at), **how)
    assert seen == sorted(seen)
    assert len(seen) > 3
    assert seen[-1] == (21, 21)


def test_the_share_of_the_cache(text):
    model = language_model(recipe("learned", TRANSFORMER | {"cache": True}), text.tokens, "text")
    assert model.network.cache is not None
    with torch.no_grad():
        model.network.cache.share.weight.zero_()
        model.network.cache.share.bias.fill_(np.log(3))
    curve = measure_perplexity(model, text, "some", limit=5, context=9, beyond=5)
    # Where one token was read, nothing followed anything yet.
    np.testing.assert_allclose(curve.means["cache_share"], [np.nan, 0, *[0.75] * 7], atol=1e-6)
    assert curve.parts["beyond"]["cache_share"] == pytest.approx(0.75)
    without = measure_perplexity(untrained(text.tokens), text, "some", limit=5, context=9)
    assert "cache_share" not in without.means


def test_exact_probabilities_multiply_to_the_weight_of_a_string():
    """The first token is given; what follows it, and the end, is what the model says."""
    language = random_automaton("abc", 3, 6.0, np.random.default_rng(1))
    tokens = np.array([[1, 2, 1, 0], [3, 0, 0, 0]])
    found = exact_probabilities(language, tokens)
    assert found.shape == (2, 4, 4)
    for line, text in enumerate(("aba", "c")):
        steps = [np.log(found[line, t, tokens[line, t + 1]]) for t in range(len(text))]
        whole = log_weights(language, [text])[0]
        begun = log_prefix_weights(language, [text[0]])[0, 1]
        assert sum(steps) == pytest.approx(whole - begun)
    assert np.isnan(found[0, 3]).all()  # behind the end
    # Of unknown names, they are those of p'.
    found = exact_probabilities(language, np.array([[2, 2, 3, 1]]), names_known=False)[0]
    expected = lexinvariant.next_probabilities(language, ["bbca"])[0, 1:]
    np.testing.assert_allclose(found[:, 1:], expected[:, :3])
    np.testing.assert_allclose(found[:, 0], expected[:, 3])
