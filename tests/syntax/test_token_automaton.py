"""Next-token masks against brute force over the grammar."""

from __future__ import annotations

from itertools import product

import pytest

from logicgen.errors import FormatError, LogicgenError
from logicgen.syntax.answers import assignment_language
from logicgen.syntax.formula_language import propositional
from logicgen.syntax.language import Language
from logicgen.syntax.token_automaton import token_automaton
from logicgen.tasks import TASKS, load_task
from logicgen.tasks.string_task import token_language
from tests.syntax.following import allowed


def words(language, longest):
    """All prefix texts of up to `longest` tokens, by trying every sequence of tokens."""
    found = set()
    for length in range(longest + 1):
        for tokens in product([*language.tokens, "a"], repeat=length):
            try:
                language.read(" ".join(tokens), "prefix")
            except FormatError:
                continue
            found.add(tokens)
    return found


@pytest.mark.parametrize(
    ("language", "longest"),
    [
        (assignment_language(), 6),
        (token_language("letters"), 4),
        (token_language("symbols"), 4),
        (token_language("lookup"), 7),
        (token_language("permutation"), 6),
        (propositional().language, 4),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_masks_allow_exactly_what_can_be_completed(language, longest):
    automaton = token_automaton(language, longest)
    every = words(language, longest)
    prefixes = {word[:n] for word in every for n in range(len(word) + 1)}
    assert every
    for prefix in prefixes:
        following, may_end = allowed(automaton, prefix, longest)
        expected = {
            None if token == "a" else token
            for token in [*language.tokens, "a"]
            if (*prefix, token) in prefixes
        }
        assert following == expected
        assert may_end == (prefix in every)


def test_what_is_no_start_of_an_answer_is_refused():
    automaton = token_automaton(assignment_language(), 10)
    for tokens in (["1"], ["a", "b"], ["a", "1", "0"]):
        with pytest.raises(ValueError, match="not the start"):
            allowed(automaton, tokens)


@pytest.mark.parametrize("name", TASKS)
def test_over_a_vocabulary_the_markers_never_come(name):
    task = load_task(name)
    automaton = task.answer_automaton(20)
    fixed = task.vocabulary.fixed
    assert automaton.tokens == fixed
    assert (automaton.transition[:, :3] == -1).all()
    assert automaton.transition.shape == (len(automaton.distance), len(fixed) + 1)


def grammar(tmp_path, prefix):
    path = tmp_path / "some.lark"
    path.write_text(f"infix: SYMBOL\n{prefix}\nSYMBOL: /[a-z]+/\n%ignore / /\n")
    return Language(str(path), lambda meaning, values: None)


def test_where_one_token_does_not_decide_all_alternatives_are_followed(tmp_path):
    rest = 'prefix: "!" -> short\n | some "&" -> long\nsome: "!" -> one\n | "!" some -> more'
    language = grammar(tmp_path, rest)
    automaton = token_automaton(language, 4)
    assert allowed(automaton, ["!"]) == ({"!", "&"}, True)
    assert allowed(automaton, ["!", "!"]) == ({"!", "&"}, False)
    assert allowed(automaton, ["!", "!"], budget=3) == ({"&"}, False)
    assert allowed(automaton, ["!", "!", "&"]) == (set(), True)


def test_a_left_recursive_rule_is_refused(tmp_path):
    language = grammar(tmp_path, 'prefix: "!" -> one\n | prefix "!" -> more')
    with pytest.raises(LogicgenError, match="left-recursive"):
        token_automaton(language, 5)


def test_a_rule_that_cannot_end_is_refused(tmp_path):
    language = grammar(tmp_path, 'prefix: "!" prefix -> again')
    with pytest.raises(LogicgenError, match="never end"):
        token_automaton(language, 5)


def test_what_follows_an_empty_rule_may_take_the_token(tmp_path):
    language = grammar(tmp_path, 'prefix: rest "!" -> all\nrest: -> none\n | "&" rest -> more')
    automaton = token_automaton(language, 5)
    assert allowed(automaton, ["&"]) == ({"&", "!"}, False)
    assert allowed(automaton, ["&", "!"]) == (set(), True)
