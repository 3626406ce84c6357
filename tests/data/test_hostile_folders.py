"""Folders that somebody made up: one line each, before memory is taken or another folder read.

Checksums are no help: whoever changes a file can write its checksum, too.
"""

from __future__ import annotations

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from logicgen.data import shards
from logicgen.data.corpus import Ciphers, Corpus, make_corpus
from logicgen.data.opening import load_dataset
from logicgen.data.shards import SCHEMA
from logicgen.errors import LogicgenError
from logicgen.files import sha256
from tests.data.corpora import automaton_recipe, cipher_recipe, opened, text_files
from tests.data.data_sets import contents, make


@pytest.fixture
def copy(made, tmp_path):
    return shutil.copytree(made, tmp_path / "d")


@pytest.fixture
def corpus(tmp_path):
    return opened(automaton_recipe(), tmp_path / "c").folder


def change(folder, edit, file="dataset.json"):
    """Let `edit` change the description of a folder."""
    description = json.loads((folder / file).read_text())
    edit(description)
    (folder / file).write_text(json.dumps(description))


def first_shard(description, split="test"):
    return description["splits"][split]["shards"][0]


def forge(folder, table, examples=None, **options):
    """Put a table in the place of the shards of `test`, and describe it, checksum included."""
    path = folder / "test" / "00000.parquet"
    pq.write_table(table, path, **options)

    def describe(description):
        shard, split = first_shard(description), description["splits"]["test"]
        split["shards"] = [shard]
        rows = table.num_rows if examples is None else examples
        description["examples"] += rows - split["examples"]
        split["examples"] = shard["examples"] = rows
        shard |= {"bytes": path.stat().st_size, "sha256": sha256(path)}

    change(folder, describe)


def rows(**columns):
    """Return the table of a shard of two rows, some columns of which are others."""
    plain = {
        "problem": pa.array(["& a b", "a"]),
        "answer": pa.array(["a 1 b 1", "a 1"]),
        "symbols": pa.array([2, 1], pa.int32()),
        "length": pa.array([3, 1], pa.int32()),
        "alpha_class": pa.array([1, 2], pa.int64()),
    }
    return pa.table({**plain, **columns})


def plain(table):
    """Return a table with the columns of a shard that are not nullable, as those of a shard are."""
    return table.cast(pa.schema([SCHEMA.field(name) for name in table.column_names]))


def refused(use, words):
    """Check that a use of hostile data is refused in one line with these words."""
    with pytest.raises(LogicgenError, match=words) as caught:
        use()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    "content",
    [
        DEEP,
        f'{{"name": {DEEP}}}',
        f'{{"name": {"[" * 100}{"]" * 100}}}',
        f'{{"seed": {"9" * 5000}}}',
        *("null", "{", "[]", '{"complete": true}', '{"complete": false}'),
        '{"name": "\udcff"}',
    ],
    ids=lambda content: content[:20].encode("ascii", "replace").decode(),
)
@pytest.mark.parametrize("kind", ["data set", "corpus"])
def test_descriptions_that_are_no_sane_json(kind, content, copy, corpus):
    folder, file = {"data set": (copy, "dataset.json"), "corpus": (corpus, "corpus.json")}[kind]
    (folder / file).write_bytes(content.encode("utf-8", "surrogateescape"))
    refused(lambda: load_dataset(folder), rf"{file}: damaged; make the {kind} again")
    again = (
        (lambda: make(copy))
        if kind == "data set"
        else (lambda: make_corpus(automaton_recipe(), corpus, name="tiny"))
    )
    refused(again, rf"{file}: damaged; make the {kind} again")


def remove(key):
    return lambda found: found.pop(key)


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (remove("seed"), "key 'seed' is missing"),
        (remove("splits"), "splits is missing"),
        (lambda found: found.update(extra=1), "unknown key 'extra'"),
        (lambda found: found.update(name=["x"]), "name: "),
        (lambda found: found.update(complete="yes"), "complete: "),
        (lambda found: found.update(splits={"else": found["splits"]["test"]}), "splits"),
        (lambda found: found["recipe"].update(region=3), r"recipe.region"),
        (lambda found: first_shard(found).update(bytes="many"), "bytes: "),
        (lambda found: first_shard(found).update(examples=-1), "examples: "),
        (lambda found: first_shard(found).update(examples=10**400), "examples: "),
        (lambda found: first_shard(found).update(examples=7), "not the sum"),
        (lambda found: first_shard(found).update(sha256="x"), "sha256: "),
        (lambda found: found["splits"]["test"].update(shards={}), "shards: "),
        (lambda found: found["splits"]["train"]["shards"].append(first_shard(found)), "sum"),
        (lambda found: first_shard(found).update(file="train/00000.parquet"), "another split"),
    ],
)
def test_descriptions_that_follow_no_schema(edit, words, copy):
    change(copy, edit)
    refused(lambda: load_dataset(copy), rf"dataset.json: damaged; .*{words}")


