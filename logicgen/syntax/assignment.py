"""Partial assignments: the answers of propositional problems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from logicgen.syntax.language import Language

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
        pairs = (equation.partition("=") for equation in text.split(","))
        literals = _literals((name.strip(), value.strip()) for name, _, value in pairs)
        if literals is not None:
            return Assignment(literals)
        found: Assignment = assignment_language().read(text, "infix")
        return found

    @staticmethod
    def read_prefix(text: str) -> Assignment:
        """Return the assignment of a text such as `a 1 b 0`. Raises FormatError likewise."""
        tokens = text.split()
        literals = _literals(zip(tokens[::2], tokens[1::2], strict=False))
        if literals is not None and len(tokens) % 2 == 0:
            return Assignment(literals)
        found: Assignment = assignment_language().read(text, "prefix")
        return found


def _literals(pairs: Iterable[tuple[str, str]]) -> tuple[Literal, ...] | None:
    """Return the literals of texts of symbols and values; None where one is neither.

    What this reads is what the grammar derives, ten times as fast; all else is left to it.
    """
    is_symbol = assignment_language().symbol_pattern.fullmatch
    found: list[Literal] = []
    for name, value in pairs:
        if value not in ("0", "1") or not is_symbol(name):
            return None
        found.append((name, value == "1"))
    return tuple(found)


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
