"""Students of one tensor program."""

import numpy as np
import pytest
import torch

from logicgen.experiments.prompting import SETS, WORDS, sentence_ids
from logicgen.model.inductive import ambiguity, as_grammar, named
from logicgen.nn.inductive_transformer import InductiveTransformer, LogWeights
from logicgen.productions import aligned, distance, divergence, random_grammar
from logicgen.training.students import Lesson, Sentences, teach

TWO = Sentences.of(sentence_ids(SETS["two"]))


@pytest.mark.slow
def test_a_hundred_students_agree_to_less_than_a_percent_per_weight():
    """The published claim (section 4.3): here after alignment, and without a nudge."""
    lesson = Lesson(steps=1_000, starts=10)
    weights, losses = teach([TWO] * 100, words=4, width=2, lesson=lesson)
    assert losses == pytest.approx(np.log(2), abs=0.01)
    grammars = [as_grammar(weights, number, WORDS) for number in range(100)]
    found = [aligned(each, grammars[0]) for each in grammars]
    for arrays in (
        [each.start for each in found],
        *([each.tokens[layer] for each in found] for layer in range(2)),
        [each.below[0] for each in found],
    ):
        assert np.std(arrays, axis=0).max() < 0.01


def test_other_starts_other_students():
    lesson = Lesson(steps=2, starts=1)
    one, _ = teach([TWO] * 2, words=4, width=2, lesson=lesson)
    assert not torch.equal(one.tokens[0], one.tokens[1])
    again, _ = teach([TWO] * 2, words=4, width=2, lesson=lesson)
    other, _ = teach([TWO] * 2, words=4, width=2, lesson=lesson, seed=1)
    assert torch.equal(one.tokens, again.tokens)
    assert not torch.equal(one.tokens, other.tokens)


def test_each_student_learns_its_own_sentences():
    lessons = [Sentences.of(np.array([[word, word]])) for word in range(3)]
    lessons.append(Sentences.of(np.array([[0, 1], [2, 2], [0, 1], [0, 1]])))
    weights, losses = teach(lessons, words=3, width=2, lesson=Lesson(steps=300, starts=4))
    for word in range(3):
        said = as_grammar(weights, word, ("a", "b", "c"))
        assert np.exp(said.log_probabilities(np.array([[word, word]]))) > 0.99
    both = np.exp(as_grammar(weights, 3, ("a", "b", "c")).log_probabilities(lessons[3].ids))
    assert both == pytest.approx([0.75, 0.25], abs=0.02)
    expected = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25))
    assert losses == pytest.approx([0, 0, 0, expected], abs=0.02)


def test_told_that_words_tell_units_students_find_the_teacher():
    teacher = random_grammar(2, 3, 5, np.random.default_rng(4), concentration=0.3, own_words=True)
    lesson = Lesson(starts=20, crispness=0.3)
    weights, _ = teach([Sentences.all_of(teacher)], words=5, width=2, lesson=lesson)
    student = aligned(as_grammar(weights, 0, teacher.words), teacher)
    assert distance(student, teacher).mean < 0.02
    assert divergence(teacher, student) < 0.01


def test_ambiguity_is_the_entropy_of_units_given_words():
    torch.manual_seed(0)
    network = InductiveTransformer(words=4, positions=2, width=3).double()
    grammar = as_grammar(network.weights(), 0, ("a", "b", "c", "d"))
    expected = 0.0
    for reach, said in zip(grammar.reach, grammar.tokens, strict=True):
        joint = said * reach
        expected -= (joint * np.log(joint / joint.sum(axis=1, keepdims=True))).sum() / 2
    assert ambiguity(network.weights()).item() == pytest.approx(expected)
    clear = LogWeights(
        torch.zeros(1, 2).log_softmax(-1),
        torch.eye(2).log().expand(1, 1, 2, 2),
        torch.zeros(1, 0, 2, 2),
    )
    assert ambiguity(clear).item() == pytest.approx(0, abs=1e-7)


def test_units_are_called_by_what_they_say():
    grammar = random_grammar(3, 1, 3, np.random.default_rng(0))
    said = np.array([[0.9, 0.8, 0.4], [0.1, 0.1, 0.3], [0.0, 0.1, 0.3]])
    grammar = type(grammar)(grammar.words, grammar.units, grammar.start, (said,), ())
    assert named(grammar).units == (("w0", "w0~2", "1.3"),)
    for words, expected in (
        (("a", "a~2", "b"), ("a", "a~2", "1.3")),
        (("1.3", "x", "y"), ("1.3~2", "1.3~3", "1.3")),
        (("10:30", "x", "y"), ("1.1", "1.2", "1.3")),  # 10:30 would be a unit of layer 10
    ):
        other = type(grammar)(words, grammar.units, grammar.start, (said,), ())
        assert named(other).units == (expected,)


def test_sentences_are_counted():
    found = Sentences.of(np.array([[1, 0], [0, 1], [1, 0]]))
    assert found.ids.tolist() == [[0, 1], [1, 0]]
    assert found.shares == pytest.approx([1 / 3, 2 / 3])


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{"embedding": "dense", "dimension": 3}, {"perceptron": 4}, {"nudge": 2.0}]
)
def test_variants_learn(options):
    lesson = Lesson(steps=300, starts=4, **options)
    _, losses = teach([TWO], words=4, width=2, lesson=lesson)
    assert losses == pytest.approx(np.log(2), abs=0.05)
