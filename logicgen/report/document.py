"""A report as one HTML file that opens from disk, needs no network, and allows none.

The page has a static part, written here by a template that escapes all that comes from data, and an
interactive one: scripts of ours that read the examples from a compressed block of JSON and only
ever write them as text. A Content-Security-Policy names the two by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from logicgen.errors import printable
from logicgen.files import write_text

STATIC = resources.files(__package__) / "static"

# In this order: a script uses what scripts before it define.
SCRIPTS = (
    "elements.js",
    "formula.js",
    "drawings.js",
    "heat_map.js",
    "examples.js",
    "surprise.js",
    "cipher.js",
    "grammar.js",
    "page.js",
)


@dataclass(frozen=True)
class FactTable:
    """A table of a report's static part, below a heading, with a line that says what it is."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    says: str = ""


@dataclass(frozen=True)
class Document:
    """What a report shows.

    Attributes:
        title: of the page; `lead`, a sentence or two below it.
        summary: tables above the examples; `facts`, tables below them.
        data: what the scripts read, as plain data; `examples.js` says what it holds.
        notes: paragraphs behind the tables.
    """

    title: str
    lead: str
    summary: Sequence[FactTable]
    data: Mapping[str, Any]
    facts: Sequence[FactTable] = ()
    notes: Sequence[str] = ()


def write_document(document: Document, path: Path) -> None:
    """Write a report as an HTML file, whole or not at all."""
    write_text(path, rendered(document))


def rendered(document: Document) -> str:
    """Return the HTML of a report; the same bytes of the same document."""
    script = "\n".join(_static(name) for name in SCRIPTS)
    script = f'"use strict";\n(() => {{\n{script}}})();\n'
    style = _static("page.css")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["printable"] = printable
    data, later = _parted(document.data)
    return environment.from_string(_static("page.html")).render(
        document=document,
        script=script,
        style=style,
        script_hash=_hash(script),
        style_hash=_hash(style),
        data=_packed(data),
        later=_packed(later),
    )


def _static(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return what a Content-Security-Policy calls an inline script or style by."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _parted(data: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return data, and columns of them that a page needs when an example is opened, not before."""
    names = {each.get("explanation") for each in data.get("answers", ())} & {*data.get("rows", ())}
    rows = {name: column for name, column in data.get("rows", {}).items() if name not in names}
    later = {name: data["rows"][name] for name in sorted(names)}
    return ({**data, "rows": rows} if names else data), later


def _packed(data: Mapping[str, Any]) -> str:
    """Return data as JSON, compressed, in letters that mean nothing in HTML."""
    text = json.dumps(_clean(data), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _clean(value: Any) -> Any:
    """Return plain data without characters that command a screen or turn the writing."""
    match value:
        case str():
            return printable(value)
        case Mapping():
            return {_clean(key): _clean(each) for key, each in value.items()}
        case list() | tuple():
            return [_clean(each) for each in value]
    return value
