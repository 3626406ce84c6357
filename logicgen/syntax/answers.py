"""Answers to formulas: partial assignments, symbolic traces, and `unsat`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any, ClassVar

from logicgen.errors import FormatError
from logicgen.syntax.clauses import operands_of
from logicgen.syntax.formula import Formula
from logicgen.syntax.formula_language import propositional
from logicgen.syntax.language import Language, read_either


@dataclass(frozen=True)
class NoAnswer:
    """The answer to an unsatisfiable formula: `unsat` in infix notation, `0` in prefix notation."""

    prefix: ClassVar[str] = "0"
    infix: ClassVar[str] = "unsat"

    def in_order(self, symbols: Sequence[str] = ()) -> NoAnswer:
        """Return the answer itself, which has no literals."""
        return self

    def __str__(self) -> str:
        return self.infix


NO_ANSWER = NoAnswer()


def says_none(text: str) -> bool:
    """Return whether a text is the answer `unsat` or `unsatisfiable`, in upper or lower case."""
    return text.strip().lower() in ("unsat", "unsatisfiable")


def _places(symbols: Sequence[str]) -> Callable[[str], int]:
    """Return a function of a symbol: its place in `symbols`, or their number if it is not there."""
    places = {symbol: place for place, symbol in enumerate(symbols)}
    return lambda symbol: places.get(symbol, len(places))


Literal = tuple[str, bool]


@dataclass(frozen=True)
class Assignment:
    """Literals `(symbol, value)`, in the order in which they were written.

    An assignment represents all total assignments that agree with it. If it gives a symbol both
    values, it is contradictory and represents no total assignment.
    """

    literals: tuple[Literal, ...] = ()

    @property
    def meaning(self) -> Hashable:
        """Return a value that is equal for assignments with the same literals."""
        return frozenset(self.literals)

    @property
    def is_contradictory(self) -> bool:
        """Return whether the assignment gives a symbol both values."""
        return bool(self.contradictory)

    @property
    def contradictory(self) -> tuple[str, ...]:
        """Return the symbols that the assignment gives both values, in order of occurrence."""
        different = set(self.literals)
        if len(dict(self.literals)) == len(different):
            return ()
        return tuple(s for s in self.symbols if {(s, True), (s, False)} <= different)

    def in_order(self, symbols: Sequence[str]) -> Assignment:
        """Return the assignment with literals sorted by `symbols`; other literals follow."""
        place = _places(symbols)
        return Assignment(tuple(sorted(self.literals, key=lambda each: place(each[0]))))

    def rename(self, mapping: Mapping[str, str]) -> Assignment:
        """Return the assignment with each symbol `s` in `mapping` renamed to `mapping[s]`."""
        return Assignment(tuple((mapping.get(name, name), value) for name, value in self.literals))

    @property
    def symbols(self) -> tuple[str, ...]:
        """Return the distinct symbols, in order of first occurrence."""
        return tuple(dict.fromkeys(name for name, _ in self.literals))

    def __str__(self) -> str:
        return self.infix

    @property
    def prefix(self) -> str:
        """Return the assignment in prefix notation: `a 1 b 0`."""
        return " ".join(f"{name} {int(value)}" for name, value in self.literals)

    @property
    def infix(self) -> str:
        """Return the assignment in infix notation: `a=1, b=0`, or `1` without literals."""
        return ", ".join(f"{name}={int(value)}" for name, value in self.literals) or "1"

    @staticmethod
    def read(text: str) -> Assignment:
        """Parse a text such as `a=1, b=0` or `a & !b`. Raises FormatError."""
        return _read_assignment(text, "infix")

    @staticmethod
    def read_prefix(text: str) -> Assignment:
        """Parse a text such as `a 1 b 0`. Raises FormatError."""
        return _read_assignment(text, "prefix")

    @staticmethod
    def read_either(text: str) -> Assignment:
        """Parse infix or prefix notation.

        If the text is in neither, the FormatError names the place at which the more successful
        parser stopped.
        """
        found = _split_assignment(text, "infix") or _split_assignment(text, "prefix")
        return found if found is not None else read_either(_read_assignment, text)


def _read_assignment(text: str, notation: str) -> Assignment:
    found = _split_assignment(text, notation)
    if found is None:
        found = assignment_language().read(text, notation)
    return found


def _split_assignment(text: str, notation: str) -> Assignment | None:
    """Parse a list of equations or of pairs; return None for all other texts.

    The grammar derives the same texts, but this function is ten times as fast.
    """
    if notation == "infix":
        pairs = [equation.partition("=")[::2] for equation in text.split(",")]
    else:
        tokens = text.split()
        if len(tokens) % 2:
            return None
        pairs = list(zip(tokens[::2], tokens[1::2], strict=True))
    is_symbol = assignment_language().symbol_pattern.fullmatch
    literals: list[Literal] = []
    for name, value in pairs:
        name, value = name.strip(), value.strip()
        if value not in ("0", "1") or not is_symbol(name):
            return None
        literals.append((name, value == "1"))
    return Assignment(tuple(literals))


def _build_assignment(meaning: str, values: Sequence[Any]) -> Any:
    match meaning:
        case "positive":
            return (str(values[0]), True)
        case "negative":
            return (str(values[0]), False)
        case "one":
            return [values[0]]
        case "more":
            values[0].append(values[1])
            return values[0]
        case "true" | "false":
            return meaning == "true"
        case "pair":
            values[2].append((str(values[0]), values[1]))
            return values[2]
        case "nothing":
            return []
        case "all":
            return Assignment(tuple(values[0]))
        case "all_reversed":  # the prefix grammar is right-recursive: its list begins with the end
            return Assignment(tuple(reversed(values[0])))
    raise AssertionError(meaning)


@cache
def assignment_language() -> Language:
    """Return the language of assignments (cached)."""
    return Language("assignment", _build_assignment)


@dataclass(frozen=True)
class Trace:
    """A lasso of propositional formulas: the stem occurs once, the period repeats for ever.

    A trace represents all infinite words that it allows: at each position the letter satisfies the
    formula of that position. The letters may differ each time the period repeats. If a position is
    unsatisfiable, the trace represents no word.
    """

    stem: tuple[Formula, ...]  # may be empty
    period: tuple[Formula, ...]  # not empty

    def __post_init__(self) -> None:
        if not self.period:
            raise ValueError("the period of a trace has at least one position")

    @property
    def positions(self) -> tuple[Formula, ...]:
        """Return stem and period. The last position is followed by position `len(stem)`."""
        return self.stem + self.period

    @property
    def symbols(self) -> tuple[str, ...]:
        """Return the distinct symbols, in order of first occurrence."""
        return tuple(dict.fromkeys(name for p in self.positions for name in p.symbols))

    @property
    def meaning(self) -> Hashable:
        """Return a key for comparing traces. It ignores the order and nesting of conjunctions."""
        stem, period = (
            tuple(frozenset(operands_of("&", position)) for position in part)
            for part in (self.stem, self.period)
        )
        return stem, period

    def rename(self, mapping: Mapping[str, str]) -> Trace:
        """Return the trace with each symbol `s` in `mapping` renamed to `mapping[s]`."""
        return Trace(
            tuple(position.rename(mapping) for position in self.stem),
            tuple(position.rename(mapping) for position in self.period),
        )

    def in_order(self, symbols: Sequence[str] = ()) -> Trace:
        """Return the trace with sorted literals, and conjunctions as `& a & b c`.

        Solvers write `& & a b c`. A model writes from left to right. For `& & a b c` it must know
        the number of literals in advance. For `& a & b c` it only has to know whether another
        literal follows.

        symbols: the literals of a position are sorted by the place of their symbol in this list.
            Literals of other symbols follow, in the order in which they were.
        """
        place = _places(symbols)

        def nested(position: Formula) -> Formula:
            operands = operands_of("&", position)
            *others, last = sorted(operands, key=lambda each: min(map(place, each.symbols or [""])))
            return reduce(lambda right, left: left & right, reversed(others), last)

        return Trace(tuple(map(nested, self.stem)), tuple(map(nested, self.period)))

    def __str__(self) -> str:
        return self.infix

    @property
    def prefix(self) -> str:
        """Return the trace in prefix notation: `& a ! b ; 1 ; { | c d ; ! a }`."""
        return self._written(lambda position: position.prefix, " ; ", "{ ", " }")

    @property
    def infix(self) -> str:
        """Return the trace in infix notation: `a & !b ; 1 ; {c | d ; !a}`."""
        return self._written(propositional().write, " ; ", "{", "}")

    @property
    def spot(self) -> str:
        """Return the trace in Spot's notation: `a & !b; 1; cycle{c | d; !a}`."""
        return self._written(propositional().write, "; ", "cycle{", "}")

    def _written(self, write: Callable[[Formula], str], between: str, begin: str, end: str) -> str:
        period = begin + between.join(map(write, self.period)) + end
        return between.join([*map(write, self.stem), period])

    def table(self) -> str:
        """Return a table: a row per proposition, a column per position, the period between bars.

        `1` is true, `0` is false, `.` is either value. `?` marks a position that is not a
        conjunction of literals; its formula is written below the table.
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
        """Parse infix or Spot's notation. Raises FormatError with line and column."""
        return _read_trace(text, "infix")

    @staticmethod
    def read_prefix(text: str) -> Trace:
        """Parse prefix notation. Raises FormatError with line and column."""
        return _read_trace(text, "prefix")

    @staticmethod
    def read_either(text: str) -> Trace:
        """Parse infix, Spot's or prefix notation.

        If no parser accepts the text, the FormatError names the place at which the most successful
        parser stopped.
        """
        trace = _split_trace(text, "infix") or _split_trace(text, "prefix")
        return trace if trace is not None else read_either(_read_trace, text)


_NO_PERIOD = "a trace ends with its period in braces, as in `a ; {b ; !a}`; the period is missing"


def literals_of(position: Formula) -> dict[str, str] | None:
    """Return the value (`1` or `0`) of each symbol in a conjunction of literals.

    The formula `1` is the empty conjunction. Returns None for any other formula, and for a
    contradictory conjunction.
    """
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


def _read_trace(text: str, notation: str) -> Trace:
    trace = _split_trace(text, notation)
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


def _split_trace(text: str, notation: str) -> Trace | None:
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
        return "the period is empty; in `{1}`, any letter may occur at each position"
    return None


def _build_trace(meaning: str, values: Sequence[Any]) -> Any:
    match meaning:
        case "nothing":
            return []
        case "one":
            return [values[0]]
        case "more":
            values[0].append(values[1])
            return values[0]
        case "only":  # may follow Spot's word `cycle`
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
    """Return the language of traces (cached)."""
    return Language("trace", _build_trace)
