"""The symbol-invariant Transformer: exact invariance, its streams, and decoding."""

from __future__ import annotations

import math
from itertools import permutations

import pytest
import torch
from torch import nn

from logicgen.nn.decoding import BeamSearch, decode
from logicgen.nn.embedding import SymbolInvariant
from logicgen.nn.samples import Sampling
from logicgen.nn.streams import Streams, fuse, stretched
from logicgen.nn.symbol_invariant import StreamOptions, SymbolInvariantTransformer
from logicgen.nn.transformer import Transformer
from logicgen.tokens import Vocabulary

VOCABULARY = Vocabulary(("!", "&", "X"))
F = len(VOCABULARY)  # 6
SYMBOLS = 5
ARITIES = torch.tensor([0, 0, 0, 1, 2, 1, 0])
PAD = VOCABULARY.pad

PROBLEMS = torch.tensor(
    [
        [4, F + 2, 4, F + 0, F + 2, 2, 0, 0],
        [4, F + 4, 4, F + 1, 4, F + 0, F + 3, 2],
        [3, F + 1, 2, 0, 0, 0, 0, 0],
        [3, 5, 2, 0, 0, 0, 0, 0],  # no symbol at all
    ]
)
ANSWERS = torch.tensor([[1, F + 0, 3, F + 2], [1, 4, F + 3, F + 1], [1, F + 1, 0, 0], [1, 3, 4, 0]])

OPTIONS = [
    StreamOptions(),
    StreamOptions(chunk=2),
    StreamOptions(reserved=2),
    StreamOptions(decoder_own_attention=False),
    StreamOptions(aggregated_attention=False),
    StreamOptions(decoder_aggregated_attention=False),
    StreamOptions(fused_view="mean-and-maximum"),
    StreamOptions(fused_view="mean-and-maximum", chunk=2, reserved=1),
    StreamOptions(cross_attention="aggregated"),
    StreamOptions(cross_attention="aggregated", chunk=1, reserved=1),
    StreamOptions(most_symbols=2),
    StreamOptions(most_symbols=1, chunk=2, reserved=1),
]


SIZES = {
    **{"width": 16, "heads": 2, "encoder_layers": 2, "decoder_layers": 2, "feed_forward": 32},
    **{"dropout": 0.0, "normalize_features": True, "pad": PAD, "arities": ARITIES},
}


def network(options=OPTIONS[0], encoder="tree", decoder="rotary", **changes):
    torch.manual_seed(0)
    made = SymbolInvariantTransformer(
        fixed=F,
        options=options,
        encoder_positions=encoder,
        decoder_positions=decoder,
        position_range=16 if "randomized" in (encoder, decoder) else None,
        **(SIZES | changes),
    )
    return made.eval()


def rows(symbols=SYMBOLS):
    torch.manual_seed(1)
    return SymbolInvariant(F, 16, normalize_rows=True).matrix(symbols).detach()


def renamed(ids, permutation):
    table = torch.cat([torch.arange(F), F + torch.tensor(permutation)])
    return table[ids]


def with_every_option(test):
    names = [str(number) for number in range(len(OPTIONS))]
    return pytest.mark.parametrize("options", OPTIONS, ids=names)(test)


SCHEMES = [
    ("tree", "rotary"),
    ("sinusoidal", "sinusoidal"),
    ("rotary", "relative"),
    ("relative", "none"),
    ("none", "relative"),
    ("tree-relative", "rotary"),
    ("tree-symbols", "alibi"),
    ("tree-messages", "fire"),
    ("randomized", "randomized"),
]
# Every option with the first scheme, every scheme with the first option, and a third of the rest.
with_options_and_schemes = pytest.mark.parametrize(
    ("options", "encoder", "decoder"),
    [
        pytest.param(options, *scheme, id="-".join([*scheme, str(i)]))
        for i, options in enumerate(OPTIONS)
        for j, scheme in enumerate(SCHEMES)
        if i == 0 or j == 0 or (i + j) % 3 == 0
    ],
)


