"""Symbolic traces: the answers of problems in linear temporal logic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any

from logicgen.errors import FormatError
from logicgen.syntax.clauses import operands_of
from logicgen.syntax.formula import Formula
from logicgen.syntax.formula_language import propositional
from logicgen.syntax.language import Language, read_either
from logicgen.syntax.no_answer import NO_ANSWER, NoAnswer


@dataclass(frozen=True)
class Trace:
    """A lasso whose positions are propositional formulas: the stem once, the period for ever.

    It stands for all infinite words whose letter at every visit of a position satisfies its
    formula, chosen anew at each visit; it denotes nothing if a position is unsatisfiable.
    """

    stem: tuple[Formula, ...]  # possibly none
    period: tuple[Formula, ...]  # at least one

    def __post_init__(self) -> None:
        if not self.period:
            raise ValueError("the period of a trace has at least one position")

    @property
    def positions(self) -> tuple[Formula, ...]:
        """Return stem and period; the position after the last one is number `len(stem)`."""
        return self.stem + self.period

    @property
    def symbols(self) -> tuple[str, ...]:
        """Return the distinct symbols, in order of first occurrence."""
        return tuple(dict.fromkeys(name for p in self.positions for name in p.symbols))

    def rename(self, mapping: Mapping[str, str]) -> Trace:
        """Return the trace with symbol `s` written `mapping[s]`, all at once; others stay."""
        return Trace(
            tuple(position.rename(mapping) for position in self.stem),
            tuple(position.rename(mapping) for position in self.period),
        )

    def nested_right(self) -> Trace:
        """Return the trace with conjunctions as `& a & b c`, where solvers write `& & a b c`.

        Who writes this one from the left has to know before the first literal how many there will
        be; who writes the other, only whether one more follows.
        """

        def nested(position: Formula) -> Formula:
            *others, last = operands_of("&", position)
            return reduce(lambda right, left: left & right, reversed(others), last)

        return Trace(tuple(map(nested, self.stem)), tuple(map(nested, self.period)))

    def __str__(self) -> str:
        return self.infix

    @property
    def prefix(self) -> str:
        """Return the text that networks read: `& a ! b ; 1 ; { | c d ; ! a }`."""
        return self._written(lambda position: position.prefix, " ; ", "{ ", " }")

    @property
    def infix(self) -> str:
        """Return the text that people read: `a & !b ; 1 ; {c | d ; !a}`."""
        return self._written(propositional().write, " ; ", "{", "}")

    @property
    def spot(self) -> str:
        """Return the text that Spot reads: `a & !b; 1; cycle{c | d; !a}`."""
        return self._written(propositional().write, "; ", "cycle{", "}")

    def _written(self, write: Callable[[Formula], str], between: str, begin: str, end: str) -> str:
        period = begin + between.join(map(write, self.period)) + end
        return between.join([*map(write, self.stem), period])

    def table(self) -> str:
        """Return a table: a row per proposition, a column per position, the period between bars.

        `1` is true, `0` false, `.` either, `?` no conjunction of literals (written out below).
        """
        columns, notes = [], []
        for number, position in enumerate(self.positions):
            values = literals_of(position)
            if values is None:
                values = dict.fromkeys(position.symbols, "?")
                notes.append(f"position {number}: {propositional().write(position)}")
            columns.append(values)
        names = [*self.symbols] or [""]
        margin = max(map(len, names))
        width = len(str(len(columns) - 1))

        def row(head: str, cells: Sequence[str]) -> str:
            cells = [cell.rjust(width) for cell in cells]
            stem, period = cells[: len(self.stem)], cells[len(self.stem) :]
            return f"{head.ljust(margin)}  {' '.join([*stem, '|', *period, '|'])}"

        rows = [row("", [str(number) for number in range(len(columns))])]
        if self.symbols:
            rows += [row(name, [values.get(name, ".") for values in columns]) for name in names]
        return "\n".join(rows + notes)

    @staticmethod
    def read(text: str) -> Trace:
        """Return the trace of people's or Spot's form. Raises FormatError with line and column."""
        return _read(text, "infix")

    @staticmethod
    def read_prefix(text: str) -> Trace:
        """Return the trace of the prefix form. Raises FormatError with line and column."""
        return _read(text, "prefix")

    @staticmethod
    def read_either(text: str) -> Trace:
        """Return the trace of any form. Raises the FormatError of the notation that got further."""
        trace = _split_and_read(text, "infix") or _split_and_read(text, "prefix")
        return trace if trace is not None else read_either(_read, text)


_NO_PERIOD = "a trace ends with its period in braces, as in `a ; {b ; !a}`; there is none"


def literals_of(position: Formula) -> dict[str, str] | None:
    """Return `1` or `0` by symbol for a consistent conjunction of literals (or `1`), else None."""
    values: dict[str, str] = {}
    todo = [position]
    while todo:
        node = todo.pop()
        token, operands = node.token, node.operands
        if token == "&":
            todo += operands[::-1]
            continue
        value = "1"
        if token == "!":
            token, operands, value = operands[0].token, operands[0].operands, "0"
        if operands or (token in "01" and token != value):
            return None
        if token not in "01" and values.setdefault(token, value) != value:
            return None
    return values


def _read(text: str, notation: str) -> Trace:
    trace = _split_and_read(text, notation)
    if trace is not None:
        return trace
    try:
        written: Trace | NoAnswer = trace_language().read(text, notation)
    except FormatError as error:
        remedy = _remedy(text, error)
        if remedy is None:
            raise
        raise FormatError(remedy, text, error.line, error.column) from None
    if isinstance(written, NoAnswer):
        raise FormatError(_NO_PERIOD, text, 1, len(text.rstrip()) + 1)
    return written


def _split_and_read(text: str, notation: str) -> Trace | None:
    stem, brace, rest = text.partition("{")
    period, end, behind = rest.partition("}")
    stem = stem.rstrip()
    if notation == "infix" and stem.endswith("cycle") and text.startswith("{", len(stem)):
        stem = stem[:-5].rstrip()
    if not brace or not end or behind.strip() or (stem and not stem.endswith(";")):
        return None
    language = propositional()
    read = language.reader.read if notation == "infix" else language.parse_prefix
    loop = stem.count(";")
    texts = [*stem.split(";")[:loop], *period.split(";")]
    positions = tuple(position for position in map(read, texts) if position is not None)
    return Trace(positions[:loop], positions[loop:]) if len(positions) == len(texts) else None


def _remedy(text: str, error: FormatError) -> str | None:
    if "{" not in text:
        return _NO_PERIOD
    lines = text.splitlines()
    here = lines[error.line - 1] if error.line <= len(lines) else ""
    if here[: error.column - 1].rstrip().endswith("{") and here[error.column - 1 :][:1] == "}":
        return "the period is empty; `{1}` says that anything may happen"
    return None


def _build(meaning: str, values: Sequence[Any]) -> Any:
    match meaning:
        case "nothing":
            return []
        case "one":
            return [values[0]]
        case "more":
            values[0].append(values[1])
            return values[0]
        case "only":  # Spot's `cycle{` may stand before it
            return values[-1]
        case "periodic":
            return Trace((), tuple(values[0]))
        case "trace":
            return Trace(tuple(values[0]), tuple(values[1]))
        case "then":
            return [values[0], *values[1]]
        case "period":
            return Trace((), (values[0], *values[1]))
        case "before":
            return Trace((values[0], *values[1].stem), values[1].period)
        case "nowhere":
            return NO_ANSWER
    return propositional().build(meaning, values)


@cache
def trace_language() -> Language:
    """Return the language of traces, made once."""
    return Language("trace", _build)
