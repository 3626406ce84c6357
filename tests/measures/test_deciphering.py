"""Reading a text in an unknown cipher."""

from __future__ import annotations

import csv
import dataclasses

import numpy as np
import pytest
from click.testing import CliRunner

from logicgen.cli.group import group
from logicgen.data.corpus import Ciphers
from logicgen.errors import LogicgenError
from logicgen.measures import deciphering
from logicgen.measures.deciphering import DecipheredText, decipher, deciphered_lines
from logicgen.measures.probe import ProbeSettings
from logicgen.model.checkpoint import load_model
from logicgen.tokens import Tokens
from tests.cipher_models import LENGTH, made, saved

NAMES = Tokens("names", ["<end>", "a", "b", "c", "d"])


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return made(tmp_path_factory.mktemp("cipher") / "cipher")


@pytest.fixture(scope="module")
def run(tmp_path_factory, corpus):
    folder = tmp_path_factory.mktemp("run") / "run"
    folder.mkdir()
    saved(folder, corpus)
    return folder


def guessed(tokens, plain, sure=0.8):
    """Return a text with these guesses, each with the probability `sure`."""
    rows = np.full((*np.shape(tokens), len(NAMES)), (1 - sure) / (len(NAMES) - 1))
    np.put_along_axis(rows, np.array(plain)[..., None], sure, axis=2)
    return DecipheredText(np.array(tokens), rows, 1, NAMES)


def test_the_occurrences_of_all_rows_vote_together():
    found = guessed([[1, 2, 1], [1, 2, 0]], [[3, 4, 2], [3, 4, 1]])
    key = found.key()
    assert {symbol: (plain, votes) for symbol, (plain, _, votes) in key.items()} == {
        1: (3, 3),
        2: (4, 2),
    }
    assert key[1][1] == pytest.approx((0.8 + 0.8 + 0.05) / 3)
    assert found.text() == "c d c c d"
    assert deciphered_lines(found) == [
        "a -> c  55% of 3 votes",
        "b -> d  80% of 2 votes",
        "c d c c d",
    ]


def test_each_occurrence_of_a_symbol_is_listed():
    found = guessed([[1, 2], [1, 0]], [[3, 4], [2, 1]])
    assert deciphered_lines(found, "a") == [
        "row 0, position 0: c 0.80, <end> 0.05, a 0.05",
        "row 1, position 0: b 0.80, <end> 0.05, a 0.05",
    ]
    for absent in ("d", "z"):
        with pytest.raises(LogicgenError, match=f"--symbol: '{absent}' does not occur"):
            deciphered_lines(found, absent)


def asked(run, corpus, text, out, *options):
    arguments = ["measure", "probe", run, "--data", corpus.folder, "-o", out, "--device", "cpu"]
    arguments += ["--steps", 3, "--hidden", 8, "--text", text, *options]
    return CliRunner().invoke(group, [str(each) for each in arguments])


def test_a_text_is_read_in_rows_by_the_probe_of_least_loss(run, corpus, tmp_path):
    text = corpus.tokens.decode(Ciphers(corpus, "test").rows(np.arange(3), LENGTH)[0].ravel())
    text = "".join(letter for letter in text if letter in corpus.tokens.texts).strip()
    text = text[:-3]
    (tmp_path / "secret.txt").write_text(text, encoding="utf-8")
    settings = ProbeSettings(steps=3, hidden=8)
    out = tmp_path / "out"
    found = decipher(run, corpus, out, settings, tmp_path / "secret.txt", device="cpu")
    assert found.tokens.shape == (len(text) // LENGTH, LENGTH)
    assert corpus.tokens.decode(found.tokens.ravel()) == text[: found.tokens.size]
    left_out = len(text) % LENGTH
    assert found.left_out == left_out > 0
    said = f"not read, because they fill no row of {LENGTH}: the last {left_out} symbols"
    assert said in deciphered_lines(found)
    assert found.probabilities.sum(-1) == pytest.approx(1, abs=1e-5)
    # A row has the guesses that the model and the probe give when asked by hand.
    sharp = decipher(
        run, corpus, out, settings, tmp_path / "secret.txt", device="cpu", temperature=0.5
    )
    squared = found.probabilities**2
    squared /= squared.sum(-1, keepdims=True)
    assert sharp.probabilities == pytest.approx(squared, abs=1e-5)
    assert load_model(run, "cpu").tokens == corpus.tokens


def test_the_command(run, corpus, tmp_path):
    letters = [each for each in corpus.tokens.texts[2:] if not each.isspace()]
    (tmp_path / "secret.txt").write_text("".join(letters[:5]) * 4, encoding="utf-8")
    result = asked(run, corpus, tmp_path / "secret.txt", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert f"{letters[0]} -> " in result.output
    rows = list(csv.DictReader((tmp_path / "out" / "guesses.csv").open()))
    assert len(rows) == 20
    assert {row["symbol"] for row in rows} == {*letters[:5]}
    one = asked(
        run, corpus, tmp_path / "secret.txt", tmp_path / "out", "--symbol", letters[1]
    )  # the probe is used again
    assert one.output.count(", position ") == 4


def test_a_model_of_letters_names_what_it_reads_as_blanks(tmp_path):
    tokens, path = Tokens.of_letters({"a": 3, "b": 2, " ": 1}), tmp_path / "text.txt"
    path.write_text("Ab-a 1b\n-a", encoding="utf-8")
    ids, blanks = deciphering._encoded(tokens, path)
    assert tokens.decode(ids) == "ab a b a"
    assert blanks == "-1"
    found = dataclasses.replace(guessed([[1, 2]], [[3, 4]]), blanks=blanks)
    assert "read as blanks, because they are not letters: -1" in deciphered_lines(found)
    path.write_text("слово", encoding="utf-8")
    with pytest.raises(LogicgenError, match="give a longer text of the letters a to z"):
        deciphering._encoded(tokens, path)


def test_what_cannot_be_read(run, corpus, tmp_path):
    for content, said in (("ab☃", "does not know '☃'"), ("a", "too few to read"), ("", "too few")):
        (tmp_path / "t.txt").write_text(content, encoding="utf-8")
        result = asked(run, corpus, tmp_path / "t.txt", tmp_path / "out")
        assert isinstance(result.exception, LogicgenError)
        assert said in str(result.exception)
    (tmp_path / "t.txt").write_text("ab", encoding="utf-8")
    result = asked(run, corpus, tmp_path / "t.txt", tmp_path / "out", "--context", 10_000)
    assert "context 10000: the rows have" in str(result.exception)
    result = asked(run, corpus, tmp_path / "missing.txt", tmp_path / "out")
    assert "cannot be read" in str(result.exception)
    arguments = ["measure", "probe", run, "--data", corpus.folder, "--symbol", "a"]
    result = CliRunner().invoke(group, [str(each) for each in arguments])
    assert "--symbol: needs --text" in str(result.exception)
    result = asked(run, corpus, tmp_path / "t.txt", tmp_path / "out", "--split", "train")
    assert "--split: is for ciphers with known keys" in str(result.exception)
