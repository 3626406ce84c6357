"""Truth of subformulas on words, against the definition; words that falsify."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from logicgen.errors import LogicgenError
from logicgen.solvers import Verdict, load_solver
from logicgen.solvers.word import Word
from logicgen.syntax import Formula, Trace, ltl
from tests.solvers.lasso_words import allows, holds
from tests.solvers.test_ltl import over

EMBEDDED = load_solver("embedded", "ltl")

words = st.lists(st.frozensets(st.sampled_from("abc")), min_size=1, max_size=5).flatmap(
    lambda letters: st.builds(
        Word, st.just(tuple(letters)), st.integers(min_value=0, max_value=len(letters) - 1)
    )
)


@given(over("abc"), words)
def test_truth_of_subformulas_is_as_the_definition_says(formula, word):
    for part, truth in word.truth(formula).items():
        for position in range(len(word.letters)):
            # The word from a position on: its letters, then round the period to before it.
            letters, loop = word.letters[position:], word.loop - position
            if loop < 0:
                letters += word.letters[word.loop : position]
                loop = 0
            assert truth[position] == holds(part, letters, loop), (part, position)


def test_words_of_traces():
    trace = Trace.read("a & !b ; 1 ; {c | !c ; !a & (b ^ c)}")
    word = Word.of(trace)
    assert word.loop == 2
    assert word.letters[:2] == (frozenset("a"), frozenset())
    assert all(allows(p, letter) for p, letter in zip(trace.positions, word.letters, strict=True))
    with pytest.raises(ValueError, match="contradictory"):
        Word.of(Trace.read("{(a | b) & !a & !b}"))
    with pytest.raises(LogicgenError, match="no operator of LTL is called 'Z'"):
        word.truth(Formula("Z", (Formula("a"),)))


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(over("ab"), st.lists(over("ab", 2), min_size=1, max_size=3), st.integers(0, 2))
def test_a_falsifying_word_is_one_of_the_answer_and_falsifies(formula, positions, stem):
    propositional = [p for p in positions if not {*p.prefix.split()} & {*"XFGURWM"}]
    assume(len(propositional) == len(positions) and stem < len(positions))
    answer = Trace(tuple(positions[:stem]), tuple(positions[stem:]))
    verdict = EMBEDDED.check(formula, answer)
    assume(verdict is not Verdict.INVALID)
    word = EMBEDDED.falsifying_word(formula, answer)
    assert (word is None) == (verdict is Verdict.CORRECT)
    if word is None:
        return
    assert not word.truth(formula)[formula][0]
    # Each letter of the word is allowed by the answer at the position that it stands for.
    visited, place = set(), (0, 0)
    while place not in visited:
        visited.add(place)
        assert allows(answer.positions[place[0]], word.letters[place[1]])
        place = (
            place[0] + 1 if place[0] + 1 < len(positions) else stem,
            place[1] + 1 if place[1] + 1 < len(word.letters) else word.loop,
        )


def test_what_is_false_anywhere_is_falsified_by_any_word():
    word = EMBEDDED.falsifying_word(ltl().read("a & !a"), Trace.read("b ; {1}"))
    assert word == Word((frozenset("b"), frozenset()), 1)
    assert EMBEDDED.falsifying_word(ltl().read("a | !a"), Trace.read("{b}")) is None
