"""Read and write the formulas of one language: infix for people, prefix for networks.

Infix text is read by one of two readers, which agree on every text that both accept. The fast
reader uses operator precedence. Each of its steps is a step of a derivation by the grammar, which
is unambiguous. Lark reads all other texts, or reports the place of the error. A hint then gives the
remedy.

Source: Floyd, Syntactic Analysis and Operator Precedence (J. ACM 1963).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from logicgen.errors import FormatError, LogicgenError
from logicgen.syntax.formula import Formula
from logicgen.syntax.language import Language, Production, Token, read_either

_OTHER_SPELLINGS = [
    (r"&&|/\\", "conjunction is written &"),
    (r"\|\||\\/", "disjunction is written |"),
    (r"and\b", "conjunction is written &"),
    (r"or\b", "disjunction is written |"),
    (r"=>|⇒|implies\b", "implication is written ->"),
    (r"<=>|==?", "equivalence is written <->"),
    (r"~|(?<=\bnot )\S", "negation is written !"),
    (r"unsat(isfiable)?\b", "`unsat` is an answer, so no symbol has this name: rename the symbol"),
]
_PAST = (
    "past operators (Y Z O H S T B) are not supported, only X F G U R W M; "
    "symbols begin with a lowercase letter"
)
_PSL = "PSL operators and sequences in braces or brackets are not supported, only X F G U R W M"
_TEMPORAL = [
    (r"\[\](?!=?->)", "always is written G"),
    (r"<>(?!=?->)", "eventually is written F"),
    (r"\[\]=?->|<>=?->|[{}\[\];:]|\*|##|@|\?", _PSL),
    (r"V\b", "release is written R"),
    (r"[YZOHSTB](?![a-z]{2})", _PAST),
    (r"[01]", "after X, F or G a constant needs parentheses, as in X(0); Spot reads X0 as a name"),
]

_ONLY_LTL = [(r"[XFGURWM]\b", "X F G U R W M are operators of the task ltl")]

# Patterns of spellings with a remedy. A pattern has to match at the place of the error, or one
# character earlier: in `||`, the error is at the second character.
_HINTS = {"propositional": _OTHER_SPELLINGS + _ONLY_LTL, "ltl": _OTHER_SPELLINGS + _TEMPORAL}


def hint(language: str, tokens: Sequence[str], text: str, line: int, column: int) -> str | None:
    """Return a remedy for the error at `line` and `column` (from 1); None if no remedy is known."""
    lines = text.splitlines() or [""]
    shown = lines[line - 1] if line <= len(lines) else ""
    place = column - 1
    if remedy := _remedy_of_pattern(language, shown, place):
        return remedy
    if language == "ltl" and (words := split_words(text)):
        return f"{words[0]} is read as {words[0][0]} {words[0][1:]}: begin symbols in lower case"
    if shown[place : place + 1].isupper():
        capitals = [token for token in tokens if token.isupper()]
        if not capitals:
            return "symbols begin with a lowercase letter"
        return (
            "symbols begin with a lowercase letter; "
            f"the capital letters {' '.join(capitals)} are operators"
        )
    return None


def _remedy_of_pattern(language: str, line: str, place: int) -> str | None:
    """Return the remedy of the first pattern that matches at a place; None if no pattern does."""
    for pattern, remedy in _HINTS.get(language, ()):
        for start in (place, place - 1):
            match = re.compile(pattern).match(line, start) if start >= 0 else None
            if match and match.end() > place:
                if pattern == "[01]" and not re.search(r"[XFG]\s*$", line[:place]):
                    continue
                return remedy
    return None


def split_words(text: str) -> list[str]:
    """Return the words that LTL splits into an operator and a symbol, perhaps unintentionally.

    An example is `Grant`, which is read as `G rant`. The part after the operator has to occur only
    once in the text. So `grant & Xgrant` and `Xgrant & Fgrant` have no such word.
    """
    words = re.findall(r"\b[XFGURWM][a-z]{2}\w*", text)
    return [word for word in dict.fromkeys(words) if text.count(word[1:]) == 1]


def rules_below(productions: list[Production]) -> dict[str, frozenset[str]]:
    """Return, for each rule, the rules that it can become without adding a token.

    The set contains the rule itself.
    """
    below = {production.rule: {production.rule} for production in productions}
    for _ in below:  # a chain of unit productions is not longer than the number of rules
        for p in productions:
            if p.meaning is None and len(p.parts) == 1 and isinstance(p.parts[0], str):
                below[p.rule] |= below[p.parts[0]]
    return {rule: frozenset(found) for rule, found in below.items()}


@dataclass(frozen=True, slots=True)
class _Operator:
    """A prefix or binary operator, with grammar rules of its formula and of its operands."""

    token: str  # the token in prefix notation; empty for an opening parenthesis
    makes: str  # the grammar rule of the formula that the operator makes
    left: frozenset[str]  # the grammar rules of a left operand; empty for a prefix operator
    right: frozenset[str]  # the grammar rules of a right operand


_NOTHING = _Operator(
    "", "", frozenset(), frozenset()
)  # used for a token that is not a binary operator


def _closes(operator: _Operator, rule: str) -> bool:
    """Return whether the operator is a parenthesis that may contain a formula of this rule."""
    return not operator.token and rule in operator.right


class OperatorReader:
    """A reader of infix formulas, by operator precedence.

    Formulas consist of symbols, constants, prefix operators, binary operators and parentheses. The
    precedence of operators follows from the `infix` productions. `token_of` maps the meaning of a
    production (such as `and`) to its token in prefix notation (`&`).
    """

    def __init__(self, language: Language, token_of: Mapping[str, str]) -> None:
        productions = language.productions("infix")
        below = rules_below(productions)
        self._whole = below["infix"]
        self._leaves: dict[str, tuple[str, str]] = {}  # text -> prefix token, rule
        self._before: dict[str, _Operator] = {}  # tokens that may precede an operand
        self._between: dict[str, _Operator] = {}  # tokens that may follow an operand
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
        # As in Lark's lexer, the longest fixed token is taken, and a word is one symbol rather than
        # several tokens. Any other character becomes a token that the reader refuses.
        fixed = {*self._leaves, *self._before, *self._between, ")"}
        longest_first = sorted(fixed, key=len, reverse=True)
        symbol = language.symbol_pattern.pattern
        self._tokens = re.compile("|".join([symbol, *map(re.escape, longest_first), r"\S"])).findall
        self._fixed = frozenset(fixed)
        self._is_symbol = language.symbol_pattern.fullmatch

    def read(self, text: str) -> Formula | None:
        """Return the formula of a text, or None if this reader does not accept it."""
        before, between = self._before, self._between
        operands: dict[str, tuple[Formula, str]] = {}  # a cache: a text has few different operands
        operators: list[_Operator] = []
        values: list[Formula] = []
        rule = ""  # the rule that made the last value
        operand_next = True
        for token in self._tokens(text):
            if operand_next:
                operator = before.get(token)
                if operator is not None:
                    operators.append(operator)
                    continue
                known = operands.get(token) or self._operand(token)
                if known is None:
                    return None
                operands[token] = known
                values.append(known[0])
                rule = known[1]
                operand_next = False
                continue
            following = between.get(token, _NOTHING)
            if operators:
                rule = _apply_before(following.makes, rule, operators, values)
            if rule in following.left:
                operators.append(following)
                operand_next = True
            elif token == ")" and operators and _closes(operators[-1], rule):
                rule = operators.pop().makes
            else:
                return None
        if operand_next:
            return None
        rule = _apply_before("", rule, operators, values)
        return values[0] if rule in self._whole and not operators else None

    def _operand(self, token: str) -> tuple[Formula, str] | None:
        """Return the formula of a constant or symbol with its rule, or None for another token."""
        leaf = self._leaves.get(token)
        if leaf is not None:
            return Formula(leaf[0]), leaf[1]
        if token in self._fixed or not self._is_symbol(token):
            return None
        return Formula(token), self._symbol_rule


def _apply_before(makes: str, rule: str, operators: list[_Operator], values: list[Formula]) -> str:
    """Apply the pending operators that bind the last value more tightly than the next token.

    makes: the rule of the formula that the next token makes. An operator waits if this formula may
        be its right operand.
    rule: the rule of the last value.

    Returns the new rule of the last value, or "" if an operator cannot have it as its operand.
    """
    while operators:
        top = operators[-1]
        if makes in top.right or not top.token:  # an opening parenthesis has no token
            break
        if rule not in top.right:
            return ""
        rule = _apply(operators.pop(), values)
    return rule


def _apply(operator: _Operator, values: list[Formula]) -> str:
    """Replace the operands of an operator by the formula of the operator and its operands.

    Returns the grammar rule of this formula.
    """
    if operator.left:
        right = values.pop()
        values[-1] = Formula(operator.token, (values[-1], right))
    else:
        values[-1] = Formula(operator.token, (values[-1],))
    return operator.makes


class FormulaLanguage:
    """A reader and a writer of formulas over the operators of one grammar."""

    def __init__(self, grammar: str) -> None:
        self.language = Language(grammar, self.build)
        self.name = self.language.name
        self.tokens = self.language.tokens  # the fixed tokens of the prefix notation
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
        self.reader = OperatorReader(self.language, self._token)  # fast; Lark reads all other texts
        self._infix = _InfixWriter(self.language, self._token)

    def build(self, meaning: str, operands: Sequence[Any]) -> Formula:
        """Return the formula for an alternative of the grammar (`meaning`) and its operands."""
        if meaning == "symbol":
            return Formula(str(operands[0]))
        return Formula(self._token[meaning], tuple(operands))

    def read(self, text: str, notation: str = "infix") -> Formula:
        """Return the formula of a text. Raises FormatError with line and column."""
        parse = self.reader.read if notation == "infix" else self.parse_prefix
        formula = parse(text)
        return formula if formula is not None else self._explained(text, notation)

    def read_prefix(self, text: str) -> Formula:
        """Parse a prefix text. Raises FormatError with line and column."""
        return self.read(text, "prefix")

    def read_either(self, text: str) -> Formula:
        """Parse infix or prefix notation.

        If the text is in neither, the FormatError names the place at which the more successful
        parser stopped.
        """
        # No infix formula begins with a binary operator.
        if self.arity.get(text[: text.find(" ")], 0) > 1:
            formula = self.parse_prefix(text)
        else:
            formula = self.reader.read(text) or self.parse_prefix(text)
        return formula if formula is not None else read_either(self.read, text)

    def _explained(self, text: str, notation: str) -> Formula:
        """Read a text that the fast readers refuse; add the remedy to its error if it is known."""
        try:
            formula: Formula = self.language.read(text, notation)
        except FormatError as error:
            remedy = hint(self.name, self.tokens, text, error.line, error.column)
            if remedy is None:
                raise
            reason = f"{error.reason.partition('; expected')[0]}: {remedy}"
            raise FormatError(reason, text, error.line, error.column) from None
        if notation == "prefix":  # Lark needs no blanks, but without them Spot reads `X0` as a name
            raise FormatError("the tokens of prefix notation are separated by blanks", text, 1, 1)
        return formula

    def parse_prefix(self, text: str) -> Formula | None:
        """Parse a prefix text quickly; return None if it does not parse."""
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
        """Return infix notation without unnecessary parentheses."""
        return self._infix.write(formula)

    def check_operators(self, formula: Formula) -> None:
        """Raise LogicgenError if the formula uses an operator that this language lacks."""
        for node in formula.preorder():
            if not node.is_symbol and self.arity.get(node.token) != len(node.operands):
                raise LogicgenError(f"{node.token} is not an operator of {self.name}")


class _InfixWriter:
    """A writer of infix notation. It adds parentheses only where the grammar needs them."""

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
        # A stack of texts and of operands. An operand has the grammar rule that its place requires.
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
    """Return the formula language of a shipped grammar (cached)."""
    return FormulaLanguage(grammar)


def propositional() -> FormulaLanguage:
    """Return the language of propositional logic."""
    return formula_language("propositional")


def ltl() -> FormulaLanguage:
    """Return the language of linear temporal logic."""
    return formula_language("ltl")
