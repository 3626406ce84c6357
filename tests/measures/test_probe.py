"""Keys of ciphers, asked of a stand-in that knows them, and of a model that does not."""

from __future__ import annotations

import signal

import numpy as np
import pytest
import torch

from logicgen.data.corpus import Ciphers
from logicgen.errors import LogicgenError
from logicgen.measures import keys
from logicgen.measures.probe import ProbeLearner, ProbeSettings, check_fits, probes_of, train_probes
from tests.cipher_models import LENGTH, TEST, knowing, made, small
from tests.languages import language_model


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return made(tmp_path_factory.mktemp("cipher") / "cipher")


def found_keys(model, probes, ciphers, window):
    """Return the keys that probes find in all rows, by layer."""
    return keys.measure_keys(model, probes, ciphers, np.arange(len(ciphers)), LENGTH, window)


def test_rows_are_what_the_text_says(corpus):
    ciphers = Ciphers(corpus, "test")
    assert (len(ciphers), ciphers.length) == (TEST, LENGTH)
    tokens, plain = ciphers.rows(np.array([3, 0]), 20)
    key, row = corpus.arrays("test", "keys")[0][3], corpus.arrays("test")[0][3]
    assert tokens.shape == (2, 20)
    assert (tokens[0] == row[:20]).all()
    assert key[plain[0]].tolist() == tokens[0].tolist()


def test_a_probe_learns_what_features_say(corpus):
    model, settings = (
        knowing(corpus, noise=1.0),
        ProbeSettings(60, 64, batch_size=8, learning_rate=0.01),
    )
    done = []
    probes, losses = train_probes(
        model, Ciphers(corpus, "train"), settings, LENGTH, lambda *at: done.append(at)
    )
    assert done[-1] == (60, 60)
    assert losses[2] < 1.5  # of log(60) = 4.1
    assert losses[1] > 2.5  # that layer says nothing
    found = found_keys(model, probes, Ciphers(corpus, "test"), 20)
    assert max(each.precision for each in found[1].windows) < 0.2
    windows, example, guesses = found[2].windows, found[2].example, found[2].guesses
    # Of a context that windows do not divide, the last whole one counts.
    assert [keys._last(context, 20) for context in (59, 60)] == [slice(20, 40), slice(40, 60)]
    occurring = guesses.sum(axis=1) > 0
    assert guesses.sum(axis=1)[occurring] == pytest.approx(1, abs=1e-5)
    assert np.diag(guesses)[occurring].mean() > 0.3 > found[1].guesses[occurring].max(axis=1).mean()
    assert len(windows) == 3
    assert all(each.precision > 0.7 and each.occurrence > 0.7 for each in windows)
    assert windows[-1].so_far > windows[-1].precision
    assert example.probabilities.shape == (LENGTH, len(corpus.tokens))
    assert example.probabilities.sum(axis=1) == pytest.approx(1, abs=1e-5)


def test_features_that_say_nothing_give_no_keys(corpus):
    """A probe does not learn rows by heart: their embeddings are drawn anew at every step."""
    model = language_model(small(), corpus.tokens, "text").eval()
    probes, _ = train_probes(model, Ciphers(corpus, "train"), ProbeSettings(steps=40), LENGTH)
    found = found_keys(model, probes, Ciphers(corpus, "test"), 20)
    assert max(each.precision for layer in found.values() for each in layer.windows) < 0.2


class Plain(Ciphers):
    """The same rows without a cipher."""

    def rows(self, numbers, length):
        _, plain = super().rows(numbers, length)
        return plain, plain


def test_stable_embeddings_say_which_token_was_read_and_nothing_of_a_cipher(corpus):
    model = language_model(small(method="learned"), corpus.tokens, "text").eval()
    found = []
    for kind in (Plain, Ciphers):
        settings = ProbeSettings(60, 64, layer=2, batch_size=8, learning_rate=0.01)
        probes, _ = train_probes(model, kind(corpus, "train"), settings, LENGTH)
        layers = found_keys(model, probes, kind(corpus, "test"), 60)
        found.append(layers[2].windows[0].precision)
    assert found[0] > 0.9
    assert found[1] < 0.2


def test_the_same_seed_gives_the_same_numbers(corpus):
    model, ciphers = knowing(corpus, noise=1.0), Ciphers(corpus, "train")
    found = []
    for seed, noise in ((0, 1), (0, 2), (1, 3)):
        torch.manual_seed(noise)  # nothing comes from the global generator
        state = torch.random.get_rng_state()
        probes, losses = train_probes(model, ciphers, ProbeSettings(3, 8, seed=seed), LENGTH)
        assert torch.equal(torch.random.get_rng_state(), state)
        found.append((losses, probes[2](torch.ones(1, 32)).tolist()))
    assert found[0] == found[1] != found[2]


