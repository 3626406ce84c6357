"""`logicgen measure probe`: its files, probes that are used again, what is refused."""

from __future__ import annotations

import csv
import json
import math
import os

import numpy as np
import pytest
from click.testing import CliRunner

from logicgen.cli.group import group
from logicgen.data.corpus import Ciphers, Corpus, make_corpus
from logicgen.data.recipe import CorpusRecipe
from logicgen.errors import LogicgenError
from logicgen.measures import keys, keys_figures
from logicgen.measures.key_matrices import draw_matrices, readable
from logicgen.measures.probe import ProbeSettings, check_fits, probes_of, train_probes
from logicgen.model.checkpoint import weights_digest
from logicgen.tokens import Tokens
from tests.cipher_models import LENGTH, TEST, TEXT, TRAIN, knowing, made, saved, small
from tests.languages import language_model


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return made(tmp_path_factory.mktemp("cipher") / "cipher")


@pytest.fixture
def run(tmp_path, corpus):
    (tmp_path / "run").mkdir()
    saved(tmp_path / "run", corpus)
    return tmp_path / "run"


@pytest.fixture
def undrawn(monkeypatch):
    """Without figures, which take the longest."""
    for name in [name for name in dir(keys_figures) if name.startswith("draw_")]:
        monkeypatch.setattr(keys_figures, name, lambda *arguments: None)


def probed(run, corpus, out, *options):
    arguments = ["measure", "probe", run, "--data", corpus.folder, "-o", out, "--device", "cpu"]
    arguments += ["--window", 20, "--steps", 3, "--hidden", 8, "--limit", 5, *options]
    result = CliRunner().invoke(group, [str(each) for each in arguments])
    if result.exception is not None:
        raise result.exception
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
    others = {"probe.safetensors", "probe.json", "windows.csv", "summary.json", "report.html"}
    assert {path.name for path in out.iterdir()} == figures | others


def test_matrices_side_by_side(run, corpus, tmp_path, undrawn, monkeypatch):
    monkeypatch.setattr(keys_figures, "draw_matrices", draw_matrices)
    out = tmp_path / "out"
    probed(run, corpus, out, "--matrices", "0,5,40", "--layer", 2)
    numbers = json.loads((out / "matrices.json").read_text())
    assert (numbers["after"], numbers["window"]) == ([0, 5, 40], 20)
    _, plain = Ciphers(corpus, "test").rows(np.arange(5), LENGTH)
    met = sorted({*plain[:, :25].ravel(), *plain[:, 40:].ravel()} - {0, 1})
    assert numbers["symbols"] == [corpus.tokens.texts[each] for each in met]
    shares = np.array(numbers["probabilities"])
    assert shares.shape == (3, len(met), len(met))
    for place, before in enumerate(numbers["after"]):
        there = np.isin(met, plain[:, before : before + 20])
        assert (shares[place].sum(axis=1) > 0).tolist() == there.tolist()
    assert {"matrices.png", "matrices.svg"} <= {*os.listdir(out)}
    drawn = draw_matrices(numbers, "title")
    titles = [axes.get_title() for axes in drawn.axes[:3]]
    assert titles == [f"after {number} characters" for number in (0, 5, 40)]
    for axes, matrix in zip(drawn.axes, shares, strict=False):
        assert (axes.images[0].get_array() == matrix).all()


@pytest.mark.parametrize("given", ["0,x", "-1", "0,,5", "0.5", "", "1" * 5000, "5,0", "0,41"])
def test_wrong_matrices_are_an_error_of_one_line(run, corpus, tmp_path, given):
    with pytest.raises(LogicgenError, match="matrices") as refused:
        probed(run, corpus, tmp_path / "out", f"--matrices={given}")
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_cipher_that_is_not_one_to_one_can_be_probed(run, tmp_path):
    """It has no key to be drawn, and places are right or wrong as in any cipher."""
    content = {"length": LENGTH, "train": TRAIN, "test": TEST, "text": TEXT, "one_to_one": False}
    make_corpus(CorpusRecipe(task="cipher", corpus=content), tmp_path / "c", name="c")
    corpus, out = Corpus(tmp_path / "c"), tmp_path / "out"
    probed(run, corpus, out)
    assert (out / "precision.png").is_file()
    assert not {"key.png", "key-so-far.png", "occurrences.png"} & {*os.listdir(out)}
    # A stand-in that knows the text behind each row is right at each place.
    model = knowing(corpus, noise=0.1)
    settings = ProbeSettings(60, 64, batch_size=8, learning_rate=0.01)
    probes, _ = train_probes(model, Ciphers(corpus, "train"), settings, LENGTH)
    numbers = np.arange(TEST)
    found = keys.measure_keys(model, probes, Ciphers(corpus, "test"), numbers, LENGTH, LENGTH)[2]
    assert found.windows[0].occurrence > 0.8
    assert found.example.meant is None


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
    for option, value, said in [
        ("--window", 61, "window 61: only 60 tokens of a row are read"),
        ("--last", 61, "last 61: 60 tokens of a row are read"),
        ("--context", 61, "context 61: the rows have 60 tokens"),
        ("--split", "validation", "split 'validation' is empty"),
        ("--split", "tset", "did you mean test"),
    ]:
        with pytest.raises(LogicgenError, match=said):
            probed(run, corpus, tmp_path / "out", option, value)
    assert not (tmp_path / "out").exists()
    fewer = language_model(small(), Tokens("names", ["<end>", "a"]), "automaton")
    with pytest.raises(LogicgenError, match=r"the 2 tokens of .* are not the 60 of "):
        check_fits(fewer, corpus, "it")
    counts = language_model(small({"kind": "n-gram", "order": 2}), corpus.tokens, "text")
    with pytest.raises(LogicgenError, match="it is an n-gram, which has no hidden states"):
        check_fits(counts, corpus, "it")
    elman = language_model(
        small({"kind": "language-model", "architecture": "elman", "width": 16, "layers": 1}),
        corpus.tokens,
        "text",
    )
    check_fits(elman, corpus, "it")
    assert elman.eval().hidden_states(np.arange(4)[None], [0])[0].shape == (1, 4, 16)
    with pytest.raises(LogicgenError, match="it is recurrent: leave it out"):
        check_fits(elman, corpus, "it", 1)
    network = {"architecture": "neural-n-gram", "order": 3, "width": 8, "feed_forward": 16}
    trigram = language_model(
        small({"kind": "language-model", **network}), corpus.tokens, "text"
    ).eval()
    check_fits(trigram, corpus, "it")
    assert trigram.hidden_states(np.arange(4)[None], [0])[0].shape == (1, 4, 8)
    with pytest.raises(LogicgenError, match="it is a neural n-gram model: leave it out"):
        check_fits(trigram, corpus, "it", 1)


def test_labels_can_be_read():
    shown = {" ": "␣", "\n": r"\n", "a": "a", "$": r"\$", "‘": "‘", "字": r"\u5b57"}
    assert {text: readable(text) for text in shown} == shown


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
