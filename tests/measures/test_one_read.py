"""An evaluation reads its data once."""

from __future__ import annotations

from logicgen.data import dataset
from logicgen.data.opening import load_dataset
from logicgen.data.shards import read_shard
from logicgen.files import sha256
from logicgen.measures.predictions import check_fits, predict_and_verify
from tests.measures.conftest import Parrot


def test_every_shard_is_read_and_hashed_once(data, about, monkeypatch):
    model = Parrot(data, "grid")
    hashed, read = [], []
    monkeypatch.setattr(dataset, "sha256", lambda path: hashed.append(path) or sha256(path))
    monkeypatch.setattr(
        dataset,
        "read_shard",
        lambda path, columns=None: read.append(path) or read_shard(path, columns),
    )
    opened = load_dataset(data.folder)
    check_fits(model, opened, about)
    predict_and_verify(model, opened, about, embedding_seeds=2)
    assert sorted(read) == sorted(hashed) == sorted((data.folder / "grid").glob("*.parquet"))
