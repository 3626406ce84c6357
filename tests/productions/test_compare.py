"""Equivalence against the probabilities of all sentences, alignment against all orders."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest

from logicgen.errors import LogicgenError
from logicgen.productions import (
    Grammar,
    aligned,
    canonical,
    class_distance,
    difference,
    distance,
    divergence,
    equivalent,
    is_determined,
    random_grammar,
)
from tests.productions.small import listed

SIZES = [(3, 1, 4), (2, 2, 3), (3, 2, 4), (3, 3, 4), (2, 4, 3), (3, 5, 3)]  # units, layers, words


def every_sentence(grammar):
    """The probability of each sequence of words, path by path."""
    words = range(len(grammar.words))
    found = []
    for sentence in product(words, repeat=grammar.positions):
        weights = grammar.start * grammar.tokens[0][sentence[0]]
        for below, said, word in zip(grammar.below, grammar.tokens[1:], sentence[1:], strict=True):
            weights = said[word] * (below @ weights)
        found.append(weights.sum())
    return np.array(found)


def mixture(size, rng):
    """A matrix near the identity whose columns sum to 1, as do those of its inverse."""
    mixed = rng.dirichlet(np.ones(size), size).T
    return 0.98 * np.eye(size) + 0.02 * mixed


def traded(grammar, rng):
    """Another grammar with the same sentences: first and last units mixed, all reordered."""
    width = len(grammar.units[0])
    if grammar.positions > 1:
        first, last = mixture(width, rng).T, mixture(width, rng)  # of the first, rows sum to 1
        joint = grammar.tokens[0] * grammar.start @ first
        below = list(grammar.below)
        below[0] = below[0] @ np.linalg.inv(first).T
        below[-1] = np.linalg.inv(last) @ below[-1]
        tokens = [joint / joint.sum(axis=0), *grammar.tokens[1:-1], grammar.tokens[-1] @ last]
        grammar = replace(
            grammar, start=joint.sum(axis=0), tokens=tuple(tokens), below=tuple(below)
        )
    return grammar.permuted([rng.permutation(width) for _ in range(grammar.positions)])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("seed", range(5))
def test_traded_weights_have_the_same_sentences_and_are_found_equivalent(size, seed):
    rng = np.random.default_rng(seed)
    teacher = random_grammar(*size, rng, concentration=5.0)  # no weight is near 0
    student = traded(teacher, rng)
    assert every_sentence(student) == pytest.approx(every_sentence(teacher), abs=1e-14)
    assert equivalent(student, teacher)
    assert class_distance(student, teacher).largest < 1e-9
    if size[1] > 1:  # and it could be otherwise: their own weights do differ
        assert distance(aligned(student, teacher), teacher).largest > 1e-4


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("seed", range(5))
def test_changed_weights_are_not_equivalent(size, seed):
    rng = np.random.default_rng(seed)
    teacher = random_grammar(*size, rng, concentration=5.0)
    student = blurred(teacher, 1e-4, rng)
    one, other = every_sentence(teacher), every_sentence(student)
    norms = np.linalg.norm(one - other) / np.linalg.norm(one)
    assert difference(teacher, student) == pytest.approx(norms, rel=1e-9)
    assert not equivalent(teacher, student)
    assert class_distance(student, teacher).largest > 1e-7


@pytest.mark.parametrize("size", SIZES)
def test_the_canonical_form_has_the_same_sentences_and_is_its_own(size):
    rng = np.random.default_rng(7)
    grammar = random_grammar(*size, rng)
    form = canonical(grammar)
    assert every_sentence(form) == pytest.approx(every_sentence(grammar), abs=1e-14)
    assert form.units[0] == form.units[-1] == grammar.words
    assert distance(canonical(form), form).largest < 1e-12


def test_words_that_no_sentence_has_and_units_that_are_never_on_do_not_count():
    said = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    units, words = (("x", "y"), ("p", "q")), ("a", "b", "never")
    below = np.array([[0.3, 0.9], [0.7, 0.1]])
    one = Grammar(words, units, np.array([1.0, 0.0]), (said, said), (below,))
    other = replace(one, tokens=(said[[0, 2, 1]], said), below=(below[:, [0, 0]],))
    assert class_distance(one, other) == pytest.approx((0, 0), abs=1e-12)
    assert difference(one, other) < 1e-12


def test_probabilities_of_long_sentences_are_small_and_still_compared():
    rng = np.random.default_rng(0)
    one = random_grammar(3, 60, 20, rng)
    assert difference(one, one.permuted([rng.permutation(3) for _ in range(60)])) < 1e-12
    assert difference(one, blurred(one, 1e-6, rng)) > 1e-7


def test_what_sentences_determine():
    rng = np.random.default_rng(0)
    grammar = random_grammar(2, 4, 4, rng)
    assert is_determined(grammar)
    # Nothing is in the middle of two words.
    assert is_determined(random_grammar(3, 2, 3, rng))
    # Two units of the middle that say the same can be mixed.
    same = list(grammar.tokens)
    same[1] = same[1][:, [0, 0]]
    assert not is_determined(replace(grammar, tokens=tuple(same)))
    # So can two that the words behind them do not tell apart.
    below = list(grammar.below)
    below[2] = below[2][:, [0, 0]]
    assert not is_determined(replace(grammar, below=tuple(below)))
    assert not is_determined(random_grammar(4, 3, 3, rng))  # four units, three words


def test_units_that_are_not_determined_may_be_mixed_and_are_equivalent_all_the_same():
    """The canonical form is not the last word where the condition does not hold."""
    rng = np.random.default_rng(0)
    grammar = random_grammar(2, 3, 4, rng, concentration=5.0)
    said, mixed = grammar.tokens[1][:, [0, 0]], mixture(2, rng)
    one = replace(grammar, tokens=(grammar.tokens[0], said, grammar.tokens[2]))
    other = replace(one, below=(mixed @ one.below[0], one.below[1] @ np.linalg.inv(mixed)))
    assert every_sentence(other) == pytest.approx(every_sentence(one), abs=1e-14)
    assert equivalent(one, other)
    assert class_distance(one, other).largest > 1e-4
    assert not is_determined(one)


def test_others_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(LogicgenError, match="different words, or sentences of different lengths"):
        equivalent(random_grammar(2, 2, 3, rng), random_grammar(2, 3, 3, rng))
    for compared, refusal in ((class_distance, "same number of units"), (aligned, "same numbers")):
        with pytest.raises(LogicgenError, match=refusal):
            compared(random_grammar(2, 2, 3, rng), random_grammar(3, 2, 3, rng))


def pairs_of_words(chosen):
    """Return a grammar of two words: x or y, then m or n.

    chosen: (2, 2), the probabilities of m and n (rows) behind x and y (columns).
    """
    first, last = np.eye(4)[:, :2], np.eye(4)[:, 2:]
    return Grammar(
        words=("x", "y", "m", "n"),
        units=(("one", "other"), ("one", "other")),
        start=np.array([0.7, 0.3]),
        tokens=(first, last),
        below=(np.array(chosen, dtype=float),),
    )


def test_units_that_are_words_are_not_exchanged():
    """Compare a grammar of `x m` and `y n` with one of `x n` and `y m`: they share no sentence."""
    teacher, student = pairs_of_words([[1, 0], [0, 1]]), pairs_of_words([[0, 1], [1, 0]])
    assert not equivalent(student, teacher)
    assert class_distance(student, teacher).largest == pytest.approx(1)
    swapped = replace(student, start=student.start[::-1].copy())
    assert class_distance(swapped, teacher).mean > 0.3


def with_end(rng, width=3, layers=4):
    """A grammar whose units may all say `<end>`, but the first, which says nothing else."""
    drawn = random_grammar(width, layers, 3, rng, concentration=5.0)
    tokens = [said.copy() for said in drawn.tokens]
    for said in tokens[1:]:
        said[:, 0] = [0, 0, 1]
    return replace(drawn, words=("a", "b", "<end>"), tokens=tuple(tokens))


@pytest.mark.parametrize("seed", range(5))
def test_what_follows_an_end_does_not_count(seed):
    rng = np.random.default_rng(seed)
    one = with_end(rng)
    below = [each.copy() for each in one.below]
    for each in below[1:]:
        each[:, 0] = rng.dirichlet(np.ones(3))
    other = replace(one, below=tuple(below))
    assert difference(one, other) < 1e-12
    assert equivalent(one, other)
    assert class_distance(one, other).largest < 1e-9
    assert divergence(canonical(one), one) < 1e-12
    assert divergence(one, other) < 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_the_difference_is_that_of_listed_sentences_with_an_end(seed):
    rng = np.random.default_rng(seed)
    one, other = with_end(rng), with_end(rng, width=2)
    p, q = listed(one), listed(other)
    both = [(p.get(text, 0), q.get(text, 0)) for text in p.keys() | q.keys()]
    wanted = np.linalg.norm([a - b for a, b in both]) / np.linalg.norm([a for a, _ in both])
    assert difference(one, other) == pytest.approx(wanted, abs=1e-9)
    assert not equivalent(one, other)


def test_a_unit_that_says_the_end_half_of_the_time_is_two_units():
    mixed = Grammar(
        ("a", "b", "<end>"),
        (("u",), ("v",), ("w",)),
        np.ones(1),
        tuple(np.array([column]).T for column in ([1, 0, 0], [0, 0.5, 0.5], [1, 0, 0])),
        (np.ones((1, 1)), np.ones((1, 1))),
    )
    split = Grammar(
        mixed.words,
        (("u",), ("v", "<end>"), ("w", "<end>")),
        mixed.start,
        (mixed.tokens[0], np.array([[0, 1, 0], [0, 0, 1]]).T, np.array([[1, 0, 0], [0, 0, 1]]).T),
        (np.array([[0.5], [0.5]]), np.eye(2)),
    )
    assert equivalent(mixed, split)
    assert canonical(split).units[1] == ("v", "<end>", "<<end>>")


def blurred(grammar, amount, rng):
    def blur(array):
        noise = rng.dirichlet(np.ones(len(array)), array.shape[1]).T
        return (1 - amount) * array + amount * noise

    return replace(
        grammar,
        start=blur(grammar.start[:, None])[:, 0],
        tokens=tuple(map(blur, grammar.tokens)),
        below=tuple(map(blur, grammar.below)),
    )


@pytest.mark.parametrize("seed", range(10))
def test_another_order_is_undone(seed):
    rng = np.random.default_rng(seed)
    teacher = random_grammar(4, 3, 6, rng)
    orders = [rng.permutation(4) for _ in range(3)]
    student = teacher.permuted(orders)
    assert student.units[0] == tuple(teacher.units[0][number] for number in orders[0])
    found = aligned(student, teacher)
    assert distance(found, teacher).largest < 1e-12
    assert found.units == teacher.units


@pytest.mark.parametrize("seed", range(10))
def test_no_order_is_better(seed):
    rng = np.random.default_rng(seed)
    teacher = random_grammar(3, 2, 4, rng)
    student = blurred(teacher, 0.3, rng).permuted([rng.permutation(3) for _ in range(2)])
    orders = [np.array(order) for order in permutations(range(3))]
    best = min(distance(student.permuted(pair), teacher).mean for pair in product(orders, repeat=2))
    assert distance(aligned(student, teacher), teacher).mean == pytest.approx(best)


def test_units_that_say_the_same_are_told_apart_by_what_they_lead_to():
    said = np.array([[1.0, 1.0], [0.0, 0.0]])
    teacher = Grammar(
        ("a", "b"), (("x", "y"), ("p", "q")), np.array([0.5, 0.5]), (said, np.eye(2)), (np.eye(2),)
    )
    student = teacher.permuted([np.array([1, 0]), np.array([0, 1])])
    assert distance(student, teacher).mean > 0
    assert distance(aligned(student, teacher), teacher).mean == 0


def test_distance_is_total_variation_of_the_teachers_choices():
    teacher = Grammar(("a", "b"), (("x",),), np.ones(1), (np.array([[1.0], [0.0]]),), ())
    student = replace(teacher, tokens=(np.array([[0.6], [0.4]]),))
    # Two choices, of a unit and of a word; the second differs by 0.4.
    assert distance(student, teacher) == pytest.approx((0.2, 0.4))


def test_what_a_unit_that_is_never_on_would_do_does_not_count():
    one = Grammar(("a", "b"), (("x", "y"),), np.array([1.0, 0.0]), (np.eye(2),), ())
    other = replace(one, tokens=(np.array([[1, 1], [0, 0]]),))
    assert distance(other, one) == (0, 0)
