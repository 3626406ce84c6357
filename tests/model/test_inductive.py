"""The inductive Transformer in the place of a language model."""

import numpy as np
import pytest
import torch

from logicgen import recipes
from logicgen.errors import LogicgenError
from logicgen.model.inductive import InductiveStarts, named
from logicgen.model.recipe import ModelRecipe, read_model_recipe
from logicgen.model.sequence_tables import InductiveTable
from logicgen.productions import Grammar
from logicgen.tokens import Tokens
from tests.languages import language_model

TOKENS = Tokens("names", ["<end>", "<start>", "a", "b", "c"])


def language(**options):
    torch.manual_seed(0)
    table = {"kind": "inductive", "layers": 2, "width": 2, "starts": 3, **options}
    return InductiveStarts(InductiveTable(**table), TOKENS)


@pytest.mark.parametrize("options", [{}, {"perceptron": 4}])
def test_it_says_what_its_grammar_says(options):
    model = language(**options)
    model.losses[:] = torch.tensor([3.0, 1.0, 2.0])
    tokens = torch.tensor([[1, 2, 4], [1, 3, 3]])
    logs = model.log_probabilities(tokens)
    assert logs.shape == (2, 3, 5)
    assert torch.allclose(logs.exp().sum(-1), torch.ones(2, 3))
    assert (logs[:, 2].argmax(-1) == 0).all()  # a sentence ends behind its last word
    if options:
        with pytest.raises(LogicgenError, match="perceptrons"):
            model.grammar()
        return
    grammar = model.grammar()
    assert logs[0, 1, 2:].exp().numpy() == pytest.approx(
        grammar.next_word(np.array([[0]]))[0], abs=1e-6
    )
    chosen = logs[:, :-1].gather(2, tokens[:, 1:, None])[..., 0].sum(1)
    assert chosen.numpy() == pytest.approx(
        grammar.log_probabilities(tokens[:, 1:].numpy() - 2), abs=1e-5
    )
    shorter = model.log_probabilities(tokens[:, :2])
    assert torch.allclose(shorter, logs[:, :2])


def test_a_unit_that_may_go_on_is_not_called_the_end():
    said = np.array([[0.98, 1.0], [0.02, 0.0]])  # <end>, a
    first = np.array([[0.0, 0.0], [1.0, 1.0]])
    grammar = Grammar(
        ("<end>", "a"), (("x", "y"), ("u", "v")), np.full(2, 0.5), (first, said), (np.eye(2),)
    )
    assert named(grammar).units == (("a", "a~2"), ("u", "<end>"))


def test_the_loss_is_that_of_all_starts_in_training_and_of_the_best_after_it():
    model = language()
    tokens = torch.tensor([[1, 2, 4], [1, 3, 3]])
    each = -model.network.log_probabilities(tokens[:, 1:] - 2).mean(1) / 2
    assert torch.allclose(model.loss(tokens), each.mean())
    assert torch.allclose(model.losses, each.detach())
    assert model.best == int(each.argmin())
    model.eval()
    assert torch.allclose(model.loss(tokens), each.min())
    crisp = language(crispness=0.5)
    assert crisp.loss(tokens) > each.mean()


def test_what_is_no_sentence_is_refused():
    model = language()
    with pytest.raises(LogicgenError, match="a sentence of 3 words: the model has 2 layers"):
        model.log_probabilities(torch.tensor([[1, 2, 2, 2]]))
    with pytest.raises(LogicgenError, match="sentences have 1 words, and the model has 2"):
        model.loss(torch.tensor([[1, 2]]))
    for tokens in ([[2, 2]], [[1, 0]], [[1, 1]], [[1, -1]]):
        with pytest.raises(LogicgenError, match="a sentence is <start> and its words"):
            model.log_probabilities(torch.tensor(tokens))
    with pytest.raises(LogicgenError, match="make a data set from a recipe of the task production"):
        language_model(read_model_recipe("inductive"), Tokens("names", ["<end>", "a"]), "automaton")


def test_recipes_that_contradict_themselves():
    network = {"kind": "inductive", "layers": 2, "width": 2}
    training = {
        "context": 3,
        "steps": 1,
        "batch_size": 1,
        "learning_rate": 0.1,
        "warmup_steps": 0,
        "schedule": "constant",
    }
    recipe = {"network": network, "training": training}
    ModelRecipe.model_validate(recipe)
    for change, says in (
        (
            {"embedding": {"method": "learned"}},
            "of no use: leave it out, for network.kind 'inductive'",
        ),
        ({"network": {**network, "dimension": 3}}, "dimension goes with embedding = 'dense'"),
        ({"network": {**network, "embedding": "dense"}}, "dimension goes with"),
        ({"training": {**training, "context": 2}}, "are 3 tokens"),
        ({"training": {**training, "optimizer": "muon"}}, "'muon' is for the linear layers"),
    ):
        with pytest.raises(ValueError, match=says):
            ModelRecipe.model_validate({**recipe, **change})


def test_an_unknown_key_is_named_with_those_of_its_kind(tmp_path):
    text = (recipes.folder("models") / "inductive.toml").read_text()
    path = tmp_path / "m.toml"
    path.write_text(text.replace("layers = 2", "layers = 2\nlayer = 3"))
    with pytest.raises(
        LogicgenError, match=r"'network\.layer' for 'inductive'; did you mean layers\?.*crispness"
    ):
        read_model_recipe(str(path))


def test_sentences_that_end_early():
    """`<end>` is a word that fills sentences up, and a token that may follow each word."""
    model = language(ends=True)
    model.losses[:] = torch.tensor([3.0, 1.0, 2.0])
    grammar = model.grammar()
    assert grammar.words == ("a", "b", "c", "<end>")
    sentences = torch.tensor([[1, 2, 4], [1, 3, 0]])
    each = grammar.log_probabilities(np.array([[0, 2], [1, 3]]))
    logs = model.log_probabilities(sentences)
    assert torch.allclose(logs.exp().sum(-1), torch.ones(2, 3))
    chosen = logs[:, :-1].gather(2, sentences[:, 1:, None])[..., 0].sum(1)
    assert chosen.numpy() == pytest.approx(each, abs=1e-5)
    # All that is behind the first end is the end again, whether it is written or not.
    longer = language(ends=True, layers=3)
    ended = [torch.tensor([[1, 2, 0, behind]]) for behind in (0, -1)]
    longer.eval()
    assert longer.loss(ended[0]) == longer.loss(ended[1])
    with pytest.raises(LogicgenError, match=r"set network\.ends = true"):
        language().loss(sentences)
