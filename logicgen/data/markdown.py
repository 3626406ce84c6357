"""Tables in Markdown, and texts of others in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

# What YAML would read as something else than a text.
_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table without a line break at its end; `|` in a cell is escaped."""
    return "\n".join(map(_line, [heads, ["---"] * len(heads), *rows]))


def one_line(text: str) -> str:
    """Return a text on one line; what cannot be printed, such as line breaks, becomes a blank."""
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())


def plain(text: str) -> str:
    """Return a text as a paragraph or heading that it cannot leave: no HTML, links, or blocks."""
    # A `<` that begins no tag stays: formulas have `<->`.
    text = re.sub(r"[\\\[\]]|<(?=[A-Za-z/!?])", r"\\\g<0>", one_line(text))
    # At the beginning of a line, these make headings, rules, lists, quotes and blocks of code.
    return re.sub(r"^(?=[#=+*>`~_|-])|^(\d{1,9})(?=[.)](?: |$))", r"\1\\", text)


def yaml_text(text: str) -> str:
    """Return a text on one line as YAML, quoted where it might be read as something else."""
    line = one_line(text)
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", line) and line.lower() not in _WORDS:
        return line
    return json.dumps(line, ensure_ascii=False)


def _line(cells: Sequence[str]) -> str:
    escaped = (cell.replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(escaped)} |"
