"""Decoder-only models: exact under renaming, causal, the same one token at a time."""

import math

import pytest
import torch

from logicgen.errors import LogicgenError
from logicgen.nn.language_model import CausalLM, CausalTransformer, Elman, NeuralNGram
from logicgen.nn.token_rows import METHODS, NOTHING, Rows, TokenRows

V, WIDTH = 6, 16
POSITIONS = ["relative", "rotary", "sinusoidal", "none"]
NETWORKS = [*POSITIONS, "elman", "neural-n-gram"]


def model(network: str = "relative", method: str = "lexinvariant") -> CausalLM:
    torch.manual_seed(0)
    if network == "elman":
        return CausalLM(TokenRows(method, V, WIDTH), Elman(width=WIDTH, layers=2), WIDTH)
    if network == "neural-n-gram":
        return CausalLM(TokenRows(method, V, WIDTH), ngram(3), WIDTH)
    made = CausalTransformer(width=WIDTH, heads=2, layers=2, feed_forward=32, positions=network)
    return CausalLM(TokenRows(method, V, WIDTH, 0.5), made, WIDTH)


def ngram(order: int, layers: int = 2) -> NeuralNGram:
    return NeuralNGram(width=WIDTH, order=order, feed_forward=32, layers=layers)


def texts(sequences: int = 3, length: int = 10) -> torch.Tensor:
    return torch.randint(V, (sequences, length), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("network", NETWORKS)
@torch.no_grad()
def test_renaming_tokens_and_their_rows_renames_what_is_predicted(network: str) -> None:
    made, ids = model(network), texts()
    rows = made.rows(len(ids))
    before = rows.log_probabilities(made.features(rows, ids))
    name = torch.tensor([3, 5, 0, 1, 2, 4])  # token v is now called name[v]
    renamed = Rows(rows.matrix, name.argsort().expand(len(ids), -1))
    after = renamed.log_probabilities(made.features(renamed, name[ids]))
    assert torch.equal(after[..., name], before)


@pytest.mark.slow
@torch.no_grad()
def test_averaged_over_independent_draws_names_do_not_matter() -> None:
    made, ids, draws = model(), texts(1, 6), 500
    name = torch.tensor([3, 5, 0, 1, 2, 4])
    generator = torch.Generator().manual_seed(4)
    first, second = (
        torch.cat(
            [
                made.log_probabilities(text, made.rows(len(text), generator))[:, -1].exp()
                for _ in range(draws)
            ]
        )
        for text in (ids, name[ids])
    )
    bound = 5 * ((first.var(0) + second.var(0)[name]) / draws).sqrt()  # five standard errors
    assert ((second.mean(0)[name] - first.mean(0)).abs() < bound).all()
    # It could fail: a model with rows of its own does know names.
    learned = model(method="learned")
    one, other = (learned.log_probabilities(text)[:, -1].exp() for text in (ids, name[ids]))
    assert ((other[:, name] - one).abs() > bound).any()


@pytest.mark.parametrize("network", NETWORKS)
@torch.no_grad()
def test_what_comes_later_changes_nothing(network: str) -> None:
    made, ids = model(network), texts()
    rows = made.rows(len(ids))
    changed = ids.clone()
    changed[:, 6:] = (changed[:, 6:] + 1) % V
    torch.testing.assert_close(made.features(rows, ids)[:, :6], made.features(rows, changed)[:, :6])


@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_one_token_at_a_time_agrees_with_all_at_once(positions: str) -> None:
    made, ids = model(positions), texts()
    rows = made.rows(len(ids))
    together = made.features(rows, ids)
    network = made.network
    assert isinstance(network, CausalTransformer)
    memory = network.begin(len(ids))
    inputs = rows.inputs(ids) * made.scale + made.bias
    parts = [network(inputs[:, :4], memory)]
    parts += [network(inputs[:, place : place + 1], memory) for place in range(4, 10)]
    torch.testing.assert_close(torch.cat(parts, dim=1), together, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="one token at a time"):
        network(inputs[:, :2], memory)


@pytest.mark.parametrize("network", ["relative", "neural-n-gram"])
@pytest.mark.parametrize("method", METHODS)
def test_gradients_reach_every_parameter(method: str, network: str) -> None:
    made = model(network, method)
    ids = texts()
    ids[0, 7:] = NOTHING
    made.loss(ids).backward()
    assert all(
        p.grad is not None and p.grad.abs().sum() > 0 for p in made.parameters() if p.numel()
    )


def test_a_lexinvariant_model_knows_no_token() -> None:
    """No parameter has a dimension for tokens, and an untrained one expects all alike."""
    sizes = [size for p in model().parameters() for size in p.shape]
    large = CausalLM(TokenRows("lexinvariant", 500, WIDTH), model().network, WIDTH)
    assert sorted(sizes) == sorted(size for p in large.parameters() for size in p.shape)
    loss = large.loss(torch.randint(500, (4, 30)))
    assert abs(loss.item() - math.log(500)) < 1.0


def test_each_layer_has_relative_biases_of_its_own_with_a_gain() -> None:
    network = model().network
    assert isinstance(network, CausalTransformer)
    first, second = network.biases
    assert first.gain == second.gain == math.sqrt(WIDTH)
    assert not torch.equal(first.bias, second.bias)
    shown = first(0, 3, 3)  # (1, H, 3, 3)
    torch.testing.assert_close(shown[0, :, 2, 1], first.bias[1] * math.sqrt(WIDTH))
    assert (shown[0, :, 0, 1:] == -math.inf).all()
    ids = texts()
    rows = model().rows.seeded([1, 2, 3])
    for layer in range(2):  # each is made use of
        made = model()
        assert isinstance(made.network, CausalTransformer)
        before = made.log_probabilities(ids, rows)
        torch.nn.init.normal_(made.network.biases[layer].bias)
        assert not torch.allclose(before, made.log_probabilities(ids, rows))


def test_seeded_rows_depend_on_their_seed_alone() -> None:
    rows = model().rows
    together = rows.seeded([7, 8, 9]).matrix  # (3, V, width)
    assert torch.equal(together[1], rows.seeded([8]).matrix[0])
    assert not torch.equal(together[0], together[1])
    high, other = rows.seeded([8 + (1 << 32), 8 + (2 << 32)]).matrix
    assert len({matrix[0, 0].item() for matrix in (high, other, together[1])}) == 3
    more = rows.seeded([8], V + 4)
    assert more.matrix.shape == (1, V + 4, WIDTH)


@pytest.mark.parametrize("method", ["learned", "partial-rows", "partial-names"])
def test_trained_rows_are_so_many(method: str) -> None:
    rows = model(method=method).eval().rows
    assert torch.equal(rows.seeded([7, 8]).matrix, rows.seeded([1], V).matrix)
    with pytest.raises(LogicgenError, match="only lexinvariant models take any number"):
        rows.seeded([7], V + 1)


def test_loss_of_targets_that_are_given() -> None:
    made, ids = model(), texts()
    ids[2, 8:] = NOTHING
    generator = torch.Generator().manual_seed(5)
    rows = made.rows(len(ids), generator)
    logs = made.log_probabilities(ids.clamp(min=0), rows)[:, :-1]
    chosen = -logs.gather(2, ids[:, 1:, None].clamp(min=0))[..., 0]
    some = torch.full_like(ids[:, 1:], NOTHING)
    some[:, 3:6] = ids[:, 4:7]
    for targets in (None, some):
        there = (ids[:, 1:] if targets is None else targets) != NOTHING
        found = made.loss(ids, torch.Generator().manual_seed(5), targets)
        torch.testing.assert_close(found, chosen[there].mean())


@pytest.mark.parametrize("network", ["elman", "neural-n-gram"])
@torch.no_grad()
def test_a_network_goes_on_from_its_state(network: str) -> None:
    made, ids = model(network), texts()
    rows = made.rows(len(ids))
    memory = made.network.begin(len(ids))
    parts = [
        made.features(rows, ids[:, first : first + 3], memory=memory) for first in range(0, 10, 3)
    ]
    torch.testing.assert_close(torch.cat(parts, dim=1), made.features(rows, ids))


@pytest.mark.parametrize("order", [2, 3, 5])
@torch.no_grad()
def test_a_neural_n_gram_model_sees_the_last_tokens_only(order: int) -> None:
    torch.manual_seed(0)
    made = CausalLM(TokenRows("learned", V, WIDTH), ngram(order), WIDTH)
    ids = texts(length=12)
    before = made.log_probabilities(ids)
    for place in range(12):
        changed = ids.clone()
        changed[:, place] = (changed[:, place] + 1) % V
        after = made.log_probabilities(changed)
        same = [torch.equal(after[:, each], before[:, each]) for each in range(12)]
        assert same == [not place <= each < place + order - 1 for each in range(12)]


@torch.no_grad()
def test_a_neural_n_gram_model_is_its_formula() -> None:
    """Rows side by side, oldest first, the trained vector before them; hidden layer; rows again."""
    torch.manual_seed(0)
    network = ngram(4, layers=1)
    made = CausalLM(TokenRows("learned", V, WIDTH), network, WIDTH)
    made.bias.normal_()
    rows = made.rows(1).matrix
    text = [3, 1, 5]
    hidden, beginning = network.hidden[0], network.beginning
    inputs = [beginning, *(rows[token] * made.scale + made.bias for token in text)]
    for place in range(1, 4):
        window = ([beginning] * 4 + inputs[1:])[place + 1 : place + 4]
        seen = torch.tanh(hidden.weight @ torch.cat(window) + hidden.bias)
        feature = network.norm(network.output.weight @ seen + network.output.bias)
        expected = (rows @ feature).log_softmax(-1)
        torch.testing.assert_close(
            made.log_probabilities(torch.tensor([text]))[0, place - 1], expected
        )


@torch.no_grad()
def test_what_a_cache_gives_is_attended_to_the_tokens_it_copies() -> None:
    torch.manual_seed(0)
    network = CausalTransformer(width=WIDTH, heads=2, layers=1, feed_forward=32)
    made, ids = CausalLM(TokenRows("learned", V, WIDTH), network, WIDTH, cache=True).eval(), texts()
    rows = made.rows(len(ids))
    features = made.features(rows, ids)
    assert made.cache is not None
    weights, log_share, log_rest = made.cache(features)
    # Position i stands for the token that followed it.
    found = (weights * log_share.exp()[..., None]).roll(1, dims=-1)
    assert (found.triu(1) == 0).all()
    plain = log_rest.exp()[..., None] * rows.log_probabilities(features).exp()
    copied = found @ torch.nn.functional.one_hot(ids, V).float()
    assert torch.allclose(plain + copied, made.log_probabilities(ids, rows).exp(), atol=1e-5)
