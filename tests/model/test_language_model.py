"""Language models trained for three steps, and everything around it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from logicgen import recipes
from logicgen.data.corpus import Corpus
from logicgen.data.dataset import Dataset
from logicgen.data.generate import generate
from logicgen.data.opening import load_dataset
from logicgen.data.recipe import DataRecipe
from logicgen.errors import LogicgenError
from logicgen.model.checkpoint import as_encoder_decoder, as_language_model, load_model
from logicgen.model.kinds import model_of_card
from logicgen.model.ngrams import NGram
from logicgen.model.recipe import read_model_recipe
from logicgen.model.training_data import sequence_data
from logicgen.nn.token_rows import TokenRows, reseeded
from logicgen.tokens import Tokens
from logicgen.training.fit import fit, training_data
from tests.data.corpora import automaton_recipe, opened, text_files, text_recipe
from tests.languages import TRAINING, TRANSFORMER, language_model, ngram_recipe, recipe
from tests.training.conftest import recipe_with

ELMAN = {"kind": "language-model", "architecture": "elman", "width": 16}
NEURAL_NGRAM = {
    "kind": "language-model",
    "architecture": "neural-n-gram",
    "order": 3,
    "width": 16,
    "feed_forward": 16,
}


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("text")
    return opened(text_recipe(text_files(folder / "files")), folder / "c")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return opened(automaton_recipe(), tmp_path_factory.mktemp("rows") / "c")


@pytest.fixture(scope="module")
def lookup(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("lookup") / "d"
    content = {
        "task": "lookup",
        "region": {"symbols": [2, 5], "length": [8, 11], "step": 3},
        "sizes": {"train": 40, "validation": 5, "test": 5},
    }
    generate(DataRecipe.model_validate(content), folder, name="lookup")
    return load_dataset(folder)


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_model(run, "cpu").state_dict()


RECIPES = {
    "lexinvariant": recipe(),
    "learned": recipe("learned"),
    "partial-rows": recipe("partial-rows", share=0.3),
    "lexinvariant-names": recipe("lexinvariant-names"),
    "elman": recipe("learned", ELMAN),
    "elman-lexinvariant": recipe("lexinvariant", ELMAN),
    "neural-n-gram": recipe("learned", NEURAL_NGRAM),
}


@pytest.mark.parametrize("kind", ["lexinvariant", "learned", "neural-n-gram"])
@pytest.mark.parametrize("data", ["text", "rows", "lookup"])
def test_resumed_is_uninterrupted(
    kind: str, data: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    made = sequence_data(request.getfixturevalue(data))
    chosen = RECIPES[kind]
    whole = fit(chosen, made, tmp_path / "whole", quiet=True, device="cpu")
    fit(chosen, made, tmp_path / "parts", steps=2, quiet=True, device="cpu")
    halfway = weights(tmp_path / "parts")
    fit(chosen, made, tmp_path / "parts", resume=True, quiet=True, device="cpu")
    expected, found = weights(whole), weights(tmp_path / "parts")
    assert any(not torch.equal(halfway[name], expected[name]) for name in expected)
    for name, value in expected.items():
        assert torch.equal(found[name], value), name


@pytest.mark.parametrize(
    "kind",
    ["partial-rows", "lexinvariant-names", "elman-lexinvariant", "neural-n-gram", "n-gram"],
)
def test_a_checkpoint_comes_back(kind: str, text: Corpus, tmp_path: Path) -> None:
    made = sequence_data(text)
    chosen = ngram_recipe(3) if kind == "n-gram" else RECIPES[kind]
    run = fit(chosen, made, tmp_path / "run", quiet=True, device="cpu")
    model = load_model(run, "cpu")
    assert (model.recipe, model.tokens, model.task_name) == (chosen, text.tokens, "text")
    assert model.region is None
    assert not model.training
    assert model.random == ("lexinvariant" in kind)
    assert model.any_tokens == (kind == "elman-lexinvariant")
    again = model_of_card(json.loads(json.dumps(model.card())))
    again.load_state_dict(model.state_dict())
    ids = torch.from_numpy(text.arrays("test")[0][:20].astype("int64"))[None]
    found = again.eval().log_probabilities(ids, [5])
    assert torch.equal(found, model.log_probabilities(ids, [5]))
    torch.testing.assert_close(found.exp().sum(-1), torch.ones(1, 20))
    assert (kind != "n-gram") or isinstance(model.network, NGram)
    assert fit(chosen, made, run, resume=True, quiet=True, device="cpu") == run  # is done


def test_ngrams_count_the_training_part(text: Corpus, tmp_path: Path) -> None:
    made = sequence_data(text)
    run = fit(ngram_recipe(2), made, tmp_path / "run", quiet=True)
    network = load_model(run, "cpu").network
    assert isinstance(network, NGram)
    assert network.get_buffer("counts_1").sum() == len(made.train)


def test_another_model_or_data_do_not_go_on(text: Corpus, rows: Corpus, tmp_path: Path) -> None:
    run = fit(ngram_recipe(2), sequence_data(text), tmp_path / "run", quiet=True)
    with pytest.raises(LogicgenError, match="another recipe"):
        fit(ngram_recipe(3), sequence_data(text), run, resume=True, quiet=True)
    with pytest.raises(LogicgenError, match="another tokens"):
        fit(ngram_recipe(2), sequence_data(rows), run, resume=True, quiet=True)
    with pytest.raises(LogicgenError, match="holds a run already"):
        fit(ngram_recipe(2), sequence_data(text), run, quiet=True)


def test_examples_of_a_task_have_its_tokens_and_region(lookup: Dataset) -> None:
    made = sequence_data(lookup)
    assert made.vocabulary.texts[:2] == ("<end>", "->")
    assert made.region is not None
    assert (made.region.symbols, made.region.length) == ((2, 5), (8, 11))
    model = language_model(recipe(), made.vocabulary, made.task_name, made.region)
    assert model_of_card(json.loads(json.dumps(model.card()))).region == made.region


def test_the_number_of_tokens() -> None:
    tokens, ids = Tokens("names", ["<end>", "a", "b"]), torch.ones(1, 2, dtype=torch.int64)
    assert language_model(recipe(), tokens, "text").log_probabilities(ids, count=9).shape == (
        1,
        2,
        9,
    )
    for made, method in ((recipe("learned"), "learned"), (ngram_recipe(2), "n-gram")):
        with pytest.raises(LogicgenError, match=f"knows 3 and is {method}: only a lexinvariant"):
            language_model(made, tokens, "text").log_probabilities(ids, count=9)


def test_each_kind_of_model_is_loaded_as_such(text: Corpus, tmp_path: Path) -> None:
    run = fit(ngram_recipe(2), sequence_data(text), tmp_path / "run", quiet=True)
    model = load_model(run, "cpu")
    with pytest.raises(LogicgenError, match="a language model; give a model with"):
        as_encoder_decoder(model, run)
    assert as_language_model(model, run).recipe == ngram_recipe(2)
    other = recipes.trained()[0]
    with pytest.raises(LogicgenError, match="not a language model: it answers"):
        as_language_model(load_model(other, "cpu"), other)


def test_a_corpus_is_for_language_models(text: Corpus, lookup: Dataset) -> None:
    with pytest.raises(
        LogicgenError, match=r"a corpus, .*such as one with network.kind = 'language-model'"
    ):
        training_data(recipe_with(), text)
    assert training_data(recipe(), text).vocabulary == text.tokens
    assert training_data(recipe(), lookup).task_name == "lookup"


def test_nothing_to_train_on(tmp_path: Path) -> None:
    corpus = opened(automaton_recipe(train=0), tmp_path / "c")
    with pytest.raises(LogicgenError, match="has no training part"):
        sequence_data(corpus)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"embedding": {"method": "partial-rows"}},
            "'embedding.share' is missing; embedding.method is 'partial-rows'",
        ),
        (
            {"embedding": {"method": "partial-names"}},
            "'embedding.share' is missing; embedding.method is 'partial-names'",
        ),
        (
            {"embedding": {"method": "learned", "share": 0.1}},
            "unknown key 'embedding.share'.*embedding.method is 'learned'",
        ),
        ({"embedding": {"method": "partial-rows", "share": 1.5}}, "share"),
        ({"embedding": None}, r"\[embedding\] is missing"),
        ({"training": None}, r"\[training\] is missing"),
        ({"network": {"kind": "n-gram", "order": 2}}, r"\[embedding\] is of no use: .*'n-gram'"),
        ({"network": TRANSFORMER | {"heads": 3}}, "3 does not divide network.width, 16"),
        (
            {"network": TRANSFORMER | {"heads": 16, "positions": "rotary"}},
            "rotary positions need an even width per head",
        ),
        ({"network": {"kind": "lstm"}}, "network.kind: 'lstm' is unknown; .*language-model"),
        ({"training": TRAINING | {"context": 1}}, "context"),
        ({"network": NEURAL_NGRAM | {"order": 1}}, "network.order.*greater than or equal to 2"),
        (
            {"network": NEURAL_NGRAM | {"heads": 2}},
            "unknown key 'network.heads' for 'neural-n-gram'",
        ),
        ({"network": TRANSFORMER | {"order": 2}}, "unknown key 'network.order' for 'transformer'"),
    ],
)
def test_recipes_that_do_not_fit_together(
    change: dict[str, object], message: str, tmp_path: Path
) -> None:
    tables = {"network": TRANSFORMER, "embedding": {"method": "learned"}, "training": TRAINING}
    lines = []
    for name, table in (tables | change).items():
        if isinstance(table, dict):
            lines.append(f"[{name}]")
            lines += [f"{key} = {json.dumps(value)}" for key, value in table.items()]
    path = tmp_path / "some.toml"
    path.write_text("\n".join(lines))
    with pytest.raises(LogicgenError, match=f"some.toml: .*{message}"):
        read_model_recipe(str(path))


def test_the_kind_of_network_says_what_a_recipe_is_for() -> None:
    assert read_model_recipe("language-lexinvariant").kind == "language-model"
    assert read_model_recipe("copying-learned").kind == "encoder-decoder"
    assert recipe().with_steps(9).training.steps == 9
    assert ngram_recipe(2).with_steps(9) == ngram_recipe(2)


def test_validation_does_not_repeat_the_initial_weights_as_random_rows() -> None:
    torch.manual_seed(0)
    rows = TokenRows("lexinvariant", 12, 32, fixed=6).train()
    same, own = torch.Generator().manual_seed(0), reseeded(torch.Generator().manual_seed(0))
    largest = [
        float((torch.corrcoef(rows(1, each, 12).each(1)[0].detach()) - torch.eye(12)).abs().max())
        for each in (same, own)
    ]
    assert largest[0] > 0.99  # the fault
    assert largest[1] < 0.7
    asked = rows.eval().seeded([0]).each(1)[0].detach()  # such as `complete --seed 0`
    assert float((torch.corrcoef(asked) - torch.eye(len(asked))).abs().max()) < 0.7
