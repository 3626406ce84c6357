"""Tables of keys, against sets."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from logicgen.data import unique
from logicgen.data.unique import KeyTable, sum_of_keys

KEYS = st.sets(st.one_of(st.integers(0, 20), st.integers(0, 2**63 - 1)))


@given(KEYS, KEYS, KEYS, KEYS, st.integers(1, 5))
def test_a_table_is_a_set(held, added, more, asked, waiting):
    with patch.object(unique, "ADDED", waiting):
        check(held, added, more, asked)


def check(held, added, more, asked):
    table = KeyTable(np.array(sorted(held), np.int64))
    for key in added:
        table.add(key)
    known = held | added
    assert [key in table for key in asked] == [key in known for key in asked]
    array = np.array(sorted(asked), np.int64)
    assert table.hold(array).tolist() == [key in known for key in sorted(asked)]
    table.extend(np.array(sorted(more - known), np.int64))
    assert table.array().tolist() == sorted(known | more)
    assert all(key in table for key in more)


@given(st.lists(st.integers(0, 2**63 - 1), min_size=1), st.randoms())
def test_sums_do_not_depend_on_the_order(keys, rng):
    shuffled = rng.sample(keys, len(keys))
    there = sum_of_keys(np.array(keys, np.int64))
    assert there == sum_of_keys(np.array(shuffled, np.int64))
    halves = np.array(keys[::2], np.int64), np.array(keys[1::2], np.int64)
    assert there == sum(map(sum_of_keys, halves)) % 2**64
    # One key changed, lost or repeated is seen.
    assert there != sum_of_keys(np.array([keys[0] ^ 1, *keys[1:]], np.int64))
    assert there != sum_of_keys(np.array(keys[1:], np.int64)) or keys[0] == 0
    assert there != sum_of_keys(np.array([*keys, keys[0]], np.int64)) or keys[0] == 0
