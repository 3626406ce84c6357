"""Partial assignments: the answers of propositional problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from logicgen.syntax.language import Language, read_either

Literal = tuple[str, bool]


@dataclass(frozen=True)
class Assignment:
    """Literals `(symbol, value)`, in the order they were written.

    It stands for all total assignments that agree with it: none if a symbol has both values.
    """

    literals: tuple[Literal, ...] = ()

    @property
    def is_contradictory(self) -> bool:
        """Return whether some symbol is given both values."""
        return bool(self.contradictory)

    @property
    def contradictory(self) -> tuple[str, ...]:
        """Return the symbols that are given both values, in order of first occurrence."""
        different = set(self.literals)
        if len(dict(self.literals)) == len(different):
            return ()
        return tuple(s for s in self.symbols if {(s, True), (s, False)} <= different)

    def same_as(self, other: Assignment) -> bool:
        """Return whether both give the same symbols the same values, in whatever order."""
        return set(self.literals) == set(other.literals)

    def rename(self, mapping: Mapping[str, str]) -> Assignment:
        """Return the assignment with symbol `s` written `mapping[s]`; others stay."""
        return Assignment(tuple((mapping.get(name, name), value) for name, value in self.literals))

    @property
    def symbols(self) -> tuple[str, ...]:
        """Return the distinct symbols, in order of first occurrence."""
        return tuple(dict.fromkeys(name for name, _ in self.literals))

    def __str__(self) -> str:
        return self.infix

    @property
    def prefix(self) -> str:
        """Return the text that networks read: `a 1 b 0`."""
        return " ".join(f"{name} {int(value)}" for name, value in self.literals)

    @property
    def infix(self) -> str:
        """Return the text that people read: `a=1, b=0`, or `1` if there is no literal."""
        return ", ".join(f"{name}={int(value)}" for name, value in self.literals) or "1"

    @property
    def conjunction(self) -> str:
        """Return the assignment as a formula: `a & !b`, or `1` if there is no literal."""
        return " & ".join(name if value else f"!{name}" for name, value in self.literals) or "1"

    @staticmethod
    def read(text: str) -> Assignment:
        """Return the assignment of a text such as `a=1, b=0` or `a & !b`. Raises FormatError."""
        return _read(text, "infix")

    @staticmethod
    def read_prefix(text: str) -> Assignment:
        """Return the assignment of a text such as `a 1 b 0`. Raises FormatError likewise."""
        return _read(text, "prefix")

    @staticmethod
    def read_either(text: str) -> Assignment:
        """Return the assignment of any form; raise the FormatError of what got further."""
        found = _split_and_read(text, "infix") or _split_and_read(text, "prefix")
        return found if found is not None else read_either(_read, text)


def _read(text: str, notation: str) -> Assignment:
    found = _split_and_read(text, notation)
    if found is None:
        found = assignment_language().read(text, notation)
    return found


def _split_and_read(text: str, notation: str) -> Assignment | None:
    """Return the assignment of a list of equations or of pairs; None for all other texts.

    What this reads is what the grammar derives, ten times as fast.
    """
    if notation == "infix":
        pairs = [equation.partition("=")[::2] for equation in text.split(",")]
    else:
        tokens = text.split()
        if len(tokens) % 2:
            return None
        pairs = list(zip(tokens[::2], tokens[1::2], strict=True))
    is_symbol = assignment_language().symbol_pattern.fullmatch
    literals: list[Literal] = []
    for name, value in pairs:
        name, value = name.strip(), value.strip()
        if value not in ("0", "1") or not is_symbol(name):
            return None
        literals.append((name, value == "1"))
    return Assignment(tuple(literals))


def _build(meaning: str, values: Sequence[Any]) -> Any:
    match meaning:
        case "positive":
            return (str(values[0]), True)
        case "negative":
            return (str(values[0]), False)
        case "one":
            return [values[0]]
        case "more":
            values[0].append(values[1])
            return values[0]
        case "true" | "false":
            return meaning == "true"
        case "pair":
            values[2].append((str(values[0]), values[1]))
            return values[2]
        case "nothing":
            return []
        case "all":
            return Assignment(tuple(values[0]))
        case "all_reversed":  # prefix is right-recursive: its list was built from the end
            return Assignment(tuple(reversed(values[0])))
    raise AssertionError(meaning)


@cache
def assignment_language() -> Language:
    """Return the language of assignments, made once."""
    return Language("assignment", _build)
