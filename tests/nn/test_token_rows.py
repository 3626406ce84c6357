"""Rows of language models: which token has which row, and how rows are distributed."""

import math

import pytest
import torch
import torch.nn.functional as F

from logicgen.errors import LogicgenError
from logicgen.nn import token_rows
from logicgen.nn.token_rows import METHODS, NOTHING, Rows, SequenceRows, TokenRows

V, WIDTH, B = 7, 16, 50
both_ways = pytest.mark.parametrize("way", ["own", "dealt"], indirect=True)
every_method = pytest.mark.parametrize("method", METHODS)


@pytest.fixture
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Choose own rows for each sequence, or permuted rows of the batch."""
    monkeypatch.setattr(token_rows, "_ROWS_OF_THEIR_OWN", 0 if request.param == "dealt" else 2**25)
    return str(request.param)


def made(method: str, share: float = 0.5, tokens: int = V) -> TokenRows:
    torch.manual_seed(0)
    return TokenRows(method, tokens, WIDTH, share)


def drawn(method: str, share: float = 0.5, sequences: int = B) -> Rows:
    return made(method, share)(sequences, torch.Generator().manual_seed(1))


def each_tokens(rows: Rows, sequences: int = B) -> torch.Tensor:
    """Return the row of each token of each sequence, (B, V, width)."""
    ids = torch.arange(V).expand(sequences, -1)
    return rows.inputs(ids)


@both_ways
@every_method
def test_every_token_has_a_row_of_its_own(method: str, way: str) -> None:
    for line in each_tokens(drawn(method)):
        distance = torch.cdist(line, line) + 9 * torch.eye(V)
        assert distance.min() > 0.1


@both_ways
def test_a_sequence_sees_independent_normal_rows(way: str) -> None:
    """The rows of one sequence have the same distribution either way."""
    model, generator = made("lexinvariant"), torch.Generator().manual_seed(2)
    first = torch.stack([each_tokens(model(3, generator), 3)[0] for _ in range(4_000)])
    assert first.mean().abs() < 0.003
    assert abs(first.var().item() * WIDTH - 1) < 0.01
    flat = first.flatten(1) * WIDTH**0.5
    correlation = flat.T @ flat / len(flat) - torch.eye(V * WIDTH)
    off = correlation - correlation.diag().diag()
    assert off.abs().max() < 6 / math.sqrt(len(flat))  # of 12,432 numbers


@both_ways
def test_sequences_of_a_batch_have_different_rows(way: str) -> None:
    first = each_tokens(drawn("lexinvariant"))[:, 0]  # (B, width)
    assert len(first.unique(dim=0)) == (V if way == "dealt" else B)


def test_rows_are_dealt_out_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_rows, "_ROWS_OF_THEIR_OWN", 0)
    of = made("lexinvariant")(7_000).of
    assert of is not None
    counts = torch.stack([(of == row).sum(0) for row in range(V)])  # (V, V)
    assert (counts - 1_000).abs().max() < 5 * math.sqrt(1_000 * 6 / 7)


def test_lexinvariant_names_are_the_trained_rows_in_every_order() -> None:
    model = made("lexinvariant-names", tokens=3)
    for rows in (model(6_000), model.eval()(6_000), model.seeded(range(6_000))):
        assert rows.of is not None
        assert torch.equal(rows.matrix, model.trained.matrix(3))
        orders, counts = rows.of.unique(dim=0, return_counts=True)
        assert len(orders) == 6
        assert (counts - 1_000).abs().max() < 5 * math.sqrt(1_000 * 5 / 6)
    # What is drawn for a sequence depends on its seed alone.
    assert torch.equal(model.seeded([4, 7]).of[1:], model.seeded([7]).of)
    with pytest.raises(LogicgenError, match="has trained 3: only lexinvariant models"):
        model.seeded([0], 4)


def test_lexinvariant_names_go_to_some_tokens_of_some_training_sequences() -> None:
    torch.manual_seed(0)
    model = TokenRows("lexinvariant-names", 40, WIDTH, whole=0.25)
    rows = model(4_000, torch.Generator().manual_seed(1))
    assert rows.of is None
    assert model.trained is not None
    assert model.own is not None
    names, own = model.trained.matrix(40), model.own.matrix(40)
    keeps = (rows.matrix == own).all(dim=2)  # (B, V)
    for matrix, kept in zip(rows.matrix[:100], keeps[:100], strict=True):
        number = (matrix[~kept][:, None] == names).all(dim=2).nonzero()[:, 1]
        assert len(number.unique()) == (~kept).sum()  # a name each, no name twice
    named = (~keeps).float().mean(dim=1)
    # All of a quarter, and an even share of the others (of which 1 in 41 has all 40, too).
    assert abs((named == 1).float().mean() - (0.25 + 0.75 / 41)) < 0.03
    assert abs(named.mean() - (0.25 + 0.75 / 2)) < 0.02
    rows.matrix.sum().backward()
    assert model.own.symbols.grad is not None
    seen = model.eval()(2_000)
    assert torch.equal(seen.matrix, names)
    assert seen.of is not None
    assert TokenRows("lexinvariant-names", 3, WIDTH).own is None
    with pytest.raises(LogicgenError, match="whole -1 of the sequences"):
        TokenRows("lexinvariant-names", 3, WIDTH, whole=-1)


@both_ways
@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_partial_rows_are_random_with_their_probability(share: float, way: str) -> None:
    """In one sequence tokens are random independently of each other."""
    model = made("partial-rows", share)
    assert model.trained is not None
    draws = 4_000 if 0 < share < 1 else 200
    first = torch.stack([each_tokens(model(2), 2)[0] for _ in range(draws)])  # (draws, V, width)
    random = (first != model.trained.matrix(V)).any(dim=2).double()  # (draws, V)
    assert (random.mean(dim=0) - share).abs().max() < 0.03
    if share in (0, 1):
        assert (random == share).all()
    else:
        deviations = random - random.mean(dim=0)
        covariance = deviations.T @ deviations / len(random)
        expected = share * (1 - share) * torch.eye(V, dtype=torch.float64)
        assert (covariance - expected).abs().max() < 0.015  # 5 deviations of the estimate


@both_ways
def test_random_rows_of_partial_methods_are_independent_and_normal(way: str) -> None:
    model, generator = made("partial-rows", 0.5), torch.Generator().manual_seed(2)
    assert model.trained is not None
    first = torch.stack([each_tokens(model(3, generator), 3)[0] for _ in range(4_000)])
    random = (first != model.trained.matrix(V)).any(dim=2)
    drawn = first[random]
    assert abs(drawn.mean().item()) < 0.003
    assert abs(drawn.var().item() * WIDTH - 1) < 0.02
    assert abs((drawn**4).mean().item() * WIDTH**2 - 3) < 0.1  # a normal distribution's
    both = random[:, 0] & random[:, 1]
    one, other = first[both, 0] * WIDTH**0.5, first[both, 1] * WIDTH**0.5
    correlation = one.T @ other / len(one)
    assert correlation.abs().max() < 5 / math.sqrt(len(one))  # of 256 numbers


def test_a_batch_of_a_large_vocabulary_chooses_tokens_once_and_deals_out_their_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(token_rows, "_ROWS_OF_THEIR_OWN", 0)
    rows = drawn("partial-rows", sequences=6_000)
    assert rows.matrix.shape == (V, WIDTH)
    assert rows.of is not None
    fixed = (rows.of == torch.arange(V)).all(dim=0)
    number = int((~fixed).sum())
    assert 1 < number < V
    counts = torch.stack([(rows.of == row).sum(0) for row in range(V)])[~fixed][:, ~fixed]
    expected = 6_000 / number
    assert (counts - expected).abs().max() < 5 * math.sqrt(expected)


def test_partial_names_shuffle_the_chosen_among_themselves() -> None:
    shuffled = token_rows._shuffled
    chosen = torch.tensor([[True, False, True, True, False]]).expand(6_000, -1)
    mixed = shuffled(chosen, torch.Generator().manual_seed(0))
    assert (mixed[:, [1, 4]] == torch.tensor([1, 4])).all()
    orders, counts = mixed[:, [0, 2, 3]].unique(dim=0, return_counts=True)
    assert sorted(orders[0].tolist()) == [0, 2, 3]
    assert len(orders) == 6
    assert (counts - 1_000).abs().max() < 5 * math.sqrt(1_000 * 5 / 6)
    nobody = shuffled(torch.zeros(2, 5, dtype=torch.bool), None)
    assert (nobody == torch.arange(5)).all()


@pytest.mark.parametrize("method", ["partial-rows", "partial-names"])
def test_partial_methods_randomise_in_training_alone(method: str) -> None:
    model = made(method).eval()
    rows = model(3)
    assert rows.of is None
    assert torch.equal(rows.matrix, model.trained.matrix(V))


@both_ways
@every_method
def test_probabilities_and_loss_are_those_of_the_tokens_own_rows(method: str, way: str) -> None:
    rows = drawn(method, sequences=4)
    own = each_tokens(rows, 4)  # (B, V, width)
    ids = torch.randint(V, (4, 9), generator=torch.Generator().manual_seed(3))
    features = torch.randn(4, 9, WIDTH, generator=torch.Generator().manual_seed(4))
    torch.testing.assert_close(
        rows.inputs(ids), own.gather(1, ids[..., None].expand(-1, -1, WIDTH))
    )
    expected = (features @ own.transpose(1, 2)).log_softmax(-1)
    torch.testing.assert_close(rows.log_probabilities(features), expected)
    targets = ids.clone()
    targets[1, 5:] = NOTHING
    chosen = expected.gather(2, ids[..., None])[..., 0][targets != NOTHING]
    torch.testing.assert_close(rows.loss(features, targets), -chosen.mean())


@both_ways
@every_method
def test_loss_in_parts(method: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = drawn(method, sequences=4)
    targets = torch.randint(V, (4, 9), generator=torch.Generator().manual_seed(3))
    results = []
    for at_a_time in (2**20, 100):
        monkeypatch.setattr(token_rows, "_SCORES_AT_A_TIME", at_a_time)
        features = torch.ones(4, 9, WIDTH).mul(0.3).requires_grad_()
        loss = rows.loss(features, targets)
        (gradient,) = torch.autograd.grad(loss, features)
        results.append((loss.detach(), gradient))
    torch.testing.assert_close(*results)


def test_nothing_to_predict_costs_nothing() -> None:
    rows = drawn("lexinvariant", sequences=2)
    targets = torch.full((2, 3), NOTHING)
    assert rows.loss(torch.zeros(2, 3, WIDTH), targets) == 0
    assert rows.inputs(targets).shape == (2, 3, WIDTH)


def test_one_token() -> None:
    rows = made("lexinvariant", tokens=1)(2)
    assert F.one_hot(rows.inputs(torch.zeros(2, 3, dtype=torch.int64)).argmax(-1)).ndim == 3
    assert (rows.log_probabilities(torch.randn(2, 3, WIDTH)) == 0).all()


@pytest.mark.parametrize(
    ("method", "share", "message"),
    [("other", 0.5, "no embedding"), ("learned", 1.5, "from 0 to 1")],
)
def test_bad_options(method: str, share: float, message: str) -> None:
    with pytest.raises(LogicgenError, match=message):
        TokenRows(method, V, WIDTH, share)


@both_ways
@every_method
def test_the_first_tokens_have_trained_rows_of_their_own(method: str, way: str) -> None:
    """The others are as in a model of these tokens only."""
    torch.manual_seed(0)
    model = TokenRows(method, V, WIDTH, 0.5, fixed=3)
    assert model.first is not None
    for seed in (1, 2):
        rows = each_tokens(model(B, torch.Generator().manual_seed(seed)))
        assert torch.equal(rows[:, :3], model.first.fixed.expand(B, -1, -1))
        alone = model._rows(B, torch.Generator().manual_seed(seed), V - 3)
        assert torch.equal(rows[:, 3:], alone.inputs(torch.arange(V - 3).expand(B, -1)))
    model.eval()
    seeded = model.seeded(range(B))
    assert torch.equal(each_tokens(seeded)[:, :3], model.first.fixed.expand(B, -1, -1))
    ids = torch.randint(V, (B, 5))
    features = torch.randn(B, 5, WIDTH)
    scores = features @ each_tokens(seeded).transpose(1, 2)  # logits, token by token
    assert torch.allclose(seeded.log_probabilities(features), scores.log_softmax(-1), atol=1e-5)
    assert torch.allclose(
        seeded.chosen(features, ids),
        scores.log_softmax(-1).gather(2, ids[..., None])[..., 0],
        atol=1e-5,
    )


@pytest.mark.parametrize("random_tokens", ["all", "symbols"])
@every_method
def test_the_rows_of_an_encoder_decoder(method: str, random_tokens: str) -> None:
    """A matrix for each sequence in training, one in use; fixed tokens keep their rows."""
    torch.manual_seed(0)
    made = SequenceRows(4, WIDTH, method=method, symbols=3, random_tokens=random_tokens, share=0.5)
    generator = torch.Generator().manual_seed(1)
    trained = made.matrix(3, generator, 6)
    assert trained.shape == (6, V, WIDTH)
    assert made.matrix(2, generator).shape == (6, WIDTH)
    same = (trained[:, :4] == trained[:1, :4]).all()
    assert bool(same) == (random_tokens == "symbols" or method == "learned")
    assert made.random == (method in ("lexinvariant", "lexinvariant-names"))
    one, other = (made.matrix(3, torch.Generator().manual_seed(seed)) for seed in (1, 2))
    assert torch.equal(one, other) != made.random
    if method == "lexinvariant":
        assert made.max_symbols is None
        assert made.matrix(99, generator).shape == (103, WIDTH)
    else:
        assert made.max_symbols == 3
        with pytest.raises(LogicgenError, match=r"rows for 8 tokens.*has trained 7"):
            made.matrix(4, generator)
