"""Remedies for texts that do not parse, where it is known what a person is likely to mean."""

from __future__ import annotations

import re
from collections.abc import Sequence

_OTHER_SPELLINGS = [
    (r"&&|/\\", "conjunction is written &"),
    (r"\|\||\\/", "disjunction is written |"),
    (r"=>", "implication is written ->"),
    (r"<=>|==?", "equivalence is written <->"),
    (r"~", "negation is written !"),
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
    (r"[01]", "behind X, F or G a constant needs parentheses, as in X(0); X0 is a name to Spot"),
]

# A pattern applies where the first token that does not fit begins, or one character earlier: in
# `||`, the second half does not fit.
_HINTS = {"propositional": _OTHER_SPELLINGS, "ltl": _OTHER_SPELLINGS + _TEMPORAL}


def hint(language: str, tokens: Sequence[str], text: str, line: int, column: int) -> str | None:
    """Return a remedy for the error at `line` and `column` (from 1) of a text, or None."""
    lines = text.splitlines() or [""]
    shown = lines[line - 1] if line <= len(lines) else ""
    place = column - 1
    for pattern, remedy in _HINTS.get(language, ()):
        for start in (place, place - 1):
            match = re.compile(pattern).match(shown, start) if start >= 0 else None
            if match and match.end() > place:
                if pattern == "[01]" and not re.search(r"[XFG]\s*$", shown[:place]):
                    continue
                return remedy
    if shown[place : place + 1].isupper():
        capitals = [token for token in tokens if token.isupper()]
        if not capitals:
            return "symbols begin with a lowercase letter"
        return (
            "symbols begin with a lowercase letter; "
            f"the capital letters {' '.join(capitals)} are operators"
        )
    return None
