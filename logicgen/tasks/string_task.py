"""Tasks whose problems and answers are strings of tokens, the same in both notations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import Any, ClassVar

from logicgen.syntax.language import Language
from logicgen.tasks.task import Task

Symbols = tuple[str, ...]

# The fixed tokens of the grammars, by the names of their alternatives.
_FIXED = {"arrow": "->", "end": "->", "becomes": ">", "next": ";"}


class StringTask(Task):
    """A task without a solver, whose problems and answers are iterables of their tokens."""

    distinct: ClassVar = "exact"
    solver: ClassVar = None
    logic: ClassVar = None

    def encode(self, value: Iterable[str]) -> str:
        return " ".join(value)


@cache
def token_language(grammar: str, make: Callable[[list[str]], Any] = tuple) -> Language:
    """Return the language of a grammar, made once; `make` turns a text's tokens into its value."""
    return Language(grammar, partial(_build, make))


def _build(make: Callable[[list[str]], Any], meaning: str, values: Sequence[Any]) -> Any:
    # Right-recursive rules are complete from the last token on, so tokens are gathered backwards.
    tokens: list[str] = values[-1] if values else []
    match meaning:
        case "all":
            return make(tokens[::-1])
        case "then":
            tokens.append(str(values[0]))
        case "nothing":
            pass
        case fixed:
            tokens.append(_FIXED[fixed])
    return tokens
