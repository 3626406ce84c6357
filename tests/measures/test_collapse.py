"""How alike rows are, where it is known; redrawn rows; both from the command line."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from logicgen.cli.group import group
from logicgen.data.corpus import Corpus
from logicgen.data.generate import generate
from logicgen.data.opening import load_dataset
from logicgen.data.recipe import DataRecipe
from logicgen.errors import LogicgenError
from logicgen.measures.collapse import RowSpread, collapse, reset_rows, row_spread, trained_rows
from logicgen.model.checkpoint import load_model, save_model
from logicgen.model.encoder_decoder import EncoderDecoder
from logicgen.model.model import Model
from tests.data.corpora import opened, text_files, text_recipe
from tests.languages import untrained
from tests.training.conftest import recipe_with

pytestmark = pytest.mark.usefixtures("undrawn")

LEARNED = {
    "method": "learned",
    "max_symbols": 6,
    "random_part": None,
    "random_width": None,
    "normalize_parts": None,
}


@pytest.mark.parametrize(
    ("rows", "cosine", "spread", "rank"),
    [
        (torch.eye(5), 0, math.sqrt(0.8), 5),
        (torch.ones(4, 3), 1, 0, 1),
        (torch.tensor([[3.0, 4.0], [-3.0, -4.0]]), -1, 1, 1),
        (torch.tensor([[1.0, 0.0], [3.0, 0.0]]), 1, math.sqrt(1 / 5), 1),
        (torch.tensor([[1.0, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0]]), 1 / 3, math.sqrt(0.5), 2),
        (torch.zeros(3, 2), 0, 0, 1),
    ],
    ids=["orthogonal", "equal", "opposite", "one direction", "two pairs", "nothing"],
)
def test_rows_whose_answer_is_known(rows, cosine, spread, rank):
    found = row_spread(rows)
    assert found.rows == len(rows)
    assert found.cosine == pytest.approx(cosine, abs=1e-7)
    assert found.spread == pytest.approx(spread, abs=1e-7)
    assert found.effective_rank == pytest.approx(rank)


def test_effective_rank_between_whole_numbers():
    """Singular values 3 and 1 are shares 3/4 and 1/4."""
    entropy = math.log(4) - 0.75 * math.log(3)
    assert row_spread(torch.diag(torch.tensor([3.0, 1.0]))).effective_rank == pytest.approx(
        math.exp(entropy)
    )


def test_cosine_is_the_mean_over_all_pairs():
    rows = torch.randn(7, 5, generator=torch.Generator().manual_seed(0))
    cosines = torch.nn.functional.cosine_similarity(rows[:, None], rows[None], dim=2)
    expected = (cosines.sum() - 7) / 42
    assert row_spread(rows).cosine == pytest.approx(expected.item(), abs=1e-6)


def test_seen_and_never_seen_are_told_apart():
    rows = torch.cat([torch.eye(3), torch.ones(2, 3)])
    found = collapse(rows, np.array([True] * 3 + [False] * 2))
    assert found["seen"].cosine == pytest.approx(0)
    assert found["never"] == RowSpread(2, pytest.approx(1), pytest.approx(0), pytest.approx(1))
    assert collapse(rows, np.array([True] * 5))["never"] == RowSpread(0)


def test_redrawn_rows_have_the_mean_and_the_covariance_of_the_seen_ones():
    known = torch.tensor([[3.0, 1.0], [1.0, 1.0], [2.0, 4.0], [2.0, 2.0]])
    rows = torch.cat([known, torch.full((20_000, 2), 9.0)])
    seen = np.arange(len(rows)) < 4
    assert reset_rows(rows, seen, 0) == 20_000
    assert torch.equal(rows[:4], known)
    drawn = rows[4:]
    assert torch.allclose(drawn.mean(dim=0), known.mean(dim=0), atol=0.05)
    assert torch.allclose(drawn.T.cov(), known.T.cov(), atol=0.1)
    again, other = rows.clone(), rows.clone()
    reset_rows(again, seen, 0)
    reset_rows(other, seen, 1)
    assert torch.equal(again, rows)
    assert not torch.isclose(other[4:], rows[4:]).all(dim=1).any()


@pytest.mark.parametrize(
    ("seen", "message"),
    [([True, True], "every symbol occurs in training"), ([True, False], "fewer than two symbols")],
)
def test_what_cannot_be_reset(seen, message):
    with pytest.raises(LogicgenError, match=message):
        reset_rows(torch.eye(2), np.array(seen), 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data over three symbols, and a model with rows for six whose last three are equal."""
    folder = tmp_path_factory.mktemp("collapse")
    content = {
        "task": "copying",
        "region": {"symbols": [1, 3], "length": [1, 4]},
        "sizes": {"train": 30, "validation": 2, "test": 5},
        "grid": {"symbols": [2, 5], "length": [2, 3], "per_cell": 2},
    }
    generate(DataRecipe.model_validate(content), folder / "data", name="c")
    data = load_dataset(folder / "data")
    torch.manual_seed(0)
    for name, changes in {"learned": {"embedding": LEARNED}, "other": {}}.items():
        recipe = recipe_with(**changes)
        model = EncoderDecoder.new(recipe, EncoderDecoder.training_data(recipe, data))
        if name == "learned":
            model.embedding.symbols.data[3:] = 1.0
        (folder / name).mkdir()
        save_model(model, folder / name, steps=1, fingerprint=data.fingerprint)
    return folder


