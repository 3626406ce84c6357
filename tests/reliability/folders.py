"""Folders of data sets, corpora and models, with some of their files changed or lost."""

from __future__ import annotations

import atexit
import hashlib
import io
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from logicgen import recipes
from logicgen.data.corpus import Corpus
from logicgen.data.dataset import Dataset
from logicgen.data.opening import load_dataset, make
from logicgen.data.recipe import CorpusRecipe, DataRecipe
from logicgen.files import json_sha256
from logicgen.model.checkpoint import CARD, WEIGHTS, load_model
from logicgen.model.model import Model
from logicgen.model.sequences import sequences_of, tokens_of
from tests.reliability.mutation import json_bytes, mutated_bytes, mutated_json
from tests.reliability.target import Target, value_or_refusal

DATA = {
    "task": "lookup",
    "region": {"symbols": [2, 4], "length": [5, 11], "step": 3},
    "sizes": {"train": 40, "validation": 8, "test": 8},
}
CORPUS = {
    "task": "automaton",
    "corpus": {
        "symbols": 3,
        "states": 2,
        "expected_length": 8.0,
        "length": 6,
        "train": 20,
        "validation": 5,
        "test": 5,
    },
}


class Files(dict[str, bytes]):
    """Contents by name, shown as what differs from the files `of` which they are."""

    def __init__(self, of: Files | dict[str, bytes]) -> None:
        super().__init__(of)
        self.of = of

    def __repr__(self) -> str:
        """Return the files that are changed or gone, and of long ones where they first differ."""
        changed = {name: self[name] for name in self if self[name] != self.of.get(name)}
        shown = {name: _difference(self.of.get(name, b""), changed[name]) for name in changed}
        return f"changed {shown}, gone {sorted({*self.of} - {*self})}"


def _difference(before: bytes, now: bytes) -> str:
    pairs = enumerate(zip(before, now, strict=False))
    first = next((place for place, (old, new) in pairs if old != new), min(len(before), len(now)))
    start = max(0, first - 60)
    return f"{len(now)} bytes, from {start}: {now[start : start + 160]!r}"


@cache
def made(kind: str) -> Files:
    """Return the files of a tiny data set or corpus, made once in a process."""
    recipe = (
        DataRecipe.model_validate(DATA) if kind == "data" else CorpusRecipe.model_validate(CORPUS)
    )
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    make(recipe, folder, name="tiny")
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return Files({path.relative_to(folder).as_posix(): path.read_bytes() for path in paths})


