"""JSON files of others."""

from __future__ import annotations

import pytest

from logicgen import files
from logicgen.errors import LogicgenError
from logicgen.files import read_json

NESTED = files.MOST_LEVELS - 1  # the object itself is a level


def test_an_object_is_read(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"a": ' + "[" * NESTED + "]" * NESTED + ', "b": "\\u00fc"}')
    assert read_json(path, "")["b"] == "ü"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "line 1 column 1"),
        (b"[]", "not a JSON object"),
        (b"\xff\xfe", "x.json: damaged; mend it"),
        (
            b'{"a": ' + b"[" * (NESTED + 1) + b"]" * (NESTED + 1) + b"}",
            "deeper than 64 levels",
        ),
        (b"[" * 10**6, "deeper than 64 levels"),
        (b'{"a": ' + b"9" * 5000 + b"}", "digits"),
        (b'{"a": "' + b"x" * 10**6 + b'"}', "more than 1,000 bytes"),
        (b"[1,\n\n2", "x.json: damaged; mend it"),
    ],
)
def test_anything_else_is_refused_in_one_line(content, words, tmp_path, monkeypatch):
    if "bytes" in words:
        monkeypatch.setattr(files, "MOST_BYTES", 1000)
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(
        LogicgenError, match=rf"^{tmp_path}/x.json: damaged; mend it .*\)$"
    ) as caught:
        read_json(tmp_path / "x.json", "mend it")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_file_that_cannot_be_read(tmp_path):
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(LogicgenError, match="cannot be read: "):
            read_json(path, "")
