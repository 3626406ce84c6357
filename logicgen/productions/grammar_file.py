"""Reading and writing of grammars of productions as TOML files. Unknown keys are errors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from logicgen.automata.automaton_file import toml_string
from logicgen.errors import LogicgenError, nearest
from logicgen.productions.grammar import Grammar
from logicgen.recipes import Table, read_toml, validate
from logicgen.tokens import END

Probability = Annotated[float, Field(ge=0, le=1 + 1e-6, allow_inf_nan=False)]
Shares = dict[str, Probability]


class _UnitTable(Table):
    tokens: Shares
    below: Shares | None = None


class _GrammarFile(Table):
    """The content of a grammar file."""

    description: str = ""
    # The number of words of the longest sentences, equal to the number of layers
    positions: Annotated[int, Field(ge=1)] | None = None
    # All words, in the order of their ids; default: in the order of their occurrence in the file
    words: list[str] | None = None
    # The distribution over the first layer's units; default: uniform
    start: Shares | None = None
    layer: Annotated[list[dict[str, _UnitTable]], Field(min_length=1)]


def read_grammar(path: Path | str) -> Grammar:
    """Read a grammar from a TOML file; `docs/inductive.md` describes the format.

    Raises LogicgenError if a distribution does not sum to 1, a unit or word is unknown, or the
    numbers of layers and positions differ. The message names the file and the unit.
    """
    path = Path(path)
    return make_grammar(read_toml(path), str(path))


def make_grammar(tables: dict[str, Any], path: str) -> Grammar:
    """Make a grammar from the tables of a TOML file.

    path: the name of the file in messages.

    Raises the errors of `read_grammar`.
    """
    file = validate(_GrammarFile, tables, path)
    layers = _with_end(file.layer)
    _check_layers(file, layers, path)
    words = _words(file, layers, path)
    places = [(f"{path}: layer {number}", units) for number, units in enumerate(layers, 1)]
    given = file.layer[0]
    start = dict.fromkeys(given, 1 / len(given)) if file.start is None else file.start
    if END in start:
        raise LogicgenError(
            f"{path}: start: '{END}': a sentence has at least one word: leave {END} out"
        )
    return Grammar(
        tuple(words),
        tuple(tuple(units) for units in layers),
        _column(start, list(layers[0]), "unit", f"{path}: start"),
        tuple(_columns(units, "tokens", words, "word", at) for at, units in places),
        tuple(
            _columns(units, "below", list(lower), "unit of the layer below", at)
            for (at, units), lower in zip(places, layers[1:], strict=False)
        ),
        path,
    )


def _check_layers(file: _GrammarFile, layers: list[dict[str, _UnitTable]], path: str) -> None:
    """Raise LogicgenError if the number of layers is wrong, or a layer has a wrong unit."""
    positions = len(layers) if file.positions is None else file.positions
    if positions != len(layers):
        raise LogicgenError(
            f"{path}: {len(layers)} layers for {positions} positions: each position of a sentence"
            f" is explained by one layer, so make it positions = {len(layers)} or"
            f" {'leave out' if len(layers) > positions else 'add'} a layer"
        )
    for number, units in enumerate(layers, 1):
        if not units:
            raise LogicgenError(f"{path}: layer {number}: has no units: add a unit")
        for name, unit in units.items():
            own = number > 1 or name in file.layer[0]
            _check_unit(name, unit, f"{path}: layer {number}", number, number == positions, own)


def _check_unit(name: str, unit: _UnitTable, at: str, layer: int, is_last: bool, own: bool) -> None:
    """Raise LogicgenError if a unit is not permitted in its layer.

    at: the file and the layer, for messages.
    layer: the number of the layer, from 1.
    own: True if the file contains the unit, False if `_with_end` added it.
    """
    if name.split() != [name] or ":" in name:
        raise LogicgenError(f"{at}: unit {name!r}: has a blank or colon")
    if name == END and [*unit.tokens] != [END]:
        raise LogicgenError(
            f"{at}: unit {END}: emits '{next(iter(unit.tokens))}', but no word follows the end:"
            f" let it emit '{END}', or leave the unit out"
        )
    if layer == 1 and END in unit.tokens and own:
        raise LogicgenError(
            f"{at}: unit {name}: word '{END}': a sentence has at least one word: use {END} in a"
            " later layer"
        )
    if (unit.below is None) != is_last:
        says = (
            "chooses units below, but there is no layer below: leave below out"
            if unit.below is not None
            else "key below is missing: give the units of the next layer that it chooses"
        )
        raise LogicgenError(f"{at}: unit {name}: {says}")


def _words(file: _GrammarFile, layers: list[dict[str, _UnitTable]], path: str) -> list[str]:
    """Return all words in the order of their ids. If a unit emits `<end>`, this word is last."""
    said = [word for units in layers for unit in units.values() for word in unit.tokens]
    words = list(dict.fromkeys(said)) if file.words is None else file.words
    if END in said:
        words = [*(word for word in words if word != END), END]
    for word in words:
        bracketed = re.fullmatch("<.*>", word) and word != END
        if word.split() != [word] or word == "_" or bracketed:
            raise LogicgenError(
                f"{path}: word {word!r}: a word has no blanks, is not _ and not in angle brackets"
                f" (except {END})"
            )
    return words


def _columns(
    units: dict[str, _UnitTable], key: str, names: list[str], what: str, at: str
) -> np.ndarray:
    """Return the distribution of each unit of a layer over `names`, (names, units).

    key: `tokens` or `below`.
    what: the kind of names, for messages.
    at: the place, for messages.
    """
    shares = {name: getattr(unit, key) or {} for name, unit in units.items()}
    each = [_column(shares[name], names, what, f"{at}: unit {name}") for name in units]
    return np.column_stack(each)


def _with_end(layers: list[dict[str, _UnitTable]]) -> list[dict[str, _UnitTable]]:
    """Add a unit `<end>` to each layer that lacks it, if a unit chooses `<end>`.

    The new unit emits `<end>` and chooses the unit `<end>` of the next layer.
    """
    if not any(END in (unit.below or {}) for units in layers for unit in units.values()):
        return layers
    on, last = _UnitTable(tokens={END: 1.0}, below={END: 1.0}), _UnitTable(tokens={END: 1.0})
    before = [{**units, END: units.get(END, on)} for units in layers[:-1]]
    return [*before, {**layers[-1], END: layers[-1].get(END, last)}]


def _column(shares: Shares, names: list[str], what: str, where: str) -> np.ndarray:
    """Return the probability of each name, (names,); 0 if `shares` does not contain the name."""
    known = set(names)
    for name in shares:
        if name not in known:
            raise LogicgenError(f"{where}: {name!r} is no {what}: {nearest(name, names)}")
    return np.array([shares.get(name, 0.0) for name in names])


def grammar_text(grammar: Grammar, description: str = "") -> str:
    """Return the TOML text of a grammar. It leaves out units that are never active."""
    # The text is part of generated data sets, and their bytes must not change. So it is not written
    # with the library tomli-w, which writes no inline tables.
    lines = [f"description = {toml_string(description)}"] if description else []
    lines += [
        f"positions = {grammar.positions}",
        f"words = [{', '.join(map(toml_string, grammar.words))}]",
        f"start = {_shares(grammar.units[0], grammar.start)}",
    ]
    on: np.ndarray = grammar.start > 0
    for layer, units in enumerate(grammar.units):
        lines += ["", "[[layer]]"]
        for number, unit in enumerate(units):
            if not on[number]:
                continue
            parts = [f"tokens = {_shares(grammar.words, grammar.tokens[layer][:, number])}"]
            if layer + 1 < grammar.positions:
                column = grammar.below[layer][:, number]
                parts.append(f"below = {_shares(grammar.units[layer + 1], column)}")
            lines.append(f"{_key(unit)} = {{ {', '.join(parts)} }}")
        if layer + 1 < grammar.positions:
            on = np.asarray((grammar.below[layer][:, on] > 0).any(axis=1))
    return "\n".join(lines) + "\n"


def _shares(names: tuple[str, ...], column: np.ndarray) -> str:
    shares = [
        f"{_key(name)} = {float(share)!r}"
        for name, share in zip(names, column, strict=True)
        if share
    ]
    return f"{{ {', '.join(shares)} }}"


def _key(name: str) -> str:
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else toml_string(name)
