"""Translation of formulas to fewer operators, above all to the core `! & X U 0 1`.

The core, over which the models of the literature are trained, is as expressive as all of them.
"""

from __future__ import annotations

from collections.abc import Collection

from logicgen.errors import LogicgenError
from logicgen.syntax.formula import Formula

CORE = frozenset({"!", "&", "X", "U", "0", "1"})

# Nested operators whose operands are written twice make formulas too long for anything to read.
LONGEST = 10_000

_TRUE = Formula("1")


def to_core(formula: Formula) -> Formula:
    """Return an equivalent formula over `! & X U 0 1`, the same one if it is over them already.

    No new negation is put on a negation. `^` and `<->` write both operands twice, `W` and `M` one:
    nested n deep they make about 2^n tokens, though few distinct parts.
    """
    return formula.fold(_rewritten)


def within(formula: Formula, tokens: Collection[str]) -> Formula:
    """Return an equivalent formula over these operators and constants.

    Without constants `1` becomes `!(a & !a)`, with the first symbol. Raises LogicgenError where the
    operators do not suffice, or the formula gets longer than LONGEST.
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
            f"{' '.join(sorted(missing))} cannot be said with {' '.join(tokens)} alone"
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
        case ("W", [a, b]):  # whichever operand is written twice, the shorter formula
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
