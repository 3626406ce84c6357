"""Formulas: immutable, hash-consed trees of operators, constants and symbols.

Equal formulas are the same object, so comparing and hashing them takes constant time. A subformula
that occurs several times is stored once. No function recurses, so the depth of a formula is limited
by memory only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar
from weakref import ref

from logicgen.tokens import symbol_name

T = TypeVar("T")


class _Entry(ref["Formula"]):
    """A weak reference to a formula, with the formula's key in `_table`.

    When the formula is no longer used, the key serves to remove its entry from the table.
    """

    __slots__ = ("key",)
    key: tuple[str, tuple[Formula, ...]]


_table: dict[tuple[str, tuple[Formula, ...]], _Entry] = {}


def _forget(entry: Any, table: dict[Any, _Entry] = _table) -> None:
    # A newer formula with the same key may have replaced this entry.
    key = entry.key
    if table.get(key) is entry:
        del table[key]


class Formula:
    """An operator with its operands, a constant, or a symbol.

    `~f`, `f & g`, `f | g`, `f ^ g` and `f >> g` build `!f`, `f & g`, `f | g`, `f ^ g`, `f -> g`.
    """

    __slots__ = ("__weakref__", "_symbols", "length", "operands", "token")
    token: str  # the operator, constant or symbol as written, e.g. `&`, `1`, `a`
    operands: tuple[Formula, ...]  # from left to right; empty for constants and symbols
    length: int  # number of tokens in prefix notation
    _symbols: tuple[str, ...]  # set at the first access to `symbols`

    def __new__(cls, token: str, operands: tuple[Formula, ...] = ()) -> Formula:
        key = (token, operands)
        entry = _table.get(key)
        if entry is not None:
            known = entry()
            if known is not None:
                return known
        self = object.__new__(cls)
        length = 1
        for operand in operands:
            length += operand.length
        set_attribute = object.__setattr__
        set_attribute(self, "token", token)
        set_attribute(self, "operands", operands)
        set_attribute(self, "length", length)
        entry = _Entry(self, _forget)
        entry.key = key
        # Another thread may have added the same formula after the look-up above. Use its formula.
        first = _table.setdefault(key, entry)
        if first is not entry:
            known = first()
            if known is not None:
                return known
            _table[key] = entry
        return self

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Formula is immutable; cannot set {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Formula is immutable; cannot delete {name}")

    @property
    def is_symbol(self) -> bool:
        """Return whether this is a symbol: its name starts with a lowercase letter."""
        return not self.operands and self.token[0].islower()

    def preorder(self) -> Iterator[Formula]:
        """Yield every node, operators before operands. A shared subformula is yielded each time."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.operands))

    def fold(self, combine: Callable[[Formula, list[T]], T]) -> T:
        """Return `combine(node, results of its operands)`. Each distinct node is computed once."""
        results: dict[Formula, T] = {}
        stack = [self]
        while stack:
            node = stack[-1]
            if node in results:
                stack.pop()
                continue
            missing = [operand for operand in node.operands if operand not in results]
            if missing:
                stack.extend(reversed(missing))
            else:
                stack.pop()
                results[node] = combine(node, [results[operand] for operand in node.operands])
        return results[self]

    @property
    def prefix(self) -> str:
        """Return prefix (Polish) notation, tokens separated by blanks."""
        tokens = []
        stack = [self]
        while stack:
            node = stack.pop()
            tokens.append(node.token)
            operands = node.operands
            if operands:
                stack.extend(operands[::-1])
        return " ".join(tokens)

    @property
    def symbols(self) -> tuple[str, ...]:
        """Return the distinct symbols, in order of first occurrence from left to right."""
        try:
            return self._symbols
        except AttributeError:  # the first access
            object.__setattr__(self, "_symbols", self._found_symbols())
            return self._symbols

    def _found_symbols(self) -> tuple[str, ...]:
        found: dict[str, None] = {}
        seen: set[Formula] = set()
        stack = [self]
        while stack:
            node = stack.pop()
            operands = node.operands
            if not operands:
                if node.token[0].islower():
                    found[node.token] = None
            elif node not in seen:  # a subformula seen before has no new symbol
                seen.add(node)
                stack.extend(operands[::-1])
        return tuple(found)

    def rename(self, mapping: Mapping[str, str]) -> Formula:
        """Return the formula with each symbol `s` in `mapping` renamed to `mapping[s]`."""

        def renamed(node: Formula, operands: list[Formula]) -> Formula:
            if operands:
                return Formula(node.token, tuple(operands))
            return Formula(mapping.get(node.token, node.token)) if node.is_symbol else node

        return self.fold(renamed)

    def alpha_canonical(self) -> Formula:
        """Return the formula with its symbols renamed to `a`, `b`, ... in order of occurrence."""
        return self.rename({name: symbol_name(i) for i, name in enumerate(self.symbols)})

    def __invert__(self) -> Formula:
        return Formula("!", (self,))

    def __and__(self, other: Formula) -> Formula:
        return Formula("&", (self, other))

    def __or__(self, other: Formula) -> Formula:
        return Formula("|", (self, other))

    def __xor__(self, other: Formula) -> Formula:
        return Formula("^", (self, other))

    def __rshift__(self, other: Formula) -> Formula:
        return Formula("->", (self, other))

    def __str__(self) -> str:
        return self.prefix

    def __repr__(self) -> str:
        prefix = self.prefix
        return f"<Formula {prefix if len(prefix) <= 80 else prefix[:77] + '...'}>"

    def __copy__(self) -> Formula:
        return self

    def __deepcopy__(self, memo: object) -> Formula:
        return self

    def __reduce__(self) -> tuple[Callable[..., Formula], tuple[list[tuple[str, int]]]]:
        """Return the pickled form: prefix tokens with their numbers of operands.

        This form has no nesting, so a formula of any depth can be pickled.
        """
        return _from_arities, ([(node.token, len(node.operands)) for node in self.preorder()],)


def _from_arities(tokens: list[tuple[str, int]]) -> Formula:
    stack: list[Formula] = []
    for token, arity in reversed(tokens):
        operands = tuple(stack.pop() for _ in range(arity))
        stack.append(Formula(token, operands))
    return stack[0]
