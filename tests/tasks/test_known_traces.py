"""`KnownTraces` is compared with `KnownAnswers`, which gets all orders of the same traces."""

from __future__ import annotations

from itertools import permutations, product

from hypothesis import given
from hypothesis import strategies as st

from logicgen.tasks import load_task
from logicgen.tasks.known_traces import KnownTraces, positions_of
from logicgen.tasks.right_tokens import KnownAnswers

LITERALS = st.sets(st.sampled_from(["a", "! a", "b", "! b", "c", "d1"]), min_size=1, max_size=3)


def conjunction(literals):
    *first, last = literals
    return " ".join([*(f"& {each}" for each in first), last])


def spelt(positions, loop):
    """Return a trace in prefix notation. loop: the position at which the period begins."""
    texts = [conjunction(each) for each in positions]
    texts[loop] = f"{{ {texts[loop]}"
    return f"{' ; '.join(texts)} }}"


def orders(positions, loop):
    """Yield a trace in each order of the literals of its positions."""
    for chosen in product(*(permutations(each) for each in positions)):
        yield spelt(chosen, loop)


@st.composite
def traces(draw):
    positions = [sorted(each) for each in draw(st.lists(LITERALS, min_size=1, max_size=3))]
    return positions, draw(st.integers(0, len(positions) - 1))


@given(st.lists(traces(), min_size=1, max_size=3), st.data())
def test_every_order_of_a_known_trace_is_right(known, data):
    every = [text for each in known for text in orders(*each)]
    answer = data.draw(st.sampled_from(every)).split()
    cut = data.draw(st.integers(0, len(answer)))
    wrong = [*answer[:cut], *data.draw(st.lists(st.sampled_from([*"ab!&;}{"]), max_size=2))]
    found = KnownTraces(spelt(*each) for each in known)
    expected = KnownAnswers(every)
    for tokens in (answer, wrong):
        sets = [set(each) for each in expected.along(tokens)]
        assert [set(each) for each in found.along(tokens)] == sets


def test_other_answers_keep_their_order():
    task = load_task("ltl")
    for answer in ("0", "{ & & a b c }", "{ & a a }", "{ | a b }"):
        assert positions_of(answer) is None
        found = task.known_tokens([answer, "{ & a b }"])
        along = found.along(answer.split())
        assert along[-1] == ["<end>"]
        assert len(along) == len(answer.split()) + 1
        # Such an answer and a trace in any order are both right.
        first = {"{", answer[0]}
        assert {*found.along(["{", "&", "b", "a", "}"])[0]} == first


def test_all_known_answers_count_at_each_token():
    found = KnownTraces(["{ a }", "{ & a a }"])
    assert found.along(["{", "a", "}"])[:2] == [["{"], ["&", "a"]]


def test_the_loop_begins_at_its_position():
    known = KnownTraces(["a ; { & b ! c }"])
    along = known.along(["a", ";", "{", "&", "!", "c", "b", "}"])
    assert along == [["a"], [";"], ["{"], ["&"], ["!", "b"], ["c"], ["b"], ["}"], ["<end>"]]
    assert known.along(["{", "a", "}"]) == [["a"]]
