"""Bounds of the probability of `<end>` against texts, against any features, and exact ones."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from logicgen import automata
from logicgen.errors import LogicgenError
from logicgen.measures.tightness import least_end, neural_log_least, ngram_least, tightness
from logicgen.model.language_model import LanguageModel, NeuralLanguageModel
from logicgen.model.recipe import ModelRecipe
from logicgen.model.training_data import TrainingRegion
from logicgen.tokens import Tokens
from tests.data.corpora import automaton_recipe, opened
from tests.languages import TRANSFORMER, counted, language_model, recipe

TOKENS = Tokens("names", ["<end>", "a", "b", "c"])
ELMAN = {"kind": "language-model", "architecture": "elman", "width": 16, "layers": 2}
NETWORKS = [TRANSFORMER, {**TRANSFORMER, "cache": True}, ELMAN]
METHODS = ["learned", "lexinvariant", "lexinvariant-names", "partial-names"]


def neural(
    method="learned", network=TRANSFORMER, tokens=TOKENS, far=1.0, region=None, **embedding
) -> NeuralLanguageModel:
    """A model whose last normalisation and share of the cache are anything."""
    embedding |= {"share": 0.3} if method.startswith("partial") else {}
    torch.manual_seed(1)
    model = language_model(recipe(method, network, **embedding), tokens, "text", region)
    assert isinstance(model, NeuralLanguageModel)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        norm = model.network.network.norm
        for each in (norm.weight, norm.bias):
            each.copy_(far * torch.randn(each.shape, generator=generator))
        if model.network.cache is not None:
            model.network.cache.share.weight.mul_(4)
    return model.eval()


def worst(model: NeuralLanguageModel, matrix: torch.Tensor, end: int = 0, steps: int = 400):
    """The least log-probability of a row that is found by moving normalised features."""
    norm = model.network.network.norm
    before = torch.randn(64, len(norm.weight), generator=torch.Generator().manual_seed(3))
    before = before.double().requires_grad_()
    optimizer = torch.optim.Adam([before], 0.1)
    least = math.inf
    for _ in range(steps):
        features = F.layer_norm(before, norm.weight.shape) * norm.weight + norm.bias
        logs = (features @ matrix.detach().double().T).log_softmax(-1)[:, end]
        if model.network.cache is not None:
            logs = logs + F.logsigmoid(-F.linear(features, *share_of(model)))[:, 0]
        least = min(least, float(logs.detach().min()))
        optimizer.zero_grad()
        logs.sum().backward()
        optimizer.step()
    return least


def share_of(model):
    share = model.network.cache.share
    return share.weight.detach().double(), share.bias.detach().double()


def texts(count=40, length=30):
    """Texts at random, and some of one token."""
    ids = torch.randint(1, len(TOKENS), (count, length), generator=torch.Generator().manual_seed(4))
    for token in range(1, len(TOKENS)):
        ids[token] = token
    return ids


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("far", [1.0, 8.0])
def test_no_text_is_below_the_bound(network, method, far):
    model, ids = neural(method, network, far=far), texts()
    found = tightness(model, range(len(ids)))
    ends = model.log_probabilities(ids, range(len(ids)))[..., 0]
    assert float(ends.min()) >= found.log_least - 1e-4
    assert found.is_tight
    assert found.mean_length == pytest.approx(math.exp(-found.log_least))
    # It says something: of no features at all the bound would be that of two more tokens.
    assert found.log_least < math.log(1 / 2)


@pytest.mark.parametrize("network", NETWORKS)
def test_no_features_are_below_the_bound_and_some_are_near(network):
    model = neural("learned", network)
    bound = float(neural_log_least(model.network, [0])[0])
    found = worst(model, model.network.rows.trained.matrix(len(TOKENS)))
    assert bound <= found + 1e-9
    # The largest of so many numbers whose sum the bound is could be reached alone.
    numbers = len(TOKENS) * (2 if "cache" in network else 1)
    assert found < bound + math.log(numbers)


def test_of_two_tokens_the_bound_is_reached():
    model = neural(tokens=Tokens("names", ["<end>", "a"]))
    rows = model.network.rows.trained.matrix(2).detach().double()
    norm = model.network.network.norm
    direction = norm.weight.double() * (rows[1] - rows[0])
    direction = direction - direction.mean()
    normal = direction / direction.norm() * math.sqrt(len(direction))
    features = (normal * norm.weight + norm.bias).detach()
    reached = (rows @ features).log_softmax(0)[0]
    assert float(reached) == pytest.approx(tightness(model).log_least)


def test_each_draw_of_random_rows_has_its_own_bound():
    model, ids = neural("lexinvariant"), texts()
    bounds = neural_log_least(model.network, range(len(ids)))
    ends = model.log_probabilities(ids, range(len(ids)))[..., 0].min(dim=1).values
    assert len(set(bounds.tolist())) == len(ids)
    assert (ends >= bounds - 1e-4).all()
    assert tightness(model, range(len(ids))).log_least == float(bounds.min())
    for seed in (0, 7):
        matrix = model.network.rows.seeded([seed]).matrix[0]
        assert bounds[seed] <= worst(model, matrix, steps=200) + 1e-9


def test_of_rows_that_are_dealt_out_any_may_be_that_of_the_end():
    model = neural("lexinvariant-names")
    bounds = neural_log_least(model.network, [0])
    matrix = model.network.rows.trained.matrix(len(TOKENS))
    for end, bound in enumerate(bounds):
        assert bound <= worst(model, matrix, end, steps=200) + 1e-9
    assert tightness(model, [5]) == tightness(model, [6])


@pytest.mark.parametrize("method", METHODS[1:])
def test_the_end_may_keep_its_row_while_symbols_have_none(method):
    region = TrainingRegion((1, 3), (1, 9))
    model, ids = neural(method, random_tokens="symbols", region=region), texts()
    bounds = neural_log_least(model.network, range(len(ids)))
    assert len(bounds) == (len(ids) if method == "lexinvariant" else 1)
    ends = model.log_probabilities(ids, range(len(ids)))[..., 0].min(dim=1).values
    assert (ends >= bounds - 1e-4).all()


def test_an_end_that_is_hardly_possible_has_a_tiny_bound():
    model = neural()
    before = tightness(model)
    with torch.no_grad():
        # A feature that is always there, and of which the end's row has the contrary.
        model.network.network.norm.bias[0] = 50.0
        model.network.rows.trained.symbols[0, 0] = -50.0
    after = tightness(model)
    ends = model.log_probabilities(texts())[..., 0]
    assert after.log_least < -2_000 < before.log_least
    assert float(ends.max()) < -2_000  # so it is, not only by the bound
    assert float(ends.min()) >= after.log_least
    assert after.is_tight
    assert after.mean_length == math.inf  # above all floats


@pytest.mark.parametrize("order", [1, 2, 3])
def test_ngrams_exactly(order):
    model = counted(TOKENS, ["a b a", "b b b b c", "c"], order)
    longest = max(2, order - 1)
    least = min(
        float(model.log_probabilities(torch.tensor([text]))[0, -1, 0])
        for length in range(1, longest + 1)
        for text in itertools.product(range(len(TOKENS)), repeat=length)
    )
    assert math.log(ngram_least(model.network)) == pytest.approx(least, abs=1e-6)


def test_ngrams_as_an_automaton():
    """The same model as states and arcs, of which the automaton's own check knows."""
    model = counted(TOKENS, ["a b a", "b b b b c", "c"], 2)
    names = TOKENS.texts[1:]
    after = model.log_probabilities(torch.tensor([[1], [2], [3]])).exp().double().numpy()[:, 0]
    after /= after.sum(1, keepdims=True)
    automaton = automata.Automaton.from_arcs(
        names,
        names,
        {"a": 1.0},
        {name: float(row[0]) for name, row in zip(names, after, strict=True)},
        [
            (name, other, other, float(p))
            for name, row in zip(names, after, strict=True)
            for other, p in zip(names, row[1:], strict=True)
        ],
    )
    found = tightness(model)
    assert automata.tightness(automaton).is_tight == found.is_tight
    assert automata.expected_length(automaton) + 1 <= found.mean_length  # and the end


