"""Controls of formulas: known answers, against brute force, and rules that all controls keep."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from logicgen.solvers.ltl_graph import Graph
from logicgen.syntax.answers import NO_ANSWER, Assignment, Trace, literals_of
from logicgen.tasks import load_task
from logicgen.tasks.controls import load_control
from logicgen.tasks.formula_controls import flipped, polarity_vote, truth
from logicgen.tasks.ltl_controls import depth, erased, placements, trace
from logicgen.tasks.parities import LinearSystem
from logicgen.tasks.placement import Placement
from logicgen.tasks.problem_samples import ProblemSamples
from logicgen.tasks.propagation import LassoGates
from logicgen.tasks.propositional_controls import greedy
from logicgen.tasks.task import rename, symbols_of

LOGICS = ("propositional", "ltl")


def problems(task: str, count: int, length: tuple[int, int] = (1, 20)) -> list[str]:
    drawn = ProblemSamples(load_task(task), (1, 4), length, seed=5)
    return [load_task(task).encode(drawn[number]) for number in range(count)]


def controls(task: str) -> list[str]:
    names = load_task(task).controls
    return [name for name in names if not load_control(load_task(task), name).needs_shots]


EVERY = [(task, name) for task in LOGICS for name in controls(task)]


@pytest.mark.parametrize(("task", "name"), EVERY)
def test_answers_are_readable_different_and_repeatable(task: str, name: str) -> None:
    control, loaded = load_control(load_task(task), name), load_task(task)
    for problem in problems(task, 40):
        for count in (1, 5):
            answers = control.answers(problem, count)
            assert 1 <= len(answers) <= count
            assert len({*answers}) == len(answers)
            assert answers == control.answers(problem, count)
            for answer in answers:
                assert {*symbols_of(answer)} <= {*symbols_of(problem)}
                loaded.decode_answer(answer)


@pytest.mark.parametrize("task", LOGICS)
@pytest.mark.parametrize("name", ["vote", "constant"])
def test_a_renamed_problem_has_the_renamed_answer(task: str, name: str) -> None:
    control, names = load_control(load_task(task), name), {"a": "x", "b": "a", "c": "q", "d": "b"}
    for problem in problems(task, 40):
        (answer,) = control.answers(problem, 1)
        assert control.answers(rename(problem, names), 1) == [rename(answer, names)]


@pytest.mark.parametrize(
    ("task", "name", "problem", "answer"),
    [
        ("propositional", "vote", "& a ! b", "a 1 b 0"),
        ("propositional", "greedy", "& ! a <-> a b", "a 0 b 0"),
        ("propositional", "walk", "1", ""),
        ("propositional", "constant", "| a b", "a 1 b 1"),
        ("ltl", "vote", "U a ! b", "{ & a ! b }"),
        ("ltl", "vote", "& a X ! a", "{ a }"),
        ("ltl", "rule", "& a X ! a", "a ; { ! a }"),
        ("ltl", "rule", "& ! a U 1 a", "! a ; { a }"),
        ("ltl", "rule", "1", "{ 1 }"),
        ("ltl", "constant", "a", "{ a }"),
    ],
)
def test_known_answers(task: str, name: str, problem: str, answer: str) -> None:
    loaded = load_task(task)
    found = load_control(loaded, name).answers(problem, 1)[0]
    assert loaded.same(loaded.decode_answer(found), _answer(task, answer)), found


def _answer(task: str, text: str) -> object:
    if task == "ltl":
        return Trace.read(text.replace("& a ! b", "a & !b").replace("! a", "!a"))
    return load_task(task).decode_answer(text)


def test_vote_of_polarities_against_counting_by_hand() -> None:
    graph, formula = Graph(), load_task("propositional").decode_problem("& | a ! b & b | ! c ! b")
    values, margins = polarity_vote(graph, graph.add(formula), "abcd")
    assert values == {"a": True, "b": False, "c": False, "d": True}
    assert margins == {"a": 1, "b": 1, "c": 1, "d": 0}


def test_flips_come_in_order_of_their_total_margin_and_only_once() -> None:
    rng = Random(3)
    margins = {name: rng.randrange(9) for name in "abcde"}
    values = dict.fromkeys(margins, True)
    found = list(flipped(values, margins))
    totals = [sum(margins[name] for name in each if not each[name]) for each in found]
    assert totals == sorted(totals)
    assert len({tuple(each.values()) for each in found}) == len(found) == 2**5
    assert list(flipped({}, {})) == [{}]


def test_erased_formulas_are_equal_on_constant_words() -> None:
    task = load_task("ltl")
    for problem in problems("ltl", 150):
        formula = task.decode_problem(problem)
        graph, root = erased(formula)
        for bits in product((False, True), repeat=len(formula.symbols)):
            values = dict(zip(formula.symbols, bits, strict=True))
            expected = task.check(formula, trace([values], 0)).is_right
            assert truth(graph, graph.reachable(root), values)[root] == expected, problem


def test_a_placement_that_fits_satisfies_the_formula() -> None:
    task, fits = load_task("ltl"), 0
    for problem in problems("ltl", 300, (5, 25)):
        graph = Graph()
        root = graph.add(task.decode_problem(problem))
        for positions, delay in product(range(1, 5), range(2)):
            loop = positions // 2
            found = Placement(graph, root, positions, loop, delay=delay)
            if found.fits:
                fits += 1
                answer = trace(found.letters(), loop)
                assert task.check(task.decode_problem(problem), answer).is_right, problem
    assert fits > 500


def test_the_depth_counts_nested_temporal_operators() -> None:
    task = load_task("ltl")
    for problem, expected in (("a", 0), ("1", 0), ("X X a", 2), ("U a X b", 2), ("& X a b", 1)):
        graph = Graph()
        assert depth(graph, graph.add(task.decode_problem(problem))) == expected


def test_greedy_values_of_a_conjunction_satisfy_it() -> None:
    formula = load_task("propositional").decode_problem("& & a ! b & c ! d")
    assert greedy(formula)[0] == {"a": True, "b": False, "c": True, "d": False}


def test_a_walk_flips_no_symbol_of_a_part_that_is_true() -> None:
    """`G f` is an until whose left operand is a constant, which has no literal to flip."""
    task = load_task("ltl")
    formula = task.read_problem("G(a | b) & F !a & F !b & G(a -> X !a) & z")
    walked = load_control(task, "walk").answers(task.encode(formula), 100)
    assert len(walked) > 5
    for answer in walked:
        for letter in task.decode_answer(answer).positions:
            assert literals_of(letter)["z"] == "1"


@pytest.mark.parametrize("task", LOGICS)
def test_a_walk_ends_with_a_right_answer_if_it_ends_early(task: str) -> None:
    loaded, ended = load_task(task), 0
    for problem in problems(task, 60):
        answers = load_control(loaded, "walk").answers(problem, 12)
        if len(answers) < 12:
            ended += 1
            verdict = loaded.check(
                loaded.decode_problem(problem), loaded.decode_answer(answers[-1])
            )
            assert verdict.is_right, problem
    assert ended > 30


def test_a_fitted_constant_is_right_at_least_as_often_on_its_problems() -> None:
    task = load_task("propositional")
    solved = [("& ! a b", "a 0 b 1"), ("& ! b c", "b 0 c 1"), ("| ! a b", "a 0")]
    control = load_control(task, "constant")
    control.fit(solved)
    assert control.answers("& ! x y", 1) == ["x 0 y 1"]


def test_a_fitted_constant_answers_unsat_if_most_problems_are_unsatisfiable() -> None:
    control, none = load_control(load_task("ltl"), "constant"), NO_ANSWER.prefix
    control.fit([("& a ! a", none), ("& b ! b", none), ("a", "{ a }")])
    assert control.answers("& c ! c", 1) == [none]
    assert len(control.answers("a", 3)) == 3


def test_values_that_propagate_without_a_contradiction_satisfy_the_formula() -> None:
    task, fits = load_task("ltl"), 0
    for problem in problems("ltl", 300, (5, 25)):
        graph = Graph()
        root = graph.add(task.decode_problem(problem))
        for positions in (1, 2, 4):
            found = LassoGates(graph, root, positions)
            if found.fits:
                fits += 1
                answer = trace(found.letters(), positions - 1)
                assert task.check(task.decode_problem(problem), answer).is_right, problem
    assert fits > 500


def test_decide_says_that_no_trace_exists_exactly_if_no_placement_fits() -> None:
    task, right = load_task("ltl"), 0
    place, decide = load_control(task, "place"), load_control(task, "decide")
    for satisfiable in (True, False):
        samples = ProblemSamples(task, (1, 5), (5, 25), seed=8, satisfiable=satisfiable)
        for number in range(60):
            formula = samples[number]
            fits = any(placed.fits for placed in placements(formula))
            placed = place.answers(text := task.encode(formula), 3)
            assert decide.answers(text, 3) == (placed if fits else ["0", *placed[:2]])
            assert satisfiable or not fits, text  # a placement that fits proves that a trace exists
            right += fits == satisfiable
    assert right >= 115


def test_linear_equations_without_a_contradiction_satisfy_the_formula() -> None:
    task, fits = load_task("propositional"), 0
    drawn = ProblemSamples(task, (1, 8), (5, 40), seed=6, satisfiable=None)
    for number in range(300):
        formula = drawn[number]
        graph = Graph()
        system = LinearSystem(graph, graph.add(formula))
        if system.fits:
            fits += 1
            values = dict.fromkeys(formula.symbols, False) | system.values()
            assert task.check(formula, Assignment(tuple(values.items()))).is_right, formula
    assert fits > 200


def test_parities_are_solved_by_elimination() -> None:
    task = load_task("propositional")
    parities = load_control(task, "parities")
    for problem in ("& & ^ a b ^ b c <-> c d", "^ a ! a", "& & ^ a b ^ b c ! ^ a b"):
        formula = task.decode_problem(problem)
        (answer,) = parities.answers(problem, 1)
        right = task.check(formula, task.decode_answer(answer)).is_right
        assert right == (task.solve(formula).witness is not None)
