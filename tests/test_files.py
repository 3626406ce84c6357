"""Files that are there whole or not at all, checksums and JSON files of others."""

from __future__ import annotations

import hashlib
import os
import pty
import stat
import threading
from pathlib import Path

import pytest

from logicgen import files
from logicgen.errors import LogicgenError
from logicgen.files import (
    json_sha256,
    prepare_folder,
    read_json,
    sha256,
    text_sha256,
    write_atomically,
    write_text,
)


@pytest.mark.parametrize("forced", [True, False])
def test_a_power_cut_leaves_the_old_file_or_the_new_one(tmp_path, monkeypatch, forced):
    """The content is on the disk before the file gets its name."""
    done = []
    for name in ("fsync", "replace"):
        call = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *at, n=name, c=call: (done.append(n), c(*at)))
    write_atomically(tmp_path / "a.txt", lambda part: part.write_text("a"), forced=forced)
    assert done == (["fsync", "replace"] if forced else ["replace"])


def test_written_whole(tmp_path):
    write_text(tmp_path / "new" / "a.txt", "whole")
    assert (tmp_path / "new" / "a.txt").read_text() == "whole"
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.txt"]


@pytest.mark.parametrize("interruption", [KeyboardInterrupt(), OSError("disk full"), ValueError()])
def test_what_interrupts_the_writing_leaves_the_old_file_alone(tmp_path, interruption):
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def write(part):
        part.write_text("ne")
        raise interruption

    expected = LogicgenError if isinstance(interruption, OSError) else type(interruption)
    with pytest.raises(expected):
        write_atomically(path, write)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_followed(tmp_path):
    target = tmp_path / "target.txt"
    for link, there in (("one", True), ("two", False)):
        if there:
            write_text(target, "old")
        (tmp_path / link).symlink_to(target.name)
        write_text(tmp_path / link, "new")
        assert (tmp_path / link).is_symlink()
        assert target.read_text() == "new"
        target.unlink()


def test_a_pipe_is_written_to_and_stays_one(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "through")
    reader.join()
    assert found == ["through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert list(tmp_path.iterdir()) == [pipe]


def test_the_terminal_of_somebody_is_written_to_and_stays_one():
    ours, theirs = pty.openpty()
    path = Path(os.ttyname(theirs))
    write_text(path, "there")
    assert os.read(ours, 5) == b"there"
    assert stat.S_ISCHR(path.stat().st_mode)
    os.close(ours)
    os.close(theirs)


def test_names_as_long_as_file_systems_allow(tmp_path):
    write_text(tmp_path / ("a" * 255), "text")
    assert [path.name for path in tmp_path.iterdir()] == ["a" * 255]
    with pytest.raises(LogicgenError, match="too long"):
        write_text(tmp_path / ("a" * 256), "text")


def test_a_folder_whose_name_is_no_utf_8_is_refused_before_anything_is_made(tmp_path):
    folder = tmp_path / os.fsdecode(b"a\xff")
    with pytest.raises(
        LogicgenError, match="the path is not UTF-8; choose another folder"
    ) as refusal:
        prepare_folder(folder)
    assert "\n" not in str(refusal.value)
    assert not list(tmp_path.iterdir())


def test_no_folder_is_replaced(tmp_path):
    with pytest.raises(LogicgenError, match="is a folder"):
        write_text(tmp_path, "text")
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(LogicgenError, match="cannot be written"):
        write_text(tmp_path / "round", "text")


def test_checksums(tmp_path):
    (tmp_path / "file").write_text("é", encoding="utf-8")
    expected = hashlib.sha256("é".encode()).hexdigest()
    assert sha256(tmp_path / "file") == text_sha256("é") == expected
    content = {"b": 1, "a": [2], "own": "x"}
    assert json_sha256(content, without="own") == text_sha256('{"a": [2], "b": 1}')


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