def test_streams_come_in_order_of_first_occurrence():
    assert Streams.of(PROBLEMS, F, SYMBOLS, 0, 4).ids.tolist() == [
        [F + 2, F + 0, -1, -1],
        [F + 4, F + 1, F + 0, F + 3],
        [F + 1, -1, -1, -1],
        [-1, -1, -1, -1],
    ]
    assert Streams.of(PROBLEMS, F, SYMBOLS, 2, 4).ids.tolist() == [
        [F + 2, F + 0, F + 1, F + 3, -1, -1],
        [F + 4, F + 1, F + 0, F + 3, F + 2, -1],  # there are only five
        [F + 1, F + 0, F + 2, -1, -1, -1],
        [F + 0, F + 1, -1, -1, -1, -1],
    ]


def test_the_fused_view_is_the_mean_but_at_a_symbol_its_own_stream():
    streams = Streams.of(PROBLEMS, F, SYMBOLS, 1, 4)
    x = torch.randn(4, streams.ids.shape[1], 8, 3)
    view = fuse(x, streams.fusing(PROBLEMS))
    for b, problem in enumerate(PROBLEMS.tolist()):
        names = streams.ids[b].tolist()
        real = [n for n, name in enumerate(names) if name >= 0] or [0]
        for place, token in enumerate(problem):
            expected = x[b, names.index(token), place] if token >= F else x[b, real, place].mean(0)
            torch.testing.assert_close(view[b, place], expected)


@pytest.mark.parametrize("special", [1, 2, 3])
def test_a_few_special_streams_weigh_as_much_in_a_crowd_as_among_the_most(special):
    """The mean of ten streams becomes the mean of seven that contain all special streams."""
    exist = torch.tensor([[True] * 10, [True] * 7 + [False] * 3])
    x = torch.randn(2, 1, 8, 3).repeat(1, 10, 1, 1)
    x[:, :special] = torch.randn(2, special, 8, 3)
    means = torch.stack([x[0].mean(0), x[1, :7].mean(0)])
    found = stretched(means, x, exist, 7)
    torch.testing.assert_close(found[0], x[0, :7].mean(0))
    assert torch.equal(found[1], means[1])  # seven are not too many
    assert torch.equal(stretched(means, x, exist, None), means)
    assert torch.equal(stretched(means, x, exist, 10), means)


def test_the_most_symbols_matter_only_where_there_are_more():
    plain, stretching = network(), network(StreamOptions(most_symbols=2))
    expected, found = (made(rows(), PROBLEMS, ANSWERS) for made in (plain, stretching))
    torch.testing.assert_close(found[[0, 2, 3]], expected[[0, 2, 3]])  # two symbols, one, none
    assert not torch.allclose(found[1], expected[1], atol=1e-3)  # four


@with_options_and_schemes
def test_renaming_a_problem_renames_its_scores(options, encoder, decoder):
    made, matrix = network(options, encoder, decoder), rows()
    scores = made(matrix, PROBLEMS, ANSWERS)
    for permutation in list(permutations(range(SYMBOLS)))[17::51]:
        other = made(matrix, renamed(PROBLEMS, permutation), renamed(ANSWERS, permutation))
        expected = torch.empty_like(scores)
        expected[..., :F] = scores[..., :F]
        expected[..., F + torch.tensor(permutation)] = scores[..., F:]
        if options.reserved:  # which absent symbols have a reserved stream does depend on names
            expected, other = (part[:, :, : F + 0] for part in (expected, other))
        assert torch.equal(other, expected)  # to the last bit


def test_a_symbol_can_be_written_if_it_has_a_stream():
    scores = network()(rows(), PROBLEMS, ANSWERS)
    for b, problem in enumerate(PROBLEMS.tolist()):
        there = {token - F for token in problem if token >= F}
        written = {k for k in range(SYMBOLS) if scores[b, 0, F + k] > -math.inf}
        assert written == there
    reserved = network(StreamOptions(reserved=1))(rows(), PROBLEMS, ANSWERS)
    assert (reserved[:, 0, F:] > -math.inf).sum(1).tolist() == [3, 5, 2, 1]


