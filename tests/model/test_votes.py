import math

from hypothesis import given
from hypothesis import strategies as st

from logicgen.model.prompted import elect


def test_the_most_frequent_wins_whatever_it_costs():
    assert elect(["a", "b", "b", "c"], [-1.0, -50.0, -50.0, -0.5]) == ("b", 2)


def test_of_equally_frequent_ones_the_more_probable_in_total():
    logs = [math.log(p) for p in (0.3, 0.25, 0.1, 0.2)]
    assert elect(["a", "b", "a", "b"], logs) == ("b", 2)
    assert elect(["a", "b", "a", "b"], [0.0] * 4) == ("a", 2)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(-800, 0)), min_size=1))
def test_no_answer_has_more_votes(draws):
    answers, logs = zip(*draws, strict=True)
    found = elect(answers, logs)
    assert found.votes == answers.count(found.answer) == max(map(answers.count, answers))
