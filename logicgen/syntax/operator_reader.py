"""A fast reader of infix formulas: operator precedence, driven by the rules of the grammar.

Texts that it accepts, it reads as Lark does: every step it takes is a step of a derivation by the
grammar's own productions, and a grammar that LALR parses is unambiguous. All other texts are left
to Lark, which then accepts them or says where they go wrong.

Method: Floyd, Syntactic Analysis and Operator Precedence (J. ACM 1963).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from logicgen.syntax.formula import Formula
from logicgen.syntax.language import Language, Production, Token


def rules_below(productions: list[Production]) -> dict[str, frozenset[str]]:
    """Return, by rule, the rules that fit its place without parentheses or another token."""
    below = {production.rule: {production.rule} for production in productions}
    for _ in below:  # as many rounds as rules reach every chain of unit productions
        for p in productions:
            if p.meaning is None and len(p.parts) == 1 and isinstance(p.parts[0], str):
                below[p.rule] |= below[p.parts[0]]
    return {rule: frozenset(found) for rule, found in below.items()}


@dataclass(frozen=True, slots=True)
class _Operator:
    """A prefix or binary operator: the rule that it makes and the rules its operands may be."""

    token: str  # prefix token of its meaning; empty for an opening parenthesis
    makes: str
    left: frozenset[str]  # empty for a prefix operator
    right: frozenset[str]


class OperatorReader:
    """A reader of infix formulas of symbols, constants, prefix and binary operators, parentheses.

    The `infix` productions say how operators bind. token_of: prefix token by meaning.
    """

    def __init__(self, language: Language, token_of: Mapping[str, str]) -> None:
        productions = language.productions("infix")
        below = rules_below(productions)
        self._whole = below["infix"]
        self._leaves: dict[str, tuple[str, str]] = {}  # text -> prefix token, rule
        self._before: dict[str, _Operator] = {}  # what may come where an operand is expected
        self._between: dict[str, _Operator] = {}  # what may come behind an operand
        self._symbol_rule = ""
        for p in productions:
            token = token_of.get(p.meaning or "")
            match p.parts:
                case (Token(text=None),) if p.meaning == "symbol":
                    self._symbol_rule = p.rule
                case (Token(text=str(text)),) if token is not None:
                    self._leaves[text] = (token, p.rule)
                case (Token(text=str(text)), str(right)) if token is not None:
                    self._before[text] = _Operator(token, p.rule, frozenset(), below[right])
                case (str(left), Token(text=str(text)), str(right)) if token is not None:
                    self._between[text] = _Operator(token, p.rule, below[left], below[right])
                case (Token(text="("), str(inner), Token(text=")")) if p.meaning is None:
                    self._before["("] = _Operator("", p.rule, frozenset(), below[inner])
        # The longest fixed token wins, and a word is a symbol before it is several tokens; both as
        # in Lark's lexer. Any other character becomes a token that nothing accepts.
        fixed = {*self._leaves, *self._before, *self._between, ")"}
        longest_first = sorted(fixed, key=len, reverse=True)
        symbol = language.symbol_pattern.pattern
        self._tokens = re.compile("|".join([symbol, *map(re.escape, longest_first), r"\S"])).findall
        self._fixed = frozenset(fixed)
        self._is_symbol = language.symbol_pattern.fullmatch

    def read(self, text: str) -> Formula | None:
        """Return the formula of a text, or None where this reader does not accept it."""
        before, between = self._before, self._between
        operands: dict[str, tuple[Formula, str]] = {}  # few different ones in a text
        operators: list[_Operator] = []
        values: list[Formula] = []
        rule = ""  # which rule made the last value
        operand_next = True
        for token in self._tokens(text):
            if operand_next:
                operator = before.get(token)
                if operator is not None:
                    operators.append(operator)
                    continue
                known = operands.get(token)
                if known is None:
                    known = self._operand(token)
                    if known is None:
                        return None
                    operands[token] = known
                values.append(known[0])
                rule = known[1]
                operand_next = False
                continue
            following = between.get(token)
            makes = following.makes if following is not None else ""
            # An operator on the stack keeps the value as its right operand unless what follows can
            # make, with the value on its left, something that fits there.
            while operators:
                top = operators[-1]
                if makes in top.right or not top.token:  # or it is an opening parenthesis
                    break
                if rule not in top.right:
                    return None
                operators.pop()
                if top.left:
                    right = values.pop()
                    values[-1] = Formula(top.token, (values[-1], right))
                else:
                    values[-1] = Formula(top.token, (values[-1],))
                rule = top.makes
            if following is not None:
                if rule not in following.left:
                    return None
                operators.append(following)
                operand_next = True
            elif token == ")":
                if not operators or operators[-1].token or rule not in operators[-1].right:
                    return None
                rule = operators.pop().makes
            else:
                return None
        if operand_next:
            return None
        while operators:
            top = operators.pop()
            if not top.token or rule not in top.right:
                return None
            rule = _apply(top, values)
        return values[0] if rule in self._whole else None

    def _operand(self, token: str) -> tuple[Formula, str] | None:
        """Return the formula of a constant or symbol with its rule, or None for another token."""
        leaf = self._leaves.get(token)
        if leaf is not None:
            return Formula(leaf[0]), leaf[1]
        if token in self._fixed or not self._is_symbol(token):
            return None
        return Formula(token), self._symbol_rule


def _apply(operator: _Operator, values: list[Formula]) -> str:
    """Put the operator's formula in place of its operands; return the rule that made it."""
    if operator.left:
        right = values.pop()
        values[-1] = Formula(operator.token, (values[-1], right))
    else:
        values[-1] = Formula(operator.token, (values[-1],))
    return operator.makes