def called(command, folder, run, *options):
    arguments = [
        *command.split(),
        str(folder / run),
        "--data",
        str(folder / "data"),
        "--device",
        "cpu",
    ]
    return CliRunner().invoke(group, [*arguments, *options])


def test_the_command_tells_both(folder):
    result = called("measure collapse", folder, "learned")
    assert result.exit_code == 0, result.exception
    found = json.loads((folder / "learned" / "collapse" / "collapse.json").read_text())
    assert (found["seen"]["rows"], found["never"]["rows"]) == (3, 3)
    assert found["never"]["cosine"] == pytest.approx(1)
    assert found["never"]["effective_rank"] == pytest.approx(1, abs=1e-4)
    assert found["seen"]["cosine"] < 0.9
    assert result.stdout.splitlines()[2].split() == ["never", "3", "1.000", "0.000", "1.000"]


def test_an_evaluation_with_redrawn_rows(folder, monkeypatch):
    before = load_model(folder / "learned", "cpu").embedding.symbols
    used = []

    def noted(self, *arguments):
        used.append(self.embedding.symbols.detach().clone())
        return original(self, *arguments)

    original = EncoderDecoder.inference_matrix
    monkeypatch.setattr(EncoderDecoder, "inference_matrix", noted)
    result = called("evaluate", folder, "learned", "--reset-rows", "7")
    assert result.exit_code == 0, result.exception
    summary = json.loads((folder / "learned" / "grid-reset-rows-7" / "summary.json").read_text())
    assert summary["reset_rows"] == 7
    assert used
    for rows in used:
        assert torch.equal(rows[:3], before[:3])
        assert row_spread(rows[3:]).spread > 0.1
    # The model on disk is what it was.
    assert torch.equal(load_model(folder / "learned", "cpu").embedding.symbols, before)


@pytest.mark.parametrize(
    ("run", "command", "message"),
    [
        ("other", ["measure collapse"], "no trained row belongs to one symbol; give a model"),
        ("other", ["evaluate", "--reset-rows", "1"], "no trained row belongs to one symbol"),
    ],
)
def test_models_without_such_rows_are_refused(folder, run, command, message):
    error = called(command[0], folder, run, *command[1:]).exception
    assert isinstance(error, LogicgenError)
    assert message in str(error)


def test_other_data_are_refused(folder, tmp_path):
    content = {
        "task": "copying",
        "region": {"symbols": [1, 3], "length": [1, 4]},
        "sizes": {"train": 20, "validation": 2, "test": 5},
    }
    generate(DataRecipe.model_validate(content), tmp_path / "other", name="c")
    model = load_model(folder / "learned", "cpu")
    with pytest.raises(LogicgenError, match=r"trained on other data .* give its training data"):
        trained_rows(folder / "learned", model, load_dataset(tmp_path / "other"))


def test_tokens_of_a_language_model(tmp_path):
    """A text has no characters that the model does not know, so `<other>` never occurs."""
    corpus: Corpus = opened(text_recipe(text_files(tmp_path / "files")), tmp_path / "corpus")
    model: Model = untrained(corpus.tokens, method="learned")
    rows, seen = model.trained_rows(model.training_data(model.recipe, corpus), "some")
    train = np.unique(np.concatenate(corpus.arrays("train")))
    assert rows.shape == (len(corpus.tokens), 16)
    assert np.array_equal(np.flatnonzero(seen), train)
    assert 0 < seen.sum() < len(seen)
    for other in ("lexinvariant", "lexinvariant-names"):
        random = untrained(corpus.tokens, method=other)
        read = random.training_data(random.recipe, corpus)
        with pytest.raises(LogicgenError, match="some: no trained row belongs to one symbol"):
            random.trained_rows(read, "some")
