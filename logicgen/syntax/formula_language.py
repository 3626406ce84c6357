"""Reading and writing formulas of one language: infix for people, prefix for networks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from logicgen.errors import FormatError, LogicgenError
from logicgen.syntax.formula import Formula
from logicgen.syntax.hints import hint
from logicgen.syntax.language import Language, Production, Token, read_either
from logicgen.syntax.operator_reader import OperatorReader, rules_below


class FormulaLanguage:
    """Formulas over the operators of one grammar."""

    def __init__(self, grammar: str) -> None:
        self.language = Language(grammar, self.build)
        self.name = self.language.name
        self.tokens = self.language.tokens  # of the prefix notation
        self._token: dict[str, str] = {}
        self.arity: dict[str, int] = {}  # number of operands by prefix token
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
        self.reader = OperatorReader(self.language, self._token)  # fast; Lark reads the rest
        self._infix = _InfixWriter(self.language, self._token)

    def build(self, meaning: str, operands: Sequence[Any]) -> Formula:
        """Return the formula of one alternative of the grammar."""
        if meaning == "symbol":
            return Formula(str(operands[0]))
        return Formula(self._token[meaning], tuple(operands))

    def read(self, text: str, notation: str = "infix") -> Formula:
        """Return the formula of a text. Raises FormatError with line and column."""
        parse = self.reader.read if notation == "infix" else self.parse_prefix
        formula = parse(text)
        return formula if formula is not None else self._explained(text, notation)

    def read_prefix(self, text: str) -> Formula:
        """Return the formula of a prefix text. Raises FormatError with line and column."""
        return self.read(text, "prefix")

    def read_either(self, text: str) -> Formula:
        """Return the formula of an infix or a prefix text. Raises FormatError as `read_either`."""
        # No infix formula begins with a binary operator.
        if self.arity.get(text[: text.find(" ")], 0) > 1:
            formula = self.parse_prefix(text)
        else:
            formula = self.reader.read(text) or self.parse_prefix(text)
        return formula if formula is not None else read_either(self.read, text)

    def _explained(self, text: str, notation: str) -> Formula:
        """Read a text that the fast readers refuse; its error gets a remedy if one is known."""
        try:
            formula: Formula = self.language.read(text, notation)
        except FormatError as error:
            remedy = hint(self.name, self.tokens, text, error.line, error.column)
            if remedy is None:
                raise
            reason = f"{error.reason.partition(';')[0]}: {remedy}"
            raise FormatError(reason, text, error.line, error.column) from None
        if notation == "prefix":  # Lark needs no blanks, but `X0` without one is a name to Spot
            raise FormatError("the tokens of prefix notation are separated by blanks", text, 1, 1)
        return formula

    def parse_prefix(self, text: str) -> Formula | None:
        """Return the formula of a prefix text, fast, or None if it does not parse."""
        stack: list[Formula] = []
        arity = self.arity
        is_symbol = self.language.symbol_pattern.fullmatch
        symbols: dict[str, Formula] = {}
        for token in reversed(text.split()):
            operands = arity.get(token)
            if operands is None:
                symbol = symbols.get(token)
                if symbol is None:
                    if not is_symbol(token):
                        return None
                    symbol = symbols[token] = Formula(token)
                stack.append(symbol)
            elif operands > len(stack):
                return None
            elif operands == 2:
                stack.append(Formula(token, (stack.pop(), stack.pop())))
            else:
                stack.append(Formula(token, tuple(stack.pop() for _ in range(operands))))
        return stack[0] if len(stack) == 1 else None

    def write(self, formula: Formula) -> str:
        """Return infix notation with as few parentheses as precedence and associativity allow."""
        return self._infix.write(formula)

    def check_operators(self, formula: Formula) -> None:
        """Raise LogicgenError if the formula uses an operator that this language lacks."""
        for node in formula.preorder():
            if not node.is_symbol and self.arity.get(node.token) != len(node.operands):
                raise LogicgenError(f"{node.token} is not an operator of {self.name}")


class _InfixWriter:
    """Infix notation: brackets where the place's rule does not derive an operand without them."""

    def __init__(self, language: Language, token_of: dict[str, str]) -> None:
        productions = language.productions("infix")
        written: dict[str, Production] = {}
        for production in productions:
            if production.meaning in token_of:
                written.setdefault(token_of[production.meaning], production)
        self.template = {token: production.parts for token, production in written.items()}
        self.fits = {
            place: {token for token, production in written.items() if production.rule in below}
            for place, below in rules_below(productions).items()
        }

    def write(self, formula: Formula) -> str:
        """Return the infix text of a formula."""
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
    """Return the formula language of a shipped grammar, made once."""
    return FormulaLanguage(grammar)


def propositional() -> FormulaLanguage:
    """Return the language of propositional logic."""
    return formula_language("propositional")


def ltl() -> FormulaLanguage:
    """Return the language of linear temporal logic."""
    return formula_language("ltl")
