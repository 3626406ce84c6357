"""Strategies that change what is well-formed a little: texts, bytes, TOML files, JSON trees."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

# Characters that parsers and terminals treat specially, and a lone surrogate.
ODD = (
    "\x00\x1b\x1c\x7f\x85\u00a0\u2003\u2028\ufeff\ud800éǅ\u0661\U0001d7d9"
    "(){}[];:,=<>&|!^-+%#\"'\\\r\n\t "
)


@st.composite
def mutated(
    draw: Callable[..., Any], texts: SearchStrategy[str], pieces: Sequence[str] = ()
) -> str:
    """Return a text with up to three pieces replaced, inserted, removed, doubled or exchanged."""
    text = draw(texts)
    new = st.one_of(
        st.sampled_from(ODD), st.text(max_size=3), *([st.sampled_from(pieces)] if pieces else [])
    )
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(text)))
        stop = min(len(text), start + draw(st.integers(0, 4)))
        match draw(st.integers(0, 3)):
            case 0:
                text = text[:start] + draw(new) + text[stop:]
            case 1:
                text = text[:start] + text[stop:]
            case 2:
                text = text[:stop] + text[start:]
            case 3:
                text = text[:start] + draw(new) + text[start:]
    return text


@st.composite
def mutated_bytes(draw: Callable[..., Any], content: bytes) -> bytes:
    """Return bytes truncated, with some of them changed, or a part of them removed or doubled."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(content)))
        stop = min(len(content), start + draw(st.sampled_from([0, 1, 2, 4, 8, 100])))
        match draw(st.integers(0, 3)):
            case 0:
                content = content[:start]
            case 1:
                content = content[:start] + draw(st.binary(max_size=8)) + content[stop:]
            case 2:
                content = content[:start] + content[stop:]
            case 3:
                content = content[:stop] + content[start:]
    return content


TOML_INTEGERS = ["0", "-1", "1", "2", "7", "64", "1000", str(2**63 - 1), "9" * 23]
TOML_FLOATS = ["1e3", "1e308", "-0.0", "nan", "inf", "-inf", "0.5"]
TOML_WORDS = ["", "a", "é", "random", "learned", "copying", "lookup", "text", "cnf", "drawn"]
TOML_NAMES = ["grid", "test", "propositional-mini", "copying-learned", "no-such-name", "../x"]
TOML_LISTS = ["[]", "[1]", "[1,2]", "[2,1]", "[0,0]", "[[]]", '[1,"a"]', "[1.5,2]", "[1,1000000]"]
TOML_TABLES = ["{}", "{a=1}", '{name="x"}', '{"!"=1,"symbol"=1e-9}']
TOML_TEXTS = [f'"{text}"' for text in (*TOML_WORDS, *TOML_NAMES, r"\u0000")]
TOML_REST = ["true", "false", "1979-05-27", "07:32:00", *TOML_TEXTS]
TOML_VALUES = st.sampled_from([*TOML_INTEGERS, *TOML_FLOATS, *TOML_LISTS, *TOML_TABLES, *TOML_REST])


@st.composite
def mutated_toml(draw: Callable[..., Any], texts: Sequence[str]) -> str:
    """Return a TOML file with values, keys and lines changed; now and then no TOML any more."""
    lines = draw(st.sampled_from(texts)).splitlines()
    for _ in range(draw(st.integers(1, 3))):
        if not lines:
            break
        place = draw(st.integers(0, len(lines) - 1))
        key, equals, _ = lines[place].partition(" = ")
        match draw(st.integers(0, 9)):
            case 0:
                del lines[place]
            case 1:
                lines.insert(place, lines[draw(st.integers(0, len(lines) - 1))])
            case 2:
                lines[place] = draw(mutated(st.just(lines[place])))
            case 3 if equals:
                lines[place] = draw(st.sampled_from(["a", '""', "symbols", "a.b"])) + " = 1"
            case _ if equals:
                lines[place] = key + equals + draw(TOML_VALUES)
    return "\n".join(lines) + "\n"


JSON_VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        # No number that is large and possible: a card that asks for a million layers gets them.
        st.sampled_from([-1, 0, 1, 2, 3, 5, 64, 65, 1000, -(2**31), 0.5, -0.0, 1e308]),
        st.sampled_from([float("nan"), float("inf"), 10**400]),
        st.text(max_size=4),
        st.sampled_from(["", "a", "copying", "text", "learned", "../x", "/", "\x00", "\ud800"]),
    ),
    lambda parts: st.one_of(
        st.lists(parts, max_size=3), st.dictionaries(st.text(max_size=3), parts, max_size=3)
    ),
    max_leaves=4,
)


def _places(tree: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of each value in a tree of JSON, as keys from its root."""
    yield place
    if isinstance(tree, dict | list):
        for key in list(tree) if isinstance(tree, dict) else range(len(tree)):
            yield from _places(tree[key], (*place, key))


@st.composite
def mutated_json(draw: Callable[..., Any], tree: Any) -> Any:
    """Return a tree of JSON with one to three values replaced, removed or renamed."""
    tree = deepcopy(tree)
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from([*_places(tree)])) or (None,)
        if last is None:
            if draw(st.integers(0, 9)) == 0:
                return draw(JSON_VALUES)
            continue
        table = tree
        for key in way:
            table = table[key]
        match draw(st.integers(0, 3)):
            case 0:
                del table[last]
            case 1 if isinstance(table, dict):
                table[draw(st.text(max_size=3))] = table.pop(last)
            case _:
                table[last] = draw(JSON_VALUES)
        if not isinstance(tree, dict | list) or not tree:
            break
    return tree


def json_bytes(tree: Any) -> bytes:
    """Return a tree as a JSON file, laid out as descriptions are; all but ASCII is escaped."""
    return (json.dumps(tree, indent=1) + "\n").encode()
