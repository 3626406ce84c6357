"""Read answers as people and language models spell them.

What a task reads as it is stays as it is. Only a text that it cannot read is respelt, and only in
ways that leave one meaning: Unicode and LaTeX operators, `a = True`, JSON, `a, not b`, quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from logicgen.errors import FormatError
from logicgen.tasks.task import Task

_MACROS = {
    "land": "&",
    "wedge": "&",
    "lor": "|",
    "vee": "|",
    "lnot": "!",
    "neg": "!",
    "oplus": "^",
    "rightarrow": "->",
    "Rightarrow": "->",
    "to": "->",
    "implies": "->",
    "leftrightarrow": "<->",
    "Leftrightarrow": "<->",
    "iff": "<->",
    "top": "1",
    "bot": "0",
    "mapsto": "=",
    "quad": " ",
    "qquad": " ",
    "left": "",
    "right": "",
    "displaystyle": "",
}
_MACRO = re.compile(r"\\([A-Za-z]+) ?")
# Braces of these hold text, which stays.
_WRAPPED = re.compile(r"\\(?:text|mathrm|mathit|mathsf|texttt|operatorname|mathtt) ?\{([^{}]*)\}")

_LETTERS = str.maketrans(
    {
        "∧": "&",
        "⋀": "&",
        "∨": "|",
        "⋁": "|",
        "¬": "!",
        "￢": "!",
        "→": "->",
        "⇒": "->",
        "⟹": "->",
        "⟶": "->",
        "↔": "<->",
        "⇔": "<->",
        "⟺": "<->",
        "⊕": "^",
        "⊻": "^",
        "⊤": "1",
        "⊥": "0",
        "↦": "=",
        "≔": "=",
        "∶": ":",
        "；": ";",
        "，": ",",
        "“": '"',
        "”": '"',
        "‘": "'",
        "’": "'",
        "\u00a0": " ",
        "\u202f": " ",
        "\u2009": " ",
    }
)

_NAME = r"(?!(?:true|false|not|and)\b)[a-z][A-Za-z0-9_]*"
_VALUE = {"1": True, "true": True, "t": True, "0": False, "false": False, "f": False}
_EQUATION = re.compile(
    rf"([\"'`]?)({_NAME})\1\s*(?:=|:|:=|==|\bis\b)\s*([\"'`]?)(1|0|(?i:true|false)|T|F)\3"
)
_LITERAL = re.compile(rf"((?:(?:!|~|-|\bnot\b)\s*)?)(\(?)({_NAME})(\)?)")
# Equations may follow each other with a blank alone.
_BETWEEN = re.compile(r"[,;\n]|&&?|\band\b|(?<=\w)[ \t]+(?=[a-z][A-Za-z0-9_]*[ \t]*=)")
_BULLET = re.compile(r"(?:[-*•]|\d+[.)])\s+(?=\S)")


def read_answer(task: Task, text: str) -> Any:
    """Return the answer that a text says, in whatever spelling. Raises FormatError."""
    text = _bare(text)
    try:
        return task.read_answer(text)
    except FormatError as error:
        respelt = _RESPELL.get(task.answer_language.name, _plain)(text)
        if respelt is None or respelt == text:
            raise
        try:
            return task.read_answer(respelt)
        except FormatError:
            raise error from None


def _bare(text: str) -> str:
    """Return a text without the marks that a page sets around it."""
    text = text.strip()
    for _ in range(8):
        before = text
        for begin, end in (("```", "```"), ("**", "**"), ("$$", "$$"), ("$", "$"), ("`", "`")):
            if len(text) >= len(begin) + len(end) and text.startswith(begin) and text.endswith(end):
                text = text[len(begin) : -len(end)].strip()
        for begin, end in (("\\(", "\\)"), ("\\[", "\\]")):
            if text.startswith(begin) and text.endswith(end):
                text = text[2:-2].strip()
        if text == before:
            break
    return text


def _plain(text: str) -> str:
    """Return a text with Unicode, LaTeX and programmers' operators as the grammars write them."""
    if "\\" in text:
        text = text.replace("/\\", "&").replace("\\/", "|")
        text = _WRAPPED.sub(r" \1 ", text)
        text = _MACRO.sub(lambda match: f" {_MACROS.get(match[1], match[0])} ", text)
        for command, meaning in (
            ("\\{", "{"),
            ("\\}", "}"),
            ("\\_", "_"),
            ("\\&", "&"),
            ("\\,", " "),
            ("\\;", " "),
            ("\\:", " "),
            ("\\!", ""),
            ("\\ ", " "),
            ("\\\\", " "),
        ):
            text = text.replace(command, meaning)
    text = re.sub(r"_\{(\w{1,40})\}", r"_\1", text)
    return text.translate(_LETTERS).rstrip().removesuffix(".")


def _formulas(text: str) -> str:
    """Return a text of formulas with the operators of the grammars."""
    text = _plain(text)
    text = text.replace("&&", "&").replace("||", "|").replace("~", "!")
    text = re.sub(r"<=>", "<->", text)
    text = re.sub(r"(?<![<=])=>", "->", text)
    for word, operator in (("and", "&"), ("or", "|"), ("not", "!"), ("True", "1"), ("False", "0")):
        text = re.sub(rf"\b{word}\b", operator, text)
    return text


def _assignment(text: str) -> str | None:
    """Return `a=1, b=0` for a list of equations or of literals; None for anything else."""
    text = _plain(text).strip()
    for begin, end in ("{}", "[]", "()"):
        if text.startswith(begin) and text.endswith(end) and text.count(begin) == 1:
            text = text[1:-1].strip()
    if not text:
        return "1"
    parts = _BETWEEN.split(text)
    # The last one may be followed by a separator, and "a, and b" has two.
    items = [_BULLET.sub("", part.strip(), count=1).strip() for part in parts]
    items = [item for item in items if item]
    equations = [_EQUATION.fullmatch(item) for item in items]
    if all(equations):
        values = [(match[2], _VALUE[match[4].lower()]) for match in equations if match]
    else:
        literals = [_LITERAL.fullmatch(item) for item in items]
        if not all(match and bool(match[2]) == bool(match[4]) for match in literals):
            return None
        values = [(match[3], not match[1]) for match in literals if match]
    return ", ".join(f"{name}={int(value)}" for name, value in values) or None


def _symbols(text: str) -> str | None:
    """Return symbols with blanks between them, without quotes, commas and brackets around them."""
    text = _plain(text).strip()
    for begin, end in ("[]", "()", "{}"):
        if text.startswith(begin) and text.endswith(end) and text.count(begin) == 1:
            text = text[1:-1].strip()
    items = [item.strip() for item in text.split(",")] if "," in text else text.split()
    bare = [
        item[1:-1] if len(item) > 2 and item[0] in "\"'`" and item[0] == item[-1] else item
        for item in items
    ]
    return " ".join(bare)


_RESPELL: dict[str, Callable[[str], str | None]] = {
    "assignment": _assignment,
    "letters": _symbols,
    "symbols": _symbols,
    "trace": _formulas,
}
