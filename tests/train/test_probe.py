"""Keys of ciphers, asked of a stand-in that knows them, and of a model that does not."""

from __future__ import annotations

import csv
import json
import math
import signal
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from torch import nn

from logicgen.cli.group import group
from logicgen.data.ciphers import Ciphers
from logicgen.data.corpus import Corpus, make_corpus
from logicgen.data.data_recipe import CorpusRecipe
from logicgen.errors import LogicgenError
from logicgen.evaluate import keys
from logicgen.model.checkpoint import save_model, weights_digest
from logicgen.model.model_recipe import ModelRecipe
from logicgen.report import key_files
from logicgen.report.key_figures import readable
from logicgen.tokens import Tokens
from logicgen.train.probe import (
    ProbeLearner,
    ProbeSettings,
    check_fits,
    probes_of,
    train_probes,
)
from tests.languages import language_model

TEXT = {"source": "python-topics", "vocabulary": 60}
LENGTH, TRAIN, TEST = 60, 80, 30


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cipher") / "cipher"
    content = {"length": LENGTH, "train": TRAIN, "test": TEST, "text": TEXT}
    make_corpus(CorpusRecipe(task="cipher", corpus=content), folder, name="cipher")
    return Corpus(folder)


def small(network=None, method="lexinvariant"):
    """A recipe of a small language model."""
    table = {"kind": "transformer", "width": 16, "heads": 2, "layers": 2, "feed_forward": 16}
    training = {"steps": 1, "batch_size": 1, "context": 60, "learning_rate": 1e-3}
    training |= {"warmup_steps": 0, "schedule": "constant"}
    tables = {"embedding": {"method": method}, "training": training}
    if network and network["kind"] == "n-gram":
        tables = {}
    return ModelRecipe.model_validate({"network": network or table, **tables})


def saved(run, corpus, seed=0):
    """A run with a model that was never trained."""
    torch.manual_seed(seed)
    model = language_model(small(), corpus.tokens, "text").eval()
    save_model(model, run, steps=0, fingerprint="0" * 16)
    return model


@pytest.fixture
def run(tmp_path, corpus):
    (tmp_path / "run").mkdir()
    saved(tmp_path / "run", corpus)
    return tmp_path / "run"


class Knowing(nn.Module):
    """Stands in for a network: knows what stands behind the first rows, but not by its embedding.

    Features are a direction for each plain symbol, and noise by the seeds of the embedding.
    """

    def __init__(self, corpus, noise, width=32):
        super().__init__()
        self.plain, self.noise = {}, noise
        for split, rows in (("train", TRAIN), ("test", TEST)):
            tokens, plain = Ciphers(corpus, split).rows(np.arange(rows), LENGTH)
            self.plain |= dict(zip(map(tuple, tokens.tolist()), plain, strict=True))
        generator = torch.Generator().manual_seed(0)
        self.directions = torch.randn(len(corpus.tokens), width, generator=generator)
        self.scale = torch.ones(width)
        self.rows = SimpleNamespace(seeded=lambda seeds: seeds)

    def each_layer(self, seeds, tokens):
        plain = np.stack([self.plain[tuple(row)] for row in tokens.tolist()])
        shape = (LENGTH, self.directions.shape[1])
        noise = [torch.randn(shape, generator=torch.Generator().manual_seed(s)) for s in seeds]
        known = self.directions[torch.from_numpy(plain)] + self.noise * torch.stack(noise)
        return [torch.zeros_like(known), known]


def knowing(corpus, noise):
    model = language_model(small(), corpus.tokens, "text").eval()
    model.network = Knowing(corpus, noise)
    model.register_buffer("place", torch.zeros(1))
    return model


def test_rows_are_what_the_text_says(corpus):
    ciphers = Ciphers(corpus, "test")
    assert (len(ciphers), ciphers.length) == (TEST, LENGTH)
    tokens, plain = ciphers.rows(np.array([3, 0]), 20)
    key, row = corpus.arrays("test", "keys")[0][3], corpus.arrays("test")[0][3]
    assert tokens.shape == (2, 20)
    assert (tokens[0] == row[:20]).all()
    assert key[plain[0]].tolist() == tokens[0].tolist()


