"""Reading and writing formulas of one language: infix for people, prefix for networks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from logicgen.errors import FormatError, LogicgenError
from logicgen.syntax.formula import Formula
from logicgen.syntax.language import Language, Token


class FormulaLanguage:
    """Formulas over the operators of one grammar.

    Attributes:
        arity: number of operands of every operator and constant, by prefix token.
        tokens: the fixed tokens of the prefix notation.
    """

    def __init__(self, grammar: str) -> None:
        self.language = Language(grammar, self._build)
        self.name = self.language.name
        self.tokens = self.language.tokens
        self._token: dict[str, str] = {}
        self.arity: dict[str, int] = {}
        for production in self.language.productions("prefix"):
            head, *operands = production.parts
            if not isinstance(head, Token) or any(part != "prefix" for part in operands):
                raise LogicgenError(
                    f"grammar {self.name}: an alternative of prefix must be a token followed by "
                    f"operands, not {production.parts}"
                )
            if head.text is not None:
                assert production.meaning is not None, f"{head.text} has no meaning in {grammar}"
                self._token[production.meaning] = head.text
                self.arity[head.text] = len(operands)
        self._infix = _InfixWriter(self.language, self._token)

    def _build(self, meaning: str, operands: Sequence[Any]) -> Formula:
        if meaning == "symbol":
            return Formula(str(operands[0]))
        return Formula(self._token[meaning], tuple(operands))

    def read(self, text: str) -> Formula:
        """The formula that an infix text means. Raises FormatError with line and column."""
        return self.language.read(text, "infix")

    def read_prefix(self, text: str) -> Formula:
        """The formula of a prefix text. Raises FormatError with line and column."""
        tokens = text.split()
        stack: list[Formula] = []
        arity = self.arity
        for token in reversed(tokens):
            operands = arity.get(token)
            if operands is None:
                if not self.language.symbol_pattern.fullmatch(token):
                    return self.language.read(text, "prefix")  # raises, with the place
                stack.append(Formula(token))
            elif operands > len(stack):
                return self.language.read(text, "prefix")
            elif operands == 2:
                stack.append(Formula(token, (stack.pop(), stack.pop())))
            else:
                stack.append(Formula(token, tuple(stack.pop() for _ in range(operands))))
        if len(stack) != 1:
            self.language.read(text, "prefix")
            raise FormatError("the text ends too early", text, 1, len(text) + 1)
        return stack[0]

    def write(self, formula: Formula) -> str:
        """Infix with as few parentheses as precedence and associativity allow."""
        return self._infix.write(formula)

    def check_operators(self, formula: Formula) -> None:
        """Raise LogicgenError if the formula uses an operator that this language lacks."""
        for node in formula.preorder():
            if not node.is_symbol and self.arity.get(node.token) != len(node.operands):
                raise LogicgenError(f"{node.token} is not an operator of {self.name}")


class _InfixWriter:
    """Writes formulas by the infix grammar: parentheses where an operand would not fit otherwise.

    An operand fits a place if its operator can be derived from the place's rule without brackets.
    """

    def __init__(self, language: Language, token_of: dict[str, str]) -> None:
        productions = language.productions("infix")
        self.template: dict[str, tuple[Token | str, ...]] = {}
        for production in productions:
            if production.meaning in token_of:
                self.template.setdefault(token_of[production.meaning], production.parts)
        meant = {p.rule: set[str]() for p in productions}
        for p in productions:
            if p.meaning in token_of:
                meant[p.rule].add(token_of[p.meaning])
        below = {p.rule: {p.rule} for p in productions}
        for _ in below:  # as many rounds as rules reach every chain of unit productions
            for p in productions:
                if p.meaning is None and len(p.parts) == 1 and isinstance(p.parts[0], str):
                    below[p.rule] |= below[p.parts[0]]
        self.fits = {rule: set[str]().union(*(meant[r] for r in below[rule])) for rule in below}

    def write(self, formula: Formula) -> str:
        pieces: list[str] = []
        # What is still to be written, last first: texts, and operands with the rule of their place.
        todo: list[str | tuple[Formula, str]] = [(formula, "infix")]
        while todo:
            item = todo.pop()
            if isinstance(item, str):
                pieces.append(item)
                continue
            node, place = item
            if node.is_symbol:
                pieces.append(node.token)
                continue
            parts = self.template.get(node.token)
            if parts is None:
                raise LogicgenError(f"{node.token} has no infix form in this language")
            written: list[str | tuple[Formula, str]] = []
            operands = iter(node.operands)
            for part in parts:
                if isinstance(part, str):
                    written.append((next(operands), part))
                else:
                    text = part.text or ""
                    written.append(f" {text} " if written else text)
            if node.token not in self.fits[place]:
                written = ["(", *written, ")"]
            todo.extend(reversed(written))
        return "".join(pieces)


@cache
def formula_language(grammar: str) -> FormulaLanguage:
    """The formula language of a shipped grammar, made once."""
    return FormulaLanguage(grammar)


def propositional() -> FormulaLanguage:
    """Propositional logic."""
    return formula_language("propositional")
