"""Renaming into order of first occurrence, and back."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from logicgen.nn.canonical import first_occurrence, rename

FIXED, SYMBOLS = 4, 6

rows = st.lists(st.integers(0, FIXED + SYMBOLS - 1), min_size=5, max_size=5)


@given(st.lists(rows, min_size=1, max_size=4))
def test_names_are_those_of_a_plain_dictionary(ids):
    problems = torch.tensor(ids)
    naming = first_occurrence(problems, FIXED, SYMBOLS)
    renamed = rename(problems, naming.number, FIXED)
    for row, got in zip(ids, renamed.tolist(), strict=True):
        names = {token: None for token in row if token >= FIXED}
        numbers = {token: FIXED + number for number, token in enumerate(names)}
        assert got == [numbers.get(token, token) for token in row]
    assert torch.equal(rename(renamed, naming.symbol, FIXED), problems)
    assert torch.equal(naming.number.sort(dim=1).values, torch.arange(SYMBOLS).expand(len(ids), -1))


@given(rows, st.permutations(range(SYMBOLS)))
def test_alpha_equivalent_problems_become_equal(ids, permutation):
    problem = torch.tensor([ids])
    other = rename(problem, torch.tensor([permutation]), FIXED)
    one, two = (
        rename(some, first_occurrence(some, FIXED, SYMBOLS).number, FIXED)
        for some in (problem, other)
    )
    assert torch.equal(one, two)


def test_without_symbols_nothing_is_renamed():
    problem = torch.tensor([[0, 1, 3]])
    naming = first_occurrence(problem, FIXED, 0)
    assert naming.number.shape == (1, 0)
    assert torch.equal(rename(problem, naming.number, FIXED), problem)


def test_answers_of_several_dimensions_are_renamed_by_row():
    ids = torch.tensor([[[4, 5], [0, 4]], [[4, 5], [0, 4]]])
    names = torch.tensor([[1, 0], [0, 1]])
    expected = torch.tensor([[[5, 4], [0, 5]], [[4, 5], [0, 4]]])
    assert torch.equal(rename(ids, names, 4), expected)
