"""Which beginnings of traces can become right, against all traces of a few positions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import permutations, product
from random import Random

import pytest

from logicgen.solvers import Status
from logicgen.solvers.embedded import EmbeddedSolver
from logicgen.syntax.answers import Trace
from logicgen.tasks import load_task, right_traces
from logicgen.tasks.problem_samples import ProblemSamples
from logicgen.tasks.right_traces import RightTraces

TASK = load_task("ltl")
SOLVER = EmbeddedSolver()


def positions(symbols: tuple[str, ...]) -> list[list[str]]:
    """Return all conjunctions of literals, in all orders, nested to the right."""
    found = [["1"]]
    for values in product((None, True, False), repeat=len(symbols)):
        literals = [
            [symbol] if value else ["!", symbol]
            for symbol, value in zip(symbols, values, strict=True)
            if value is not None
        ]
        for order in permutations(literals):
            if order:
                *others, last = order
                found.append([*(t for literal in others for t in ("&", *literal)), *last])
    return found


@cache
def traces(symbols: tuple[str, ...], most: int) -> list[tuple[str, ...]]:
    """Return the tokens of all traces with up to `most` positions."""

    def written(parts: tuple[list[str], ...], loop: int) -> Iterator[str]:
        for number, part in enumerate(parts):
            yield from [";"] * (number > 0) + ["{"] * (number == loop) + part
        yield "}"

    return [
        tuple(written(parts, loop))
        for count in range(1, most + 1)
        for loop in range(count)
        for parts in product(positions(symbols), repeat=count)
    ]


@pytest.fixture
def most(monkeypatch):
    """Let the search stop at a number of positions."""

    def set_most(positions: int) -> int:
        monkeypatch.setattr(right_traces, "MORE", 0)
        monkeypatch.setattr(right_traces, "LEAST", positions)
        return positions

    return set_most


@pytest.mark.parametrize("number", range(12))
def test_a_beginning_is_right_if_a_right_trace_has_it(number, most):
    samples = ProblemSamples(
        TASK, (1, 2), (4, 14), 5, satisfiable=None, operators={"!": 1, "&": 2, "X": 2, "U": 2}
    )
    problem = samples[number]
    longest = most(3 if len(problem.symbols) == 1 else 2)
    right, every = set(), set()
    for trace in traces(problem.symbols, longest):
        beginnings = {trace[:size] for size in range(len(trace) + 1)}
        every |= beginnings
        if SOLVER.check(problem, Trace.read_prefix(" ".join(trace))).is_right:
            right |= beginnings
    judged = RightTraces(problem)
    for beginning in Random(number).sample(sorted(every), min(80, len(every))):
        assert judged.right(beginning) == (beginning in right), " ".join(beginning)
    assert judged.right(["0"]) == (SOLVER.solve(problem).status is Status.UNSAT)


def test_values_that_differ_between_visits_of_the_period_are_considered():
    # `F (a & X a) | F (!a & X !a) | F (a & X !a)` is true whatever `a` is; `G a | G !a` is not.
    true = TASK.read_problem("F(a & X a) | F(!a & X !a) | F(a & X !a)")
    assert RightTraces(true).right(["{", "1", "}", "<end>"])
    constant = RightTraces(TASK.read_problem("G a | G !a"))
    assert not constant.right(["{", "1", "}"])
    assert not constant.right(["1", ";"])
    assert constant.right(["{", "a"])
    assert constant.right(["{", "!", "a", "}", "<end>"])


def test_an_answer_is_followed_to_its_first_wrong_token():
    right = RightTraces(TASK.read_problem("a & X !a & X X G b"))
    answer = ["a", ";", "!", "a", ";", "{", "b", "}"]
    assert right.along(answer) == [[token] for token in [*answer, "<end>"]]
    assert right.along(["a", ";", "a", ";", "{", "b", "}"]) == [["a"], [";"], []]
    # The position is complete after `b`, and `a` is missing.
    assert right.along(["b", ";", "!", "a", ";", "{", "b", "}"]) == [[]]
    assert right.along(["0"]) == [[]]
    assert [*right.also(["a", ";"], ["a", "!", "b", "&"])] == ["!", "&"]
    assert {*right.also(["a", ";"], ["a"])} == {"{", "!", "&"}


def test_a_formula_without_a_trace_has_one_right_answer():
    right = RightTraces(TASK.read_problem("F a & G !a"))
    assert right.along(["0"]) == [["0"], ["<end>"]]
    assert right.along(["{", "a", "}"]) == [[]]
    assert [*right.also([], ["{", "a"])] == ["0"]
    assert {*RightTraces(TASK.read_problem("a & X !a")).also(["a", ";"], ["a"])} == {"{", "!"}
    assert RightTraces(TASK.read_problem("0")).along(["0"]) == [["0"], ["<end>"]]
    assert RightTraces(TASK.read_problem("0")).along(["{", "1", "}"]) == [[]]
    always = RightTraces(TASK.read_problem("1"))
    assert always.right(["{", "1", "}", "<end>"])
    assert not always.right(["0"])


def test_a_formula_that_needs_many_positions_has_a_trace():
    late = " & ".join(f"{'X' * n} !a" for n in range(7)) + " & XXXXXXX a"
    right = RightTraces(TASK.read_problem(late.replace("X", "X ")))
    assert right.right(["0"]) is False
    answer = [*("! a ; " * 7).split(), "{", "a", "}"]
    assert right.along(answer) == [[token] for token in [*answer, "<end>"]]


def test_tokens_that_the_search_does_not_decide_are_not_called_wrong():
    hard = RightTraces(TASK.read_problem("a & X (b U (c & X !b)) & F(d & X d)"), effort=0)
    assert hard.right(["a"]) is None
    assert [*hard.also([], ["a", "b"])] == ["a", "b"]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "a }",
            "a <end>",
            "{ {",
            "{ a ; {",
            "& {",
            "a a",
            "{ a } ;",
            "; a",
            "{ a } <end> a",
            "! 1",
        ),
        *("| a", "U", "<pad>", "<start>", "! !", "! &", "& & &", "0 0", "0 ; { a }"),
    ],
)
def test_tokens_that_do_not_make_a_trace_are_wrong(text):
    for problem in ("a | b", "a & !a"):
        assert RightTraces(TASK.read_problem(problem)).right(text.split()) is False


def test_all_tokens_are_judged():
    right = RightTraces(TASK.read_problem("a | X b"))
    every = [TASK.vocabulary.token(i) for i in range(len(TASK.vocabulary) + 3)]
    assert {*right.also([], every)} == {"a", "b", "c", "!", "&", "{", "1"}
    assert {*right.also(["&", "a"], every)} == {"a", "b", "c", "!", "1"}
    assert [*RightTraces(TASK.read_problem("a & !a")).also(["0"], every)] == ["<end>"]


def test_a_negation_may_be_followed_by_a_constant():
    always = RightTraces(TASK.read_problem("1"))
    assert always.right(["!"])
    assert [*always.also(["!"], ["0", "1"])] == ["0"]
    assert always.right([])