def test_any_number_of_symbols():
    """A thousand more symbols change nothing for those that there are."""
    made = network()
    few, many = made(rows(5), PROBLEMS, ANSWERS), made(rows(1005), PROBLEMS, ANSWERS)
    assert many.shape[-1] == F + 1005
    assert torch.equal(many[..., : F + 5], few)
    assert (many[..., F + 5 :] == -math.inf).all()


@with_every_option
def test_padding_and_the_rest_of_the_batch_change_nothing(options):
    made, matrix = network(options), rows()
    together = made(matrix, PROBLEMS, ANSWERS)
    for b in range(len(PROBLEMS)):
        length = int((PROBLEMS[b] != PAD).sum())
        alone = made(matrix, PROBLEMS[b : b + 1, :length], ANSWERS[b : b + 1])
        torch.testing.assert_close(alone[0], together[b], rtol=1e-4, atol=1e-5)


@with_options_and_schemes
def test_one_token_at_a_time_agrees_with_all_at_once(options, encoder, decoder):
    made, matrix = network(options, encoder, decoder, rotary_cross_attention=True), rows()
    together = made(matrix, PROBLEMS, ANSWERS)
    memory = made.encode(matrix, PROBLEMS)
    for place in range(ANSWERS.shape[1]):
        one = made.step(matrix, ANSWERS[:, place : place + 1], memory)
        torch.testing.assert_close(one, together[:, place], rtol=1e-4, atol=1e-5)


