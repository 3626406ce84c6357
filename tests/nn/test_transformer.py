import math
from typing import Any

import pytest
import torch

from logicgen.nn.embedding import Interchangeable
from logicgen.nn.position import rotate, rotations
from logicgen.nn.transformer import Transformer

FIXED, SYMBOLS, WIDTH = 6, 11, 32


def transformer(
    encoder: str = "sinusoidal", decoder: str = "rotary", dropout: float = 0.0, **options: Any
) -> Transformer:
    torch.manual_seed(0)
    layers = {"encoder_layers": 2, "decoder_layers": 2}
    return Transformer(
        width=WIDTH,
        heads=4,
        feed_forward=48,
        dropout=dropout,
        encoder_positions=encoder,
        decoder_positions=decoder,
        normalize_features=True,
        arities=torch.tensor([0, 0, 0, 1, 2, 2, 0]),
        **(layers | options),
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


ENCODER = ("sinusoidal", "tree", "rotary", "relative", "none")
DECODER = ("sinusoidal", "rotary", "relative", "none")
ALL_POSITIONS = [
    (encoder, decoder, cross)
    for encoder in ENCODER
    for decoder in DECODER
    for cross in (False, True)
]
EVERY_SCHEME = pytest.mark.parametrize(("encoder", "decoder", "cross"), ALL_POSITIONS)


@EVERY_SCHEME
def test_renaming_symbols_permutes_logits(encoder: str, decoder: str, cross: bool) -> None:
    net, rows = transformer(encoder, decoder, rotary_cross_attention=cross), matrix()
    problems, answers = batch()
    renaming = torch.randperm(SYMBOLS, generator=torch.Generator().manual_seed(3)) + FIXED
    renaming = torch.cat([torch.arange(FIXED), renaming])  # id -> new id
    renamed = torch.empty_like(rows)
    renamed[renaming] = rows  # the new id has the old id's row
    one = net(rows, problems, answers)
    other = net(renamed, renaming[problems], renaming[answers])
    assert torch.allclose(one, other[..., renaming], atol=1e-5)
    assert one.abs().max() <= 1 + 1e-5  # cosines


def test_a_looped_encoder_is_a_deeper_one_with_equal_layers() -> None:
    looped, deep = transformer(encoder_loops=2), transformer(encoder_layers=4)
    weights = looped.state_dict()
    for key in deep.state_dict():
        if key.startswith("encoder."):
            _, number, part = key.split(".", 2)
            weights[key] = looped.state_dict()[f"encoder.{int(number) % 2}.{part}"]
    deep.load_state_dict(weights)
    problems, answers = batch()
    assert torch.equal(looped(matrix(), problems, answers), deep(matrix(), problems, answers))


def test_scores_of_longer_problems_are_sharper() -> None:
    """They are multiplied by log(tokens) / log(most_tokens); padding does not count."""
    net, rows = transformer(most_tokens=5), matrix()
    problems, answers = batch()  # 9, 4, 9, 1 and 9 tokens
    sharpness = net.problem_positions(problems, net.present(problems)).sharpness
    assert sharpness is not None
    longer = math.log(9) / math.log(5)
    torch.testing.assert_close(sharpness, torch.tensor([longer, 1, longer, 1, longer]))
    scores = net(rows, problems, answers)
    plain = transformer()
    torch.testing.assert_close(scores[[1, 3]], plain(rows, problems, answers)[[1, 3]])
    # The same scores result from queries that are longer by the same factor.
    with torch.no_grad():
        for layer in plain.encoder:
            layer.attention.query.weight *= longer
            layer.attention.query.bias *= longer
        for layer in plain.decoder:
            layer.problem_attention.query.weight *= longer
            layer.problem_attention.query.bias *= longer
    expected = plain(rows, problems, answers)[[0, 2, 4]]
    torch.testing.assert_close(scores[[0, 2, 4]], expected, rtol=1e-4, atol=1e-5)
    without = net(rows, problems[:, :5], answers)
    assert torch.equal(without, transformer()(rows, problems[:, :5], answers))


@EVERY_SCHEME
def test_one_token_at_a_time_agrees_with_all_at_once(
    encoder: str, decoder: str, cross: bool
) -> None:
    net, rows = transformer(encoder, decoder, rotary_cross_attention=cross), matrix()
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


@EVERY_SCHEME
def test_padding_changes_nothing(encoder: str, decoder: str, cross: bool) -> None:
    net, rows = transformer(encoder, decoder, rotary_cross_attention=cross), matrix()
    problems, answers = batch()
    longer = torch.cat([problems, torch.zeros(5, 6, dtype=torch.int64)], dim=1)
    assert torch.allclose(net(rows, problems, answers), net(rows, longer, answers), atol=1e-5)
    later = torch.cat([answers, torch.zeros(5, 3, dtype=torch.int64)], dim=1)
    logits = net(rows, problems, later)[:, :7]
    assert torch.allclose(net(rows, problems, answers), logits, atol=1e-5)


@EVERY_SCHEME
def test_answers_packed_without_padding(encoder: str, decoder: str, cross: bool) -> None:
    net, rows = transformer(encoder, decoder, rotary_cross_attention=cross), matrix()
    problems, answers = batch()
    answers[0, 3:] = answers[2] = answers[4, 6:] = 0  # one sequence is padding only
    real = answers != 0
    rows.requires_grad_()
    outcomes = []
    for places in (None, real.flatten().nonzero()[:, 0]):
        logits = net(rows, problems, answers, places)
        weights = net.decoder[0].feed_forward[0].weight
        loss = (logits.masked_fill(~real[..., None], 0) ** 2).sum()
        outcomes.append((logits[real], *torch.autograd.grad(loss, [rows, weights])))
        if places is not None:
            assert (logits[~real] == 0).all()
    for dense, packed in zip(*outcomes, strict=True):
        assert torch.allclose(dense, packed, atol=1e-5)


@EVERY_SCHEME
def test_bfloat16_differs_by_its_precision_only(encoder: str, decoder: str, cross: bool) -> None:
    net, rows = transformer(encoder, decoder, rotary_cross_attention=cross), matrix()
    problems, answers = batch()
    exact = net(rows, problems, answers)
    with torch.autocast("cpu", torch.bfloat16):
        rough = net(rows, problems, answers, torch.arange(answers.numel()))
    assert rough.dtype is torch.float32
    assert (exact - rough).abs().max() < 0.05


@EVERY_SCHEME
def test_every_scheme_but_none_sees_order(encoder: str, decoder: str, cross: bool) -> None:
    net, rows = transformer(encoder, decoder, rotary_cross_attention=cross), matrix()
    # ! & a b a <end> against the same tokens as ! & a a b <end>, then the answers' order.
    a, b = FIXED, FIXED + 1
    problems = torch.tensor([[3, 4, 4, a, b, a, 2], [3, 4, 4, a, a, b, 2]])
    answers = torch.tensor([[1, a, b, 5], [1, a, b, 5]])
    one, other = net(rows, problems, answers)
    changed = not torch.allclose(one, other, atol=1e-5)
    assert changed == (encoder != "none" or cross)
    same = problems[:1].expand(2, -1)
    one, other = net(rows, same, torch.tensor([[1, a, b, 5], [1, b, a, 5]]))
    changed = not torch.allclose(one[-1], other[-1], atol=1e-5)
    # The first of several decoder layers is causal, so that a second one tells order even without.
    assert changed or decoder == "none"


def test_tree_positions_need_arities() -> None:
    with pytest.raises(ValueError, match="need arities"):
        Transformer(
            width=8,
            heads=1,
            encoder_layers=1,
            decoder_layers=1,
            feed_forward=8,
            dropout=0.0,
            encoder_positions="tree",
            decoder_positions="none",
            normalize_features=False,
        )


def test_input_scale() -> None:
    fixed, learned = transformer(), transformer(input_scale="learned")
    problems, answers = batch()
    one, other = (net(matrix(), problems, answers) for net in (fixed, learned))
    assert torch.allclose(one, other, atol=1e-6)
    assert set(learned.state_dict()) - set(fixed.state_dict()) == {"input_scale"}
    other.sum().backward()
    assert learned.input_scale.grad is not None
    assert learned.input_scale.grad.abs() > 0
    with torch.no_grad():
        learned.input_scale *= 2
    assert not torch.allclose(one, learned(matrix(), problems, answers), atol=1e-3)


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
    net = transformer()
    problems, answers = batch()
    each = torch.stack([matrix()[torch.randperm(FIXED + SYMBOLS)] for _ in range(5)])
    places = torch.arange(answers.numel())
    together = net(each, problems, answers, places)
    for row in range(5):
        alone = net(each[row], problems[[row]], answers[[row]])[0]
        assert torch.allclose(alone, together[row], atol=1e-5)


@EVERY_SCHEME
def test_several_answers_to_each_problem(encoder: str, decoder: str, cross: bool) -> None:
    net = transformer(encoder, decoder, rotary_cross_attention=cross)
    problems, answers = batch()
    several = torch.cat([answers, answers.flip(1)], 1).unflatten(1, (2, -1)).flatten(0, 1)
    apart = problems.repeat_interleave(2, 0)
    each = torch.stack([matrix()[torch.randperm(FIXED + SYMBOLS)] for _ in range(5)])
    for rows, repeated in ((matrix(), matrix()), (each, each.repeat_interleave(2, 0))):
        logits = net(rows, problems, several, torch.arange(several.numel()))
        assert torch.allclose(logits, net(repeated, apart, several), atol=1e-5)


def test_rotary_products_depend_on_distance_alone() -> None:
    torch.manual_seed(0)
    query, key = torch.randn(1, 1, 1, 8), torch.randn(1, 1, 1, 8)

    def product(query_at: int, key_at: int) -> float:
        device = query.device
        turned = rotate(query, rotations(query_at, 1, 8, device))
        return (turned * rotate(key, rotations(key_at, 1, 8, device))).sum().item()

    products = [product(s + 3, s) for s in (0, 5, 40)]
    assert products == pytest.approx([products[0]] * 3, abs=1e-4)
    assert product(4, 0) != pytest.approx(products[0], abs=1e-3)
