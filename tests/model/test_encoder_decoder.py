"""What a model predicts: best answers, at the loss's scale, averaged over draws."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from logicgen.data.dataset import Ragged
from logicgen.errors import LogicgenError
from logicgen.model import capacity, encoder_decoder
from logicgen.model.batches import Rank, padded_batch
from logicgen.model.encoder_decoder import EncoderDecoder
from logicgen.model.symbol_invariant import SymbolInvariantModel
from logicgen.nn.decoding import BeamSearch, DecodedAnswers
from logicgen.nn.samples import Sampling
from logicgen.tokens import Vocabulary
from tests.asking import answers_of, likeliest
from tests.training.conftest import REGION, recipe_with

PROBLEMS = [[5, 6, 7], [], [9, 3], [4]]
LEARNED = {
    "method": "learned",
    "max_symbols": 7,
    "random_part": None,
    "random_width": None,
    "normalize_parts": None,
}


def new_model(task: str = "propositional", **changes: dict[str, object]) -> EncoderDecoder:
    torch.manual_seed(0)
    return EncoderDecoder(recipe_with(**changes), Vocabulary(["&"]), 5, task, REGION)


def test_several_answers_come_best_first_and_the_best_is_the_prediction() -> None:
    model = new_model()
    several = answers_of(model, PROBLEMS, 8, 0, 4, decoding=BeamSearch(4, answers=3))
    assert [len(answers) for answers in several] == [3, 3, 3, 3]
    for answers in several:
        assert len({tuple(answer.ids) for answer in answers}) == 3
        assert [a.score for a in answers] == sorted([a.score for a in answers], reverse=True)
    best = likeliest(model, PROBLEMS, 8, 0, 4, decoding=BeamSearch(4))
    assert best == [answers[0].ids for answers in several]
    # The problems' order in batches, by length, does not show.
    assert likeliest(model, PROBLEMS, 8, 0, 4, batch_size=1, decoding=BeamSearch(4)) == best


def test_memory_limits_how_many_problems_are_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    model = new_model()
    best = likeliest(model, PROBLEMS, 8, 0, 4)
    sizes = []
    decode = encoder_decoder.decode

    def noting(*arguments: Any) -> DecodedAnswers:
        sizes.append(len(arguments[2]))
        return decode(*arguments)

    monkeypatch.setattr(encoder_decoder, "decode", noting)
    for scores, expected in ((2**26, [4]), (2 * 4**2, [2, 2]), (1, [1, 1, 1, 1])):
        monkeypatch.setitem(capacity.MOST_SCORES, "cpu", scores)
        sizes.clear()
        assert likeliest(model, PROBLEMS, 8, 0, 4) == best
        assert sizes == expected
    monkeypatch.undo()
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    assert capacity.problems_together(100, 200, cpu) == 2**26 // (100 * 200**2) == 16
    assert capacity.problems_together(100, 200, gpu) == 2**27 // (100 * 200**2) == 33
    assert capacity.problems_together(1, 10, cpu) == 2**26 // 100
    assert capacity.problems_together(10_000, 10_000, cpu) == 1


KINDS: dict[str, tuple[type[EncoderDecoder], dict[str, Any]]] = {
    "rows for each sequence": (EncoderDecoder, {"embedding": {"resample": "sequence"}}),
    "a stream for each symbol": (
        SymbolInvariantModel,
        {
            "network": {"kind": "symbol-invariant"},
            "embedding": {**LEARNED, "method": "symbol-invariant", "max_symbols": None},
        },
    ),
}


def model_of(kind: str) -> EncoderDecoder:
    of, changes = KINDS[kind]
    torch.manual_seed(0)
    network = {"dropout": 0.0, "normalize_features": False, **changes.get("network", {})}
    recipe = recipe_with(**changes | {"network": network, "loss": {"method": "cross-entropy"}})
    return of(recipe, Vocabulary(["&"]), 5, "propositional", REGION)


def test_streams_limit_the_symbols_of_a_long_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "MOST_STREAMED", 60)
    streams, rows = model_of("a stream for each symbol"), model_of("rows for each sequence")
    streams.check(6, tokens=10)
    rows.check(7, tokens=1000)
    with pytest.raises(LogicgenError, match=r"7 symbols: with 10 tokens, .* takes up to 6:"):
        streams.check(7, tokens=10)


@pytest.mark.parametrize(("most", "trimmed"), [(2**50, []), (0, [0])])
def test_freed_memory_is_returned_only_if_much_is_held(
    most: int, trimmed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    monkeypatch.setattr(capacity, "_trim", calls.append)
    monkeypatch.setattr(capacity, "MOST_HELD", most)
    capacity.return_memory(torch.device("cpu"))
    assert calls == trimmed
    capacity.return_memory(torch.device("meta"))  # another device
    assert calls == trimmed


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_that_is_trained_in_pieces_has_the_same_gradients(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_of(kind)
    problems, answers = [[4, 5, 6, 7], [], [8, 3], [4]] * 3, [[4, 5], [6], [], [5, 6]] * 3
    batch = padded_batch(Ragged.of(problems), Ragged.of(answers), model.vocabulary)
    read: list[int] = []
    model.transformer.register_forward_pre_hook(lambda _, given: read.append(len(given[1])))
    returned: list[torch.device] = []
    monkeypatch.setattr(capacity, "return_memory", returned.append)
    found = []
    per_problem = 5 * capacity.KEPT * model.features(batch.problems)  # the longest, <end>
    in_pieces = int(2 * per_problem / capacity.PIECE_SHARE)
    for limit, sizes in ((2**31, [12]), (in_pieces, [2, 2, 2, 3, 3]), (1, [1] * 12)):
        monkeypatch.setattr(capacity, "MOST_KEPT", limit)
        read.clear()
        returned.clear()
        model.zero_grad()
        loss, _ = model.training_loss(batch, torch.Generator().manual_seed(1), False)
        assert sorted(read) == sizes
        loss.backward()
        assert len(read) == len(sizes) * (2 if len(sizes) > 1 else 1)  # read again
        assert len(returned) == (len(read) if len(sizes) > 1 else 0)
        gradients = [each.grad for each in model.parameters() if each.grad is not None]
        found.append([loss.detach(), *gradients])
    for other in found[1:]:
        for ours, theirs in zip(found[0], other, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_one_large_problem_is_read_again_layer_by_layer(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_of(kind)
    batch = padded_batch(Ragged.of([[4, 5, 6, 7]]), Ragged.of([[4, 5]]), model.vocabulary)
    read: list[int] = []
    model.transformer.encoder[0].register_forward_pre_hook(lambda *_: read.append(1))
    found = []
    for limit, times in ((2**31, 1), (1, 3)):
        monkeypatch.setattr(capacity, "MOST_KEPT", limit)
        read.clear()
        model.zero_grad()
        loss, _ = model.training_loss(batch, torch.Generator().manual_seed(1), False)
        loss.backward()
        assert len(read) == times  # with its piece, and once more by itself
        gradients = [each.grad for each in model.parameters() if each.grad is not None]
        found.append([loss.detach(), *gradients])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


def test_on_a_gpu_pieces_have_similar_numbers_of_symbols(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of("a stream for each symbol")
    problems = [[5, 5, 5], [], [4, 5, 6, 7, 8], [4, 5], [6, 5, 8, 7, 6, 5]]  # 4, ... are symbols
    answers = [[5], [], [4, 4, 8], [5, 4, 5], [6]]
    batch = padded_batch(Ragged.of(problems), Ragged.of(answers), model.vocabulary)
    found = []
    cut, token = [[2], [4, 3], [0, 1]], EncoderDecoder.features(model, batch.problems)
    for most, kept, expected in (
        (None, 2**31, ([[0, 1, 2, 3, 4]], False)),
        (7 * 9, 2**31, (cut, False)),  # tokens, padded to 7: streams of 5, 4, 2, 1 and no symbols
        (7 * 9, capacity.KEPT * token * 7 * 20, (cut, True)),  # the memory is too small
        (2**18, capacity.KEPT * token * 7 * 9, (cut, True)),  # the memory is the limit
    ):
        monkeypatch.setitem(capacity.MOST_PADDED, "cpu", most)
        monkeypatch.setattr(capacity, "MOST_KEPT", kept)
        pieces, again = model.pieces(batch)
        assert ([each.tolist() for each in pieces], again) == expected
        model.zero_grad()
        loss, _ = model.training_loss(batch, torch.Generator().manual_seed(1), False)
        loss.backward()
        gradients = [each.grad for each in model.parameters() if each.grad is not None]
        found.append([loss.detach(), *gradients])
    for other in found[1:]:
        for ours, theirs in zip(found[0], other, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


def test_more_tokens_are_kept_on_a_gpu_with_more_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu, gpu = torch.device("cpu"), torch.device("cuda", 0)
    for memory in (16 * 2**30, 80 * 2**30):
        properties = SimpleNamespace(total_memory=memory)
        monkeypatch.setattr(torch.cuda, "get_device_properties", {gpu: properties}.__getitem__)
        kept = capacity.kept_tokens(100, gpu) * 100 * capacity.KEPT
        assert 0.69 * memory < kept < 0.7 * memory
        with monkeypatch.context() as patch:  # autocast to bfloat16 needs a GPU
            patch.setattr(torch, "is_autocast_enabled", {"cuda": True}.__getitem__)
            assert capacity.kept_tokens(100, gpu) * 100 * capacity.KEPT == pytest.approx(
                2 * kept, rel=1e-6
            )
    assert capacity.kept_tokens(100, cpu) == 2**31 // (100 * capacity.KEPT)


def test_answers_do_not_depend_on_the_problems_beside_them() -> None:
    model = model_of("a stream for each symbol")
    problems = [[5, 5, 5], [4, 5, 6, 7, 8], [4, 5], [6, 5, 8, 7, 6, 5], [], [4]]
    together = likeliest(model, problems, 8, 0, 4)
    assert together == [likeliest(model, [each], 8, 0, 4)[0] for each in problems]
    sizes = [model.size(problem) for problem in problems]
    assert sizes == [(1, 3), (5, 5), (2, 2), (4, 6), (1, 0), (1, 1)]
    batches = list(capacity.answered_together(sizes, 1, 2, model.device))[::-1]
    assert [len(rows) for rows in batches] == [2, 2, 2]
    rows = [row for batch in batches for row in batch]
    assert sorted(rows) == list(range(6))
    assert [sizes[row] for row in rows] == sorted(sizes)


def test_pieces_are_read_again_in_the_same_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probabilities are computed without dropout, and their gradients later, in training mode."""
    network = {
        **{"dropout": 0.3, "normalize_features": False, "position_range": 64},
        **{"encoder_positions": "randomized", "decoder_positions": "randomized"},
        "shared_positions": True,
    }
    model = new_model(network=network, loss={"method": "cross-entropy"}).train()
    sequences = Ragged.of([[4, 5, 6, 7], [8, 3], [4]])
    batch = padded_batch(sequences, sequences, model.vocabulary)
    found = []
    for limit in (2**31, 1):
        monkeypatch.setattr(capacity, "MOST_KEPT", limit)
        model.zero_grad()
        logs = model.log_probabilities(batch, torch.Generator().manual_seed(1))
        assert model.transformer.training
        logs.sum().backward()
        # The backward pass leaves functions early; they change nothing that stays.
        assert all(module.training for module in model.modules())
        assert not model.transformer.recompute
        gradients = [each.grad for each in model.parameters() if each.grad is not None]
        found.append([logs.detach(), *gradients])
        part = batch.shared(Rank(1, 2), model.vocabulary.pad)  # a sequence, and one without targets
        assert torch.isfinite(model.training_loss(part, torch.Generator(), False)[0])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


