"""`logicgen evaluate --votes`: what it writes down, and what it refuses."""

from __future__ import annotations

import json

import pytest

from logicgen.data.generate import generate
from logicgen.data.opening import load_dataset
from logicgen.data.recipe import DataRecipe
from logicgen.model.checkpoint import save_model
from logicgen.model.sequences import example_tokens
from logicgen.model.training_data import TrainingRegion
from tests.cli.test_commands import refused, run
from tests.data.corpora import automaton_recipe, opened
from tests.languages import untrained

pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A data set, a corpus, and a run."""
    folder = tmp_path_factory.mktemp("votes")
    content = {
        "task": "lookup",
        "region": {"symbols": [2, 4], "length": [8, 8]},
        "sizes": {"train": 0, "validation": 0, "test": 6},
    }
    generate(DataRecipe.model_validate(content), folder / "data", name="lookup")
    opened(automaton_recipe(), folder / "corpus")
    tokens = example_tokens(load_dataset(folder / "data").vocabulary, 4)
    model = untrained(tokens, "lookup")
    model.region = TrainingRegion((2, 4), (8, 8))
    (folder / "run").mkdir()
    save_model(model, folder / "run", steps=1, fingerprint="0")
    return folder


def evaluated(folder, data, *options, model="run"):
    model = folder / model if model == "run" else model
    data = ["--data", str(folder / data), "--split", "test", "--device", "cpu"]
    out = ["-o", str(folder / "out")]
    return run("evaluate", model, *data, *out, *options)


def test_votes_are_recorded(folder):
    result = evaluated(folder, "data", "--sample", "--votes", 5, "--temperature", 0.7)
    assert result.returncode == 0, result.stderr
    found = json.loads((folder / "out" / "summary.json").read_text())["decoding"]
    assert (found["votes"], found["temperature"]) == (5, 0.7)
    evaluated(folder, "data", "--sample")
    assert "votes" not in json.loads((folder / "out" / "summary.json").read_text())["decoding"]


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ("data", ["--votes", 3], "--votes: nothing is drawn; give --sample"),
        ("data", ["--votes", 3, "--sample", "--verified", 2], "--votes and --verified"),
        ("corpus", ["--beams", 3], "--beams: a corpus has no answers"),
    ],
)
def test_refused(folder, data, options, message):
    refused(evaluated(folder, data, *options), message)


def test_other_models_do_not_vote(folder):
    result = evaluated(folder, "data", "--sample", "--votes", 3, model="propositional")
    refused(result, "--votes: propositional is not a language model")


def test_a_language_model_is_asked_as_an_encoder_decoder_is(folder):
    data = load_dataset(folder / "data")
    problem = data.table("test", ["problem"])["problem"][0].as_py()
    result = run("solve", "--task", "lookup", "--model", folder / "run", "--draws", 100, problem)
    assert result.returncode == 0, result.stderr
    assert "verified" in result.stderr + result.stdout
    options = "--data", folder / "data", "--limit", 2, "-o", folder / "renamed"
    result = run("measure", "covariance", folder / "run", *options)
    assert result.returncode == 0, result.stderr
    assert (folder / "renamed" / "covariance.json").is_file()
