"""What there is to see of an answer, against brute force."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.solvers import Verdict
from logicgen.syntax import Formula
from logicgen.tasks import load_task
from logicgen.tasks.task import Explanation
from tests.solvers.lasso_words import holds
from tests.solvers.test_ltl import over

LTL, PROPOSITIONAL = load_task("ltl"), load_task("propositional")
OPERATORS = ("&", "|", "^", "->", "<->")

formulas = st.recursive(
    st.sampled_from([*"abcd", "0", "1"]).map(Formula),
    lambda parts: st.one_of(
        st.builds(lambda f: ~f, parts),
        st.builds(lambda o, f, g: Formula(o, (f, g)), st.sampled_from(OPERATORS), parts, parts),
    ),
    max_leaves=8,
)
assignments = st.dictionaries(st.sampled_from("abce"), st.booleans(), min_size=1)


def explained(task, problem, text):
    answer = task.read_answer(text)
    verdict = task.check(problem, answer)
    return verdict, task.explain(problem, answer, verdict)


@given(formulas, assignments)
def test_values_of_subformulas(problem, given_values):
    text = ", ".join(f"{name}={value:d}" for name, value in given_values.items())
    verdict, found = explained(PROPOSITIONAL, problem, text)
    nodes = list(problem.preorder())
    assert len(found.truth) == len(nodes)
    if verdict is Verdict.INCORRECT:
        (letter,) = found.letters
        assert all((name in letter) == value for name, value in given_values.items())
        assert found.truth[0] == "0"
        assert [holds(node, [letter], 0) for node in nodes] == [t == "1" for t in found.truth]
        return
    assert (found.letters, found.loop, found.truth[0]) == ((), None, "1")
    free = [name for name in "abcde" if name not in given_values]
    letters = [
        {
            *(n for n, value in given_values.items() if value),
            *(n for n, v in zip(free, values, strict=True) if v),
        }
        for values in product((False, True), repeat=len(free))
    ]
    for node, value in zip(nodes, found.truth, strict=True):
        values = {holds(node, [letter], 0) for letter in letters}
        assert value == ("?" if len(values) == 2 else "01"[values.pop()])


@given(over("ab", 6), st.sampled_from(["{1}", "a ; {!b}", "{a | b ; !a}", "b ; a ; {a & b ; 1}"]))
def test_truth_on_the_word_that_is_shown(problem, text):
    verdict, found = explained(LTL, problem, text)
    letters = [set(letter) for letter in found.letters]
    for node, truth in zip(problem.preorder(), found.truth, strict=True):
        assert (truth[0] == "1") == holds(node, letters, found.loop)
        assert len(truth) == len(letters)
    assert (found.truth[0][0] == "1") == verdict.is_right
    assert (found.reason == "") == verdict.is_right


def test_the_word_falsifies_what_the_reason_says():
    problem = LTL.read_problem("a & F b & G c")
    _, found = explained(LTL, problem, "a & c ; {c | b}")
    assert found.reason.endswith("which falsifies Fb")
    nodes = [LTL.encode(node) for node in problem.preorder()]
    assert found.truth[nodes.index("F b")][0] == "0"


@pytest.mark.parametrize(
    ("task", "problem", "text"),
    [
        ("ltl", "a & !a", "unsat"),
        ("propositional", "a", "a=1, a=0"),
        ("ltl", "a", "{a & !a}"),
    ],
)
def test_nothing_is_drawn_of_what_stands_for_nothing(task, problem, text):
    task = load_task(task)
    _, found = explained(task, task.read_problem(problem), text)
    assert (found.truth, found.letters) == ((), ())


def test_who_says_unsat_is_shown_what_satisfies():
    _, found = explained(LTL, LTL.read_problem("X a"), "unsat")
    assert found.truth[0][0] == "1"
    assert found.reason == "{a} satisfies it"


def test_an_assignment_that_leaves_too_much_open_has_no_values():
    problem = PROPOSITIONAL.read_problem(" | ".join(f"a{i}" for i in range(1, 30)))
    verdict, found = explained(PROPOSITIONAL, problem, "a1=1")
    assert verdict.is_right
    assert found == Explanation()


@pytest.mark.parametrize(
    ("task", "problem", "deciding"),
    [
        ("copying", "a b a", ((0,), (1,), (2,))),
        ("lookup", "a -> b c -> d a -> b c a ->", ((3, 5, 9), (0, 2, 6, 8, 10))),
        ("lookup", "a -> b c ->", ()),
        ("permutation", "a b c > c a ; d e f >", ((2, 4, 9), (0, 5, 7))),
        ("permutation", "a a > a a ; b c >", ()),
    ],
)
def test_tokens_that_decide(task, problem, deciding):
    task = load_task(task)
    problem = task.read_problem(problem)
    assert task.deciding(problem) == deciding
    # What stands at one of the places is the answer.
    tokens, answer = task.encode(problem).split(), task.solve(problem).witness
    for places, token in zip(deciding, answer or (), strict=True):
        assert token in [tokens[place] for place in places]
