"""Controls of copying, look-up and permutation, against answers found by hand."""

from __future__ import annotations

import math
from collections import Counter
from itertools import islice, permutations, product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.tasks import load_task
from logicgen.tasks.controls import load_control
from logicgen.tasks.task import Cell

LOOK_UP = "a -> b c -> d e -> d c ->"
PERMUTATION = "a b c > c a b ; d e f >"
SETTINGS = {"copying": {}, "lookup": {}, "permutation": {"size": 3}}
NAMED = [(task, name) for task in SETTINGS for name in load_task(task).controls]


def answers(task, name, problem, count=1):
    return load_control(load_task(task), name).answers(problem, count)


def problems(task, cell, number, symbols=(2, 5)):
    """Return random problems with their answers, without problems that have no answer."""
    of, rng = load_task(task), Random(0)
    source = of.source(of.Settings.model_validate(SETTINGS[task]), symbols)
    draws = (source.sample(rng, cell).problem for _ in range(10**6))
    solved = ((of.encode(each), of.solve(each).witness) for each in draws)
    known = ((text, of.encode(answer)) for text, answer in solved if answer is not None)
    return list(islice(known, number))


@pytest.mark.parametrize(
    ("task", "name", "problem", "expected"),
    [
        ("copying", "copy", "b a a c", ["b a a c"]),
        ("copying", "constant", "b a a c", ["a a a a", "b b b b", "c c c c"]),
        ("copying", "random", "b b b", ["b b b"]),
        ("lookup", "counter", LOOK_UP, ["d", "b"]),
        ("lookup", "counter", "a -> b c -> d a c ->", ["b d", "b b", "d d", "d b"]),
        ("lookup", "counter", "a -> b c -> d c -> d e ->", ["d", "b"]),  # e is no key
        ("lookup", "frequent", LOOK_UP, ["d", "b"]),
        ("lookup", "frequent", "a -> b c -> d c -> d a a ->", ["d d", "b b"]),
        ("lookup", "random", "a -> b c -> b c a ->", ["b b"]),
        ("permutation", "guess", "a b > b a ; c c >", ["c c"]),
        # The last tokens are f and >. `> c` and then `c a`, `a b` occur before.
        ("permutation", "counter", PERMUTATION, ["c a b", "c a a"]),
        # `b >` was followed by d, and `> c` not yet; c is followed by e in `a c e`.
        ("permutation", "counter", "b > d ; c e > a ; b >", ["d"]),
    ],
)
def test_answers_found_by_hand(task, name, problem, expected):
    found = answers(task, name, problem, 99)
    assert found[: len(expected)] == expected
    if (task, name) != ("permutation", "counter"):
        assert len(found) == len(expected)


@pytest.mark.parametrize(("task", "name"), NAMED)
def test_an_empty_problem_has_at_most_an_empty_answer(task, name):
    assert answers(task, name, "", 3) in ([], [""])


@pytest.mark.parametrize(("task", "name"), NAMED)
@pytest.mark.parametrize("count", [1, 2, 7, 200])
def test_answers_differ_and_are_at_most_as_many_as_asked_for(task, name, count):
    problem = {"copying": "b a a c", "lookup": LOOK_UP, "permutation": PERMUTATION}[task]
    found = answers(task, name, problem, count)
    assert len(found) == len({*found}) <= count
    assert found == answers(task, name, problem, count)
    assert found[:1] == answers(task, name, problem, 1)
    length = {"copying": 4, "lookup": 1, "permutation": 3}[task]
    assert {len(each.split()) for each in found} == {length}
    assert {token for each in found for token in each.split()} <= {*problem.split()} - {"->", ">"}


def test_random_answers_reach_every_answer():
    assert sorted(answers("copying", "random", "b a", 4)) == ["a a", "a b", "b a", "b b"]
    shown = "a -> b c -> d e -> f a c ->"
    every = {" ".join(each) for each in product("bdf", repeat=2)}
    assert {*answers("lookup", "random", shown, 9)} == every
    orders = {" ".join(each) for each in permutations("def")}
    assert {*answers("permutation", "guess", PERMUTATION, 6)} == orders
    dropped = {" ".join(each) for each in permutations("def", 2)}
    assert {*answers("permutation", "guess", "a b c > c a ; d e f >", 6)} == dropped


def test_a_guess_is_right_as_often_as_chance():
    """Orders of three different symbols: 1 in 6. The bounds are four standard deviations."""
    source = problems("permutation", Cell(40, 20), 900, (40, 40))
    differ = [(text, right) for text, right in source if len({*right.split()}) == 3]
    share = sum(answers("permutation", "guess", text) == [right] for text, right in differ)
    bound = 4 * math.sqrt(5 / 36 * len(differ))
    assert len(differ) > 500
    assert abs(share - len(differ) / 6) < bound


@pytest.mark.parametrize(
    ("task", "name", "cell"), [("copying", "copy", Cell(3, 7)), ("lookup", "counter", Cell(6, 14))]
)
def test_programs_that_are_always_right(task, name, cell):
    for text, right in problems(task, cell, 200, (6, 6)):
        assert answers(task, name, text, 5)[0] == right


ROW = st.lists(st.sampled_from("abcd"), min_size=3, max_size=3)


@given(st.lists(st.tuples(ROW, ROW), max_size=4), ROW)
def test_the_counter_chooses_the_longest_context(demonstrations, query):
    shown = [token for pair in demonstrations for token in (*pair[0], ">", *pair[1], ";")]
    text = [*shown, *query, ">"]
    for _ in query:
        for order in (2, 1, 0):
            windows = zip(*(text[shift:] for shift in range(order + 1)), strict=False)
            after = [each[-1] for each in windows if [*each[:-1]] == text[len(text) - order :]]
            symbols = Counter(each for each in after if each not in {";", ">"})
            if symbols:
                text.append(max(symbols, key=symbols.get))
                break
    problem = " ".join([*shown, *query, ">"])
    assert answers("permutation", "counter", problem) == [" ".join(text[-3:])]