def test_majority_and_precision_are_those_of_counting():
    rng = np.random.default_rng(0)
    count, width = 7, 6
    tokens, predicted = rng.integers(count, size=(2, 40, 20))
    meant = np.stack([rng.permutation(count) for _ in range(40)])
    meant = np.where(rng.random((40, 1)) < 0.5, np.arange(count), meant)
    predicted = np.where(
        rng.random(predicted.shape) < 0.6, np.take_along_axis(meant, tokens, 1), predicted
    )
    plain = np.take_along_axis(meant, tokens, axis=1)
    found = keys.windows_of(tokens, predicted, plain, width)
    assert [(each.window, each.first, each.last) for each in found] == [
        (1, 0, 5),
        (2, 6, 11),
        (3, 12, 17),  # 18 and 19 are no whole window
    ]
    for number, window in enumerate(found):
        for begin, share in ((number * width, window.precision), (0, window.so_far)):
            end, right, symbols = (number + 1) * width, 0, 0
            for cipher, said, key in zip(tokens.tolist(), predicted.tolist(), meant, strict=True):
                for symbol in set(cipher[number * width : end]) - {0, 1}:
                    places = [place for place in range(begin, end) if cipher[place] == symbol]
                    votes = Counter(said[place] for place in places)
                    winner = max(range(count), key=lambda plain: (votes[plain], -plain))
                    right, symbols = right + (winner == key[symbol]), symbols + 1
            assert (share, window.symbols) == (pytest.approx(right / symbols), symbols)
        assert window.low < window.precision < window.high
        assert window.so_far_low < window.so_far < window.so_far_high
        here = [
            said == key[cipher]
            for ciphers, saids, key in zip(tokens.tolist(), predicted.tolist(), meant, strict=True)
            for cipher, said in zip(ciphers[:end][-width:], saids[:end][-width:], strict=True)
            if cipher > 1
        ]
        assert window.occurrence == pytest.approx(sum(here) / len(here))
        assert window.occurrences == len(here)


def test_of_equally_many_votes_the_smaller_id_wins():
    tokens = np.array([[5, 5, 5, 5, 3, 3]])
    for said in ([4, 2, 2, 4, 6, 3], [2, 4, 4, 2, 3, 6]):
        _, symbols, plain = keys.majority(tokens, np.array([said]), 7)
        assert dict(zip(symbols.tolist(), plain.tolist(), strict=True)) == {5: 2, 3: 3}


def test_windows_without_symbols_are_left_out_and_intervals_count_rows():
    tokens = np.array([[0, 1, 2, 3, 2, 3]] * 20)
    (second, third) = keys.windows_of(tokens, tokens, tokens, 2)
    assert (second.window, third.window) == (2, 3)
    # All of 40 symbols are right, but they are those of 20 rows.
    assert (second.precision, second.high) == (1, 1)
    assert second.low == pytest.approx(0.8389, abs=1e-4)
    # Symbols that are always right or wrong together say as much as rows do.
    spoilt = tokens.copy()
    spoilt[:8] = 0
    (window, _) = keys.windows_of(tokens, spoilt, tokens, 2)
    assert window.precision == pytest.approx(0.6)
    assert window.low == pytest.approx(0.387, abs=0.01)


def test_right_is_the_most_frequent_meaning_where_a_symbol_has_several():
    tokens = np.array([[2, 2, 2, 3, 3, 2]])
    plain = np.array([[4, 4, 5, 5, 2, 5]])
    (window,) = keys.windows_of(tokens, np.array([[4, 4, 4, 2, 2, 4]]), plain, 6)
    # 2 stands for 4 and for 5 twice, and for the smaller id then; 3 likewise for 2.
    assert (window.precision, window.symbols) == (1, 2)
    assert (window.occurrence, window.occurrences) == (3 / 6, 6)
    (window,) = keys.windows_of(tokens, np.full((1, 6), 5), plain, 6)
    assert (window.precision, window.occurrence) == (0, 3 / 6)


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
    found, rows, examples, confusions = keys.measure_keys(
        model, probes, Ciphers(corpus, "test"), context=LENGTH, window=20
    )
    assert max(each.precision for each in found[1]) < 0.2
    windows, example = found[2], examples[2]
    # Of a context that windows do not divide, the last whole one counts.
    assert [keys._last(context, 20) for context in (59, 60)] == [slice(20, 40), slice(40, 60)]
    guesses = confusions[2]
    occurring = guesses.sum(axis=1) > 0
    assert guesses.sum(axis=1)[occurring] == pytest.approx(1, abs=1e-5)
    assert np.diag(guesses)[occurring].mean() > 0.3 > confusions[1][occurring].max(axis=1).mean()
    assert (rows, len(windows)) == (TEST, 3)
    assert all(each.precision > 0.7 and each.occurrence > 0.7 for each in windows)
    assert windows[-1].so_far > windows[-1].precision
    assert example.probabilities.shape == (LENGTH, len(corpus.tokens))
    assert example.probabilities.sum(axis=1) == pytest.approx(1, abs=1e-5)


