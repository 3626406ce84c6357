"""Reading and writing of automata as TOML files. Unknown keys are errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from pydantic import Field

from logicgen.automata.automaton import Automaton
from logicgen.automata.sums import log_allsum, trim
from logicgen.errors import LogicgenError, shortened
from logicgen.files import write_text
from logicgen.recipes import Table, read_toml, validate

Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Names = Annotated[list[str], Field(min_length=1)]


class Transition(Table):
    """A transition in an automaton file."""

    source: str = Field(alias="from")
    symbol: str
    to: str
    weight: Weight


class _AutomatonFile(Table):
    description: str = ""
    symbols: Names
    states: Names
    initial: dict[str, Weight]
    final: dict[str, Weight]
    transitions: list[Transition] = Field(default=[])


def read_automaton(path: Path | str) -> Automaton:
    """Read an automaton from a TOML file.

    Raises LogicgenError if the file is invalid, or if the sum of the weights of all strings is 0 or
    infinite. The message names the file and the key or transition.
    """
    path = Path(path)
    tables = read_toml(path)
    # Validate each transition alone, so that messages contain its number, counted from 1.
    transitions = tables.get("transitions")
    if isinstance(transitions, list):
        for i, entry in enumerate(transitions, 1):
            validate(Transition, entry, f"{path}: transition {i}{_shown(entry)}")
    file = validate(_AutomatonFile, tables, str(path))
    try:
        automaton = Automaton.from_arcs(
            file.symbols,
            file.states,
            file.initial,
            file.final,
            [(t.source, t.symbol, t.to, t.weight) for t in file.transitions],
        )
        trim(automaton)
        log_allsum(automaton)
    except LogicgenError as error:
        raise LogicgenError(f"{path}: {str(error).removeprefix('automaton: ')}") from None
    return automaton


def write_automaton(automaton: Automaton, path: Path | str, description: str = "") -> None:
    """Write an automaton to a TOML file; `read_automaton` restores exactly the same weights."""
    write_text(Path(path), automaton_text(automaton, description))


def automaton_text(automaton: Automaton, description: str = "") -> str:
    """Return the TOML text of an automaton."""
    # The text is part of generated data sets, and their bytes must not change. So it is not written
    # with the library tomli-w, which writes lists on several lines.
    lines = [f"description = {toml_string(description)}"] if description else []
    lines += [
        f"symbols = [{', '.join(map(toml_string, automaton.symbols))}]",
        f"states = [{', '.join(map(toml_string, automaton.states))}]",
    ]
    for name, weights in (("initial", automaton.initial), ("final", automaton.final)):
        lines += ["", f"[{name}]"]
        lines += [
            f"{toml_string(state)} = {float(weight)!r}"
            for state, weight in zip(automaton.states, weights, strict=True)
            if weight
        ]
    for source, symbol, target, weight in automaton.arcs():
        lines += [
            "",
            "[[transitions]]",
            f"from = {toml_string(source)}",
            f"symbol = {toml_string(symbol)}",
            f"to = {toml_string(target)}",
            f"weight = {weight!r}",
        ]
    return "\n".join(lines) + "\n"


def toml_string(text: str) -> str:
    """Return a text as a quoted TOML string.

    JSON and TOML strings differ only in the character DEL (0x7f), which TOML escapes.
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _shown(entry: object) -> str:
    if not isinstance(entry, dict):
        return ""
    source, symbol, target = (shortened(entry.get(key, "?")) for key in ("from", "symbol", "to"))
    return f" ({source} --{symbol}--> {target})"
