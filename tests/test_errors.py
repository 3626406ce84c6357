"""Errors for a person: bounded, and in place of what Python raises for names and bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from logicgen.errors import (
    LONGEST,
    FormatError,
    LogicgenError,
    nearest,
    reading,
    shortened,
    shown,
)


def test_no_message_is_endless_and_its_remedy_stays():
    error = LogicgenError(f"{'x' * 10**6}: do this")
    assert len(str(error)) == LONGEST
    assert str(error).endswith(": do this")
    assert str(LogicgenError("short")) == "short"


def test_values_are_shown_shortened():
    assert shown("a") == "'a'"
    assert len(shown("a" * 10**6)) == 120
    assert shown(10**5000) == "a number of 16,610 bits"
    assert shown([10**5000]) == "a list"
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert shown(deep) == "a list"
    assert shortened("ab" * 10, 10) == "abab...bab"


def test_a_window_into_a_text_has_no_control_characters():
    error = FormatError("no", "a\x1b[31m\tb\0c", 1, 2)
    assert str(error) == "line 1, column 2: no\n  a [31m b c\n   ^"


@pytest.mark.parametrize("name", ["x" * 300, "a/" * 5000, "there\0is"])
def test_names_that_no_file_can_have(name):
    with pytest.raises(LogicgenError, match=r"cannot be read|NUL") as caught, reading(name):
        Path(name).read_bytes()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(b"ab\xff")
    with pytest.raises(LogicgenError, match="not UTF-8 at byte 2"), reading(path):
        path.read_text(encoding="utf-8")


def test_other_value_errors_pass():
    with pytest.raises(ValueError, match="mine"), reading("file"):
        raise ValueError("mine")


def test_nothing_is_near_a_very_long_word():
    assert nearest("LTL", ["copying", "ltl"]) == "did you mean ltl?"
    assert nearest("x" * 10**6, ["copying"]) == "known: copying"
