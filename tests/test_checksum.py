"""Checksums."""

from __future__ import annotations

import hashlib

from logicgen.files import json_sha256, sha256, text_sha256


def test_checksums(tmp_path):
    (tmp_path / "file").write_text("é", encoding="utf-8")
    expected = hashlib.sha256("é".encode()).hexdigest()
    assert sha256(tmp_path / "file") == text_sha256("é") == expected
    content = {"b": 1, "a": [2], "own": "x"}
    assert json_sha256(content, without="own") == text_sha256('{"a": [2], "b": 1}')