@pytest.mark.parametrize(
    "file", ["../elsewhere/00000.parquet", "/etc/passwd", "test/../../x.parquet", "test/x", ""]
)
def test_paths_that_leave_the_folder(file, copy):
    change(copy, lambda found: first_shard(found).update(file=file))
    refused(lambda: load_dataset(copy).table("test"), r"dataset.json: damaged; .*file: ")


@pytest.mark.parametrize("whole", [True, False], ids=["folder", "file"])
def test_links_that_leave_the_folder(whole, copy, tmp_path):
    place = copy / "test" if whole else copy / "test" / "00000.parquet"
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    refused(lambda: load_dataset(copy).table("test"), r"00000.parquet: leads out of")
    load_dataset(copy).table("train")
    # What would be written there is none of the folder's either.
    if whole:
        change(copy, lambda found: found.update(complete=False))
        refused(lambda: make(copy), r"test: leads out of")


def test_a_link_inside_the_folder_is_followed(copy):
    (copy / "test").rename(copy / "other")
    (copy / "test").symlink_to("other")
    assert load_dataset(copy).table("test").num_rows == 40


def test_a_corpus_with_links_that_leave_the_folder(corpus, tmp_path):
    (corpus / "train").rename(tmp_path / "elsewhere")
    (corpus / "train").symlink_to(tmp_path / "elsewhere")
    refused(lambda: Corpus(corpus).arrays("train"), r"00000.tokens.npy: leads out of")


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda found: found["tokens"].update(texts=[]), "tokens.texts"),
        (
            lambda found: found["tokens"].update(kind="characters", texts=["<end>", "", "ab"]),
            "char",
        ),
        (lambda found: found["tokens"].update(kind="byte-pairs"), "merges"),
        (lambda found: found["splits"]["train"]["parts"][0].update({"../x": {}}), "unknown key"),
        (lambda found: found["splits"]["train"].update(tokens=10**15), "not the sum"),
        (lambda found: found["splits"]["train"]["parts"][0].update(keys=None), "keys"),
        (lambda found: found["splits"]["train"]["parts"][0]["tokens"].update(shape=[]), "shape"),
        (lambda found: found["splits"]["train"]["parts"][0]["tokens"].update(shape="x"), "shape"),
    ],
)
def test_descriptions_of_corpora_that_follow_no_schema(edit, words, corpus):
    change(corpus, edit, "corpus.json")
    refused(lambda: Corpus(corpus), rf"corpus.json: damaged; .*{words}")


def test_a_cipher_with_tokens_that_there_are_not(tmp_path):
    folder = opened(cipher_recipe(text_files(tmp_path / "files")), tmp_path / "c").folder
    path = folder / "train" / "00000.tokens.npy"
    np.save(path, np.full_like(np.load(path), 255))
    rows = Ciphers(Corpus(folder), "train")
    refused(lambda: rows.rows(np.arange(2), 5), "the corpus is damaged: it has token 255 of")


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((40, 6)),
        np.zeros((40, 6), dtype=np.int64),
        np.zeros((40, 6), dtype=[("x", np.uint8)]),
    ],
    ids=["floats", "signed", "records"],
)
def test_arrays_that_are_no_ids(array, corpus):
    np.save(corpus / "train" / "00000.tokens.npy", array)
    refused(lambda: Corpus(corpus).arrays("train"), "missing, altered or truncated")


@pytest.mark.parametrize(
    "shape", ["(10**18, 6)", "(9" + "9" * 60 + ", 6)", "(" * 2000 + ")" * 2000, "(40, 6"]
)
def test_arrays_with_headers_that_lie(shape, corpus):
    path = corpus / "train" / "00000.tokens.npy"
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    refused(lambda: Corpus(corpus).arrays("train"), "missing, altered or truncated")