def test_features_that_say_nothing_give_no_keys(corpus):
    """A probe does not learn rows by heart: their embeddings are drawn anew at every step."""
    model = language_model(small(), corpus.tokens, "text").eval()
    probes, _ = train_probes(model, Ciphers(corpus, "train"), ProbeSettings(steps=40), LENGTH)
    ciphers = Ciphers(corpus, "test")
    found, *_ = keys.measure_keys(model, probes, ciphers, context=LENGTH, window=20)
    assert max(each.precision for windows in found.values() for each in windows) < 0.2


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
        rows = kind(corpus, "test")
        layers, *_ = keys.measure_keys(model, probes, rows, context=LENGTH, window=60)
        found.append(layers[2][0].precision)
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
    whole = keys.measure_keys(model, probes, ciphers, context=LENGTH, window=30)
    monkeypatch.setattr(keys, "AT_A_TIME", 7 * LENGTH)
    pieces = keys.measure_keys(model, probes, ciphers, context=LENGTH, window=30)
    assert whole[:2] == pieces[:2]


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


@pytest.fixture
def undrawn(monkeypatch):
    """Without figures, which take the longest."""
    for name in [name for name in dir(key_files) if name.startswith("draw_")]:
        monkeypatch.setattr(key_files, name, lambda *arguments: None)


def probed(run, corpus, out, *options):
    arguments = ["probe", run, "--data", corpus.folder, "-o", out, "--device", "cpu"]
    arguments += ["--window", 20, "--steps", 3, "--hidden", 8, "--limit", 5, *options]
    result = CliRunner().invoke(group, [str(each) for each in arguments])
    if isinstance(result.exception, LogicgenError):
        raise result.exception
    assert result.exception is None, result.exception
    return result.output


def test_the_command_and_its_files(run, corpus, tmp_path):
    out = tmp_path / "out"
    said = probed(run, corpus, out)
    every = list(csv.DictReader((out / "windows.csv").open()))
    lines = [line for line in every if line["by"] == "probe"]
    layers = {"probe of layer 1", "probe of layer 2"}
    assert {line["by"] for line in every} == {"probe", *layers, "most frequent", "frequencies"}
    assert f"layer {json.loads((out / 'summary.json').read_text())['layer']}; last window" in said
    assert "control, frequencies: " in said
    assert [(line["window"], line["first"], line["last"]) for line in lines] == [
        ("1", "0", "19"),
        ("2", "20", "39"),
        ("3", "40", "59"),
    ]
    for line in lines:
        assert 0 <= float(line["low"]) <= float(line["precision"]) <= float(line["high"]) <= 1
        assert f"{float(line['precision']):.1%}" in said
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["rows"], summary["window"], summary["split"]) == (5, 20, "test")
    assert summary["last"]["symbols"] == int(lines[-1]["symbols"])
    assert summary["controls"]["frequencies"]["symbols"] == summary["last"]["symbols"]
    assert summary["probe"] == json.loads((out / "probe.json").read_text())
    assert summary["probe"]["model"] == weights_digest(run)
    names = ("precision", "key", "key-so-far", "guesses", "occurrences")
    figures = {f"{name}.{kind}" for name in names for kind in ("png", "svg")}
    others = {"probe.safetensors", "probe.json", "windows.csv", "summary.json"}
    assert {path.name for path in out.iterdir()} == figures | others


def test_a_cipher_that_is_not_one_to_one_can_be_probed(run, tmp_path):
    """It has no key to be drawn, and places are right or wrong as in any cipher."""
    content = {"length": LENGTH, "train": TRAIN, "test": TEST, "text": TEXT, "one_to_one": False}
    make_corpus(CorpusRecipe(task="cipher", corpus=content), tmp_path / "c", name="c")
    corpus, out = Corpus(tmp_path / "c"), tmp_path / "out"
    probed(run, corpus, out)
    assert (out / "precision.png").is_file()
    assert not (out / "key.png").exists()
    assert not (out / "key-so-far.png").exists()
    assert not (out / "occurrences.png").exists()
    # A stand-in that knows the text behind each row is right at each place.
    model = knowing(corpus, noise=0.1)
    settings = ProbeSettings(60, 64, batch_size=8, learning_rate=0.01)
    probes, _ = train_probes(model, Ciphers(corpus, "train"), settings, LENGTH)
    layers, _, rows, _ = keys.measure_keys(
        model, probes, Ciphers(corpus, "test"), context=LENGTH, window=60
    )
    assert layers[2][0].occurrence > 0.8
    assert rows[2].meant is None


