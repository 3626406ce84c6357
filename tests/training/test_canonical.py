"""Canonical names and symbol-invariant models: renaming a problem renames its answer, always."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import torch

from logicgen.data.dataset import EncodedSplit, Ragged
from logicgen.errors import LogicgenError
from logicgen.model.answer_form import AnswerForm
from logicgen.model.batches import make_batch
from logicgen.model.checkpoint import as_encoder_decoder, load_model
from logicgen.model.encoder_decoder import EncoderDecoder
from logicgen.model.kinds import MODELS
from logicgen.model.training_data import TrainingData
from logicgen.nn.decoding import BeamSearch, Decoding
from logicgen.nn.samples import Sampling
from logicgen.tasks import load_task
from logicgen.tokens import Vocabulary
from logicgen.training.fit import fit
from tests.asking import likeliest
from tests.training.conftest import REGION, copying, made, recipe_with

LEARNED = {
    "method": "learned",
    "max_symbols": 5,
    "random_part": None,
    "random_width": None,
    "normalize_parts": None,
}
STREAMS = {**LEARNED, "method": "symbol-invariant", "max_symbols": None}
PROBLEMS = [[4, 6, 7, 6], [], [8, 3, 5], [5], [4, 5, 6, 7, 8, 3, 4]]


def new_model(**changes: object) -> EncoderDecoder:
    torch.manual_seed(0)
    recipe = recipe_with(**changes)
    model = MODELS[recipe.kind](recipe, Vocabulary(["&"]), 5, "propositional", REGION)
    assert isinstance(model, EncoderDecoder)
    return model


def renamed(ids: list[int], names: tuple[int, ...]) -> list[int]:
    return [4 + names[i - 4] if i >= 4 else i for i in ids]


@pytest.mark.parametrize(
    "changes",
    [
        {"canonical": True},
        {"canonical": True, "embedding": LEARNED},
        {"canonical": True, "embedding": {**LEARNED, "method": "alpha-renaming"}},
        {"embedding": STREAMS},
        {"embedding": STREAMS, "canonical": True},
    ],
)
@pytest.mark.parametrize("decoding", [BeamSearch(), BeamSearch(3), Sampling(seed=1)])
def test_renaming_a_problem_renames_its_answer(
    changes: dict[str, object], decoding: Decoding
) -> None:
    model = new_model(**changes)
    answers = likeliest(model, PROBLEMS, 5, 0, 6, decoding=decoding)
    every = list(permutations(range(5)))[::7]
    asked = [renamed(problem, names) for names in every for problem in PROBLEMS]
    given = iter(likeliest(model, asked, 5, 0, 6, decoding=decoding))
    for names in every:
        for problem, answer in zip(PROBLEMS, answers, strict=True):
            there = {i for i in problem if i >= 4}
            got, expected = next(given), renamed(answer, names)
            if {i for i in answer if i >= 4} <= there:
                assert got == expected
            else:  # what a symbol that the problem lacks is called is anybody's guess
                assert [i if i < 4 else 4 for i in got] == [i if i < 4 else 4 for i in expected]


@pytest.mark.slow
def test_without_canonical_names_it_is_not_so() -> None:
    model = new_model(embedding=LEARNED)
    answers = {
        tuple(
            renamed(likeliest(model, [renamed(PROBLEMS[0], n)], 5, 0, 6)[0], tuple(np.argsort(n)))
        )
        for n in permutations(range(5))
    }
    assert len(answers) > 1


def test_canonical_training_does_not_see_names(tmp_path: Path) -> None:
    """Two data sets that differ in names only give the same weights."""
    data = copying(200, 5, 6, 0)
    turned = Ragged((data.problems.ids - 3 + 2) % 5 + 3, data.problems.offsets)
    other = EncodedSplit(data.vocabulary, turned, turned, data.symbols, data.length, 5)
    weights = []
    for canonical in (True, False):
        for split in (data, other):
            out = tmp_path / f"{canonical}{split is data}"
            recipe = recipe_with(canonical=canonical, training={"steps": 4})
            fit(recipe, made(split, split), out, device="cpu", quiet=True)
            weights.append(torch.cat([p.flatten() for p in load_model(out, "cpu").parameters()]))
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[2], weights[3])


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "learned"
    recipe = recipe_with(embedding=LEARNED, training={"steps": 120})
    return fit(recipe, made(copying(400, 5, 6, 0), None), out, device="cpu", quiet=True)


@pytest.mark.slow
def test_a_symbol_invariant_model_copies_symbols_it_has_never_seen(tmp_path: Path) -> None:
    loss = {"least_scale": 8.0}  # so few rows would settle far below
    recipe = recipe_with(
        embedding=STREAMS, network={"dropout": 0.0}, loss=loss, training={"steps": 200}
    )
    data = made(copying(400, 5, 6, 0), None)
    model = load_model(fit(recipe, data, tmp_path / "run", device="cpu", quiet=True), "cpu")
    test = copying(100, 40, 6, 7)
    problems = [test.problems[row].tolist() for row in range(100)]
    answers = likeliest(model, problems, 40, 0, 7)
    assert sum(a == p for a, p in zip(answers, problems, strict=True)) > 80


@pytest.mark.slow
def test_a_learned_model_becomes_a_symbol_invariant_one(learned: Path, tmp_path: Path) -> None:
    data = made(copying(400, 5, 6, 0), None)
    recipe = recipe_with(embedding=STREAMS, training={"steps": 1, "learning_rate": 1e-12})
    out = fit(recipe, data, tmp_path / "run", device="cpu", quiet=True, start=learned)
    before, after = load_model(learned, "cpu"), load_model(out, "cpu")
    # On one symbol it does what the learned model does on the symbol that became "this one".
    problem, inputs = torch.tensor([[3, 3, 2]]), torch.tensor([[1, 3, 3]])
    with torch.no_grad():
        old = before.transformer(before.inference_matrix(5, 0), problem, inputs)
        new = after.transformer(after.inference_matrix(5, 0), problem, inputs)
    torch.testing.assert_close(new[..., :4], old[..., :4], rtol=1e-3, atol=1e-4)
    assert (new[..., 4:] == -torch.inf).all()


def test_training_goes_on_from_another_model(learned: Path, tmp_path: Path) -> None:
    data = made(copying(400, 5, 6, 0), None)
    recipe = recipe_with(embedding=LEARNED, training={"steps": 1, "learning_rate": 1e-12})
    out = fit(recipe, data, tmp_path / "run", device="cpu", quiet=True, start=learned)
    weights = [dict(load_model(run, "cpu").named_parameters()) for run in (learned, out)]
    for name, value in weights[0].items():
        torch.testing.assert_close(weights[1][name], value)
    with pytest.raises(LogicgenError, match="another start"):
        fit(recipe, data, out, device="cpu", quiet=True, resume=True)


@pytest.mark.parametrize("embedding", [LEARNED, STREAMS])
def test_a_deeper_model_starts_with_the_same_answers(embedding: dict[str, object]) -> None:
    network = {"encoder_layers": 3, "decoder_layers": 4}
    shallow = new_model(embedding=embedding)
    deep = new_model(embedding=embedding, network=network)
    deep.start_from(shallow, "it")
    batch = make_batch(copying(20, 5, 6, 0), np.arange(20))
    before, after = (each.log_probabilities(batch, torch.Generator()) for each in (shallow, deep))
    torch.testing.assert_close(after, before)
    with pytest.raises(LogicgenError, match=r"it: has transformer.decoder.1"):
        shallow.start_from(deep, "it")


def test_streams_that_read_something_else_are_refused() -> None:
    trained = new_model(embedding=STREAMS, network={"cross_attention": "aggregated"})
    with pytest.raises(LogicgenError, match="it: was trained with cross_attention aggregated"):
        new_model(embedding=STREAMS).start_from(trained, "it")


def test_rounds_refuse_weights_that_write_answers_in_another_form() -> None:
    model, trained = (as_encoder_decoder(load_model("ltl", "cpu"), "ltl") for _ in range(2))
    model.start_from(trained, "it")
    trained.form = AnswerForm("backward", load_task("ltl"))
    with pytest.raises(LogicgenError, match="it: was trained with form backward"):
        model.start_from(trained, "it")


def test_keys_that_change_what_weights_compute_are_given_again() -> None:
    trained = new_model(embedding=STREAMS, network={"most_tokens": 9, "most_symbols": 3})
    other = new_model(embedding=STREAMS, network={"most_tokens": 20, "most_symbols": 4})
    other.start_from(trained, "it")
    with pytest.raises(LogicgenError, match=r"it: has network.most_symbols = 3, .* does not give"):
        new_model(embedding=STREAMS, network={"most_tokens": 9}).start_from(trained, "it")
    with pytest.raises(LogicgenError, match=r"add network.most_tokens = 9, or another number"):
        new_model(embedding=STREAMS, network={"most_symbols": 3}).start_from(trained, "it")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"embedding": {}}, "lacks embedding.shared"),
        ({"embedding": STREAMS, "network": {"width": 48}}, "and this recipe wants"),
        # No weight shows these.
        ({"embedding": STREAMS, "network": {"heads": 8}}, "was trained with heads 2, and this"),
        (
            {
                "embedding": {**LEARNED, "normalize_rows": False},
                "network": {"normalize_features": False},
                "loss": {"method": "cross-entropy"},
            },
            "with normalize_rows True, and this recipe has False",
        ),
        (
            {"embedding": STREAMS, "network": {"encoder_positions": "none"}},
            "with encoder_positions",
        ),
        ({"embedding": STREAMS, "network": {"rotary_cross_attention": True}}, "with rotary_cross"),
        (
            {"network": {"decoder_positions": "randomized", "position_range": 9}},
            "with decoder_positions",
        ),
    ],
)
def test_what_does_not_fit_is_refused(
    learned: Path, tmp_path: Path, changes: dict[str, object], words: str
) -> None:
    data: TrainingData = made(copying(100, 5, 6, 0), None)
    with pytest.raises(LogicgenError, match=words):
        fit(recipe_with(**changes), data, tmp_path / "run", start=learned, quiet=True)
    assert not (tmp_path / "run").exists()


def test_an_answer_needs_its_streams(tmp_path: Path) -> None:
    data = copying(50, 5, 6, 0)
    answers = Ragged(np.roll(data.answers.ids, 1), data.answers.offsets)
    split = EncodedSplit(data.vocabulary, data.problems, answers, data.symbols, data.length, 5)
    recipe = recipe_with(embedding=STREAMS, training={"steps": 1})
    with pytest.raises(LogicgenError, match=r"symbols that the problem lacks.*network.reserved"):
        fit(recipe, made(split, None), tmp_path / "run", device="cpu", quiet=True)
    recipe = recipe_with(embedding=STREAMS, network={"reserved": 5}, training={"steps": 1})
    fit(recipe, made(split, None), tmp_path / "run", device="cpu", quiet=True)


def test_streams_are_reserved_for_the_first_symbols_that_a_problem_lacks(tmp_path: Path) -> None:
    fixed = len((data := copying(50, 5, 6, 0)).vocabulary)
    problem, answer = Ragged.of([[fixed]]), Ragged.of([[fixed + 2]])  # `a` and `c`
    split = EncodedSplit(data.vocabulary, problem, answer, data.symbols, data.length, 5)
    for reserved in (1, 2):
        network, training = {"reserved": reserved}, {"steps": 1, "batch_size": 1}
        recipe = recipe_with(embedding=STREAMS, network=network, training=training)
        refused = pytest.raises(LogicgenError, match="set it to at least 2")
        with refused if reserved == 1 else nullcontext():
            fit(recipe, made(split, None), tmp_path / f"{reserved}", device="cpu", quiet=True)