@pytest.mark.parametrize(
    "table",
    [
        rows(),  # nullable
        plain(rows()).drop(["answer"]),
        plain(rows()).append_column("extra", pa.array([1, 2])),
        rows(problem=pa.array([1, 2])),
        rows(symbols=pa.array(["2", "1"])),
        rows(length=pa.array([3, 1], pa.int64())),
        rows(answer=pa.array(["a 1", None])),
        plain(rows()).select(SCHEMA.names[::-1]),
        pa.table({}),
    ],
    ids=["nullable", "missing", "foreign", "ids", "text", "wide", "null", "order", "empty"],
)
@pytest.mark.parametrize("columns", [None, ["answer"]])
def test_shards_with_other_columns(table, columns, copy):
    forge(copy, table, examples=2)
    refused(lambda: load_dataset(copy).table("test", columns), r"not a whole shard \(.*column")


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"symbols": pa.array([2**31 - 1, 1], pa.int32())}, "symbols is 2147483647"),
        ({"symbols": pa.array([-1, 1], pa.int32())}, "symbols is -1"),
        ({"length": pa.array([3, 0], pa.int32())}, "length is 0"),
        ({"length": pa.array([3, 2**30], pa.int32())}, "length is 1073741824"),
    ],
)
def test_numbers_that_no_recipe_allows(columns, words, copy):
    forge(copy, plain(rows(**columns)))
    refused(lambda: load_dataset(copy).table("test"), words)


def test_texts_that_are_not_utf8(copy):
    texts = pa.array([b"\xff\xfe", b"a"], pa.binary()).view(pa.string())
    forge(copy, plain(rows()).set_column(0, SCHEMA.field("problem"), texts))
    refused(lambda: load_dataset(copy).table("test"), "not a whole shard .*UTF8")


@pytest.mark.parametrize("examples", [0, 1, 3, 10**15])
def test_as_many_rows_as_described(examples, copy):
    forge(copy, plain(rows()), examples=examples)
    refused(
        lambda: load_dataset(copy).table("test"),
        r"has 2 rows, but [0-9,]+ in dataset.json|is empty",
    )


NUMBERED = pa.schema(
    [
        field.with_type(pa.dictionary(pa.int32(), pa.string()))
        if field.type == pa.string()
        else field
        for field in SCHEMA
    ]
)


def test_a_text_that_is_repeated_a_million_times(copy):
    """A few kilobytes on disk, a terabyte as plain texts."""
    count = 1_000_000
    long = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(count, np.int32)), pa.array(["a " * 500_000])
    )
    numbers = pa.array(np.ones(count, np.int32))
    table = pa.table(
        [long, long, numbers, numbers, pa.array(np.ones(count, np.int64))],
        schema=NUMBERED,
    )
    forge(copy, table, store_schema=False, compression="zstd")
    assert (copy / "test" / "00000.parquet").stat().st_size < 100_000
    for columns in (None, ["problem"]):
        refused(lambda columns=columns: load_dataset(copy).table("test", columns), "it would take")
    assert load_dataset(copy).table("test", ["symbols"]).num_rows == count


def test_texts_that_share_their_beginnings(copy, monkeypatch):
    """A kilobyte on disk, too, by another of Parquet's encodings."""
    monkeypatch.setattr(shards, "MOST_BYTES", 10_000)
    texts = pa.array(["a " * 10_000] * 2)
    encoding = {"problem": "DELTA_BYTE_ARRAY", "answer": "PLAIN"}
    table = plain(rows(problem=texts))
    forge(copy, table, use_dictionary=False, column_encoding=encoding)
    refused(lambda: load_dataset(copy).table("test"), "not a whole shard")


@pytest.mark.parametrize("name", ["p99999999999999", "a1000000", f"a1{'0' * 5000}", "B", "&" * 99])
def test_symbols_with_very_high_numbers(name, copy):
    """An embedding would get as many rows."""
    forge(copy, plain(rows(problem=pa.array([name, "a"]))))
    refused(lambda: load_dataset(copy).encoded("test"), r"token|symbol")


def test_a_shard_of_other_cells_is_not_gone_on_with(copy, made):
    forge(copy, plain(rows(symbols=pa.array([77, 1], pa.int32()))))
    change(copy, lambda found: found.update(complete=False))
    make(copy)
    assert contents(copy) == contents(made)
