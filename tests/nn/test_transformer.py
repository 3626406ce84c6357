import pytest
import torch

from logicgen.nn.embedding import Interchangeable
from logicgen.nn.position import rotate
from logicgen.nn.transformer import Transformer

FIXED, SYMBOLS, WIDTH = 6, 11, 32


def transformer(encoder: str = "sinusoidal", decoder: str = "rotary", dropout: float = 0.0):
    torch.manual_seed(0)
    return Transformer(
        width=WIDTH,
        heads=4,
        encoder_layers=2,
        decoder_layers=2,
        feed_forward=48,
        dropout=dropout,
        encoder_positions=encoder,
        decoder_positions=decoder,
        normalize_features=True,
    ).eval()


def matrix(symbols: int = SYMBOLS) -> torch.Tensor:
    torch.manual_seed(1)
    embedding = Interchangeable(
        FIXED,
        WIDTH,
        random_part="normal",
        random_width=16,
        normalize_parts=True,
        normalize_rows=True,
    )
    return embedding.matrix(symbols).detach()


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(2)
    problems = torch.randint(3, FIXED + SYMBOLS, (5, 9), generator=generator)
    problems[1, 4:] = 0
    problems[3, 1:] = 0
    return problems, torch.randint(3, FIXED + SYMBOLS, (5, 7), generator=generator)


ALL_POSITIONS = [
    (encoder, decoder)
    for encoder in ("sinusoidal", "rotary", "none")
    for decoder in ("sinusoidal", "rotary", "none")
]


@pytest.mark.parametrize(("encoder", "decoder"), ALL_POSITIONS)
def test_renaming_symbols_permutes_logits(encoder: str, decoder: str) -> None:
    net, rows = transformer(encoder, decoder), matrix()
    problems, answers = batch()
    renaming = torch.randperm(SYMBOLS, generator=torch.Generator().manual_seed(3)) + FIXED
    renaming = torch.cat([torch.arange(FIXED), renaming])  # id -> new id
    renamed = torch.empty_like(rows)
    renamed[renaming] = rows  # the new id has the old id's row
    one = net(rows, problems, answers)
    other = net(renamed, renaming[problems], renaming[answers])
    assert torch.allclose(one, other[..., renaming], atol=1e-5)
    assert one.abs().max() <= 1 + 1e-5  # cosines


@pytest.mark.parametrize(("encoder", "decoder"), ALL_POSITIONS)
def test_one_token_at_a_time_agrees_with_all_at_once(encoder: str, decoder: str) -> None:
    net, rows = transformer(encoder, decoder), matrix()
    problems, answers = batch()
    at_once = net(rows, problems, answers)
    memory = net.encode(rows, problems)
    steps = [net.decode(rows, answers[:, [t]], memory) for t in range(answers.shape[1])]
    one_by_one = net.logits(rows, torch.cat(steps, dim=1))
    assert torch.allclose(at_once, one_by_one, atol=1e-5)
    with pytest.raises(ValueError, match="one token at a time"):
        net.decode(rows, answers, memory)


def test_the_matrix_is_the_only_place_that_knows_the_vocabulary() -> None:
    net = transformer()
    sizes = {size for parameter in net.parameters() for size in parameter.shape}
    assert sizes <= {WIDTH, 2 * WIDTH, 48}
    rows = matrix().requires_grad_()
    problems, answers = batch()
    # A row of neither problems nor answers still gets a gradient, as an output; one that
    # occurs in problems alone changes the outcome; one in answers alone as well: three uses.
    absent, in_problem, in_answer = FIXED, FIXED + 1, FIXED + 2
    problems = problems.masked_fill((problems >= FIXED) & (problems < FIXED + 3), FIXED + 5)
    answers = answers.masked_fill((answers >= FIXED) & (answers < FIXED + 3), FIXED + 5)
    problems[:, 0], answers[:, 0] = in_problem, in_answer
    logits = net(rows, problems, answers)
    for row, columns in ((absent, [absent]), (in_problem, [4]), (in_answer, [4])):
        (gradient,) = torch.autograd.grad(logits[..., columns].sum(), rows, retain_graph=True)
        assert gradient[row].abs().max() > 0
    (gradient,) = torch.autograd.grad(logits[..., [4]].sum(), rows, retain_graph=True)
    assert gradient[absent].abs().max() == 0


def test_padding_changes_nothing() -> None:
    net, rows = transformer(), matrix()
    problems, answers = batch()
    longer = torch.cat([problems, torch.zeros(5, 6, dtype=torch.int64)], dim=1)
    assert torch.allclose(net(rows, problems, answers), net(rows, longer, answers), atol=1e-5)
    later = torch.cat([answers, torch.zeros(5, 3, dtype=torch.int64)], dim=1)
    logits = net(rows, problems, later)[:, :7]
    assert torch.allclose(net(rows, problems, answers), logits, atol=1e-5)


def test_an_empty_problem_is_no_nan() -> None:
    net, rows = transformer().train(), matrix().requires_grad_()
    problems, answers = batch()
    problems[2] = 0
    logits = net(rows, problems, answers)
    logits.sum().backward()
    assert logits.isfinite().all()
    assert rows.grad is not None
    assert rows.grad.isfinite().all()


def test_a_matrix_for_each_sequence() -> None:
    net, rows = transformer(), matrix()
    problems, answers = batch()
    each = rows.expand(5, -1, -1)
    assert torch.allclose(net(rows, problems, answers), net(each, problems, answers), atol=1e-6)


def test_rotary_products_depend_on_distance_alone() -> None:
    torch.manual_seed(0)
    query, key = torch.randn(1, 1, 1, 8), torch.randn(1, 1, 1, 8)
    products = [(rotate(query, s + 3) * rotate(key, s)).sum().item() for s in (0, 5, 40)]
    assert products == pytest.approx([products[0]] * 3, abs=1e-4)
    assert (rotate(query, 4) * rotate(key, 0)).sum().item() != pytest.approx(products[0], abs=1e-3)
