"""Language models that answer logic problems, after solved problems or after none."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import logicgen
from logicgen.data.solved import SolvedProblems, digest
from logicgen.errors import LogicgenError
from logicgen.model.answer_form import grammar_mask
from logicgen.model.few_shot import FewShotModel
from logicgen.model.model import Request
from logicgen.model.sequences import example_tokens
from logicgen.model.training_data import TrainingRegion
from logicgen.nn.decoding import GREEDY, BeamSearch
from logicgen.nn.samples import Sampling
from logicgen.tasks import load_task
from logicgen.tokens import Vocabulary
from tests.asking import answers_of, likeliest
from tests.data.data_sets import opened
from tests.languages import TRANSFORMER, language_model, recipe

SHIFT = Vocabulary.end
LOOKUP = {
    "task": "lookup",
    "region": {"symbols": [2, 5], "length": [8, 11], "step": 3},
    "sizes": {"train": 9, "validation": 0, "test": 3},
}
CONTENT = {
    "task": "propositional",
    "problem": {"operators": {"!": 1, "&": 1}},
    "region": {"symbols": [1, 3], "length": [1, 7]},
    "sizes": {"train": 40, "validation": 0, "test": 20},
}


@pytest.fixture(scope="module")
def logic(tmp_path_factory):
    return opened(tmp_path_factory.mktemp("data") / "logic", CONTENT)


def made(data, method="lexinvariant", symbols=3, share=None, **changes):
    """An untrained language model of the examples of a data set."""
    torch.manual_seed(0)
    embedding = {"random_tokens": "symbols"} if method != "learned" else {}
    embedding |= {"share": share} if share else {}
    table = recipe(method, TRANSFORMER, **embedding)
    table = table.model_copy(
        update={"training": table.training.model_copy(update={"context": 100, **changes})}
    )
    tokens = example_tokens(data.vocabulary, symbols)
    region = TrainingRegion((1, 3), (1, 7))
    return language_model(table, tokens, data.task.name, region).eval()


def asked(model, data, shots=0, votes=1):
    return FewShotModel(model, data.task, "it", votes, SolvedProblems(data, shots))


def problems(data):
    split = data.encoded("test")
    return [split.problems[row].tolist() for row in range(len(split))]


def steps(model, prompt, seed, mask, budget, tokens):
    """What the model continues a prompt with, from whole texts: the mask applied by hand."""
    fixed, state, written, total = mask.transition.shape[1] - 1, 0, [], 0.0
    while True:
        text = torch.tensor([[number - SHIFT for number in [*prompt, *written]]])
        logs = F.pad(model.log_probabilities(text, [seed], tokens)[0, -1], (SHIFT, 0))
        logs[:SHIFT] = -torch.inf
        best, where = -torch.inf, 0
        for number in range(SHIFT, len(logs)):
            after = int(mask.transition[state, min(number, fixed)])
            ends = number == Vocabulary.end
            fits = mask.distance[state] <= 0 if ends else after >= 0
            left = budget - len(written)
            if fits and (ends or mask.distance[after] < left) and logs[number] > best:
                best, where = float(logs[number]), number
        total += best
        if where == Vocabulary.end:
            return written, total
        state, written = int(mask.transition[state, min(where, fixed)]), [*written, where]


@pytest.mark.parametrize("shots", [0, 2])
def test_a_greedy_answer_is_the_likeliest_step_by_step(logic, shots, monkeypatch):
    model, mask = made(logic), grammar_mask(logic.task, 9)
    answerer = asked(model, logic, shots)
    monkeypatch.setattr("logicgen.model.few_shot.digest", lambda *parts: len(str(parts[0])))
    texts = problems(logic)[:6]
    found = answers_of(answerer, texts, 3, 0, 9, grammar=mask)
    for problem, (answer,) in zip(texts, found, strict=True):
        request = answerer._prompt(problem, request_of(texts))
        expected, total = steps(model, request, len(str(request)), mask, 9, len(model.tokens))
        assert answer.ids == expected
        length = len(expected) + 1
        assert answer.score == pytest.approx(total / ((5 + length) / 6), abs=1e-4)


def request_of(texts, seed=0):
    return Request(texts, 3, seed, 9)


def test_what_a_prompt_holds(logic):
    texts = problems(logic)
    answerer = asked(made(logic, context=100), logic, 3)
    pairs = {(*problem, 2, *answer, 2) for problem, answer in zip(*solved(logic), strict=True)}
    for problem in texts:
        prompt = answerer._prompt(problem, request_of(texts))
        assert prompt == answerer._prompt(problem, request_of(texts))
        assert prompt != answerer._prompt(problem, request_of(texts, seed=1))
        assert prompt[-len(problem) - 1 :] == [*problem, 2]
        shown = [tuple(prompt[first:after]) for first, after in pieces(prompt[: -len(problem) - 1])]
        assert len(shown) == 3
        assert set(shown) <= pairs
    own, answer = (each[0] for each in solved(logic))
    for seed in range(40):  # a problem of the training split is never its own example
        prompt = answerer._prompt(own, request_of([own], seed))
        assert (*own, 2, *answer, 2) not in {
            tuple(prompt[first:after]) for first, after in pieces(prompt[: -len(own) - 1])
        }


def pieces(prompt):
    """Where each solved problem begins and ends: a problem and an answer, an end after each."""
    ends = [place + 1 for place, number in enumerate(prompt) if number == 2]
    return list(itertools.pairwise([0, *ends[1::2]]))


def solved(data):
    split = data.encoded("train")
    rows = range(len(split))
    return [split.problems[r].tolist() for r in rows], [split.answers[r].tolist() for r in rows]


@pytest.mark.parametrize("shots", [0, 1])
@pytest.mark.parametrize("decoding", [GREEDY, BeamSearch(4, answers=4), Sampling(answers=5)])
def test_other_problems_of_a_request_do_not_show(logic, decoding, shots):
    """Neither the batch, nor what forked and ended in it, changes an answer."""
    answerer = asked(made(logic), logic, shots)
    mask, texts = grammar_mask(logic.task, 9), problems(logic)
    together = answers_of(answerer, texts, 3, 0, 9, grammar=mask, decoding=decoding)
    for problem, several in zip(texts, together, strict=True):
        (alone,) = answers_of(answerer, [problem], 3, 0, 9, grammar=mask, decoding=decoding)
        assert [answer.ids for answer in alone] == [answer.ids for answer in several]
        assert len({tuple(answer.ids) for answer in several}) == decoding.answers
        for one, other in zip(alone, several, strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-4)
    smaller = answers_of(answerer, texts, 3, 0, 9, grammar=mask, decoding=decoding, batch_size=2)
    assert [[a.ids for a in each] for each in smaller] == [
        [a.ids for a in each] for each in together
    ]


def test_votes_and_ensembles(logic):
    texts, mask = problems(logic), grammar_mask(logic.task, 9)
    model = made(logic)
    voted = answers_of(
        asked(model, logic, votes=9), texts, 3, 0, 9, grammar=mask, decoding=Sampling(seed=4)
    )
    draws = [
        likeliest(asked(model, logic), texts, 3, 0, 9, grammar=mask, decoding=Sampling(seed=seed))
        for seed in range(4, 13)
    ]
    for row, (answer,) in enumerate(voted):
        drawn = [draw[row] for draw in draws]
        assert drawn.count(answer.ids) == max(map(drawn.count, drawn))
    with pytest.raises(LogicgenError, match="--votes: nothing is drawn"):
        answers_of(asked(model, logic, votes=2), texts, 3, 0, 9)
    one, several = (
        answers_of(asked(model, logic), texts, 3, 0, 9, grammar=mask, ensemble=n) for n in (1, 8)
    )
    assert one != several
    with pytest.raises(LogicgenError, match="random rows, and this model has none"):
        asked(made(logic, "learned"), logic).check(3, ensemble=2)


def test_renaming_symbols_and_their_rows_renames_the_answers(logic, monkeypatch):
    """Exactly, also for symbols that training never saw."""
    model, mask = made(logic), grammar_mask(logic.task, 9)
    answerer, fixed, symbols = asked(model, logic), len(logic.vocabulary), 7
    texts = problems(logic)
    before = likeliest(answerer, texts, symbols, 0, 9, grammar=mask)
    names = np.random.default_rng(3).permutation(symbols)
    number = np.argsort(names)

    def renamed(ids, of):
        return [int(fixed + of[i - fixed]) if i >= fixed else i for i in ids]

    rows = type(model.network.rows).seeded

    def moved(self, seeds, tokens=None):
        drawn = rows(self, seeds, tokens)
        order = [*range(fixed - SHIFT), *(fixed - SHIFT + number)]
        return type(drawn)(drawn.matrix[:, order])

    monkeypatch.setattr(type(model.network.rows), "seeded", moved)
    monkeypatch.setattr("logicgen.model.few_shot.digest", digest_of(renamed, number))
    after = likeliest(
        answerer, [renamed(text, names) for text in texts], symbols, 0, 9, grammar=mask
    )
    assert [renamed(answer, names) for answer in before] == after


def digest_of(renamed, number):
    """The digest of a renamed prompt as that of the prompt before."""
    return lambda prompt, *others: digest(renamed(prompt, number), *others)


def test_what_is_refused(logic, tmp_path):
    lookup = opened(tmp_path / "lookup", LOOKUP)
    with pytest.raises(LogicgenError, match=r"^it was trained on propositional with other tokens"):
        FewShotModel(made(logic), load_task("ltl"), "it")
    with pytest.raises(LogicgenError, match="only 40 training examples: lower it"):
        asked(made(logic), logic, 40)
    with pytest.raises(LogicgenError, match=r"training.context = 20: lower it"):
        likeliest(asked(made(logic, context=20), logic, 3), problems(logic), 3, 0, 9)
    with pytest.raises(LogicgenError, match="show their own examples: leave it out"):
        made(lookup).answerer(lookup.task, "it", shots=1, data=lookup)
    with pytest.raises(LogicgenError, match="tokens are asked for"):
        asked(made(logic, "learned"), logic).check(9)


def test_shots_of_the_training_are_the_default(logic):
    assert made(logic).answerer(logic.task, "it", data=logic).shots == 0
    model = made(logic, shots=2)
    assert model.answerer(logic.task, "it", data=logic).shots == 2
    assert model.answerer(logic.task, "it", shots=0, data=logic).shots == 0
    assert model.answerer(logic.task, "it").shots == 0  # no data to take them from


@pytest.mark.slow
def test_a_language_model_of_logic_from_recipe_to_heat_map(tmp_path):
    """By the recipe that users try first, and by the recipe with shots."""
    data = opened(tmp_path / "logic", CONTENT).folder
    run = logicgen.train(
        "propositional-lexinvariant-names-shots", data, tmp_path / "run", steps=1, device="cpu"
    )
    summary = logicgen.evaluate(run, data, split="test", verified=3, limit=6, shots=2, device="cpu")
    assert summary["overall"]["examples"] == 6
    assert summary["decoding"]["shots"] == 2
    assert (run / "test-shots-2" / "heatmap.png").is_file()
    logicgen.train("language-lexinvariant", data, tmp_path / "other", steps=1, device="cpu")
    encoder = logicgen.train(
        "propositional-lexinvariant", data, tmp_path / "both", steps=1, device="cpu"
    )
    with pytest.raises(LogicgenError, match="is not a language model, and reads one problem"):
        logicgen.evaluate(encoder, data, tmp_path / "out", shots=1, device="cpu")


def test_a_start_needs_the_same_tokens_where_rows_are_trained(logic, tmp_path):
    """Operators have trained rows, symbols have not."""
    torch.manual_seed(0)
    other = opened(tmp_path / "ltl", {**CONTENT, "task": "ltl"})
    made(logic, symbols=9).start_from(made(logic, symbols=3), "it")
    with pytest.raises(LogicgenError, match="it: was trained with other tokens"):
        made(other).start_from(made(logic), "it")


def test_rows_of_symbols_that_training_never_showed(logic):
    """The rows of operators are not among them."""
    model = made(logic, "partial-rows", symbols=9, share=0.5)
    found, seen = model.trained_rows(model.training_data(model.recipe, logic), "it")
    assert len(found) == len(seen) == 9
    assert seen.tolist() == [True] * 3 + [False] * 6


def test_shots_in_recipes_that_cannot_have_them(logic, tmp_path):
    lookup = opened(tmp_path / "lookup", LOOKUP).folder
    with pytest.raises(LogicgenError, match=r"training.shots: .*show their own examples"):
        logicgen.train("propositional-lexinvariant-names-shots", lookup, tmp_path / "run")
    table = TABLE.replace("shots = 1", "shots = 99")
    (tmp_path / "m.toml").write_text(table)
    with pytest.raises(LogicgenError, match=r"100 problems with.*or lower training.shots"):
        logicgen.train(tmp_path / "m.toml", logic.folder, tmp_path / "run")


TABLE = """
[embedding]
method = "lexinvariant"

[network]
kind = "language-model"
width = 16
heads = 2
layers = 1
feed_forward = 16

[training]
context = 100
shots = 1
steps = 1
batch_size = 4
learning_rate = 1e-3
warmup_steps = 0
schedule = "constant"
"""
