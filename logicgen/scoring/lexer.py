"""The lexer of completions: at each place, the token with the highest priority that can follow.

Lark's own contextual lexer takes every token for which the LALR table has an entry. Some of these
entries come from other contexts, so the lexer can choose a token that the parser then refuses. This
lexer first asks the table whether the parser would accept the token. Its rule is therefore simple
enough for a page of documentation (docs/reading-answers.md, section 6).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from lark.common import LexerConf
from lark.lexer import Lexer, TerminalDef, Token
from lark.parsers.lalr_analysis import Shift

from logicgen.errors import LogicgenError, shown


class NoAnswerError(LogicgenError):
    """A completion that gives no answer, or several different answers."""


class CompletionLexer(Lexer):
    """Yields the tokens of a text. Raises NoAnswerError where no token can follow."""

    __future_interface__: ClassVar = 2  # Lark then calls `lex` with the state of its parser

    def __init__(self, conf: LexerConf) -> None:
        self._terminals = sorted(
            conf.terminals,
            key=lambda each: (-each.priority, -each.pattern.max_width, -len(each.pattern.value)),
        )
        self._ignored = frozenset(conf.ignore)
        self._scanners: dict[Any, _Scanner] = {}

    def lex(self, lexer_state: Any, parser_state: Any) -> Iterator[Token]:
        """Yield the tokens of the text, each one after the parser took the one before."""
        text, place = getattr(lexer_state.text, "text", lexer_state.text), 0
        table = parser_state.parse_conf.states
        while place < len(text):
            state = parser_state.position
            if state not in self._scanners:
                possible = self._ignored.union(table[state])
                self._scanners[state] = _Scanner(t for t in self._terminals if t.name in possible)
            for name, found in self._scanners[state].matches(text, place):
                if name not in self._ignored:
                    if _accepts(table, parser_state.state_stack, name):
                        yield Token(name, found, place)
                        break
                elif 0 < place < len(text) - len(found):  # it is between two tokens
                    break
            else:
                raise NoAnswerError(_unread(text, place))
            place += len(found)


class _Scanner:
    """The terminals that may come next in one state of the parser, the highest priority first."""

    def __init__(self, terminals: Iterable[TerminalDef]) -> None:
        patterns = [(each.name, each.pattern.to_regexp()) for each in terminals]
        self._single = [(name, re.compile(pattern)) for name, pattern in patterns]
        self._number = {name: number for number, (name, _) in enumerate(patterns, start=1)}
        self._first = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in patterns))

    def matches(self, text: str, place: int) -> Iterator[tuple[str, str]]:
        """Yield the names of terminals that fit at a place, with the text that each one takes."""
        first = self._first.match(text, place)  # one search for all: mostly the first one is right
        if first is None or first.lastgroup is None:
            return
        yield first.lastgroup, first[0]
        for name, pattern in self._single[self._number[first.lastgroup] :]:
            if found := pattern.match(text, place):
                yield name, found[0]


def _accepts(table: Any, stack: list[Any], token: str) -> bool:
    """Return whether a parser with this stack of states takes a token, after its reductions."""
    depth = len(stack)
    above: list[Any] = []  # the states are stack[:depth], and then these
    while (step := table[above[-1] if above else stack[depth - 1]].get(token)) is not None:
        action, rule = step
        if action is Shift:
            return True
        popped = len(rule.expansion)
        depth -= max(popped - len(above), 0)
        del above[max(len(above) - popped, 0) :]
        below = above[-1] if above else stack[depth - 1]
        above.append(table[below][rule.origin.name][1])
    return False


def _unread(text: str, place: int) -> str:
    """Return a message about the place where the reading of a text ends."""
    line = text.count("\n", 0, place) + 1
    column = place - text.rfind("\n", 0, place)
    rest = shown(text[place:].split("\n")[0][:40])
    return f"line {line}, column {column}: an answer cannot be read from {rest}"