@with_every_option
def test_beams_and_dropped_problems_keep_their_own_memory(options):
    made, matrix = network(options), rows()
    memory = made.encode(matrix, PROBLEMS)
    made.step(matrix, torch.full((4, 1), VOCABULARY.start), memory)
    memory.select(torch.tensor([[0, 0], [1, 1], [2, 2], [3, 3]]))  # two beams for each
    histories = [[1, tokens] for tokens in (F, 4, F + 3, F + 1, 3, F + 1, 5, 4)]
    made.step(matrix, torch.tensor(histories)[:, 1:], memory)
    memory.select(torch.tensor([[1, 0, 1], [5, 5, 4]]))  # three for the first and the third
    following = torch.tensor([[4], [F + 2], [3], [F + 1], [4], [5]])
    scores = made.step(matrix, following, memory)
    for row, (problem, history) in enumerate([(0, 1), (0, 0), (0, 1), (2, 5), (2, 5), (2, 4)]):
        tokens = torch.tensor([[*histories[history], following[row].item()]])
        alone = made(matrix, PROBLEMS[[problem]], tokens)[0, -1]
        torch.testing.assert_close(scores[row], alone, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("method", [BeamSearch(beams=3, answers=3), Sampling(seed=3)])
def test_decoding_in_a_batch_is_decoding_alone(method):
    made, matrix = network(), rows()
    together = decode(made, [matrix], PROBLEMS, VOCABULARY, 12, decoding=method, scale=5.0)
    for b in range(len(PROBLEMS)):
        one = PROBLEMS[b : b + 1, : int((PROBLEMS[b] != PAD).sum())]
        alone = decode(made, [matrix], one, VOCABULARY, 12, decoding=method, scale=5.0)
        assert torch.equal(alone.ids[0], together.ids[b])


def test_without_streams_across_all_symbols_look_alike_at_first():
    """The published ablation with aggregated cross-attention collapses for this reason."""
    scores = network(StreamOptions(cross_attention="aggregated"))(rows(), PROBLEMS, ANSWERS)
    first = scores[1, 0, F:][scores[1, 0, F:] > -math.inf]
    assert len(first) == 4
    torch.testing.assert_close(first, first[:1].expand(4))


@pytest.mark.parametrize("gradients", [False, True])
def test_chunks_change_no_answer_and_are_for_answering_alone(gradients):
    """Without gradients, four of forty streams are computed at a time."""
    matrix, problem = rows(40), torch.arange(F, F + 40)[None]
    found, most, sizes = [], [], []
    for chunk in (None, 4):
        made = network(StreamOptions(chunk=chunk))
        sizes.clear()
        for layer in made.decoder:
            layer.feed_forward.register_forward_pre_hook(lambda _, x: sizes.append(x[0].shape[1]))
        with torch.set_grad_enabled(gradients):
            found.append(made(matrix, problem, problem[:, :6]))
        most.append(max(sizes))
    torch.testing.assert_close(found[1], found[0], rtol=1e-3, atol=1e-4)
    assert most == [40, 40 if gradients else 4]


def test_it_is_the_plain_transformer_where_there_is_one_symbol_and_no_fused_view():
    """With one stream and no aggregated attention, there is nothing to fuse."""
    made = network(StreamOptions(aggregated_attention=False))
    schemes = {"encoder_positions": "tree", "decoder_positions": "rotary"}
    plain = Transformer(**SIZES, **schemes, position_range=None).eval()
    plain.load_state_dict(made.state_dict())
    problem, answer = PROBLEMS[2:3, :3], ANSWERS[2:3, :2]
    matrix = rows(2)
    mine = made(matrix, problem, answer)
    theirs = plain(matrix[:-1], problem, answer)
    torch.testing.assert_close(mine[..., :F], theirs[..., :F])
    torch.testing.assert_close(mine[..., F + 1], theirs[..., F + 1])


def test_gradients_reach_every_parameter():
    made = network()
    embedding = SymbolInvariant(F, 16, normalize_rows=True)
    scores = made(embedding.matrix(SYMBOLS), PROBLEMS, ANSWERS)
    scores.clamp(min=-9).square().sum().backward()
    for name, parameter in [*made.named_parameters(), *embedding.named_parameters()]:
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().sum() > 0 or name.endswith("key_value.bias"), name
    assert isinstance(made, nn.Module)


@with_options_and_schemes
def test_several_answers_to_a_problem_are_read_as_if_each_had_its_own_problem(
    options, encoder, decoder
):
    made, matrix = network(options, encoder, decoder), rows()
    answers = torch.stack([ANSWERS, ANSWERS.roll(1, 0)], 1).flatten(0, 1)
    places = (answers.flatten() != PAD).nonzero()[:, 0]
    expected = made(matrix, PROBLEMS.repeat_interleave(2, 0), answers)
    for each in (None, places):  # without places, padding is computed
        found = made(matrix, PROBLEMS, answers, each)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@with_options_and_schemes
def test_packed_tokens_have_the_same_scores_and_gradients(options, encoder, decoder):
    """Training computes only what there is: streams of symbols, and tokens before padding."""
    further = {"rotary_cross_attention": True, "most_tokens": 4}
    made, matrix = network(options, encoder, decoder, **further), rows()
    answers = torch.where((ANSWERS == PAD).cumsum(1) > 0, PAD, ANSWERS)  # no gaps
    places = (answers.flatten() != PAD).nonzero()[:, 0]
    finite = made(matrix, PROBLEMS, answers).flatten(0, 1)[places] > -math.inf

    def scores(places: torch.Tensor | None) -> torch.Tensor:
        all_ = made(matrix, PROBLEMS, answers, places).flatten(0, 1)
        return all_[(answers.flatten() != PAD).nonzero()[:, 0]]

    whole, packed = scores(None), scores(places)
    assert torch.equal(whole > -math.inf, packed > -math.inf)
    torch.testing.assert_close(packed[finite], whole[finite], rtol=1e-4, atol=1e-5)
    of_whole, of_packed = (
        torch.autograd.grad((each[finite] ** 2).sum(), tuple(made.parameters()), allow_unused=True)
        for each in (whole, packed)
    )
    for one, other in zip(of_whole, of_packed, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(other, one, rtol=1e-3, atol=1e-4)
