"""Assignments and symbolic traces in their three notations, and texts that are no answers."""

from __future__ import annotations

from contextlib import suppress
from functools import reduce
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.errors import FormatError
from logicgen.syntax import Assignment, Formula, Trace, propositional
from logicgen.syntax.answers import NO_ANSWER, literals_of, trace_language
from logicgen.syntax.token_automaton import token_automaton
from logicgen.tasks import load_task
from logicgen.tasks.ltl import LTL
from tests.syntax.following import allowed
from tests.syntax.test_formula import formulas

names = st.from_regex(r"[a-z][A-Za-z0-9_]{0,3}", fullmatch=True)
assignments = st.lists(st.tuples(names, st.booleans()), max_size=6).map(
    lambda pairs: Assignment(tuple(pairs))
)
TASK = load_task("propositional")


@given(assignments)
def test_an_assignment_is_written_then_read_as_it_was(assignment):
    assert Assignment.read_prefix(assignment.prefix) == assignment
    assert Assignment.read(assignment.infix) == assignment
    for text in (assignment.prefix, assignment.infix):
        assert TASK.read_answer(text) == assignment


@given(assignments)
def test_contradictory_means_one_symbol_with_both_values(assignment):
    values = {}
    for name, value in assignment.literals:
        values.setdefault(name, set()).add(value)
    assert assignment.is_contradictory == any(len(v) == 2 for v in values.values())


def test_order_and_repetition_do_not_matter():
    one, other = Assignment.read("a=1, b=0"), Assignment.read("b=0, a=1, a=1")
    assert one.meaning == other.meaning
    assert not other.is_contradictory
    assert one.meaning != Assignment.read("a=1").meaning


@pytest.mark.parametrize("text", ["a=2", "a=1 b=0", "a=", "a 1 b", "1 a", "a | b", "a=1,", "A=1"])
def test_bad_texts_are_refused_with_their_place(text):
    with pytest.raises(FormatError, match="line 1, column"):
        TASK.read_answer(text)


def test_people_read_each_literal_once():
    assert TASK.show(Assignment.read("a=1, b=0, a=1")) == "a=1, b=0"


positions = formulas(symbols=["a", "b", "cycle", "p1"], most=4)
traces = st.builds(
    lambda stem, period: Trace(tuple(stem), tuple(period)),
    st.lists(positions, max_size=3),
    st.lists(positions, min_size=1, max_size=3),
)
pieces = st.sampled_from(["a", "cycle", "{", "}", ";", "!", "&", " ", "1", "(", ")", "cycle{"])


@given(traces)
def test_a_trace_is_written_then_read_as_it_was(trace):
    for text in (trace.infix, trace.spot):
        assert Trace.read(text) == trace
        assert trace_language().read(text) == trace  # Lark, without the short cut
        assert Trace.read_either(text) == trace
    assert Trace.read_prefix(trace.prefix) == trace
    assert trace_language().read(trace.prefix, "prefix") == trace
    assert Trace.read_either(trace.prefix) == trace


@given(st.lists(pieces, max_size=9), st.sampled_from(["infix", "prefix"]))
def test_any_text_is_read_as_lark_reads_it(parts, notation):
    text = "".join(parts)
    read = Trace.read if notation == "infix" else Trace.read_prefix
    try:
        expected = trace_language().read(text, notation)
    except FormatError:
        with pytest.raises(FormatError):
            read(text)
    else:
        assert read(text) == expected


def test_the_forms_of_the_documentation():
    trace = Trace.read("a & !b ; 1 ; {c | d ; !a}")
    assert trace == Trace.read("a & !b; 1; cycle{c | d; !a}")
    assert trace.prefix == "& a ! b ; 1 ; { | c d ; ! a }"
    assert trace.infix == "a & !b ; 1 ; {c | d ; !a}"
    assert trace.spot == "a & !b; 1; cycle{c | d; !a}"
    assert trace.symbols == ("a", "b", "c", "d")
    assert trace.rename({"a": "b", "b": "a"}).infix == "b & !a ; 1 ; {c | d ; !b}"


def test_a_table_for_people():
    assert Trace.read("a & !b ; {c | d ; !a ; 1}").table().splitlines() == [
        "   0 | 1 2 3 |",
        "a  1 | . 0 . |",
        "b  0 | . . . |",
        "c  . | ? . . |",
        "d  . | ? . . |",
        "position 1: c | d",
    ]
    assert Trace.read("{1}").table() == "  | 0 |"


def test_literals():
    read = propositional().read
    assert literals_of(read("a & !b & a")) == {"a": "1", "b": "0"}
    assert literals_of(read("1")) == literals_of(read("!0 & 1")) == {}
    for text in ("a & !a", "0", "!1", "a | b", "!(a & b)", "!!a"):
        assert literals_of(read(text)) is None


