"""A finite automaton of the answers of a language: the tokens that may come next.

The automaton is made from the prefix grammar. A state is a set of stacks. A stack contains the
tokens and rules that are still expected. There are several stacks if the tokens read do not
determine the alternative of the grammar. Answers of limited length reach only finitely many states.
So the automaton is a table that a decoder can index on any device.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from logicgen.errors import LogicgenError
from logicgen.syntax.language import Language, Production, Token

if TYPE_CHECKING:
    import numpy as np

Stack = tuple[Token | str, ...]
"""The tokens and rules that are still expected, the next one first."""

Stacks = frozenset[Stack]
"""The possible stacks; empty if no answer begins with the tokens read."""

_ANY_SYMBOL = Token(None)


@dataclass(frozen=True)
class TokenAutomaton:
    """A table of all prefixes of answers that can be completed. State 0 is the start."""

    # The next state for each state and token class, or -1 if the token may not come; shape
    # (states, classes), int64. Class i is the token `tokens[i]`; the last class is any symbol
    transition: np.ndarray
    # The fewest further tokens that complete the answer in each state; 0 if the answer may end
    # there; shape (states,), int64
    distance: np.ndarray
    tokens: tuple[str, ...]  # the fixed tokens, in the order of the classes

    def widened(self, tokens: Sequence[str]) -> TokenAutomaton:
        """Return the same automaton with more fixed tokens, which are never allowed.

        tokens: all fixed tokens, in the order of the new classes.
        """
        import numpy as np

        table = np.full((len(self.transition), len(tokens) + 1), -1, dtype=np.int64)
        table[:, [tokens.index(token) for token in self.tokens]] = self.transition[:, :-1]
        table[:, -1] = self.transition[:, -1]
        return TokenAutomaton(table, self.distance, tuple(tokens))


@lru_cache(maxsize=64)
def token_automaton(language: Language, longest: int, start: str = "prefix") -> TokenAutomaton:
    """Return the automaton of all texts of a rule of a language with up to `longest` tokens.

    start: `prefix`, or another rule in prefix notation.

    Raises LogicgenError if a rule of the grammar is left-recursive or can never end.
    """
    import numpy as np  # takes 0.1 s, which solving a formula does not need

    grammar = _PrefixRules(language, start)
    classes: list[Token] = [*(Token(text) for text in language.tokens), _ANY_SYMBOL]
    first: Stacks = frozenset({(start,)})
    states, found = {first: 0}, [first]
    rows: list[list[int]] = []
    for stacks in found:  # `found` grows during the loop
        row = []
        for token in classes:
            after = grammar.after(stacks, token, longest)
            if after and after not in states:
                states[after] = len(states)
                found.append(after)
            row.append(states[after] if after else -1)
        rows.append(row)
    return TokenAutomaton(
        np.array(rows, dtype=np.int64).reshape(len(states), len(classes)),
        np.array([min(map(grammar.distance, stacks)) for stacks in states], dtype=np.int64),
        language.tokens,
    )


class _PrefixRules:
    """The productions of a rule in prefix notation, by the tokens that begin them."""

    def __init__(self, language: Language, start: str) -> None:
        productions: dict[str, list[Production]] = defaultdict(list)
        for production in language.productions(start):
            productions[production.rule].append(production)
        self.shortest = self._shortest(productions)
        for rule, length in self.shortest.items():
            if length == float("inf"):
                raise LogicgenError(f"grammar {language.name}: rule {rule} can never end")
        self.beginning: dict[tuple[str, Token], list[Production]] = defaultdict(list)
        for rule, alternatives in productions.items():
            for production in alternatives:
                for token in self._first(production.parts, productions, frozenset({rule})):
                    self.beginning[rule, token].append(production)

    def _shortest(self, productions: dict[str, list[Production]]) -> dict[str, float]:
        shortest = dict.fromkeys(productions, float("inf"))
        for _ in productions:  # each round determines the length of at least one more rule
            for rule, alternatives in productions.items():
                shortest[rule] = min(
                    sum(shortest[part] if isinstance(part, str) else 1 for part in p.parts)
                    for p in alternatives
                )
        return shortest

    def _first(
        self, parts: Stack, productions: dict[str, list[Production]], above: frozenset[str]
    ) -> set[Token]:
        found: set[Token] = set()
        for part in parts:
            if isinstance(part, Token):
                return found | {part}
            if part in above:
                raise LogicgenError(f"rule {part} of a prefix grammar is left-recursive")
            for production in productions[part]:
                found |= self._first(production.parts, productions, above | {part})
            if self.shortest[part] > 0:
                break
        return found

    def distance(self, stack: Stack) -> int:
        """Return the smallest number of tokens that complete a stack."""
        return int(sum(self.shortest[part] if isinstance(part, str) else 1 for part in stack))

    def after(self, stacks: Stacks, token: Token, longest: int) -> Stacks:
        """Return the possible stacks after one more token.

        Stacks that need more than `longest` further tokens are left out.
        """
        found = {after for stack in stacks for after in self._after(stack, token)}
        return frozenset(stack for stack in found if self.distance(stack) <= longest)

    def _after(self, stack: Stack, token: Token) -> Iterator[Stack]:
        if not stack:
            return
        part, rest = stack[0], stack[1:]
        if isinstance(part, Token):
            if part == token:
                yield rest
            return
        for production in self.beginning.get((part, token), []):
            yield from self._after((*production.parts, *rest), token)
        if self.shortest[part] == 0:  # the rule may be empty, so the next part may take the token
            yield from self._after(rest, token)