def test_probabilities_are_those_of_the_loss() -> None:
    """With AdaCos logits are cosines, and mean nothing without its scale."""
    model = new_model().eval()
    matrix, problem = model.inference_matrix(8, 0), torch.tensor([[5, 6, 2]])
    with torch.no_grad():
        for scale in (1.0, 9.0):
            model.loss.scale.fill_(scale)
            [[answer]] = answers_of(model, [[5, 6]], 8, 0, 3, decoding=Sampling(seed=1))
            ids = [*answer.ids, 2] if len(answer.ids) <= 3 else answer.ids
            inputs, targets = torch.tensor([[1, *ids[:-1]]]), torch.tensor([ids])
            loss = model.loss(model.transformer(matrix, problem, inputs), targets)
            expected = -loss.item() * len(ids) if ids[-1] == 2 else -math.inf
            assert answer.score == pytest.approx(expected, abs=1e-4)
    plain = new_model(loss={"method": "cross-entropy"}, network={"normalize_features": False})
    assert plain.loss.scale == 1.0


def test_an_ensemble_is_over_draws_of_the_embedding() -> None:
    model, beams = new_model(), BeamSearch(2, answers=2)
    model.loss.scale.fill_(20.0)
    for seed in (0, 3):
        one = answers_of(model, PROBLEMS, 8, seed, 6, decoding=beams)
        assert answers_of(model, PROBLEMS, 8, seed, 6, decoding=beams, ensemble=1) == one
    three = [
        answers_of(model, PROBLEMS, 8, seed, 6, decoding=beams, ensemble=3) for seed in (0, 0, 1)
    ]
    assert three[0] == three[1] != three[2]
    asked: list[int] = []
    original = model.inference_matrix
    model.inference_matrix = lambda n, seed: asked.append(seed) or original(n, seed)  # type: ignore
    for seed in range(3):
        likeliest(model, PROBLEMS, 8, seed, 1, ensemble=4)
    assert asked == list(range(12))  # no draw serves two embedding seeds