@contextmanager
def laid(files: Files) -> Iterator[Path]:
    """Yield a folder with these files, removed afterwards."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in files.items():
            path = folder / file
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        yield folder


@st.composite
def parquet(draw: Callable[..., Any], content: bytes) -> bytes:
    """Return a shard with columns of other names, types or values: a whole file all the same."""
    columns = pq.read_table(io.BytesIO(content)).to_pydict()
    rows = len(columns["length"])
    names = st.sampled_from(sorted(columns))
    values = st.sampled_from(
        [None, "", "a", "a b ->", "& \x00", "A", "a" + "9" * 30, 0, -1, 2**40, 0.5, [1], b"\xff"]
    )
    for _ in range(draw(st.integers(1, 2))):
        name = draw(names)
        match draw(st.integers(0, 4)):
            case 0:
                columns.pop(name, None)
            case 1:
                columns[name] = [draw(values)] * rows
            case 2 if name in columns and rows:
                changed = draw(st.sampled_from([None, *columns[name]]))
                columns[name] = [changed, *columns[name][1:]]
            case 3 if name in columns:
                columns[draw(st.sampled_from(["x", "problem", "answer"]))] = columns.pop(name)
            case 4:
                columns, rows = {key: each[:0] for key, each in columns.items()}, 0
    target = io.BytesIO()
    pq.write_table(pa.table(columns), target)
    return target.getvalue()


@st.composite
def array(draw: Callable[..., Any], content: bytes) -> bytes:
    """Return an array of another shape, type or content: a whole file all the same."""
    values = np.load(io.BytesIO(content))
    match draw(st.integers(0, 3)):
        case 0:
            values = values.astype(draw(st.sampled_from(["int64", "float32", "bool", "S3", "U2"])))
        case 1:
            values = values.reshape(draw(st.sampled_from([(-1,), (1, 1, -1), (-1, 1)])))
        case 2:
            values = values.copy()
            values.flat[draw(st.integers(0, values.size - 1))] = draw(st.integers(0, 255))
        case 3:
            values = values[: draw(st.integers(0, 2))]
    target = io.BytesIO()
    np.save(target, values)
    return target.getvalue()


def _forged(files: Files, description: str) -> Files:
    """Return the files with a description that has their checksums, sizes and shapes."""
    found = json.loads(files[description])
    for split, content in found["splits"].items():
        for shard in content.get("shards", ()):
            if shard["file"] in files:
                shard["bytes"] = len(files[shard["file"]])
                shard["sha256"] = hashlib.sha256(files[shard["file"]]).hexdigest()
        for number, part in enumerate(content.get("parts", ())):
            for what, facts in part.items():
                name = f"{split}/{number:05d}.{what}.npy"
                if name in files:
                    # NumPy raises more than it says of a damaged array.
                    with suppress(Exception):
                        facts["shape"] = list(np.load(io.BytesIO(files[name])).shape)
    files[description] = json_bytes(found)
    return files


@st.composite
def folders(draw: Callable[..., Any], kind: str, description: str) -> Files:
    """Return a folder whose description or other files differ; now and then with new checksums."""
    files = Files(made(kind))
    for _ in range(draw(st.integers(1, 2))):
        name = draw(st.sampled_from([description, *sorted(files)]))
        if name not in files:
            continue
        choice = draw(st.integers(0, 3))
        if choice == 0:
            del files[name]
        elif choice == 1:
            files[name] = draw(mutated_bytes(files[name]))
        elif name == description:
            try:
                tree = json.loads(files[name])
            except ValueError:
                continue
            files[name] = json_bytes(draw(mutated_json(tree)))
        elif name.endswith((".parquet", ".npy")) and files[name] == made(kind)[name]:
            change = parquet if name.endswith(".parquet") else array
            files[name] = draw(change(files[name]))
    if files.get(description) == made(kind)[description] and draw(st.booleans()):
        files = _forged(files, description)
    return files


def _all(data: Dataset | Corpus) -> None:
    """Read everything that training and evaluation read."""
    data.summary(data.description, data.folder)
    _ = data.splits, data.fingerprint
    tokens_of(data)
    for split in data.splits:
        if isinstance(data, Dataset):
            value_or_refusal(partial(data.encoded, split))
            value_or_refusal(lambda split=split: list(data.pairs(split)))
        else:
            value_or_refusal(partial(data.arrays, split))
        value_or_refusal(lambda split=split: _batch(data, split))


def _batch(data: Dataset | Corpus, split: str) -> None:
    sequences = sequences_of(data, split)
    if len(sequences):
        sequences.random(np.random.default_rng(0), 4, 8)


def check_folder(files: Files) -> None:
    """A folder is refused, or all of its splits are read or refused."""
    with laid(files) as folder:
        data = value_or_refusal(lambda: load_dataset(folder))
        if data is not None:
            value_or_refusal(lambda: _all(data))


@cache
def shipped_model(name: str) -> Files:
    """Return card and weights of a shipped model."""
    folder = recipes.folder("models") / "weights" / name
    return Files({file: (folder / file).read_bytes() for file in (CARD, WEIGHTS)})


@st.composite
def models(draw: Callable[..., Any]) -> Files:
    """Return a model whose card or weights differ; now and then with digests that fit."""
    files = Files(shipped_model(draw(st.sampled_from(sorted(recipes.trained())))))
    if draw(st.integers(0, 3)) == 0:
        files[WEIGHTS] = draw(mutated_bytes(files[WEIGHTS]))
    choice = draw(st.integers(0, 4))
    if choice == 0:
        files[CARD] = draw(mutated_bytes(files[CARD]))
    elif choice > 1:
        files[CARD] = json_bytes(draw(mutated_json(json.loads(files[CARD]))))
    if draw(st.integers(0, 9)) == 0:
        del files[draw(st.sampled_from(sorted(files)))]
    elif choice and draw(st.booleans()):
        try:
            card = json.loads(files[CARD])
        except ValueError:
            return files
        if isinstance(card, dict):
            card["sha256"] = hashlib.sha256(files[WEIGHTS]).hexdigest()
            card["card_sha256"] = json_sha256(card, without="card_sha256")
            files[CARD] = json_bytes(card)
    return files


def check_model(files: Files) -> None:
    """A model is refused, or its card can be written again."""
    with laid(files) as folder:
        model: Model | None = value_or_refusal(lambda: load_model(folder, "cpu"))
    if model is not None:
        json.dumps(model.card())


def _targets() -> list[Target]:
    kinds: dict[str, SearchStrategy[Files]] = {
        "data-sets": st.deferred(lambda: folders("data", Dataset.file)),
        "corpora": st.deferred(lambda: folders("corpus", Corpus.file)),
    }
    found = [Target(name, inputs, check_folder) for name, inputs in kinds.items()]
    return [*found, Target("models", models(), check_model)]


TARGETS = _targets()
