"""A formal language, made from one `.lark` file.

The file has two start rules. `infix` is the notation for people; Lark's LALR parser reads it.
`prefix` is the notation for networks, a grammar over blank-separated tokens. The token set, the
sampler (`sampling.py`) and the next-token masks (`token_automaton.py`) are derived from `prefix`. A
name after an arrow (`-> and`) is the meaning of an alternative. The two notations use the same
meanings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeVar

import lark
from lark.grammar import Terminal as LarkTerminal

from logicgen import recipes
from logicgen.errors import FormatError, LogicgenError, reading, shown

SYMBOL = "SYMBOL"

Build = Callable[[str, Sequence[Any]], Any]
Value = TypeVar("Value")


@dataclass(frozen=True)
class Token:
    """A token in a production: a fixed token, or any symbol (then `text` is None)."""

    text: str | None


@dataclass(frozen=True)
class Production:
    """One alternative of a rule of a grammar."""

    rule: str  # the name of the rule
    meaning: str | None  # the name after the arrow, such as `and` in `-> and`; None without arrow
    parts: tuple[Token | str, ...]  # tokens and names of rules, in order

    @property
    def rules(self) -> tuple[str, ...]:
        """Return the names of the rules that occur in the alternative, in order."""
        return tuple(part for part in self.parts if isinstance(part, str))


FURTHER = ("backward", "planned")


class Language:
    """A reader of both notations of a language, with their productions.

    Args:
        grammar: the name of a shipped `.lark` file, or the path of a `.lark` file.
        build: returns the value of an alternative from its meaning and the values of its parts.
            The value of a symbol is its text. A fixed token has no value.
    """

    def __init__(self, grammar: str, build: Build) -> None:
        path = recipes.find("grammars", ".lark", grammar)
        self.name = path.stem
        with reading(path):
            text = path.read_text(encoding="utf-8")
        rules = {line.partition(":")[0] for line in text.splitlines()}
        # The forms of a text. Nothing parses the forms in `FURTHER`.
        self.starts = ["infix", "prefix", *(form for form in FURTHER if form in rules)]
        try:
            self._lark = lark.Lark(
                text,
                parser="lalr",
                start=self.starts,
                source_path=str(path),
                import_paths=[str(path.parent)],
                transformer=_Builder(build),
                maybe_placeholders=False,
            )
        except lark.exceptions.LarkError as error:
            raise LogicgenError(f"{path}: not a grammar that Lark can read: {error}") from error
        self._terminals = {terminal.name: terminal for terminal in self._lark.terminals}

    def read(self, text: str, notation: str = "infix") -> Any:
        """Parse `text` and return the value that `build` returns for it.

        Raises FormatError, with line and column, if the text is not in the language.
        """
        try:
            return self._lark.parse(text, start=notation)
        except lark.exceptions.UnexpectedInput as error:
            raise self._format_error(text, error) from None

    def _format_error(self, text: str, error: lark.exceptions.UnexpectedInput) -> FormatError:
        line, column = error.line, error.column
        if isinstance(error, lark.exceptions.UnexpectedToken):
            expected = error.accepts or error.expected
            reason = f"unexpected {shown(str(error.token))}"
            if error.token.type == "$END":
                lines = text.rstrip("\n").split("\n")
                line, column = len(lines), len(lines[-1].rstrip()) + 1
                reason = "the text ends too early"
        else:
            assert isinstance(error, lark.exceptions.UnexpectedCharacters)
            expected, reason = error.allowed or set(), f"unexpected {error.char!r}"
        wanted = sorted({self._describe(name) for name in expected})
        return FormatError(
            f"{reason}; expected {' or '.join(wanted) or 'the end'}", text, line, column
        )

    def _describe(self, terminal: str) -> str:
        if terminal == SYMBOL:
            return "a symbol"
        if terminal == "$END":
            return "the end"
        known = self._terminals.get(terminal)
        return known.pattern.value if known else terminal

    def productions(self, notation: str) -> list[Production]:
        """Return all productions of a notation's grammar, in the order of the file."""
        reachable, pending = {notation}, [notation]
        by_rule: dict[str, list[Production]] = {}
        for rule in self._lark.rules:
            parts: list[Token | str] = []
            for part in rule.expansion:
                if isinstance(part, LarkTerminal):
                    parts.append(Token(self._text(part.name)))
                else:
                    parts.append(str(part.name))
            meaning = _meaning(str(rule.alias)) if rule.alias else None
            origin = str(rule.origin.name)
            by_rule.setdefault(origin, []).append(Production(origin, meaning, tuple(parts)))
        while pending:
            for production in by_rule[pending.pop()]:
                for name in production.rules:
                    if name not in reachable:
                        reachable.add(name)
                        pending.append(name)
        return [p for rule, group in by_rule.items() if rule in reachable for p in group]

    def _text(self, terminal: str) -> str | None:
        if terminal == SYMBOL:
            return None
        pattern = self._terminals[terminal].pattern
        if not isinstance(pattern, lark.lexer.PatternStr):
            raise LogicgenError(
                f"grammar {self.name}: {terminal} is a regular expression; only {SYMBOL} may be one"
            )
        return pattern.value

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """Return the fixed tokens of the prefix notation, in the order of the file."""
        found: dict[str, None] = {}
        for production in self.productions("prefix"):
            for part in production.parts:
                if isinstance(part, Token) and part.text is not None:
                    found[part.text] = None
        return tuple(found)

    @cached_property
    def symbol_pattern(self) -> re.Pattern[str]:
        """Return the regular expression of symbols."""
        return re.compile(self._terminals[SYMBOL].pattern.to_regexp())


def read_either(read: Callable[[str, str], Value], text: str) -> Value:
    """Read a text in infix or prefix notation with `read(text, notation)`.

    No text is valid in both notations. If the text is valid in neither notation, raise the
    FormatError of the notation in which a longer part of the text could be read.
    """
    try:
        return read(text, "infix")
    except FormatError as infix:
        try:
            return read(text, "prefix")
        except FormatError as prefix:
            further = (prefix.line, prefix.column) > (infix.line, infix.column)
            raise (prefix if further else infix) from None


def _meaning(alias: str) -> str:
    """Return the meaning of an alternative, without the name of a file that Lark puts before it."""
    return alias.rpartition("__")[2]


class _Builder(lark.Transformer[Any, Any]):
    """A Lark transformer that builds values instead of a tree.

    For each alternative, Lark calls the transformer's method with the name of the alternative.
    `__getattr__` makes these methods.
    """

    def __init__(self, build: Build) -> None:
        super().__init__(visit_tokens=False)
        self._build = build

    def __getattr__(self, name: str) -> Callable[[Sequence[Any]], Any]:
        if not name[0].islower():
            raise AttributeError(name)
        return partial(self._build, _meaning(name))
