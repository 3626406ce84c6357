"""Sequences for language models: what a batch holds, and that it is a pure function of the step."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from logicgen.data.dataset import EncodedSplit, Ragged
from logicgen.model.sequences import (
    ExampleSequences,
    RowSequences,
    TextSequences,
    corpus_sequences,
    example_ids,
    example_tokens,
)
from logicgen.tokens import NOTHING, Vocabulary
from tests.data.corpora import automaton_recipe, opened, text_files, text_recipe

WHOLE = np.arange(100)
PARTS = [WHOLE[:30], WHOLE[30:31], WHOLE[31:33], WHOLE[33:]]
VOCABULARY = Vocabulary(["+"])


def text():
    return TextSequences(PARTS, 1000)


def rows():
    made = np.random.default_rng(0).integers(0, 6, (23, 8)).astype(np.uint8)
    return made, RowSequences([made[:10], made[10:11], made[11:]], 1000)


def ragged(lists):
    return Ragged(
        np.concatenate([*lists]).astype(np.int32), np.cumsum([0, *map(len, lists)], dtype=np.int64)
    )


def examples(count=21):
    rng = np.random.default_rng(1)
    lists = [
        [rng.integers(3, 9, rng.integers(1, 6)).tolist() for _ in range(count)] for _ in range(2)
    ]
    problems, answers = map(ragged, lists)
    symbols = np.ones(count, np.int32)
    split = EncodedSplit(VOCABULARY, problems, answers, symbols, problems.lengths, alphabet=5)
    return lists, ExampleSequences(split)


KINDS = [text, lambda: rows()[1], lambda: examples()[1]]


@pytest.mark.parametrize("context", [1, 2, 7, 40, 100])
def test_windows_are_slices_of_the_text(context):
    for start in range(100 - context + 1):
        window = text()._window(start, context)
        assert window.dtype == np.int64
        assert (window == WHOLE[start : start + context]).all()


def test_windows_begin_anywhere():
    tokens, targets = text().random(np.random.default_rng(0), 3_000, 9)
    assert (tokens[:, 1:] == targets).all()
    assert (np.diff(tokens) == 1).all()
    assert {*tokens[:, 0]} == {*range(92)}
    long, _ = text().random(np.random.default_rng(0), 2, 300)
    assert (long == WHOLE).all()


def test_windows_of_a_corpus_with_several_parts(tmp_path, monkeypatch):
    monkeypatch.setattr("logicgen.tasks.text.PART", 2_000)
    corpus = opened(text_recipe(text_files(tmp_path / "files")), tmp_path / "c")
    parts = corpus.arrays("train")
    assert len(parts) > 2
    whole, found = np.concatenate(parts), corpus_sequences(corpus, "train")
    assert len(found) == len(whole)
    start = len(parts[0]) - 5
    assert (found._window(start, 50) == whole[start : start + 50]).all()


@pytest.mark.parametrize(("count", "context"), [(3, 10), (100, 10), (4, 33), (1, 500)])
def test_spread_windows_have_nothing_in_common(count, context):
    tokens, _ = text().spread(count, context)
    assert len(tokens) == min(count, max(1, 100 // context))
    assert len({*tokens.flat}) == tokens.size


@pytest.mark.parametrize(("count", "context"), [(3, 10), (4, 7), (100, 33), (1, 500), (1, 1)])
def test_a_text_once(count, context):
    pieces = list(text().once(count, context))
    assert all(len(piece) <= count and piece.shape[1] <= context for piece in pieces)
    assert np.concatenate([piece.flatten() for piece in pieces]).tolist() == WHOLE.tolist()


def test_rows_are_cut_at_their_first_end():
    made, found = rows()
    assert len(found) == 23
    tokens, targets = found.spread(100, 8)
    assert tokens.shape == (23, 8)
    for row, line in zip(made.tolist(), tokens.tolist(), strict=True):
        kept = row.index(0) + 1 if 0 in row else 8
        assert line == row[:kept] + [NOTHING] * (8 - kept)
    assert (targets == tokens[:, 1:]).all()
    assert (found.spread(4, 3)[0] == tokens[:4, :3]).all()
    known = {tuple(line) for line in tokens.tolist()}
    drawn, _ = found.random(np.random.default_rng(0), 400, 8)
    assert {tuple(line) for line in drawn.tolist()} == known


def test_rows_and_examples_once():
    found = np.concatenate([*rows()[1].once(4, 8)])
    assert (found == rows()[1].spread(100, 8)[0]).all()
    (problems, answers), sequences = examples()
    lines = [line for piece in sequences.once(4, 99) for line in piece.tolist()]
    for problem, answer, line in zip(problems, answers, lines, strict=True):
        ids = example_ids(np.array([*problem, *answer])).tolist()
        assert line[: len(ids)] == ids
        assert {*line[len(ids) :]} <= {NOTHING}


def test_only_answers_are_learnt_or_everything():
    (problems, answers), sequences = examples()
    tokens, targets = sequences.spread(99, 99)
    assert targets.shape == (21, tokens.shape[1] - 1)
    for line in range(21):
        counted = np.flatnonzero(targets[line] != NOTHING)
        first = len(problems[line]) - 1  # what follows the last token of the problem
        assert counted.tolist() == [*range(first, first + len(answers[line]))]
        assert (targets[line, counted] == tokens[line, counted + 1]).all()
        learnt = targets[line, counted] + Vocabulary.end
        assert learnt.tolist() == [*answers[line]]
    everything = ExampleSequences(sequences._split, everything=True).spread(99, 99)[1]
    assert (everything == tokens[:, 1:]).all()
    short, cut = sequences.spread(3, 4)
    assert (short == tokens[:3, :4][:, : short.shape[1]]).all()
    assert cut.shape == (3, 3)


def test_examples_of_a_batch_have_about_one_length():
    _, sequences = examples(400)
    rng = np.random.default_rng(0)
    spans = []
    for _ in range(30):
        tokens, _ = sequences.random(rng, 8, 99)
        lengths = (tokens != NOTHING).sum(1)
        spans.append(lengths.max() - lengths.min())
    assert np.mean(spans) < 3.5  # of 9, were they any


def test_tokens_of_examples():
    tokens = example_tokens(VOCABULARY, 3)
    assert tokens.texts == ("<end>", "+", "a", "b", "c")
    ids = example_ids(np.array(VOCABULARY.encode("a + c")))
    assert tokens.decode(ids) == "a + c"


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_follows_from_its_step(kind):
    whole = list(islice(kind().batches(4, 6, seed=1, step=0), 6))
    again = list(islice(kind().batches(4, 6, seed=1, step=4), 2))
    for batch, other in zip(whole[4:], again, strict=True):
        assert batch.step == other.step
        assert batch.tokens.equal(other.tokens)
        assert batch.targets.equal(other.targets)
    other = next(kind().batches(4, 6, seed=2, step=0))
    assert not whole[0].tokens.equal(other.tokens)
    assert len({batch.tokens.numpy().tobytes() for batch in whole}) == 6


@pytest.mark.parametrize("kind", KINDS)
def test_fixed_batches_hold_what_is_spread(kind):
    tokens, targets = kind().spread(7, 6)
    batches = kind().fixed(7, 6, size=3)
    assert [len(batch.tokens) for batch in batches] == [3, 3, 1]
    assert (np.concatenate([batch.tokens for batch in batches]) == tokens).all()
    assert (np.concatenate([batch.targets for batch in batches]) == targets).all()


def test_a_corpus_of_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("logicgen.tasks.corpus_task.PART", 60)
    corpus = opened(automaton_recipe(), tmp_path / "c")
    found = corpus_sequences(corpus, "train")
    assert isinstance(found, RowSequences)
    assert len(corpus.arrays("train")) == 4
    first = np.concatenate(corpus.arrays("train"))[:, 0]
    assert (found.spread(40, 6)[0][:, 0] == first).all()


def test_problems_after_solved_problems():
    """`problem <end> answer <end>`, once for each; the answers and their ends are targets."""
    lists, without = examples()
    split, end = without._split, [Vocabulary.end]
    shots = ExampleSequences(split, ends=True, shots=3)
    pairs = {
        tuple(example_ids(np.array([*problem, *end, *answer, *end])).tolist())
        for problem, answer in zip(*lists, strict=True)
    }
    lengths = [len(p) + len(a) + 2 for p, a in zip(*lists, strict=True)]
    assert shots.longest == 4 * max(lengths)
    counts = set()
    for batch in islice(shots.batches(5, 999, 0, 0), 30):
        for ids, targets in zip(batch.tokens.tolist(), batch.targets.tolist(), strict=True):
            text = ids[: ids.index(NOTHING)] if NOTHING in ids else ids
            ends = [place + 1 for place, number in enumerate(text) if number == 0][1::2]
            pieces = [tuple(text[a:b]) for a, b in zip([0, *ends], ends, strict=False)]
            assert ends[-1] == len(text)
            assert set(pieces) <= pairs
            counts.add(len(pieces))
            wanted = [NOTHING] * (len(ids) - 1)
            for first, after in zip([0, *ends], ends, strict=False):
                answer = text.index(0, first) + 1
                wanted[answer - 1 : after - 1] = text[answer:after]
            assert targets == wanted
    assert counts == {1, 2, 3, 4}
    fixed = shots.spread(5, 999)[0]
    assert [(row == 0).sum() for row in fixed] == [8] * 5  # all shots in a validation