def test_what_is_drawn_for_a_row_does_not_depend_on_others(corpus, monkeypatch):
    model, ciphers = language_model(small(), corpus.tokens, "text").eval(), Ciphers(corpus, "test")
    probes, _ = train_probes(model, Ciphers(corpus, "train"), ProbeSettings(1, 8), LENGTH)
    whole = found_keys(model, probes, ciphers, 30)
    monkeypatch.setattr(keys, "AT_A_TIME", 7 * LENGTH)
    pieces = found_keys(model, probes, ciphers, 30)
    assert whole.keys() == pieces.keys() == probes.keys()
    assert all(whole[layer].windows == pieces[layer].windows for layer in probes)


def test_matrices_are_means_of_guesses_after_some_tokens(corpus, monkeypatch):
    """Sum the probabilities by hand, row by row and token by token."""
    monkeypatch.setattr(keys, "AT_A_TIME", 7 * LENGTH)
    model, ciphers = language_model(small(), corpus.tokens, "text").eval(), Ciphers(corpus, "test")
    probes, _ = train_probes(model, Ciphers(corpus, "train"), ProbeSettings(1, 8), LENGTH)
    numbers, width, after = np.arange(len(ciphers)), 20, [0, 5, 40]
    layers = keys.measure_keys(model, probes, ciphers, numbers, LENGTH, width, after)
    tokens, plain = ciphers.rows(numbers, LENGTH)
    states = model.hidden_states(tokens, numbers.tolist())
    for layer, found in layers.items():
        with torch.no_grad():
            likely = probes[layer](states[layer - 1]).softmax(-1).numpy()
        assert list(found.matrices) == after
        assert (found.matrices[40] == found.guesses).all()  # the last window
        for before, matrix in found.matrices.items():
            guesses = {symbol: [] for symbol in range(len(corpus.tokens))}
            for row in range(len(tokens)):
                for place in range(before, before + width):
                    guesses[int(plain[row, place])].append(likely[row, place])
            for symbol, given in guesses.items():
                counts = given and symbol >= ciphers.staying
                mean = np.mean(given, axis=0) if counts else np.zeros(len(corpus.tokens))
                assert matrix[symbol] == pytest.approx(mean, abs=1e-5)


@pytest.mark.parametrize(
    ("matrices", "said"),
    [
        ([41], "matrices 41: after these tokens a window of 20 ends beyond the 60 .* at most 40"),
        ([5, 5], r"matrices \[5, 5\]: give increasing numbers of at least 0"),
        ([9, 5], "give increasing numbers"),
        ([-1, 5], "of at least 0"),
    ],
)
def test_places_without_a_window_are_refused(matrices, said):
    keys.check_matrices([0, 5, 40], 20, 60)
    with pytest.raises(LogicgenError, match=said):
        keys.check_matrices(matrices, 20, 60)


def test_hidden_states_of_each_layer(corpus):
    model = language_model(small(), corpus.tokens, "text").eval()
    tokens = np.arange(10)[None]
    first, second = model.hidden_states(tokens, [0])
    rows = model.network.rows.seeded([0])
    with torch.no_grad():
        features = model.network.features(rows, torch.from_numpy(tokens))
    torch.testing.assert_close(second, features)
    assert not torch.allclose(first, second)
    assert not second.requires_grad
    with pytest.raises(LogicgenError, match="has layers 1 to 2"):
        check_fits(model, corpus, "it", 3)


def test_a_probe_learns_from_the_last_positions_alone(corpus):
    """What is asked of others makes no difference."""
    ciphers = Ciphers(corpus, "train")

    class Spoilt(Ciphers):
        def rows(self, numbers, length):
            tokens, plain = super().rows(numbers, length)
            plain[:, :-10] = np.roll(plain[:, :-10], 1, axis=1)
            return tokens, plain

    model, settings = knowing(corpus, noise=1.0), ProbeSettings(3, 8, layer=2, last=10)
    model.network.each_layer = lambda rows, tokens: [torch.ones(len(tokens), LENGTH, 32)] * 2
    found = [
        train_probes(model, each, settings, LENGTH) for each in (ciphers, Spoilt(corpus, "train"))
    ]
    assert found[0][1] == found[1][1]


def test_ctrl_c_while_a_probe_is_trained_leaves_none(corpus, tmp_path, monkeypatch):
    """And is passed on: the command ends with status 130, as any other."""

    def loss(self, *arguments):
        signal.raise_signal(signal.SIGINT)
        return original(self, *arguments)

    original = ProbeLearner.loss
    monkeypatch.setattr(ProbeLearner, "loss", loss)
    model = language_model(small(), corpus.tokens, "text").eval()
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        probes_of(model, "0", "it", corpus, tmp_path, ProbeSettings(steps=40), LENGTH)
    assert not list(tmp_path.iterdir())
    assert signal.getsignal(signal.SIGINT) is handler
