"""Make the list of all spellings of answers from grammars/completion.lark.

`python -m tests.scoring.spellings` prints the list. `make docs` calls this module as a hook of
MkDocs: the list takes the place of its marker in docs/reading-answers.md.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

GRAMMAR = Path(__file__).resolve().parents[2] / "grammars" / "completion.lark"
MARKER = "<!-- spellings -->\n"

PARTS = re.compile(r'"(?P<text>(?:[^"\\]|\\.)*)"(?P<any_case>i?)|(?P<regex>/(?:[^/\\]|\\.)+/i?)|\|')


def spellings() -> str:
    """Return the list in Markdown: a section of each part of the grammar, a line of each token."""
    lines: list[str] = []
    title = ""
    for line in grammar_lines():
        if line.startswith("// ----"):
            title = line.strip("/- ")
        found = re.fullmatch(r"_?([A-Z_]+)(?:\.(\d))?: (.*)", line)
        if found is None or found[1] == found[3].strip("_"):  # no token, or another name of one
            continue
        if title:
            lines += [f"\n### Tokens: {title}\n"]
            title = ""
        priority = f" [{found[2]}]" if found[2] else ""
        choices = re.sub(r"\b_(?=[A-Z])", "", PARTS.sub(shown, found[3]))
        choices = in_paragraphs(re.sub(r"(?<=[`A-Z_)?*]) ,(?= )", ",", choices))
        end = "\n" if "\n" in choices else ""  # a blank line between paragraph and next item
        lines.append(f"- **{found[1]}**{priority}: {choices}{end}")
    return "\n".join(lines).rstrip("\n") + "\n\n"


def in_paragraphs(choices: str) -> str:
    """Return a list of choices with a paragraph for every 20 of them."""
    parts = re.split(r"(?<=[`A-Z_)?*]), ", choices)
    paragraphs = [", ".join(parts[start : start + 20]) for start in range(0, len(parts), 20)]
    return ",\n\n    ".join(paragraphs)


def grammar_lines() -> list[str]:
    """Return the lines of the grammar, those that continue another one joined to it."""
    return re.sub(r"\n +\|", " |", GRAMMAR.read_text(encoding="utf-8")).split("\n")


def shown(part: re.Match[str]) -> str:
    """Return a part of a definition as the page shows it."""
    if part[0] == "|":
        return ","
    if part["regex"]:
        return code(part["regex"])
    text = re.sub(r"\\(.)", r"\1", part["text"])
    return code(f'"{text}"i' if part["any_case"] else text)


def code(text: str) -> str:
    """Return a text as code in Markdown."""
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    blank = " " if "`" in text else ""
    return f"{fence}{blank}{text}{blank}{fence}"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the list at its marker. MkDocs calls this function with the source of each page."""
    return markdown.replace(MARKER, spellings()) if MARKER in markdown else markdown


if __name__ == "__main__":
    print(spellings(), end="")
