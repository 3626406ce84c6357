"""Finished data sets: checked as they are read, and read by others."""

from __future__ import annotations

import shutil
import tempfile
from itertools import chain
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.data import dataset
from logicgen.data.opening import load_dataset
from logicgen.data.shards import read_shard
from logicgen.errors import LogicgenError
from logicgen.files import sha256


@pytest.mark.parametrize("damage", ["truncate", "alter", "remove"])
def test_damaged_shards_are_found(made, tmp_path, damage):
    shutil.copytree(made, tmp_path / "d")
    path = sorted((tmp_path / "d" / "train").glob("*.parquet"))[0]
    whole = path.read_bytes()
    if damage == "truncate":
        path.write_bytes(whole[:-100])
    elif damage == "alter":
        path.write_bytes(whole[:500] + bytes([whole[500] ^ 1]) + whole[501:])
    else:
        path.unlink()
    with pytest.raises(LogicgenError, match=rf"{path.name}: (altered or truncated|missing)"):
        load_dataset(tmp_path / "d").table("train")
    assert load_dataset(tmp_path / "d").table("test").num_rows == 40


@pytest.mark.needs("datasets")
def test_hugging_face_reads_it(made, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import datasets

    loaded = datasets.load_dataset(str(made), cache_dir=str(tmp_path))
    assert {name: split.num_rows for name, split in loaded.items()} == load_dataset(made).splits
    assert loaded["grid"][0] == load_dataset(made).table("grid").slice(0, 1).to_pylist()[0]


def test_encoded_rows_decode_to_the_table(made):
    data = load_dataset(made)
    encoded, table = data.encoded("test"), data.table("test")
    for row in range(len(encoded)):
        assert data.vocabulary.decode(encoded.problems[row]) == table["problem"][row].as_py()
        assert data.vocabulary.decode(encoded.answers[row]) == table["answer"][row].as_py()
    assert encoded.alphabet == 3


def test_a_split_is_encoded_in_pieces(made, monkeypatch):
    data = load_dataset(made)
    assert len(data.split("train")["shards"]) > 1
    by_shard = data.encoded("train")
    whole = dataset.encode(data.table("train"), data.vocabulary)
    monkeypatch.setattr(dataset, "ROWS", 7)
    monkeypatch.setattr("logicgen.data.dataset.LARGE", 1000)  # so that it lies in files, too
    for encoded in (by_shard, data.encoded("train")):
        for one, other in zip(ragged(encoded), ragged(whole), strict=True):
            assert (one.dtype, one.tolist()) == (other.dtype, other.tolist())
        assert encoded.alphabet == whole.alphabet


def test_a_text_with_a_blank_at_its_end_is_refused(made):
    data = load_dataset(made)
    table = data.table("test")
    texts = [f"{text} " for text in table["problem"].to_pylist()]
    table = table.set_column(table.column_names.index("problem"), "problem", pa.array(texts))
    with pytest.raises(LogicgenError, match="begins or ends with a blank"):
        dataset.encode(table, data.vocabulary)


def ragged(split):
    """Return the arrays of a split."""
    texts = split.problems.ids, split.problems.offsets, split.answers.ids, split.answers.offsets
    return *texts, split.symbols, split.length


def test_a_shard_is_checked_and_read_once(made, monkeypatch):
    hashed, read = [], []
    monkeypatch.setattr(dataset, "sha256", lambda path: hashed.append(path) or sha256(path))
    monkeypatch.setattr(
        dataset,
        "read_shard",
        lambda path, *others: read.append(path) or read_shard(path, *others),
    )
    data = load_dataset(made)
    shards = sorted((made / "grid").glob("*.parquet"))
    for _ in range(2):
        whole = data.table("grid")
        assert data.table("grid", ["answer"]).column_names == ["answer"]
        assert len(data.encoded("grid")) == whole.num_rows
    assert sorted(read) == sorted(hashed) == shards
    data.encoded("test")
    assert data.table("grid") is whole  # a split that models are trained on takes no one's place
    data.table("test")
    assert data.table("grid") == whole
    assert len(hashed) == len(set(hashed))


def test_no_split_is_called_so(made):
    for name in ("", "tset"):
        with pytest.raises(LogicgenError, match=rf"no split is called '{name}'"):
            load_dataset(made).table(name)


@given(st.lists(st.lists(st.integers(-9, 9), max_size=9)), st.integers(0, 100))
def test_a_growing_array_holds_what_was_added(pieces, large):
    with patch.object(dataset, "LARGE", large):
        growing = dataset.GrowingArray(np.int32)
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
    growing = dataset.GrowingArray(np.int32)
    with pytest.raises(LogicgenError, match=r"cannot be written: .* set TMPDIR to a folder"):
        growing.extend(np.arange(9))
