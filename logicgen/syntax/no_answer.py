"""The answer that says that there is none: no assignment, no trace satisfies the formula."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class NoAnswer:
    """The answer to an unsatisfiable formula: `unsat` to people, `0` to networks."""

    prefix: ClassVar[str] = "0"
    infix: ClassVar[str] = "unsat"

    def __str__(self) -> str:
        return self.infix


NO_ANSWER = NoAnswer()


def says_none(text: str) -> bool:
    """Return whether a text is this answer and nothing else: `unsat`, in any case."""
    return text.strip().lower() in ("unsat", "unsatisfiable")
