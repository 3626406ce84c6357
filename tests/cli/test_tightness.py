"""`logicgen measure tightness`: what it says of models, with and without data."""

from __future__ import annotations

import math

import pytest

from logicgen.measures.tightness import power_of_ten, tightness
from logicgen.model.checkpoint import save_model
from tests.cli.test_commands import refused, run
from tests.data.corpora import automaton_recipe, opened
from tests.languages import counted, untrained


def test_the_bound_and_the_least_of_a_corpus(tmp_path):
    corpus = opened(automaton_recipe(), tmp_path / "data")
    model = untrained(corpus.tokens, "automaton")
    (tmp_path / "run").mkdir()
    save_model(model, tmp_path / "run", steps=1, fingerprint="0")
    result = run("measure", "tightness", tmp_path / "run", "--data", corpus.folder, "--limit", 5)
    assert result.returncode == 0, result.stderr
    why, bound, length, least = result.stdout.splitlines()
    assert why.startswith("tight: the last layer normalization bounds")
    found = tightness(model, range(5))
    assert bound.endswith(f"at least {math.exp(found.log_least):.3g} (in 5 draws of rows)")
    assert length.endswith(f"at most {found.mean_length:,.4g} (in 5 draws of rows)")
    assert least.startswith("least in 5 sequences of tiny, test: ")
    without = run("measure", "tightness", tmp_path / "run", "--limit", 5)
    assert without.stdout.splitlines() == [why, bound, length]


def test_what_is_no_language_model_or_corpus_is_refused(tmp_path):
    corpus = opened(automaton_recipe(), tmp_path / "data")
    (tmp_path / "run").mkdir()
    model = counted(corpus.tokens, ["a b", "a"], 2, "automaton")
    save_model(model, tmp_path / "run", steps=1, fingerprint="0")
    assert (
        "there are finitely many contexts" in run("measure", "tightness", tmp_path / "run").stdout
    )
    refused(run("measure", "tightness", tmp_path / "data"), str(tmp_path / "data"))
    refused(run("measure", "tightness", tmp_path / "run", "--data", tmp_path / "none"), "none")
    for option, value in (("--split", "train"), ("--context", 8)):
        result = run("measure", "tightness", tmp_path / "run", option, value)
        refused(result, f"{option} goes with a corpus: give --data, too")


@pytest.mark.parametrize(
    ("log", "text"), [(-math.inf, "0"), (math.log(0.25), "0.25"), (-2302.585, "1e-1000")]
)
def test_numbers_below_all_floats_are_written(log, text):
    assert power_of_ten(log) == text
