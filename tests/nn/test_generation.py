"""Generation: what reading all anew at each step would write, and each text on its own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
import torch

from logicgen.model.ngrams import NGram
from logicgen.nn.generation import Reader, beam_search, generate, reading_again, summed
from logicgen.nn.language_model import CausalLM, CausalTransformer, Elman, NeuralNGram
from logicgen.nn.samples import Sampling, pick
from logicgen.nn.token_rows import Rows, TokenRows
from logicgen.tokens import NOTHING

V, WIDTH, N = 7, 16, 12
NETWORKS = ["relative", "rotary", "sinusoidal", "none", "cache", "elman", "neural-n-gram"]


def model(network: str = "relative", method: str = "lexinvariant") -> CausalLM:
    torch.manual_seed(0)
    made: CausalTransformer | Elman | NeuralNGram
    if network == "elman":
        made = Elman(width=WIDTH, layers=2)
    elif network == "neural-n-gram":
        made = NeuralNGram(width=WIDTH, order=3, feed_forward=32)
    else:
        positions = "relative" if network == "cache" else network
        made = CausalTransformer(
            width=WIDTH, heads=2, layers=2, feed_forward=32, positions=positions
        )
    return CausalLM(TokenRows(method, V, WIDTH), made, WIDTH, network == "cache").eval()


def ngram() -> NGram:
    made = NGram(3, V)
    made.count(torch.randint(V, (20, 15), generator=torch.Generator().manual_seed(3)))
    return made


def prompts(texts: int = 3, length: int = 5) -> torch.Tensor:
    return torch.randint(1, V, (texts, length), generator=torch.Generator().manual_seed(1))


def read_anew(made: CausalLM | NGram, tokens: torch.Tensor, rows: Rows) -> torch.Tensor:
    """Log-probabilities of what follows (B, T) tokens, (B, V)."""
    if isinstance(made, NGram):
        return made.log_probabilities(tokens)[:, -1]
    return made.log_probabilities(tokens, rows)[:, -1]


def reader(made: CausalLM | NGram, rows: Rows, texts: int = 3) -> Reader:
    return made.reader(texts) if isinstance(made, NGram) else made.reader(rows, texts)


@pytest.mark.parametrize("length", [1, 5])
@pytest.mark.parametrize("network", [*NETWORKS, "n-gram"])
def test_reading_on_is_reading_anew(network: str, length: int) -> None:
    made = ngram() if network == "n-gram" else model(network)
    ids = prompts(3, length + 6)
    rows = model().rows.seeded([4, 5, 6])
    read = reader(made, rows)
    found = [read(ids[:, :length])]
    found += [read(ids[:, place : place + 1]) for place in range(length, length + 6)]
    for place, logs in enumerate(found):
        expected = read_anew(made, ids[:, : length + place], rows)
        torch.testing.assert_close(logs, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("sampling", [None, Sampling(seed=3), Sampling(0.7, top_k=4, top_p=0.8)])
@pytest.mark.parametrize("network", [*NETWORKS, "n-gram"])
def test_each_token_is_the_one_that_all_before_it_ask_for(
    network: str, sampling: Sampling | None
) -> None:
    made = ngram() if network == "n-gram" else model(network)
    rows = model().rows.seeded([4, 5, 6])
    found = generate(reader(made, rows), prompts(), N, sampling, end=-9)
    assert found.tokens.shape == (3, N)
    assert found.tokens.min() >= 0  # nothing ended
    texts = torch.cat([prompts(), found.tokens], dim=1)
    total = torch.zeros(3, dtype=torch.float64)
    for place in range(5, 5 + N):
        logs = read_anew(made, texts[:, :place], rows)
        total += logs.gather(1, texts[:, place : place + 1])[:, 0]
        if sampling is None:
            assert torch.equal(texts[:, place], logs.argmax(-1))
    torch.testing.assert_close(found.log_probabilities, total, rtol=1e-4, atol=1e-4)


def test_draws_come_with_their_probabilities() -> None:
    made, count = ngram(), 4_000
    prompt = prompts(1).expand(count, -1)
    found = generate(made.reader(count), prompt, 1, Sampling(0.5, top_k=3, seed=2), end=0).tokens[
        :, 0
    ]
    logs = made.log_probabilities(prompt[:1])[0, -1].double() / 0.5
    kept, best = logs.topk(3)
    expected = torch.zeros(V, dtype=torch.float64).scatter(0, best, kept.softmax(0))
    share = torch.bincount(found, minlength=V) / count
    assert (share - expected).abs().max() < 5 * (0.25 / count) ** 0.5
    assert (share[expected == 0] == 0).all()


def test_a_draw_is_that_of_its_random_number() -> None:
    made, rows = model(), model().rows.seeded([4, 5, 6])
    again = [generate(reader(made, rows), prompts(), N, Sampling(seed=8), end=0) for _ in range(2)]
    assert torch.equal(again[0].tokens, again[1].tokens)
    other = generate(reader(made, rows), prompts(), N, Sampling(seed=9), end=0)
    assert not torch.equal(again[0].tokens, other.tokens)
    logs = read_anew(made, prompts(), rows)
    assert pick(logs, Sampling(), torch.zeros(3, dtype=torch.float64)).tolist() == (
        logs.argmax(-1).tolist()
    )


@pytest.mark.parametrize("network", NETWORKS)
def test_a_text_does_not_depend_on_those_beside_it(network: str) -> None:
    made, ids, sampling = model(network), prompts(1), Sampling(seed=5)
    seeds = [11, 12, 13, 14]
    rows = made.rows.seeded(seeds)
    whole = generate(made.reader(rows, 4), ids.expand(4, -1), N, sampling, end=0)
    assert len(whole.tokens.unique(dim=0)) > 1
    for number, seed in enumerate(seeds):
        rows = made.rows.seeded([seed])
        alone = generate(made.reader(rows, 1), ids, N, sampling, end=0, first=number)
        length = alone.tokens.shape[1]
        assert torch.equal(alone.tokens[0], whole.tokens[number, :length])
        assert (whole.tokens[number, length:] == NOTHING).all()
        torch.testing.assert_close(
            alone.log_probabilities[0], whole.log_probabilities[number], rtol=1e-4, atol=1e-4
        )


def test_more_tokens_begin_with_the_same() -> None:
    short, long = (
        generate(ngram().reader(3), prompts(), most, Sampling(seed=1), end=-9).tokens
        for most in (4, N)
    )
    assert torch.equal(long[:, :4], short)


def test_the_end_is_the_last_token() -> None:
    made = ngram()
    found = generate(made.reader(40), prompts(40), 60, Sampling(seed=1), end=0)
    lengths = (found.tokens != NOTHING).sum(1)
    assert lengths.min() < lengths.max() == found.tokens.shape[1]
    for text, prompt, length, total in zip(
        found.tokens, prompts(40), lengths.tolist(), found.log_probabilities, strict=True
    ):
        assert (text[length:] == NOTHING).all()
        assert (text[: length - 1] != 0).all()
        assert text[length - 1] == 0 or length == 60
        whole = torch.cat([prompt, text[:length]])[None]
        logs = made.log_probabilities(whole)[0, 4:-1].double()
        own = logs.gather(1, text[:length, None]).sum()
        torch.testing.assert_close(total, own, rtol=1e-5, atol=1e-5)


def test_a_text_that_is_finished_goes_no_further() -> None:
    whole = generate(ngram().reader(3), prompts(), N, Sampling(seed=1), end=-9)
    cut = generate(
        ngram().reader(3), prompts(), N, Sampling(seed=1), end=-9, finished=lambda ids: 3 in ids
    ).tokens
    assert (cut == NOTHING).any()
    for before, after in zip(whole.tokens.tolist(), cut.tolist(), strict=True):
        kept = before.index(3) + 1 if 3 in before else N
        assert after == before[:kept] + [NOTHING] * (len(after) - kept)


def test_budgets_and_allowed_tokens() -> None:
    allowed = torch.arange(V) > 2
    found = generate(
        ngram().reader(3), prompts(), torch.tensor([1, 4, 2]), Sampling(seed=1), allowed=allowed
    ).tokens
    assert (found != NOTHING).sum(1).tolist() == [1, 4, 2]
    assert (found[found != NOTHING] > 2).all()


def test_probabilities_of_several_readers_are_added() -> None:
    rows = [model().rows.seeded([seed, seed + 1, seed + 2]) for seed in (1, 5)]
    both = summed([model().reader(each, 3) for each in rows])(prompts())
    each = torch.stack([read_anew(model(), prompts(), one).exp() for one in rows])
    torch.testing.assert_close(both.exp(), each.sum(0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("network", [*NETWORKS, "n-gram", "read again"])
def test_texts_fork_and_are_dropped(network: str) -> None:
    made = ngram() if network == "n-gram" else model(network)
    ids, rows = prompts(4, 11), model().rows.seeded([4] * 4)
    read = reader(made, rows, 4)
    if network == "read again":
        read = reading_again(lambda tokens: made.log_probabilities(tokens, rows))
    texts = ids[:, :5]
    logs = read(texts)
    for place, of in enumerate([[2, 0, 0, 3], [1, 1, 1, 1], [0, 1, 2, 3], [3, 2, 1, 0]], 5):
        new = ids[:, place : place + 1]
        texts = torch.cat([texts[of], new], dim=1)
        logs = read(new, torch.tensor(of))
        torch.testing.assert_close(logs, read_anew(made, texts, rows), rtol=1e-4, atol=1e-5)


def continuations(most: int, end: int) -> Iterator[tuple[int, ...]]:
    """All texts of up to `most` tokens: those that end, and those of `most`."""
    others = [token for token in range(V) if token != end]
    for length in range(most):
        for text in product(others, repeat=length):
            yield (*text, end)
    yield from product(others, repeat=most)


@pytest.mark.slow
@pytest.mark.parametrize("network", ["cache", "rotary", "elman", "neural-n-gram", "n-gram"])
def test_as_many_beams_as_continuations_find_the_best_of_all(network: str) -> None:
    made = ngram() if network == "n-gram" else model(network)
    most, end, prompt = 3, 2, prompts(1)
    every = list(continuations(most, end))
    rows = made.rows.seeded([9]) if isinstance(made, CausalLM) else Rows(torch.zeros(1, 1))
    expected = []
    for text in every:
        total = 0.0
        for place, token in enumerate(text):
            before = torch.cat([prompt, torch.tensor([text[:place]], dtype=torch.int64)], dim=1)
            total += read_anew(made, before, rows)[0, token].double().item()
        expected.append(total)
    assert sum(torch.tensor(expected).exp()) == pytest.approx(1.0, abs=1e-4)
    beams = len(every)
    same = made.rows.seeded([9] * beams) if isinstance(made, CausalLM) else rows
    found = beam_search(reader(made, same, beams), prompt[0], most, beams, end=end)
    texts = [tuple(token for token in line if token != NOTHING) for line in found.tokens.tolist()]
    assert sorted(texts) == sorted(every)
    totals = dict(zip(every, expected, strict=True))
    for text, total in zip(texts, found.log_probabilities.tolist(), strict=True):
        assert total == pytest.approx(totals[text], abs=1e-4)
    assert found.log_probabilities.diff().max() <= 0
    few = beam_search(reader(made, same, beams), prompt[0], most, beams, finished=lambda ids: True)
    assert few.tokens.shape == (V, 1)  # fewer texts than beams


@pytest.mark.parametrize("network", [*NETWORKS, "n-gram"])
def test_one_beam_is_greedy(network: str) -> None:
    made = ngram() if network == "n-gram" else model(network)
    for line in range(6):
        prompt, rows = prompts(6)[line], model().rows.seeded([line])
        options = {"end": 0, "finished": lambda ids: ids[-2:] == [3, 3]}
        greedy = generate(reader(made, rows, 1), prompt[None], N, **options)
        found = beam_search(reader(made, rows, 1), prompt, N, 1, **options)
        assert torch.equal(found.tokens, greedy.tokens)
        torch.testing.assert_close(found.log_probabilities, greedy.log_probabilities)


@pytest.mark.parametrize("beams", [2, 5])
def test_beams_are_the_best_of_each_step(beams: int) -> None:
    """The definition, each text read anew: those that have ended compete with those that go on."""
    made, prompt, end = ngram(), prompts(1)[0], 4
    kept: list[tuple[float, list[int]]] = [(0.0, [])]
    for _ in range(8):
        candidates = [each for each in kept if each[1][-1:] == [end]]
        for total, text in kept:
            if text[-1:] != [end]:
                tokens = torch.cat([prompt, torch.tensor(text, dtype=torch.int64)])[None]
                logs = made.log_probabilities(tokens)[0, -1].double().tolist()
                candidates += [(total + logs[token], [*text, token]) for token in range(V)]
        kept = sorted(candidates, key=lambda each: -each[0])[:beams]
    found = beam_search(made.reader(beams), prompt, 8, beams, end=end)
    assert any(text[-1] == end for _, text in kept)
    assert any(text[-1] != end for _, text in kept) or beams == 2
    assert found.log_probabilities.tolist() == pytest.approx([total for total, _ in kept], abs=1e-5)
    texts = [[token for token in line if token != NOTHING] for line in found.tokens.tolist()]
    assert texts == [text for _, text in kept]
