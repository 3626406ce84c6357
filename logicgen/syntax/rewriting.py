"""Formulas in other forms: fewer operators, Unicode and LaTeX, SymPy.

The core operators `! & X U 0 1` are as expressive as all operators. The models of the literature
are trained on formulas with the core operators. Text with Unicode operators is read after its
translation to infix text (`plain`). LaTeX is only written. SymPy formulas are propositional only.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import reduce
from itertools import pairwise
from operator import and_
from typing import TYPE_CHECKING, Any

from logicgen.errors import LogicgenError, shown
from logicgen.syntax.formula import Formula
from logicgen.syntax.formula_language import propositional

if TYPE_CHECKING:
    from sympy.logic.boolalg import Boolean

CORE = frozenset({"!", "&", "X", "U", "0", "1"})

# The most tokens of a formula that `within` returns, unless its argument is already longer. Some
# rewrites copy an operand, so nested operators could make a formula far too long.
LONGEST = 10_000

_TRUE = Formula("1")


def to_core(formula: Formula) -> Formula:
    """Return an equivalent formula over `! & X U 0 1`. A formula over these tokens stays the same.

    The result has no double negation. Both operands of `^` and `<->`, and one operand of `W` and
    `M`, occur twice in the result. If these operators are nested n levels deep, the result has
    about 2^n tokens, but few distinct subformulas.
    """
    return formula.fold(_rewritten)


def within(formula: Formula, tokens: Collection[str]) -> Formula:
    """Return an equivalent formula that uses only the operators and constants in `tokens`.

    If `1` is not among them, it becomes `!(a & !a)` with the first symbol of the formula. Raises
    LogicgenError if the operators do not suffice, or if the formula gets longer than LONGEST.
    """

    def rewritten(node: Formula, operands: list[Formula]) -> Formula:
        if node.token in tokens:
            return Formula(node.token, tuple(operands)) if operands else node
        return _rewritten(node, operands)

    def without_constants(node: Formula, operands: list[Formula]) -> Formula:
        if operands or node.is_symbol or node.token in tokens:
            return Formula(node.token, tuple(operands)) if operands else node
        symbol = Formula((formula.symbols or ("a",))[0])
        never = symbol & ~symbol
        return never if node.token == "0" else ~never

    found = formula.fold(rewritten).fold(without_constants)
    if found.length > max(LONGEST, formula.length):
        raise LogicgenError(f"with {' '.join(tokens)} alone it takes {found.length:,} tokens")
    missing = {node.token for node in found.preorder() if not node.is_symbol} - {*tokens}
    if missing:
        raise LogicgenError(
            f"{' '.join(sorted(missing))} cannot be expressed with {' '.join(tokens)} alone"
        )
    return found


def _rewritten(node: Formula, operands: list[Formula]) -> Formula:
    match node.token, operands:
        case ("!", [a]) if a is not node.operands[0]:
            return _not(a)
        case ("F", [a]):
            return _until(_TRUE, a)
        case ("G", [a]):
            return _not(_until(_TRUE, _not(a)))
        case ("|", [a, b]):
            return _not(_not(a) & _not(b))
        case ("->", [a, b]):
            return _not(a & _not(b))
        case ("<->", [a, b]):
            return _not(a & _not(b)) & _not(b & _not(a))
        case ("^", [a, b]):
            return _not(a & b) & _not(_not(a) & _not(b))
        case ("R", [a, b]):
            return _not(_until(_not(a), _not(b)))
        case ("W", [a, b]):  # take the shorter form: the first repeats `b`, the second `a`
            always = _not(_until(_TRUE, _not(a)))
            return _shorter(
                _not(_until(_not(b), _not(a) & _not(b))), _not(_not(_until(a, b)) & _not(always))
            )
        case ("M", [a, b]):
            return _shorter(_until(b, a & b), _not(_until(_not(a), _not(b))) & _until(_TRUE, a))
        case (token, [_, *_]):
            return Formula(token, tuple(operands))
    return node


def _not(a: Formula) -> Formula:
    return a.operands[0] if a.token == "!" else ~a


def _until(a: Formula, b: Formula) -> Formula:
    return Formula("U", (a, b))


def _shorter(first: Formula, second: Formula) -> Formula:
    return first if first.length <= second.length else second


UNICODE = {
    "!": "¬",
    "&": "∧",
    "|": "∨",
    "^": "⊕",
    "->": "→",
    "<->": "↔",
    "1": "⊤",
    "0": "⊥",
    "X": "○",
    "F": "◇",
    "G": "□",
}
"""The Unicode spelling of each token. U, R, W and M do not change."""

LATEX = {
    "!": r"\lnot",
    "&": r"\land",
    "|": r"\lor",
    "^": r"\oplus",
    "->": r"\rightarrow",
    "<->": r"\leftrightarrow",
    "1": r"\top",
    "0": r"\bot",
    "X": r"\mathsf{X}",
    "F": r"\mathsf{F}",
    "G": r"\mathsf{G}",
    "U": r"\mathbin{\mathsf{U}}",
    "R": r"\mathbin{\mathsf{R}}",
    "W": r"\mathbin{\mathsf{W}}",
    "M": r"\mathbin{\mathsf{M}}",
    "{": r"\{",
    "}": r"\}",
}
"""The LaTeX spelling of each token in math mode."""

_TOKEN = re.compile(r"<->|->|[a-z][A-Za-z0-9_]*|\S")
_PLAIN = str.maketrans({sign: token for token, sign in UNICODE.items()})
# The place between a name and a sign that becomes a letter or digit, such as `a` and `⊤` (1)
_MERGING = re.compile(
    rf"(?<=\w)(?=[{''.join(sign for token, sign in UNICODE.items() if token.isalnum())}])"
)
# A temporal operator and the symbol after it. Spot writes `Fgrant`, which is hard to read.
_TOUCHING = re.compile(r"(?<!\w)([XFG]+)(?=[a-z])")


def spaced(infix: str) -> str:
    """Return infix text with a blank between X, F or G and a symbol that follows."""
    return _TOUCHING.sub(r"\1 ", infix)


def unicode(infix: str) -> str:
    """Return an infix text with Unicode operators, such as `□(a → ◇b)`."""
    return _TOKEN.sub(lambda match: UNICODE.get(match[0], match[0]), infix)


def plain(text: str) -> str:
    """Return a text with each Unicode operator replaced by its spelling in the grammars."""
    return text if text.isascii() else _MERGING.sub(" ", text).translate(_PLAIN)


def latex(infix: str) -> str:
    r"""Return LaTeX for math mode, such as `a \land \lnot b_{1}`. Parentheses stay."""
    tokens = _TOKEN.findall(infix)
    return " ".join(LATEX.get(token) or _latex_name(token) for token in tokens)


def _latex_name(token: str) -> str:
    """Return `p_{12}` for `p12`, `\\mathit{req}` for `req`, `a` for `a`."""
    letter, rest = token[0], token[1:]
    if not rest:
        return token
    if rest.isdigit():
        return f"{letter}_{{{rest}}}"
    return r"\mathit{" + token.replace("_", r"\_") + "}"


def to_sympy(formula: Formula) -> Boolean:
    """Return a formula as a SymPy expression. Raises LogicgenError for temporal operators.

    SymPy simplifies the expression while it is built.
    """
    import sympy
    from sympy.logic import boolalg

    propositional().check_operators(formula)
    build: dict[str, Any] = {
        "!": boolalg.Not,
        "&": boolalg.And,
        "|": boolalg.Or,
        "^": boolalg.Xor,
        "->": boolalg.Implies,
        "<->": boolalg.Equivalent,
    }

    def convert(node: Formula, operands: list[Any]) -> Any:
        if operands:
            return build[node.token](*operands)
        return sympy.Symbol(node.token) if node.is_symbol else sympy.sympify(node.token == "1")

    return formula.fold(convert)


def from_sympy(expression: Boolean) -> Formula:
    """Return the formula of a SymPy expression; operands associate to the left.

    Raises LogicgenError for anything but `& | ^ ~ >> Equivalent`, symbols and constants.
    """
    from sympy.core.basic import Basic
    from sympy.core.symbol import Symbol
    from sympy.logic import boolalg

    chains = {boolalg.And: "&", boolalg.Or: "|", boolalg.Xor: "^"}
    symbols: dict[str, Symbol] = {}

    def convert(node: Any, operands: list[Formula]) -> Formula:
        if isinstance(node, Symbol):
            if symbols.setdefault(node.name, node) != node:
                raise LogicgenError(f"two different symbols are called {node.name!r}: rename one")
            if propositional().language.symbol_pattern.fullmatch(node.name):
                return Formula(node.name)
            raise LogicgenError(
                f"symbol {node.name!r}: a name must match [a-z][A-Za-z0-9_]* and be no keyword"
            )
        if node in (boolalg.true, boolalg.false):
            return Formula("1" if node == boolalg.true else "0")
        if node.func in chains:
            return reduce(lambda left, right: Formula(chains[node.func], (left, right)), operands)
        if node.func is boolalg.Not:
            return ~operands[0]
        if node.func is boolalg.Implies:
            return operands[0] >> operands[1]
        if node.func is boolalg.Equivalent:
            # All operands are equal if and only if each equals the next.
            return reduce(and_, (Formula("<->", pair) for pair in pairwise(operands)))
        raise LogicgenError(f"{node.func.__name__} has no counterpart in propositional logic")

    if not isinstance(expression, Basic):
        raise LogicgenError(f"{shown(expression)} is no expression of SymPy: use sympy.sympify")
    results: dict[Any, Formula] = {}
    stack = [expression]
    while stack:
        node = stack[-1]
        missing = [part for part in node.args if part not in results]
        if missing and not isinstance(node, Symbol):
            stack.extend(missing)
            continue
        results[node] = convert(node, [results[part] for part in node.args])
        stack.pop()
    return results[expression]
