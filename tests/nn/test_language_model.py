"""Decoder-only models: exact under renaming, causal, the same one token at a time."""

import math

import pytest
import torch

from logicgen.nn.language_model import CausalTransformer, Elman, LanguageModel
from logicgen.nn.token_rows import NOTHING, Rows, TokenRows

V, WIDTH = 6, 16
POSITIONS = ["relative", "rotary", "sinusoidal", "none"]
NETWORKS = [*POSITIONS, "elman"]


def model(network: str = "relative", method: str = "lexinvariant") -> LanguageModel:
    torch.manual_seed(0)
    if network == "elman":
        return LanguageModel(TokenRows(method, V, WIDTH), Elman(width=WIDTH, layers=2), WIDTH)
    made = CausalTransformer(width=WIDTH, heads=2, layers=2, feed_forward=32, positions=network)
    return LanguageModel(TokenRows(method, V, WIDTH, 0.5), made, WIDTH)


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


@torch.no_grad()
def test_averaged_over_independent_draws_names_do_not_matter() -> None:
    made, ids, draws = model(), texts(1, 6), 1_500
    name = torch.tensor([3, 5, 0, 1, 2, 4])
    generator = torch.Generator().manual_seed(4)
    first, second = (
        torch.cat([made.log_probabilities(text, generator)[:, -1].exp() for _ in range(draws)])
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


@pytest.mark.parametrize("method", ["learned", "lexinvariant", "partial-rows", "partial-names"])
def test_gradients_reach_every_parameter(method: str) -> None:
    made = model(method=method)
    ids = texts()
    ids[0, 7:] = NOTHING
    made.loss(ids).backward()
    assert all(
        p.grad is not None and p.grad.abs().sum() > 0 for p in made.parameters() if p.numel()
    )


def test_a_lexinvariant_model_knows_no_token() -> None:
    """No parameter has a dimension for tokens, and an untrained one expects all alike."""
    sizes = [size for p in model().parameters() for size in p.shape]
    large = LanguageModel(TokenRows("lexinvariant", 500, WIDTH), model().network, WIDTH)
    assert sorted(sizes) == sorted(size for p in large.parameters() for size in p.shape)
    loss = large.loss(torch.randint(500, (4, 30)))
    assert abs(loss.item() - math.log(500)) < 1.0
