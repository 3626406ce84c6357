"""Look-up: exactly one answer, against all mappings; cells as they are counted, listed, drawn."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import logicgen
from logicgen.errors import FormatError
from logicgen.tasks import Cell, load_task
from logicgen.tasks.lookup import LookupProblem, LookupSettings, LookupSource
from logicgen.tasks.task import rename, symbols_of
from logicgen.tokens import symbol_name
from tests.tasks.determined import check_empty, check_solution

TASK = load_task("lookup")
LETTERS = st.sampled_from("abcd")
PROBLEMS = st.builds(
    LookupProblem,
    st.lists(st.tuples(LETTERS, LETTERS), max_size=5).map(tuple),
    st.lists(LETTERS, min_size=1, max_size=3).map(tuple),
)


def answers_by_brute_force(problem):
    """Return the answers of all mappings of keys to symbols that fit the pairs."""
    keys = sorted({key for key, _ in problem.pairs} | {*problem.queries})
    mappings = (
        dict(zip(keys, values, strict=True)) for values in product("abcd", repeat=len(keys))
    )
    return {
        tuple(mapping[key] for key in problem.queries)
        for mapping in mappings
        if all(mapping[key] == value for key, value in problem.pairs)
    }


@given(PROBLEMS)
def test_the_answer_is_what_all_mappings_that_fit_agree_on(problem):
    check_solution(TASK, problem, answers_by_brute_force(problem))


@given(PROBLEMS)
def test_what_is_written_is_read_back(problem):
    assert TASK.decode_problem(TASK.encode(problem)) == problem
    assert TASK.read_problem(TASK.encode(problem).replace(" -> ", "->")) == problem


@pytest.mark.parametrize(
    ("problem", "answer"),
    [
        ("A->2 C->4 G->5 C->", ("4",)),
        ("a -> a a ->", ("a",)),
        ("a -> b a -> b a ->", ("b",)),
        ("a -> b c -> d c a c ->", ("d", "b", "d")),
        ("a -> b c -> a a ->", ("b",)),
        ("a ->", "more than one answer: a is asked for and never shown"),
        ("a -> b c -> d b ->", "more than one answer: b is asked for and never shown"),
        ("a -> b a -> c d -> e d ->", "no answer: a is shown with b and c"),
    ],
)
def test_solve(problem, answer):
    solution = logicgen.solve("lookup", problem)
    if isinstance(answer, tuple):
        assert solution.witness == answer
    else:
        assert solution.reason.startswith(answer)


@pytest.mark.parametrize(
    "text", ["", "->", "a", "a b", "a -> b", "a -> b ->-> c", "a b -> c", "é ->"]
)
def test_what_is_no_problem_is_refused(text):
    with pytest.raises(FormatError):
        TASK.read_problem(text)


SETTINGS = [
    {},
    {"overlap": True},
    {"queries": 2},
    {"repeat": False},
    {"repeat": False, "overlap": True, "values": 1},
    {"keys": 2},
    {"values": 2, "overlap": True},
    {"values": 2},
    {"values": 3},
    {"values": 2, "repeat": False},
    {"keys": 1, "values": 2},
    {"keys": 2, "values": 1, "overlap": True, "queries": 3},
]


def cells(source, symbols=(None, 1, 2, 3, 4), longest=14):
    """The cells that can hold problems."""
    every = (Cell(s, length, w) for s in symbols for length in range(1, longest) for w in (1, 3))
    return [cell for cell in every if source.obstacle(cell) is None]


def written_by_brute_force(chosen, length, alphabet):
    """Every problem of so many tokens over so many symbols that the settings allow, as text."""
    pairs = (length - chosen.queries - 1) // 3
    letters = [symbol_name(i) for i in range(alphabet)]
    for shown in product(product(letters, letters), repeat=pairs):
        keys, values = {key for key, _ in shown}, {value for _, value in shown}
        if (
            len(keys) == len(set(shown)) == (len(keys) if chosen.repeat else pairs)
            and len(keys) <= (chosen.keys or alphabet)
            and len(values) <= (chosen.values or alphabet)
            and (chosen.overlap or not keys & values)
        ):
            for asked in product(sorted(keys), repeat=chosen.queries):
                yield TASK.encode(LookupProblem(shown, asked))


@pytest.mark.parametrize("keys", SETTINGS, ids=str)
def test_cells_hold_what_brute_force_finds(keys):
    chosen = LookupSettings(**keys)
    source = LookupSource(chosen, (1, 4))
    for cell in cells(source, (2, 3, 4), 12):
        if cell.width > 1:
            continue
        found = written_by_brute_force(chosen, cell.length, cell.symbols)
        canonical = {text for text in found if is_canonical(text)}
        counted = Counter(len(symbols_of(text)) for text in canonical)
        assert {k: n for k, n in source.count(cell).items() if n} == counted
        assert {TASK.encode(draw.problem) for draw in source.all(cell)} == canonical


def test_keys_may_leave_room_for_fewer_values_than_the_most():
    source = LookupSource(LookupSettings(values=2), (3, 3))
    cell, rng = Cell(3, 8), Random(0)
    listed = {TASK.encode(draw.problem) for draw in source.all(cell)}
    assert listed == {"a -> b a -> b a ->", "a -> b c -> b a ->", "a -> b c -> b c ->"}
    assert dict(source.count(cell)) == {2: 1, 3: 2}
    assert {TASK.encode(source.sample(rng, cell).problem) for _ in range(100)} == listed


def is_canonical(text):
    """Return whether symbols are named in order of first occurrence."""
    symbols = symbols_of(text)
    return symbols == [symbol_name(i) for i in range(len(symbols))]


@pytest.mark.parametrize("keys", SETTINGS, ids=str)
def test_cells_are_counted_as_they_are_listed_and_drawn(keys):
    chosen = LookupSettings(**keys)
    source = LookupSource(chosen, (2, 4))
    rng = Random(0)
    assert cells(source)
    for cell in cells(source):
        listed = [(TASK.encode(draw.problem), draw.symbols) for draw in source.all(cell)]
        counted = Counter(len(symbols_of(text)) for text, _ in listed)
        assert counted == Counter(source.count(cell))
        assert len({text for text, _ in listed}) == len(listed) > 0
        low, high = (2, 4) if cell.symbols is None else (cell.symbols, cell.symbols)
        assert all(low <= symbols <= high for _, symbols in listed)
        texts = {text for text, _ in listed}
        for _ in range(20):
            draw = source.sample(rng, cell)
            assert TASK.encode(draw.problem) in texts
            assert len(TASK.encode(draw.problem).split()) in cell.lengths
            assert low <= draw.symbols <= high
            assert len(answers(draw)) == chosen.queries


def answers(draw):
    return TASK.solve(draw.problem).witness


@pytest.mark.parametrize("kind", ["uniform", "characters", "zipf"])
def test_draws_name_their_symbols(kind):
    source = LookupSource(LookupSettings(frequencies=kind, overlap=True), (100, 100))
    rng, used = Random(0), Counter()
    for _ in range(200):
        draw = source.sample(rng, Cell(100, 32))
        symbols = symbols_of(TASK.encode(draw.problem))
        assert len(set(draw.names)) == len(symbols) == len(draw.names)
        named = rename(TASK.encode(draw.problem), dict(zip(symbols, draw.names, strict=True)))
        used.update(symbols_of(named))
    assert set(used) <= {symbol_name(i) for i in range(100)}
    assert (used["a"] > 2 * used[symbol_name(50)]) == (kind != "uniform")


def test_large_cells_are_not_counted_but_small_ones_of_any_length_are():
    def count(cell, **keys):
        return dict(LookupSource(LookupSettings(**keys), (1, 128)).count(cell))

    assert math.inf in count(Cell(128, 512)).values()
    assert math.inf in count(Cell(3, 3 * 1000 + 2)).values()
    assert math.inf in count(Cell(128, 302), repeat=False).values()
    assert count(Cell(2, 3 * 3000 + 2)) == {2: 1}
    assert count(Cell(1, 3 * 3000 + 2), overlap=True) == {1: 1}
    assert count(Cell(101, 302), repeat=False) == {101: 100}
    long = LookupSource(LookupSettings(), (1, 9))
    assert len(list(long.all(Cell(2, 3 * 3000 + 2)))) == 1
    assert not count(Cell(5, 9))
    assert not count(Cell(129, 8), frequencies="characters")


@pytest.mark.parametrize(
    ("keys", "cell", "message"),
    [
        (
            {"keys": 200},
            Cell(128, 8),
            "200 different keys .* need 201 symbols, .* 128: raise symbols or lower problem.keys$",
        ),
        ({"keys": 3, "values": 3}, Cell(5, 8), "3 different keys and 3 different values need 6"),
        (
            {"repeat": False},
            Cell(3, 11),
            "3 different keys .* need 4 symbols, .* or set problem.repeat = true",
        ),
        ({}, Cell(1, 8), "need 2 symbols, and there are only 1: .* set problem.overlap = true"),
        ({}, Cell(4, 9), "no look-up of problem.queries = 1 has 9 tokens, but 5, 8, 11 and so on"),
        ({"queries": 2}, Cell(4, 4, 2), "has 4 to 5 tokens, but 6, 9, 12 .* give step = 3"),
        ({"frequencies": "characters"}, Cell(200, 8), "has 128 symbols, fewer than 200"),
    ],
)
def test_empty_cells_say_why(keys, cell, message):
    source = LookupSource(LookupSettings(**keys), (1, 9))
    check_empty(source, cell, message)


@pytest.mark.parametrize(
    "keys", [{"keys": 0}, {"queries": 0}, {"keys": 2, "repeat": False}, {"frequencies": "x"}]
)
def test_bad_settings_are_refused(keys):
    with pytest.raises(ValidationError):
        LookupSettings(**keys)
