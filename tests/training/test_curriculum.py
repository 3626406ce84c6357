"""Which problems a curriculum asks for."""

from __future__ import annotations

import pytest

from logicgen.training.curriculum import LEAST, Curriculum, Kind, kind_of

EASY, MIXED, HARD = Kind(1, 0, 0), Kind(2, 1, 0), Kind(5, 7, 3)


def test_kinds_tell_symbols_lengths_and_hard_operators_apart():
    assert kind_of("& a ! b", ("^", "<->")) == Kind(2, 0, 0)
    assert kind_of("^ a ^ b ^ a <-> b a", ("^", "<->")) == Kind(2, 1, 1)
    assert kind_of("a", ()) == Kind(1, 0, 0)


def test_at_first_all_kinds_are_alike():
    assert {Curriculum().probability(kind) for kind in (EASY, MIXED, HARD)} == {1.0}


def test_kinds_that_are_neither_always_nor_never_right_are_asked_most():
    found = [(EASY, 0.0)] * 100 + [(MIXED, 0.8)] * 100 + [(HARD, 0.0)] * 100
    known = Curriculum().after(found)
    assert known.probability(MIXED) == 1.0
    assert known.probability(EASY) == known.probability(HARD) < 0.2
    # What nobody asked yet is taken for average.
    assert known.probability(EASY) < known.probability(Kind(3, 3, 3)) < 1.0


def test_no_kind_is_forgotten_and_rounds_fade():
    known = Curriculum().after([(EASY, 0.0)] * 10_000 + [(MIXED, 1.0)] * 10_000)
    assert known.probability(EASY) == LEAST
    for _ in range(60):
        known = known.after([(EASY, 1.0)] * 10 + [(MIXED, 0.0)] * 10)
    assert known.probability(EASY) == 1.0
    assert known.probability(MIXED) < 0.5


def test_what_is_known_after_a_round_of_nothing_worth_asking():
    known = Curriculum().after([(EASY, 0.0)])
    assert 0 <= known.worth(EASY) < 1
    assert known.probability(EASY) == pytest.approx(1.0)
