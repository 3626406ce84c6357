"""Write a report as one HTML file, which a browser shows without a network.

A template writes the static part of the page and escapes all text from data. Scripts write the
interactive part: they read the examples from a compressed block of JSON and insert them as text
only. A Content-Security-Policy allows the page's own script and style by their hashes. It allows no
requests.
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

# The order matters: a script uses functions of the scripts before it.
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
    """A table in the static part of a report.

    Attributes:
        title: the heading above the table.
        heads: the headings of the columns.
        says: an optional sentence about the table.
    """

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    says: str = ""


@dataclass(frozen=True)
class Document:
    """The content of a report.

    Attributes:
        title: the title of the page.
        lead: a sentence or two below the title.
        summary: tables above the examples.
        data: plain data for the scripts; `examples.js` describes it.
        facts: tables below the examples.
        notes: paragraphs after the tables.
    """

    title: str
    lead: str
    summary: Sequence[FactTable]
    data: Mapping[str, Any]
    facts: Sequence[FactTable] = ()
    notes: Sequence[str] = ()


def write_document(document: Document, path: Path) -> Path:
    """Write a report as an HTML file, atomically; return its path."""
    write_text(path, rendered(document))
    return path


def rendered(document: Document) -> str:
    """Return the HTML of a report. Equal documents give equal bytes."""
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
    """Return the hash of an inline script or style for a Content-Security-Policy."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _parted(data: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Separate the explanations of answers from the other data of a page.

    A page needs the explanation of an answer only when the reader opens an example. Returns the
    other data, and the columns of explanations.
    """
    names = {each.get("explanation") for each in data.get("answers", ())} & {*data.get("rows", ())}
    rows = {name: column for name, column in data.get("rows", {}).items() if name not in names}
    later = {name: data["rows"][name] for name in sorted(names)}
    return ({**data, "rows": rows} if names else data), later


def _packed(data: Mapping[str, Any]) -> str:
    """Return data as JSON, compressed with gzip and encoded in base64."""
    text = json.dumps(_clean(data), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _clean(value: Any) -> Any:
    """Return a copy of JSON data, with control characters and direction marks in texts escaped."""
    match value:
        case str():
            return printable(value)
        case Mapping():
            return {_clean(key): _clean(each) for key, each in value.items()}
        case list() | tuple():
            return [_clean(each) for each in value]
    return value