@pytest.mark.parametrize(
    ("text", "column", "reason"),
    [
        ("", 1, "braces"),
        ("a ; b", 6, "braces"),
        ("a ; {}", 6, "empty"),
        ("cycle{ }", 8, "empty"),
        ("{a", 3, "ends too early"),
        ("{a ; }", 6, "unexpected"),
        ("a ; {X b}", 6, "unexpected 'X'"),
        ("a {b}", 3, "unexpected"),
        ("{b} ; c", 5, "expected the end"),
        ("a ; cycle {b}", 11, "unexpected"),
        ("& a b ; { U a b }", 11, "unexpected 'U'"),
    ],
)
def test_bad_traces_say_what_is_wrong_and_where(text, column, reason):
    with pytest.raises(FormatError, match=reason) as error:
        Trace.read_either(text)
    assert (error.value.line, error.value.column) == (1, column)


def test_the_answer_that_there_is_none_is_no_trace():
    for notation in ("infix", "prefix"):
        assert trace_language().read("0", notation) is NO_ANSWER
        assert trace_language().read("0 ; { 0 }", notation) == Trace.read("0 ; {0}")
    for read in (Trace.read, Trace.read_prefix, Trace.read_either):
        with pytest.raises(FormatError, match="period in braces"):
            read("0")


def test_a_trace_has_a_period():
    with pytest.raises(ValueError, match="period"):
        Trace((), ())


def test_masks_allow_exactly_what_can_be_completed():
    some = ["!", "&", "0", ";", "{", "}", "a"]  # all of the rest behave like one of these
    automaton = token_automaton(trace_language(), 5)
    every = set()
    for length in range(6):
        for tokens in product(some, repeat=length):
            with suppress(FormatError):
                trace_language().read(" ".join(tokens), "prefix")
                every.add(tokens)
    prefixes = {word[:n] for word in every for n in range(len(word) + 1)}
    assert every
    for prefix in prefixes:
        following, may_end = allowed(automaton, prefix, 5)
        expected = {t if t != "a" else None for t in some if (*prefix, t) in prefixes}
        assert following & {*some, None} == expected
        assert may_end == (prefix in every)


def test_conjunctions_nested_to_the_right():
    trace = Trace.read_prefix("1 ; & & & a ! b c & d e ; { & a b ; | & & a b c d }")
    nested = trace.in_order()
    assert nested.prefix == "1 ; & a & ! b & c & d e ; { & a b ; | & & a b c d }"
    assert nested.in_order() == nested


def test_literals_in_the_order_of_a_formula():
    trace = Trace.read_prefix("1 ; & & & a ! b c ! a ; { | b a ; & | d e & 1 & x ! d }")
    ordered = trace.in_order("dcba")
    assert ordered.prefix == "1 ; & c & ! b & a ! a ; { | b a ; & | d e & ! d & 1 x }"
    assert ordered.meaning == trace.meaning
    assert (
        Assignment.read_prefix("a 1 x 0 c 0 b 1 c 1").in_order("cb").prefix == "c 0 c 1 b 1 a 1 x 0"
    )
    assert NO_ANSWER.in_order("a") is NO_ANSWER
    assert LTL().in_order("U & b a c", "{ & & a b c }") == "{ & b & a c }"
    assert LTL().in_order("& a ! a", "0") == "0"
    assert load_task("copying").in_order("b a", "b a") == "b a"


@given(st.permutations("abcdefgh"), st.integers(1, 8))
def test_nesting_changes_no_meaning(names, count):
    literals = [Formula(name) for name in names[:count]]
    trace = Trace((), (reduce(lambda left, right: left & right, literals),))
    (position,) = trace.in_order().period
    assert literals_of(position) == literals_of(trace.period[0])
    assert list(position.symbols) == names[:count]
    assert LTL().same(trace, trace.in_order())


@given(st.data())
def test_answers_of_one_meaning_are_the_same_answer(data):
    literals = st.tuples(st.sampled_from("abc"), st.booleans())
    places = data.draw(st.lists(st.lists(literals, min_size=1, max_size=4), min_size=1, max_size=3))

    def position(place):
        left, *others = [
            Formula(name) if value else ~Formula(name)
            for name, value in data.draw(st.permutations(place))
        ]
        for other in others:
            left = left & other if data.draw(st.booleans()) else other & left
        return left

    stem = data.draw(st.integers(0, len(places) - 1))
    made = [[position(place) for place in places] for _ in range(2)]
    one, other = (Trace(tuple(each[:stem]), tuple(each[stem:])) for each in made)
    ltl = load_task("ltl")
    assert ltl.meaning(one.prefix) == ltl.meaning(other.prefix)
    assert ltl.same(one, other)
    longer = Trace((*one.stem, Formula("a")), one.period)
    assert ltl.meaning(longer.prefix) != ltl.meaning(one.prefix)
    assert ltl.meaning("0") == "0" != ltl.meaning("{ 0 }")
    assert ltl.meaning("{ & a") == "{ & a"  # it does not parse
    first, second = (Assignment(tuple(data.draw(st.permutations(places[0])))) for _ in range(2))
    propositional = load_task("propositional")
    assert propositional.meaning(first.prefix) == propositional.meaning(second.prefix)
    assert propositional.same(first, second)
    flipped = Assignment(tuple((name, not value) for name, value in places[0]))
    same = {*flipped.literals} == {*first.literals}
    assert (propositional.meaning(flipped.prefix) == propositional.meaning(first.prefix)) == same
