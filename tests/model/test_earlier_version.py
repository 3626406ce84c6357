"""Finished runs of the version before (0.1.0 with `[model]`) load, and predict what they did.

`earlier_version/` holds a run of each kind, trained for a few steps by that version, and, in
`expected.json`, what it predicted then.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from logicgen.model.checkpoint import load_language_model, load_model, open_model

RUNS = Path(__file__).parent / "earlier_version"
EXPECTED = json.loads((RUNS / "expected.json").read_text())
KINDS = {
    "lex": "language-model",
    "elman": "language-model",
    "bigram": "n-gram",
    "ind": "inductive",
    "inter": "encoder-decoder",
    "streams": "symbol-invariant",
}


@pytest.mark.parametrize("name", ["lex", "elman", "bigram", "ind"])
def test_language_models(name: str) -> None:
    model = load_language_model(RUNS / name, "cpu")
    ids = [[1, 2, 3]] if name == "ind" else [[1, 2, 3, 1, 2, 5, 4]]
    found = model.log_probabilities(torch.tensor(ids), [7])[0].exp()
    torch.testing.assert_close(found, torch.tensor(EXPECTED[name]), rtol=1e-3, atol=2e-5)


@pytest.mark.parametrize("name", ["inter", "streams"])
def test_models_that_answer_problems(name: str) -> None:
    model = load_model(RUNS / name, "cpu")
    problems = [[4, 3, 5], [5, 6, 4, 4], [3]]
    if name == "streams":
        problems = [model.vocabulary.encode(text) for text in ("& a X b", "U a b", "! a")]
    assert model.predict(problems, 4, embedding_seed=1, max_length=6) == EXPECTED[name]


@pytest.mark.parametrize("name", KINDS)
def test_their_recipes_are_those_of_this_version(name: str) -> None:
    model = open_model(RUNS / name, "cpu")
    assert model.recipe.kind == KINDS[name]
    written = model.card()["recipe"]
    assert written["network"]["kind"] == KINDS[name]
    assert not {"model", "streams"} & set(written)