def test_an_ensemble_needs_something_to_draw() -> None:
    learned = new_model("copying", embedding=LEARNED)
    assert likeliest(learned, PROBLEMS, 7, 0, 3, ensemble=1)
    with pytest.raises(
        LogicgenError,
        match=r"ensemble over a model without a random part.*learned.*of copying have no operands",
    ):
        likeliest(learned, PROBLEMS, 7, 0, 3, ensemble=2)
    shuffled = new_model(embedding={**LEARNED, "method": "alpha-renaming"})
    assert likeliest(shuffled, PROBLEMS, 7, 0, 3, ensemble=2)


@pytest.mark.parametrize("method", ["interchangeable", "lexinvariant"])
def test_renaming_symbols_and_their_rows_renames_the_answers(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exactly, also for symbols that training never saw."""
    changes: dict[str, Any] = {}
    if method == "lexinvariant":
        keys = "random_part", "random_width", "normalize_parts", "normalize_rows"
        rows = dict.fromkeys(keys)  # are left out
        changes["embedding"] = {**rows, "method": method, "random_tokens": "symbols"}
        changes["network"] = {"normalize_features": False}
        changes["loss"] = {"method": "cross-entropy"}
    model, symbols = new_model(**changes), 7
    fixed, order = len(model.vocabulary), [3, 0, 6, 1, 5, 2, 4]

    def four(problems: list[list[int]]) -> list[list[int]]:
        found = answers_of(model, problems, symbols, 0, 4, decoding=BeamSearch(4, answers=4))
        return [answer.ids for answers in found for answer in answers]

    before = four(PROBLEMS)
    assert any(token >= fixed for answer in before for token in answer)
    drawn = model.inference_matrix(symbols, 0)
    moved = drawn.clone()
    moved[[fixed + number for number in order]] = drawn[fixed:]
    monkeypatch.setattr(model, "inference_matrix", lambda *_: moved)

    def renamed(texts: list[list[int]]) -> list[list[int]]:
        return [[fixed + order[i - fixed] if i >= fixed else i for i in text] for text in texts]

    assert four(renamed(PROBLEMS)) == renamed(before)


RANDOM_KEYS = "random_part", "random_width", "normalize_parts", "normalize_rows"


def test_untrained_rows_do_not_repeat_the_initial_weights() -> None:
    """Weights and rows are drawn with small seeds, which may be equal."""
    rows = {**dict.fromkeys(RANDOM_KEYS), "method": "learned", "max_symbols": 5}
    rows["normalize_rows"] = False
    network, loss = {"normalize_features": False}, {"method": "cross-entropy"}
    model = new_model(embedding=rows, network=network, loss=loss)  # weights of seed 0
    cosines = torch.corrcoef(model.inference_matrix(12, embedding_seed=0))
    assert (cosines - torch.eye(len(cosines))).abs().max() < 0.8


def test_random_rows_do_not_repeat_the_initial_weights() -> None:
    rows = {**dict.fromkeys(RANDOM_KEYS), "method": "lexinvariant", "random_tokens": "symbols"}
    network, loss = {"normalize_features": False}, {"method": "cross-entropy"}
    model = new_model(embedding=rows, network=network, loss=loss)  # weights of seed 0
    cosines = torch.corrcoef(model.inference_matrix(7, embedding_seed=0))
    assert (cosines - torch.eye(len(cosines))).abs().max() < 0.7
