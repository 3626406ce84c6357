"""Traces that a model writes last position first, or after a plan: there and back, and masks."""

from __future__ import annotations

from random import Random

import pytest

from logicgen.errors import LogicgenError
from logicgen.library import evaluate, generate, train
from logicgen.measures.evaluation import read_predictions
from logicgen.model.answer_form import AnswerForm, check_complete, grammar_mask
from logicgen.model.checkpoint import load_model
from logicgen.model.model import Answer
from logicgen.model.recipe import read_model_recipe
from logicgen.tasks import load_task

LTL = load_task("ltl")
EXAMPLES = {
    "0": ("0", "0"),
    "{ 1 }": ("{ 1 }", "{ 1 } { 1 }"),
    "a ; & b ! c ; { ! a ; | 1 b }": (
        "{ | 1 b ; ! a } ; & b ! c ; a",
        "1 ; 1 ; { 1 ; 1 } a ; & b ! c ; { ! a ; | 1 b }",
    ),
}


def ids(text):
    return LTL.vocabulary.encode(text)


def random_traces(count):
    rng = Random(0)
    letters = ["1", "0", "a", "! b", "& a ! c", "| ! a & b c", "^ a b"]
    for _ in range(count):
        stem, period = (rng.choices(letters, k=rng.randint(low, 3)) for low in (0, 1))
        yield " ; ".join([*stem, f"{{ {' ; '.join(period)} }}"])


@pytest.mark.parametrize("form", ["backward", "planned"])
def test_there_and_back(form):
    made = AnswerForm(form, LTL)
    mask = grammar_mask(LTL, 60, form)
    for text in [*EXAMPLES, *random_traces(300)]:
        written = made.written(ids(text))
        assert made.read(written) == ids(text)
        if text in EXAMPLES:
            assert written == ids(EXAMPLES[text][form == "planned"])
        assert len(written) <= made.most(len(ids(text)))
        assert accepts(mask, written)
    assert not accepts(mask, ids("a ; { b }"))
    twice = [Answer(made.written(ids("a ; { b }")), score) for score in (-1.0, -2.0)]
    assert made.different(twice) == [Answer(ids("a ; { b }"), -1.0)]


def accepts(mask, tokens):
    state = 0
    for token in tokens:
        state = mask.transition[state, min(token, mask.transition.shape[1] - 1)]
        if state < 0:
            return False
    return mask.distance[state] == 0


def test_a_trace_without_a_plan_is_left_as_it_is():
    made = AnswerForm("planned", LTL)
    for text in ("{ a }", "a ; { b }", "{ a } ; b ; c"):
        assert made.read(ids(text)) == ids(text)


@pytest.mark.parametrize("form", ["backward", "planned"])
def test_an_unfinished_answer_is_left_as_it_is(form):
    made = AnswerForm(form, LTL)
    for text in ("", "a ; b", "{ a ; b"):
        assert made.read(ids(text)) == ids(text)


def test_a_form_is_for_traces():
    with pytest.raises(LogicgenError, match=r"'backward' is for traces, not .* copying"):
        AnswerForm("backward", load_task("copying"))
    changes = {"answer_form": "backward", "training.learn": "right"}
    with pytest.raises(LogicgenError, match=r"answer_form: .* with training\.learn = 'answers'"):
        read_model_recipe("ltl-interchangeable", changes)
    with pytest.raises(LogicgenError, match=r"'complete' is for assignments, not .* ltl"):
        check_complete(LTL)


@pytest.mark.parametrize("canonical", [True, False])
def test_a_complete_assignment_has_every_symbol(canonical, tmp_path):
    """One answer and the verified one have them, also beyond the symbols of training."""
    data = tmp_path / "data"
    generate("propositional-mini", data, size=100, workers=1)
    sizes = [f"network.{key}" for key in ("width=16", "heads=2", "feed_forward=16")]
    layers = ["network.encoder_layers=1", "network.decoder_layers=1", "training.steps=5"]
    changes = [*sizes, *layers, "answer_form='complete'", f"canonical={str(canonical).lower()}"]
    recipe = "propositional-symbol-invariant"
    run = train(recipe, data, tmp_path / "run", changes=changes, quiet=True)
    evaluate(run, data, split="grid", verified=2, limit=20)
    for row in read_predictions(run / "grid")[0].to_pylist():
        asked = {*filter(str.isalpha, row["problem"].split())}
        for key in ("prediction", "verified_prediction"):
            assert {*row[key].split()[::2]} == asked


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("traces") / "data"
    generate("ltl-mini", folder, size=100, workers=1)
    return folder


@pytest.mark.parametrize("form", ["backward", "planned"])
def test_a_model_from_recipe_to_evaluation(form, data, tmp_path):
    """A trained model answers in plain form."""
    sizes = ("network.width=16", "network.heads=2", "network.encoder_layers=1")
    sizes += ("network.decoder_layers=1", "network.feed_forward=16", "training.steps=5")
    changes = [*sizes, f"answer_form={form!r}"]
    run = train("ltl-symbol-invariant", data, tmp_path / "run", changes=changes, quiet=True)
    assert load_model(run).recipe.answer_form == form
    evaluate(run, data, split="test", verified=2)
    for row in read_predictions(run / "test")[0].to_pylist():
        for key in ("prediction", "verified_prediction"):
            assert LTL.encode(LTL.decode_answer(row[key])) == row[key]