def test_a_probe_is_used_again(run, corpus, tmp_path, undrawn):
    out = tmp_path / "out"
    first = probed(run, corpus, out)
    weights = out / "probe.safetensors"
    before = weights.stat().st_mtime_ns, (out / "windows.csv").read_bytes()
    assert "steps of the probe" in first
    again = probed(run, corpus, out)
    assert "steps of the probe" not in again
    assert (weights.stat().st_mtime_ns, (out / "windows.csv").read_bytes()) == before
    probed(run, corpus, out, "--window", 30)  # another measure, the same probe
    assert weights.stat().st_mtime_ns == before[0]
    with pytest.raises(LogicgenError, match=r"with hidden 8, not 16: choose another folder"):
        probed(run, corpus, out, "--hidden", 16)
    weights.write_bytes(weights.read_bytes()[:-9])
    with pytest.raises(LogicgenError, match=r"damaged: delete .*probe\.json to train it again"):
        probed(run, corpus, out)
    (out / "probe.json").write_text("[]")
    with pytest.raises(LogicgenError, match=r"probe\.json: damaged"):
        probed(run, corpus, out)


def test_a_probe_of_another_model_is_refused(run, corpus, tmp_path, undrawn):
    probed(run, corpus, tmp_path / "out")
    other = tmp_path / "other"
    other.mkdir()
    saved(other, corpus, seed=1)
    ours, theirs = weights_digest(other)[:12], weights_digest(run)[:12]
    with pytest.raises(LogicgenError) as refused:
        probed(other, corpus, tmp_path / "out")
    message = str(refused.value)
    assert f"a probe of run ({theirs}), not of other ({ours}): choose another folder" in message
    assert "\n" not in message


def test_what_cannot_be_probed(run, corpus, tmp_path):
    folder = tmp_path / "text"
    make_corpus(CorpusRecipe(task="text", corpus=TEXT), folder, name="text")
    with pytest.raises(LogicgenError, match="a corpus of text has no keys: give one of the task"):
        probed(run, Corpus(folder), tmp_path / "out")
    with pytest.raises(LogicgenError, match="window 61: only 60 tokens of a row are read"):
        probed(run, corpus, tmp_path / "out", "--window", 61)
    with pytest.raises(LogicgenError, match="last 61: 60 tokens of a row are read"):
        probed(run, corpus, tmp_path / "out", "--last", 61)
    with pytest.raises(LogicgenError, match="context 61: the rows have 60 tokens"):
        probed(run, corpus, tmp_path / "out", "--context", 61)
    with pytest.raises(LogicgenError, match="split 'validation' is empty"):
        probed(run, corpus, tmp_path / "out", "--split", "validation")
    with pytest.raises(LogicgenError, match="did you mean test"):
        probed(run, corpus, tmp_path / "out", "--split", "tset")
    assert not (tmp_path / "out").exists()
    fewer = language_model(small(), Tokens("names", ["<end>", "a"]), "automaton")
    with pytest.raises(LogicgenError, match=r"2 tokens of automaton, and .* has 60 others"):
        check_fits(fewer, corpus, "it")
    counts = language_model(small({"kind": "n-gram", "order": 2}), corpus.tokens, "text")
    with pytest.raises(LogicgenError, match="it is an n-gram, which has no hidden states"):
        check_fits(counts, corpus, "it")
    elman = language_model(
        small({"kind": "elman", "width": 16, "layers": 1}), corpus.tokens, "text"
    )
    check_fits(elman, corpus, "it")
    assert elman.eval().hidden_states(np.arange(4)[None], [0])[0].shape == (1, 4, 16)
    with pytest.raises(LogicgenError, match="it is recurrent: leave it out"):
        check_fits(elman, corpus, "it", 1)
    network = {"architecture": "n-gram", "order": 3, "width": 8, "feed_forward": 16}
    trigram = language_model(
        small({"kind": "language-model", **network}), corpus.tokens, "text"
    ).eval()
    check_fits(trigram, corpus, "it")
    assert trigram.hidden_states(np.arange(4)[None], [0])[0].shape == (1, 4, 8)
    with pytest.raises(LogicgenError, match="it is a neural n-gram model: leave it out"):
        check_fits(trigram, corpus, "it", 1)


def test_labels_can_be_read():
    assert [readable(text) for text in (" ", "\n", "a", "$", "‘", "字")] == [
        "␣",
        r"\n",
        "a",
        r"\$",
        "‘",
        r"\u5b57",
    ]


def test_a_row_of_one_window_and_one_row(run, corpus, tmp_path, undrawn):
    """The least that can be measured says how little it is."""
    out = tmp_path / "out"
    probed(run, corpus, out, "--window", LENGTH, "--limit", 1)
    line, *controls = csv.DictReader((out / "windows.csv").open())
    assert [each["by"] for each in controls[-2:]] == ["most frequent", "frequencies"]
    assert float(line["high"]) - float(line["low"]) > 0.5
    assert not math.isnan(float(line["so_far"]))
    model = saved(run, corpus)
    with pytest.raises(LogicgenError, match="a probe of this model with context 60, not 40"):
        probes_of(model, weights_digest(run), "run", corpus, out, ProbeSettings(3, 8), 40)


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
