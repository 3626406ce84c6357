"""Random completions: derived by the grammar of completions, and changed a little."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import lark

GRAMMAR = Path(__file__).resolve().parent.parent.parent / "grammars" / "completion.lark"

DEPTH = 14
"""Rules inside each other, at most, in a derivation that can choose."""

TRAPS = [
    *("not ", "no", "or ", "and ", "\\!", "- ", "~", "!", "¬", "?", "wrong", "maybe", "if ", "~~"),
    *("<s>", "</s>", "<think>", "</think>", "<answer>", "</answer>", "\\boxed{", "}", "{", "```\n"),
    *("The answer is ", "The answer is not ", "Answer: ", "unsat", "SAT: ", "true", "false", "0"),
    *("1", "=", ":", ";", ",", ".", "\n", "\n- ", "\n2. ", "**", "`", "$", '"', "|", "(", ")", " "),
    *("\u200b", "\u0336", "е", "<|im_end|>", "#### ", "So ", "\\text{", "cycle{", "&&", "∧"),
    "_{1}",
]


class Derivations:
    """Texts of one start rule: random derivations whose symbols are those of a problem."""

    def __init__(self, start: str, symbols: str) -> None:
        text = GRAMMAR.read_text(encoding="utf-8")
        parser = lark.Lark(text, parser="lalr", start=start, maybe_placeholders=False)
        self._start, self._symbols = start, [*symbols]
        self._rules: dict[str, list[list[Any]]] = {}
        for rule in parser.rules:
            self._rules.setdefault(str(rule.origin.name), []).append(rule.expansion)
        self._patterns = {each.name: each.pattern.to_regexp() for each in parser.terminals}
        self._depths = self._least_depths()

    def _least_depths(self) -> dict[str, int]:
        depths: dict[str, int] = {}
        while len(depths) < len(self._rules):
            for name, choices in self._rules.items():
                found = [self._depth(choice, depths) for choice in choices]
                if known := [each for each in found if each is not None]:
                    depths[name] = min(depths.get(name, 99), min(known))
        return depths

    def _depth(self, choice: list[Any], depths: dict[str, int]) -> int | None:
        inner = [0 if part.is_term else depths.get(str(part.name)) for part in choice]
        return None if None in inner else 1 + max(filter(None, inner), default=0)

    def text(self, rng: Random) -> str:
        """Return a random text."""
        blank = rng.choice(["", " ", " ", "\n"])
        return blank.join(self._tokens(self._start, DEPTH, rng))

    def _tokens(self, rule: str, depth: int, rng: Random) -> list[str]:
        choices = self._rules[rule]
        fitting = [c for c in choices if (self._depth(c, self._depths) or 0) <= depth]
        least = min(choices, key=lambda choice: self._depth(choice, self._depths) or 0)
        short = rng.random() < 0.4 or not fitting  # else most texts would be marks inside marks
        tokens = []
        for part in least if short else rng.choice(fitting):
            if part.is_term:
                tokens.append(self._token(part.name, rng))
            else:
                tokens += self._tokens(str(part.name), depth - 1, rng)
        return tokens

    def _token(self, name: str, rng: Random) -> str:
        if name in ("SYMBOL", "WORD"):
            return rng.choice(self._symbols)
        return "".join(_sample(_parsed(self._patterns[name]), rng))


@cache
def _parsed(pattern: str) -> Any:
    return re._parser.parse(pattern)


def _sample(pattern: Any, rng: Random) -> list[str]:
    """Return the pieces of a random text that fits a pattern, but for its looks around."""
    pieces: list[str] = []
    for kind, value in pattern:
        match str(kind):
            case "LITERAL":
                pieces.append(chr(value))
            case "IN":
                pieces.append(_one_of(value, rng))
            case "BRANCH":
                pieces += _sample(rng.choice(value[1]), rng)
            case "SUBPATTERN":
                pieces += _sample(value[3], rng)
            case "MAX_REPEAT" | "MIN_REPEAT":
                for _ in range(rng.randint(value[0], min(value[1], value[0] + 2))):
                    pieces += _sample(value[2], rng)
            case "NOT_LITERAL" | "ANY":
                pieces.append(rng.choice("ax1 ?"))
    return pieces


def _one_of(choices: Any, rng: Random) -> str:
    kind, value = rng.choice(choices)
    match str(kind):
        case "LITERAL":
            return chr(value)
        case "RANGE":
            return chr(rng.randint(*value))
        case "CATEGORY":
            return " "
    return rng.choice("ab1")  # a negated set


def changed(text: str, rng: Random) -> str:
    """Return a text with a few pieces inserted, deleted, swapped or repeated."""
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        place, other = sorted(rng.randint(0, len(text)) for _ in range(2))
        match rng.randrange(5):
            case 0 | 1:
                text = text[:place] + rng.choice(TRAPS) + text[place:]
            case 2:
                text = text[:place] + text[place + rng.randint(1, 3) :]
            case 3:
                text = text[:place] + text[place:other] * 2 + text[other:]
            case 4:
                piece = text[place:other]
                text = text[:place] + text[other : other + 3] + piece + text[other + 3 :]
    return text
