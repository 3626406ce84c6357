"""Permutation: determined or not, against all permutations; cells as counted, listed, drawn."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations, product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import logicgen
from logicgen.errors import FormatError
from logicgen.tasks import Cell, load_task
from logicgen.tasks.permutation import (
    PermutationProblem,
    PermutationSettings,
    PermutationSource,
    _two_orders,
)
from logicgen.tasks.task import symbols_of
from logicgen.tokens import symbol_name
from tests.tasks.determined import check_empty, check_solution

TASK = load_task("permutation")


@st.composite
def problems(draw):
    """Draw problems of up to 6 positions; outputs follow a rule or are random."""
    size = draw(st.integers(1, 6))
    kept = draw(st.integers(1, size))
    row = st.lists(st.sampled_from("abc"), min_size=size, max_size=size).map(tuple)
    order = draw(st.none() | st.permutations(range(size)))
    shown = []
    for before in draw(st.lists(row, max_size=3)):
        after = draw(row) if order is None else tuple(before[place] for place in order)
        shown.append((before, after[:kept]))
    return PermutationProblem(tuple(shown), draw(row))


def answers_by_brute_force(problem):
    """Return the answers of all rules that fit all demonstrations."""
    kept = {len(after) for _, after in problem.demonstrations} or {len(problem.query)}
    if len(kept) > 1:
        return set()
    return {
        tuple(problem.query[place] for place in order)
        for order in permutations(range(len(problem.query)), *kept)
        if all(
            tuple(before[place] for place in order) == after
            for before, after in problem.demonstrations
        )
    }


@given(problems())
def test_the_answer_is_what_all_permutations_that_fit_agree_on(problem):
    check_solution(TASK, problem, answers_by_brute_force(problem))


@pytest.mark.parametrize("kept", [1, 2, 3])
def test_every_small_problem(kept):
    """All problems of 3 positions, 1 demonstration and 2 symbols, consistent or not."""
    rows = list(product("ab", repeat=3))
    for before, after, query in product(rows, product("ab", repeat=kept), rows):
        problem = PermutationProblem(((before, after),), query)
        check_solution(TASK, problem, answers_by_brute_force(problem))


@given(problems())
def test_what_is_written_is_read_back(problem):
    assert TASK.decode_problem(TASK.encode(problem)) == problem


@pytest.mark.parametrize(
    ("problem", "answer"),
    [
        ("a b c > c a b ; d e f > f d e ; g h i >", "i g h"),
        ("a b c>c a b;1 2 3>", "3 1 2"),
        ("a > a ; b >", "b"),
        ("b >", "b"),  # nothing is shown, but there is only one permutation
        ("a a a >", "a a a"),  # whatever the permutation
        ("a b c > a b c ; c c a >", "c c a"),
        ("a a b > a b a ; c c d >", "c d c"),
        ("a a b > a b a ; a b a > b a a ; x y z >", "y z x"),
        ("a b >", "more than one answer: no demonstration distinguishes position 1 from 2"),
        (
            "a b a > a a b ; x y z >",
            "more than one answer: no demonstration distinguishes position 1 from",
        ),
        ("a b > a a ; x y >", "no answer: no permutation"),
        # Each demonstration alone fits a permutation, both together none.
        ("a b c > b a c ; a b c > a b c ; x y z >", "no answer: no permutation"),
        ("a b c > b a ; x y z >", "y x"),  # c is dropped
        ("a a b > b ; x y z >", "z"),  # nothing tells x from y, and both are dropped
        ("a a b > b a ; x x z >", "z x"),
        (
            "a a b > b a ; x y z >",
            "more than one answer: no demonstration distinguishes position 1 from",
        ),
        ("a b c > b b ; x y z >", "no answer: no permutation"),
        (
            "a b c > b a ; d e f > e ; x y z >",
            "no answer: an example turns 3 symbols into 1, but the query has 3",
        ),
        (
            "a b > b a a ; x y >",
            "no answer: an example turns 2 symbols into 3, but the query has 2",
        ),
        (
            "a b > b a ; x y z >",
            "no answer: an example turns 2 symbols into 2, but the query has 3",
        ),
    ],
)
def test_solve(problem, answer):
    solution = logicgen.solve("permutation", problem)
    if solution.witness is not None:
        assert TASK.show(solution.witness) == answer
    else:
        assert solution.reason.startswith(answer)


@pytest.mark.parametrize(
    "text", ["", ">", "a b", "a > b", "a > b ;", "a > b ; >", "a ; b >", "a >> b"]
)
def test_what_is_no_problem_is_refused(text):
    with pytest.raises(FormatError):
        TASK.read_problem(text)


def test_many_positions_take_no_time():
    """Two demonstrations over 100 symbols tell 10,000 positions apart."""
    rng = Random(0)
    order = rng.sample(range(10_000), 10_000)
    rows = [[str(i // 100) for i in range(10_000)], [str(i % 100) for i in range(10_000)]]
    shown = tuple((tuple(row), tuple(row[i] for i in order)) for row in rows)
    query = tuple(rng.choices("abc", k=10_000))
    solution = TASK.solve(PermutationProblem(shown, query))
    assert solution.witness == tuple(query[i] for i in order)
    assert "more than one" in TASK.solve(PermutationProblem(shown[:1], query)).reason


def written_by_brute_force(chosen, length, alphabet):
    """Every problem of so many tokens over so many symbols that the settings allow, as text."""
    letters = [symbol_name(i) for i in range(alphabet)]
    rows = [
        row
        for row in product(letters, repeat=chosen.size)
        if chosen.repeat or len({*row}) == chosen.size
    ]
    step = 2 * chosen.size + 2 - chosen.dropped
    for inputs in product(rows, repeat=length // step + 1):
        for order in permutations(range(chosen.size), chosen.size - chosen.dropped):
            shown = tuple((row, tuple(row[i] for i in order)) for row in inputs[:-1])
            yield TASK.encode(PermutationProblem(shown, inputs[-1]))


CELLS = [
    ({"size": 1}, (6, 10), (1, 2, 3)),
    ({"size": 2}, (9, 15), (1, 2, 3)),
    ({"size": 3}, (12,), (1, 2, 3)),
    ({"size": 2, "repeat": False}, (9, 15), (2, 3, 4)),
    ({"size": 3, "repeat": False}, (12,), (3, 4)),
    ({"size": 2, "dropped": 1}, (8, 13), (1, 2, 3)),
    ({"size": 3, "dropped": 1}, (11,), (1, 2, 3)),
    ({"size": 3, "dropped": 2}, (10,), (1, 2, 3)),
    ({"size": 3, "dropped": 1, "repeat": False}, (11,), (3, 4)),
]


@pytest.mark.parametrize(("keys", "lengths", "symbols"), CELLS, ids=str)
def test_cells_hold_what_brute_force_finds(keys, lengths, symbols):
    chosen = PermutationSettings(**keys)
    source = PermutationSource(chosen, (1, 4))
    for length, alphabet in product(lengths, symbols):
        cell = Cell(alphabet, length)
        found = set(written_by_brute_force(chosen, length, alphabet))
        canonical = {t for t in found if "abcd".startswith("".join(symbols_of(t)))}
        listed = [TASK.encode(draw.problem) for draw in source.all(cell)]
        assert len(listed) == len(set(listed))
        assert set(listed) == canonical
        counted = {k: n for k, n in source.count(cell).items() if n}
        assert counted == Counter(len(symbols_of(text)) for text in canonical)
        # By all names over the alphabet they are all problems, not just up to renaming.
        assert len(found) == sum(n * math.perm(alphabet, k) for k, n in counted.items())


@pytest.mark.parametrize(("keys", "lengths", "symbols"), CELLS, ids=str)
def test_draws_are_in_their_cell(keys, lengths, symbols):
    source = PermutationSource(PermutationSettings(**keys), (symbols[0], symbols[-1]))
    rng = Random(0)
    for alphabet, width in product((None, *symbols), (1, 5)):
        cell = Cell(alphabet, lengths[0], width)
        listed = {TASK.encode(draw.problem): draw for draw in source.all(cell)}
        low, high = (alphabet, alphabet) if alphabet else (symbols[0], symbols[-1])
        assert all(low <= draw.symbols <= high for draw in listed.values())
        assert len(listed) == sum(source.count(cell).values())
        for _ in range(20):
            draw = source.sample(rng, cell)
            assert TASK.encode(draw.problem) in listed
            assert low <= draw.symbols <= high
            shown = symbols_of(TASK.encode(draw.problem))
            assert len(draw.names) == len(set(draw.names)) == len(shown)


def test_a_demonstration_without_repetition_determines_the_permutation():
    source = PermutationSource(PermutationSettings(size=5, repeat=False), (9, 9))
    rng = Random(0)
    for _ in range(50):
        assert TASK.solve(source.sample(rng, Cell(9, 18)).problem).witness is not None


def test_large_cells_are_not_counted_but_one_symbol_is():
    source = PermutationSource(PermutationSettings(size=3), (1, 128))
    assert math.inf in source.count(Cell(128, 508)).values()
    assert dict(source.count(Cell(1, 4 * 2001))) == {1: 1}
    assert len(list(source.all(Cell(1, 4 * 2001)))) == 1
    assert not source.count(Cell(2, 13))
    wide = PermutationSource(PermutationSettings(size=20), (1, 128))
    assert sum(wide.count(Cell(128, 63)).values()) > 10**20


@pytest.mark.parametrize(
    ("keys", "cell", "message"),
    [
        ({"size": 3}, Cell(4, 16), "permutation of problem.size = 3 has 16 tokens, but 12, 20, 28"),
        ({"size": 3}, Cell(4, 4), "has 4 tokens, but 12.* give step = 8"),
        ({"size": 3, "dropped": 1}, Cell(4, 12), "problem.dropped = 1 has 12 tokens, but 11, 18,"),
        ({"size": 3}, Cell(4, 13, 7), "has 13 to 19 tokens"),
        ({"size": 4, "repeat": False}, Cell(3, 15), "4 different symbols take 4, .* only 3: lower"),
        ({}, Cell(0, 12), "no symbols to permute"),
        ({"frequencies": "characters"}, Cell(129, 12), "has 128 symbols, fewer than 129"),
    ],
)
def test_empty_cells_say_why(keys, cell, message):
    source = PermutationSource(PermutationSettings(**keys), (1, 9))
    check_empty(source, cell, message)


@pytest.mark.parametrize(("size", "dropped", "symbols"), [(5, 2, 2), (6, 3, 3), (4, 0, 3)])
def test_pairs_of_orders_are_counted_as_a_direct_sum_counts_them(size, dropped, symbols):
    """Over all numbers of each thing: the orders of all, and of what is left of each."""

    def orders(counts):
        return math.factorial(sum(counts)) // math.prod(map(math.factorial, counts))

    everything = [c for c in product(range(size + 1), repeat=symbols) if sum(c) == size]
    expected = sum(
        orders(counts) * orders(left)
        for counts in everything
        for left in product(*(range(count + 1) for count in counts))
        if sum(left) == size - dropped
    )
    assert _two_orders(size, dropped, symbols) == expected


@pytest.mark.parametrize("dropped", [0, 1, 3])
def test_every_rule_is_drawn_equally_often(dropped):
    source = PermutationSource(PermutationSettings(size=4, dropped=dropped, repeat=False), (4, 4))
    rng, found = Random(0), Counter()
    rules, draws = math.perm(4, 4 - dropped), 3_000
    for _ in range(draws):
        ((before, after),) = source.sample(rng, Cell(4, 15 - dropped)).problem.demonstrations
        found[tuple(before.index(symbol) for symbol in after)] += 1
    assert set(found) == set(permutations(range(4), 4 - dropped))
    expected = draws / rules
    assert all(abs(count - expected) < 5 * expected**0.5 for count in found.values())


@pytest.mark.parametrize(
    "keys",
    [
        *({"size": 0}, {"size": True}, {"size": 3, "dropped": 3}, {"dropped": -1}),
        *({"repeat": "x"}, {"keys": 3}),
    ],
)
def test_bad_settings_are_refused(keys):
    with pytest.raises(ValidationError):
        PermutationSettings(**keys)
