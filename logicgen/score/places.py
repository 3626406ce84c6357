"""Find the answer in a completion: the text that a language model has written.

What a model writes while it thinks is no answer: a completion begins behind the last `</think>`. In
`strict` mode exactly one `<answer>...</answer>` counts. In `tolerant` mode the answer may also
stand in `\\boxed{...}`, behind "the answer is", in a fenced block, or alone. Where it stands is
decided by the completion alone, never by what would be right.
"""

from __future__ import annotations

import re
from typing import Literal

from logicgen.errors import LogicgenError

Mode = Literal["strict", "tolerant"]

LONGEST_COMPLETION = 1 << 20
"""Characters of a completion that are read; a longer one is judged `invalid` unread."""

LONGEST_ANSWER = 20_000
"""Characters of an answer that are read."""

LINES_BEHIND = 3
"""Lines below "the answer is:" of which one may say it."""

MOST_PLACES = 64
"""Places of a completion that may say an answer; with more, none is chosen."""

_BEGIN, _END = "<answer>", "</answer>"
_THINK, _THOUGHT = "<think>", "</think>"

_SAID = re.compile(r"\banswer\b(?:\s+(?:is|would be)\b:?|\s*:)[ \t*]*", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*```[^\n`]*$", re.MULTILINE)
_OR = re.compile(r"\bor[ \t$*]*\Z")
# Tokens with which chat models end a turn.
_SPECIAL = re.compile(r"<\|[^<>|\s]{1,40}\|>")


class NoAnswerError(LogicgenError):
    """A completion in which no answer is found, or several; the message says what is wrong."""


def answers_in(completion: str, mode: Mode) -> list[list[str]]:
    """Return the texts of a completion that may say its answer, in groups, the best group first.

    The first group with a text that can be read decides, and all that can be read in it have to say
    the same. In strict mode there is one text. Raises NoAnswerError where there is none, or the
    best group has too many texts or too long ones; other such groups are left out.
    """
    text = _behind_thinking(completion)
    if mode == "strict":
        groups = [[_strict(text)]]
    else:
        marked = [*_tagged(text), *_boxed(text), *_said(text)]
        groups = [marked, _fenced(text), [_end_of_turn(text).strip()]]
        groups = [list(dict.fromkeys(group)) for group in groups if group]
    best, *others = groups
    if said := _too_much(best):
        raise NoAnswerError(said)
    return [best, *(group for group in others if not _too_much(group))]


def _too_much(group: list[str]) -> str:
    """Return why the texts of a group are not read; empty if they are."""
    if len(group) > MOST_PLACES:
        return f"{len(group):,} places may say the answer; one is expected"
    longest = max(map(len, group))
    if longest > LONGEST_ANSWER:
        return f"the answer has {longest:,} characters; {LONGEST_ANSWER:,} are read"
    return ""


def _behind_thinking(completion: str) -> str:
    """Return what stands behind the last thought. Raises NoAnswerError where it does not end."""
    text = completion.rpartition(_THOUGHT)[2]
    if _THINK in text:
        raise NoAnswerError("<think> is not closed by </think>")
    return text


def _strict(text: str) -> str:
    """Return what stands between the only pair of tags. Raises NoAnswerError for any other."""
    begins, ends = text.count(_BEGIN), text.count(_END)
    if begins == 0 and ends == 0:
        raise NoAnswerError("there is no <answer>...</answer>")
    if begins != 1 or ends != 1 or text.index(_END) < text.index(_BEGIN):
        raise NoAnswerError("<answer> and </answer> have to stand there once each, in this order")
    return text.partition(_BEGIN)[2].partition(_END)[0].strip()


def _end_of_turn(text: str) -> str:
    """Return a text up to the token that ends a turn, if there is one."""
    match = _SPECIAL.search(text)
    return (text[: match.start()] if match else text).partition("</s>")[0]


def _tagged(text: str) -> list[str]:
    """Return what stands between tags in any case, last first; an open one goes to the end."""
    lower = text.lower()
    if len(lower) != len(text):  # of some letters lower case is longer
        lower = text
    pieces: list[str] = []
    end = len(text)
    start = lower.rfind(_BEGIN)
    while start >= 0:
        close = lower.find(_END, start, end)
        inside = text[start + len(_BEGIN) : close if close >= 0 else end]
        pieces.append(_end_of_turn(inside).strip())
        end = start
        start = lower.rfind(_BEGIN, 0, end)
    return pieces


def _boxed(text: str) -> list[str]:
    """Return what stands in LaTeX boxes with balanced braces, last first."""
    found: list[str] = []
    place = text.find("\\boxed{")
    while place >= 0:
        start = place + len("\\boxed{")
        end = _closing(text, start)
        if end is None:
            break
        found.append(text[start:end].strip())
        place = text.find("\\boxed{", end)
    return found[::-1]


def _closing(text: str, start: int) -> int | None:
    """Return where the brace that was opened before `start` closes; `\\{` and `\\}` are text."""
    depth, place = 1, start
    while place < len(text):
        letter = text[place]
        if letter == "\\":
            place += 2
            continue
        depth += (letter == "{") - (letter == "}")
        if depth == 0:
            return place
        place += 1
    return None


def _said(text: str) -> list[str]:
    """Return what follows each "the answer is", last first, to the end of the sentence or line.

    Where nothing does, or a colon, it is the next line that is not empty, if it is near.
    """
    found: list[str] = []
    for match in _SAID.finditer(text):
        line, end = _line(text, match.end())
        for _ in range(LINES_BEHIND):
            if (line and not line.endswith(":")) or end >= len(text):
                break
            line, end = _line(text, end + 1)
        if line and not line.startswith("```"):
            found.append(line)
        if len(found) > MOST_PLACES:
            break
    return found[::-1]


def _line(text: str, start: int) -> tuple[str, int]:
    """Return what a line says from a place on, and where it ends."""
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    line = text[start : min(end, start + LONGEST_ANSWER + 1)]
    for mark in ("\\boxed", _BEGIN, ". "):  # no answer is written with these
        line, cut, _ = line.partition(mark)
        if cut and _OR.search(line):
            raise NoAnswerError("there are several answers, with or between them")
    line = _end_of_turn(line)
    return line.strip("* \t\r").removesuffix("."), end


def _fenced(text: str) -> list[str]:
    """Return the blocks between lines of three backticks, last first."""
    fences = list(_FENCE.finditer(text))
    pairs = zip(fences[::2], fences[1::2], strict=False)
    return [text[begin.end() : end.start()].strip() for begin, end in pairs][::-1]
