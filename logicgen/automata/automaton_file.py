"""Automata as TOML files, read strictly and written back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from pydantic import Field

from logicgen.atomic import write_text
from logicgen.automata.allsum import allsum, trim
from logicgen.automata.automaton import Automaton
from logicgen.declaration import Table, read_toml, validate
from logicgen.errors import LogicgenError

Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Names = Annotated[list[str], Field(min_length=1)]


class Transition(Table):
    """One entry of `transitions`."""

    source: str = Field(alias="from")
    symbol: str
    to: str
    weight: Weight


class _File(Table):
    description: str = ""
    symbols: Names
    states: Names
    initial: dict[str, Weight]
    final: dict[str, Weight]
    transitions: list[Transition] = Field(default=[])


def read_automaton(path: Path | str) -> Automaton:
    """The automaton of a TOML file.

    Raises LogicgenError naming the file and the key or entry where something is missing, unknown,
    negative or there twice, where every string weighs 0, and where the allsum is infinite.
    """
    path = Path(path)
    tables = read_toml(path)
    # Entries count from 1 in every message, with what they say: nobody counts 40 tables from 0.
    transitions = tables.get("transitions")
    if isinstance(transitions, list):
        for i, entry in enumerate(transitions, 1):
            validate(Transition, entry, f"{path}: transition {i}{_shown(entry)}")
    file = validate(_File, tables, str(path))
    try:
        automaton = Automaton.from_arcs(
            file.symbols,
            file.states,
            file.initial,
            file.final,
            [(t.source, t.symbol, t.to, t.weight) for t in file.transitions],
        )
        trim(automaton)
        allsum(automaton)
    except LogicgenError as error:
        raise LogicgenError(f"{path}: {str(error).removeprefix('automaton: ')}") from None
    return automaton


def write_automaton(automaton: Automaton, path: Path | str, description: str = "") -> None:
    """Write an automaton so that reading it gives the same one, to the last bit."""
    write_text(Path(path), automaton_text(automaton, description))


def automaton_text(automaton: Automaton, description: str = "") -> str:
    """What `write_automaton` writes."""
    lines = [f"description = {_quoted(description)}"] if description else []
    lines += [
        f"symbols = [{', '.join(map(_quoted, automaton.symbols))}]",
        f"states = [{', '.join(map(_quoted, automaton.states))}]",
    ]
    for name, weights in (("initial", automaton.initial), ("final", automaton.final)):
        lines += ["", f"[{name}]"]
        lines += [
            f"{_quoted(state)} = {float(weight)!r}"
            for state, weight in zip(automaton.states, weights, strict=True)
            if weight
        ]
    for source, symbol, target, weight in automaton.arcs():
        lines += [
            "",
            "[[transitions]]",
            f"from = {_quoted(source)}",
            f"symbol = {_quoted(symbol)}",
            f"to = {_quoted(target)}",
            f"weight = {weight!r}",
        ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A TOML string. It is written as JSON writes it, but for DEL, which TOML wants escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _shown(entry: object) -> str:
    """` (s --a--> t)`, as far as the entry says it."""
    if not isinstance(entry, dict):
        return ""
    source, symbol, target = (entry.get(key, "?") for key in ("from", "symbol", "to"))
    return f" ({source} --{symbol}--> {target})"
