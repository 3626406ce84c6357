"""Arrays that grow, in memory and in files."""

from __future__ import annotations

import tempfile
from itertools import chain
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.data import dataset
from logicgen.data.dataset import GrowingArray
from logicgen.errors import LogicgenError


@given(st.lists(st.lists(st.integers(-9, 9), max_size=9)), st.integers(0, 100))
def test_it_holds_what_was_added(pieces, large):
    with patch.object(dataset, "LARGE", large):
        growing = GrowingArray(np.int32)
        for piece in pieces:
            growing.extend(np.array(piece, np.int64))
        found = growing.array()
    assert found.tolist() == list(chain.from_iterable(pieces))
    assert found.dtype == np.int32
    in_file = isinstance(found.base, np.memmap)
    assert in_file == (4 * found.size > large)


def test_a_disk_that_takes_no_more(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    monkeypatch.setattr(dataset, "LARGE", 10)
    growing = GrowingArray(np.int32)
    with pytest.raises(LogicgenError, match=r"cannot be written: .* set TMPDIR to a folder"):
        growing.extend(np.arange(9))
