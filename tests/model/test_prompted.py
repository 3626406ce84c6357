"""Language models that answer problems: how they are asked, and what they write."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
import torch

from logicgen.data.generate import generate
from logicgen.data.opening import load_dataset
from logicgen.data.recipe import DataRecipe
from logicgen.errors import LogicgenError
from logicgen.measures.predictions import About, predict_and_verify
from logicgen.model import prompted
from logicgen.model.answer_form import grammar_mask
from logicgen.model.language_model import NeuralLanguageModel
from logicgen.model.prompted import PromptedModel
from logicgen.model.sequences import example_tokens
from logicgen.model.training_data import TrainingRegion
from logicgen.nn.decoding import BeamSearch
from logicgen.nn.samples import Sampling
from logicgen.tokens import Tokens
from tests.asking import answers_of, likeliest
from tests.languages import characters, counted, recipe, untrained
from tests.verdicts import verdict


def dataset(folder, task, **problem):
    region = {"lookup": {"length": [8, 11], "step": 3}, "permutation": {"length": [12, 20]}}[task]
    content = {
        "task": task,
        "region": {"symbols": [2, 5], **({"step": 8} | region)},
        "problem": problem,
        "sizes": {"train": 0, "validation": 0, "test": 30},
    }
    generate(DataRecipe.model_validate(content), folder, name=task)
    return load_dataset(folder)


@pytest.fixture(scope="module")
def lookup(tmp_path_factory):
    return dataset(tmp_path_factory.mktemp("data") / "lookup", "lookup")


@pytest.fixture(scope="module")
def permutation(tmp_path_factory):
    return dataset(tmp_path_factory.mktemp("data") / "permutation", "permutation", size=3)


class Oracle(NeuralLanguageModel):
    """Stands in for a model of text: continues with random but fixed expectations of a text.

    What it expects follows from the text so far and, if drawn rows matter, from the seed.
    """

    def __init__(self, tokens: Tokens, random: bool = False, task: str = "text") -> None:
        super().__init__(recipe("lexinvariant" if random else "learned"), tokens, task)
        self.read: list[tuple[int, ...]] = []

    def reader(self, seeds, count=None):
        texts = [()] * len(seeds)

        def read_on(tokens, of=None):
            assert of is None  # nothing forks
            found = []
            for line, ids in enumerate(tokens.tolist()):
                texts[line] += tuple(ids)
                self.read.append(texts[line])
                seed = seeds[line] if self.random else 0
                found.append(self.after(texts[line], seed, count or len(self.tokens)))
            return torch.stack(found)

        return read_on

    @staticmethod
    def after(ids, seed, count):
        rng = np.random.default_rng((seed, *ids))
        return torch.from_numpy(rng.normal(size=count) * 2).float().log_softmax(0)


LETTERS = characters(["abcdefgh ->;\n"])


def encoded(data, rows=range(10)):
    split = data.encoded("test")
    return [split.problems[row].tolist() for row in rows]


def mask(data):
    return grammar_mask(data.task, 12)


def test_problems_are_spelled_as_text(lookup, permutation):
    for data, problem, text, fixed in (
        (lookup, "a -> b c -> d c ->", "a->b c->d c->", " ->"),
        (permutation, "a b c > b a c ; c d a >", "abc>bac;cda>", ">;"),
    ):
        model = Oracle(characters(["xyzuvw ->;\n"]))
        likeliest(PromptedModel(model, data.task), [data.vocabulary.encode(problem)], 5, 0, 12)
        found = model.tokens.decode(model.read[0])
        letters = [each for each in text if each.isalpha()]
        names = dict(zip(letters, (each for each in found if each not in fixed), strict=True))
        assert len({*names.values()}) == len(names)
        assert "".join(names.get(each, each) for each in text) == found


def test_symbols_are_tokens_that_write_nothing_else(lookup):
    asked = PromptedModel(Oracle(LETTERS), lookup.task)
    asked.check(10)  # a to h, the semicolon and the line break
    with pytest.raises(LogicgenError, match="have 11 symbols, and the model has 10 tokens"):
        asked.check(11)


def test_a_model_of_the_task_reads_its_own_tokens(lookup):
    model = Oracle(example_tokens(lookup.vocabulary, 5), task="lookup")
    asked = PromptedModel(model, lookup.task)
    likeliest(asked, [lookup.vocabulary.encode("a -> b b ->")], 5, 0, 12)
    assert model.tokens.decode(model.read[0]) == "a -> b b ->"
    assert asked.alphabet == 5
    asked.check(5)
    with pytest.raises(LogicgenError, match="only a lexinvariant model takes any number"):
        asked.check(6)
    PromptedModel(Oracle(model.tokens, random=True, task="lookup"), lookup.task).check(900)


@pytest.mark.parametrize("own", [True, False])
def test_greedy_is_the_likeliest_next_token_by_brute_force(permutation, own):
    data = permutation
    tokens = example_tokens(data.vocabulary, 5) if own else LETTERS
    model = Oracle(tokens, task=data.task.name if own else "text")
    asked = PromptedModel(model, data.task)
    problems = encoded(data)
    found = likeliest(asked, problems, 5, 0, 12, mask(data))
    model.read.clear()
    letters = {id: number for number, id in enumerate(asked._symbols)}
    for problem, answer in zip(problems, found, strict=True):
        likeliest(asked, [problem], 5, 0, 12, mask(data))
        prompt = model.read[0]
        model.read.clear()
        ids, expected = prompt, []
        for _ in range(3):
            logs = model.after(ids, 0, len(tokens))
            if own:
                choices = [tokens.id(name) for name in "abcde"]
            else:
                choices = list(letters)[:5]
            best = max(choices, key=lambda token: logs[token])
            ids = (*ids, best)
            expected.append(tokens.texts[best] if own else "abcde"[letters[best]])
        assert data.vocabulary.decode(answer) == " ".join(expected)


@pytest.mark.parametrize("decoding", [BeamSearch(), Sampling(seed=6)])
@pytest.mark.parametrize("votes", [1, 5])
def test_answers_do_not_depend_on_those_beside_them(lookup, monkeypatch, decoding, votes):
    if votes > 1 and isinstance(decoding, BeamSearch):
        return
    asked = PromptedModel(Oracle(LETTERS, random=True), lookup.task, votes)
    problems = encoded(lookup)
    together = likeliest(asked, problems, 5, 3, 12, mask(lookup), decoding=decoding)
    alone = [likeliest(asked, [p], 5, 3, 12, mask(lookup), decoding=decoding)[0] for p in problems]
    assert together == alone
    monkeypatch.setattr(prompted, "AT_A_TIME", 1)
    assert likeliest(asked, problems, 5, 3, 12, mask(lookup), decoding=decoding) == together
    assert likeliest(asked, problems, 5, 4, 12, mask(lookup), decoding=decoding) != together


def test_without_a_grammar_an_answer_can_be_invalid(lookup):
    class Rambling(Oracle):
        @staticmethod
        def after(ids, seed, count):
            return torch.zeros(count).index_fill(0, torch.tensor(LETTERS.id("-")), 9.0)

    asked = PromptedModel(Rambling(LETTERS), lookup.task)
    problems = encoded(lookup, range(3))
    (answer, *_) = likeliest(asked, problems, 5, 0, 12)
    problem = lookup.vocabulary.decode(problems[0])
    text = lookup.vocabulary.decode(answer)
    assert str(verdict(lookup.task, problem, text)) == "invalid"
    (answer, *_) = likeliest(asked, problems, 5, 0, 12, mask(lookup))
    text = lookup.vocabulary.decode(answer)
    assert str(verdict(lookup.task, problem, text)) != "invalid"


def test_an_ensemble_averages_over_draws_of_rows(lookup):
    class Split(Oracle):
        """One draw is sure of the first symbol, the other two less sure of the second."""

        @staticmethod
        def after(ids, seed, count):
            logs = torch.full((count,), -20.0)
            first, second = asked._symbols[:2]
            logs[first] = math.log(0.9 if seed in lone else 0.3)
            logs[second] = math.log(0.1 if seed in lone else 0.7)
            return logs

    model = Split(LETTERS, random=True)
    asked = PromptedModel(model, lookup.task)
    problem = encoded(lookup, [0])
    text = lookup.vocabulary.decode(problem[0])
    lone = {prompted.digest(text, 0, 0)}
    symbol = len(lookup.vocabulary)
    assert likeliest(asked, problem, 5, 0, 1, mask(lookup)) == [[symbol]]
    # (0.9 + 0.3) / 2 against (0.1 + 0.7) / 2; then (0.9 + 0.3 + 0.3) / 3 against 1.5 / 3.
    assert likeliest(asked, problem, 5, 0, 1, mask(lookup), ensemble=2) == [[symbol]]
    assert likeliest(asked, problem, 5, 0, 1, mask(lookup), ensemble=4) == [[symbol + 1]]
    with pytest.raises(LogicgenError, match="this model has none"):
        PromptedModel(Oracle(LETTERS), lookup.task).check(2, ensemble=2)


@pytest.mark.slow
def test_votes_elect_the_most_frequent_of_the_draws(permutation):
    data, model = permutation, Oracle(LETTERS)
    problems, sampling = encoded(data, range(6)), Sampling(0.6, seed=2)
    one = likeliest(
        PromptedModel(model, data.task), problems, 5, 0, 12, mask(data), decoding=sampling
    )
    assert one == likeliest(
        PromptedModel(model, data.task, 1), problems, 5, 0, 12, mask(data), decoding=sampling
    )
    elected = likeliest(
        PromptedModel(model, data.task, 400), problems, 5, 0, 12, mask(data), decoding=sampling
    )
    # By the law of large numbers the winner is among the likeliest answers of the draw.
    asked = PromptedModel(model, data.task)
    for problem, answer in zip(problems, elected, strict=True):
        chances = distribution(asked, problem, 0.6)
        text = tuple(each - len(data.vocabulary) for each in answer)
        assert chances[text] > max(chances.values()) - 0.15


def test_several_samples_are_the_different_ones_of_single_samples(permutation):
    data = permutation
    problems, asked = encoded(data, range(6)), PromptedModel(Oracle(LETTERS), data.task)
    sampling = Sampling(0.6, seed=2, answers=5)
    drawn = answers_of(asked, problems, 5, 0, 12, mask(data), decoding=sampling)
    singles = [
        likeliest(asked, problems, 5, 0, 12, mask(data), decoding=Sampling(0.6, seed=seed))
        for seed in range(2, 7)
    ]
    for place, answers in enumerate(drawn):
        written = [tuple(each[place]) for each in singles]
        assert [tuple(answer.ids) for answer in answers] == list(dict.fromkeys(written))
    assert min(map(len, drawn)) < max(map(len, drawn)) <= 5


def distribution(asked, problem, temperature):
    """The probability of every answer of three of five symbols."""
    symbols, model = asked._symbols[:5], asked.model
    found = Counter()
    for answer in itertools.product(range(5), repeat=3):
        ids, chance = tuple(asked._read(problem)), 1.0
        for number in answer:
            logs = model.after(ids, 0, len(model.tokens))[symbols] / temperature
            chance *= float(logs.softmax(0)[number])
            ids = (*ids, symbols[number])
        found[answer] = chance
    return found


def test_votes_are_drawn_and_recorded(lookup):
    with pytest.raises(LogicgenError, match="--votes: nothing is drawn; give --sample"):
        likeliest(PromptedModel(Oracle(LETTERS), lookup.task, 3), encoded(lookup), 5, 0, 12)
    about = About("lookup", "oracle", "lookup", "test", (0, 0), (0, 0))
    for votes in (1, 3):
        asked = PromptedModel(Oracle(LETTERS), lookup.task, votes)
        table = predict_and_verify(asked, lookup, about, limit=4, decoding=Sampling())
        assert (b'"votes": 3' in table.schema.metadata[b"logicgen"]) == (votes == 3)


def test_a_model_that_counted_solved_problems_answers_them(lookup):
    """An n-gram that has only ever seen `b` after `a`."""
    model = counted(LETTERS, ["a->b a->b"] * 30, 4)
    asked = PromptedModel(model, lookup.task)
    a, b = (len(lookup.vocabulary) + asked._symbols.index(LETTERS.id(each)) for each in "ab")
    arrow = lookup.vocabulary.id("->")
    assert likeliest(asked, [[a, arrow, b, a, arrow]], 9, 0, 12, mask(lookup)) == [[b]]


def test_refused(lookup, tmp_path):
    with pytest.raises(LogicgenError, match="cannot read problems of lookup"):
        PromptedModel(untrained(Tokens("names", ["<end>", "a"]), "automaton"), lookup.task)
    with pytest.raises(LogicgenError, match="no token for '->'"):
        PromptedModel(untrained(characters(["abc "])), lookup.task)
    with pytest.raises(LogicgenError, match="language models answer greedily"):
        likeliest(
            PromptedModel(Oracle(LETTERS), lookup.task),
            encoded(lookup),
            5,
            0,
            12,
            decoding=BeamSearch(beams=2),
        )


def test_the_training_region_is_that_of_the_task(lookup):
    model = Oracle(example_tokens(lookup.vocabulary, 5), task="lookup")
    model.region = TrainingRegion((2, 5), (8, 11))
    assert PromptedModel(model, lookup.task).region == model.region
    assert PromptedModel(Oracle(LETTERS), lookup.task).region == TrainingRegion((0, 0), (0, 0))
