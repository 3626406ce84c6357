"""Formulas and traces in Unicode and LaTeX, from their infix text.

Infix text has as few parentheses as it needs; here its tokens alone are written otherwise. What is
written in Unicode is read as the infix it stands for (`plain`); LaTeX is for people's eyes.
"""

from __future__ import annotations

import re

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
"""How a token is written in Unicode; U, R, W and M stay."""

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
"""How a token is written in LaTeX's math mode."""

_TOKEN = re.compile(r"<->|->|[a-z][A-Za-z0-9_]*|\S")
_PLAIN = str.maketrans({sign: token for token, sign in UNICODE.items()})
# A temporal operator and the name that it would touch: `Fgrant` is Spot's way, and hard to read.
_TOUCHING = re.compile(r"(?<!\w)([XFG]+)(?=[a-z])")


def spaced(infix: str) -> str:
    """Return infix text with a blank between X, F or G and a symbol behind it."""
    return _TOUCHING.sub(r"\1 ", infix)


def unicode(infix: str) -> str:
    """Return an infix text with Unicode operators, such as `□(a → ◇b)`."""
    return _TOKEN.sub(lambda match: UNICODE.get(match[0], match[0]), infix)


def plain(text: str) -> str:
    """Return a text with the operators of Unicode as the grammars write them."""
    return text if text.isascii() else text.translate(_PLAIN)


def latex(infix: str) -> str:
    r"""Return LaTeX for math mode, such as `a \land \lnot b_{1}`; parentheses as in the infix."""
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