def text_ngram(order: int, smoothing: str) -> LanguageModel:
    network = {"kind": "text-n-gram", "order": order, "smoothing": smoothing}
    return language_model(ModelRecipe.model_validate({"network": network}), TOKENS, "text")


def test_counts_of_the_text_may_go_on_for_ever():
    ids = torch.ones(1, 2_000, dtype=torch.long)
    for order, smoothing, tight in [
        (1, "fitted", True), (2, "fitted", False), (3, "fitted", False), (3, "ppm", True)
    ]:  # fmt: skip
        model = text_ngram(order, smoothing)
        found = tightness(model)
        assert (found.is_tight, found.log_least) == (tight, -math.inf)
        others = 1 - model.log_probabilities(ids)[0, :, 1].double().exp()
        others = others.clamp(min=0).numpy()
        # The sum from t to 2 t falls where the series converges, and does not where it is 1 / t.
        early, late = others[100:200].sum(), others[800:1600].sum()
        assert (late > 0.9 * early) == tight


def test_the_least_of_a_corpus_is_the_least_of_its_tokens(tmp_path):
    corpus = opened(automaton_recipe(), tmp_path / "c")
    for method in ("learned", "lexinvariant"):
        model = neural(method, tokens=corpus.tokens)
        found = least_end(model, corpus, "model", limit=9)
        ids = np.concatenate(corpus.arrays("test"))[:9].astype(int)
        lines = []
        for number, line in enumerate(ids):
            length = list(line).index(0) if 0 in line else len(line)  # nothing follows `<end>`
            logs = model.log_probabilities(torch.from_numpy(line[None, :length]), [number])[0, :, 0]
            lines.append(min(logs.tolist(), default=math.inf))
        assert found.log_probability == pytest.approx(min(lines), abs=1e-5)
        assert found.sequence == int(np.argmin(lines))
        assert found.sequences == 9
        assert found.log_probability >= tightness(model, range(9)).log_least
    with pytest.raises(LogicgenError, match="or in another order: give a corpus"):
        least_end(neural(tokens=Tokens("names", ["<end>", "x"])), corpus, "model")
