"""Sets of clauses, as formulas and as DIMACS text (`.cnf` files, `s` and `v` lines of solvers).

A clause is a list of literals as in SAT solvers: variable number `v` (from 1) or its negation `-v`.
Chains of `&` and `|` associate to the left, as in infix notation: `[[1, -2], [3], [2, 3]]` is the
formula `(a | !b) & c & (b | c)`.

If a header does not match the contents of its file, the DIMACS reader refuses the file, because it
was truncated or edited. The reader accepts comments anywhere, a clause over several lines, several
clauses in a line, empty clauses, and the `%` that ends SATLIB's files.

Source: SAT Competition, *Input and output format*; DIMACS, *Satisfiability: suggested format*.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from textwrap import wrap

from logicgen.errors import LogicgenError
from logicgen.syntax.formula import Formula

Clause = list[int]


def formula_of(clauses: Iterable[Sequence[int]], name: Callable[[int], str]) -> Formula:
    """Return a set of clauses as a formula. `name` returns the symbol of a variable.

    An empty clause is `0`; an empty set of clauses is `1`.
    """

    def literal(number: int) -> Formula:
        symbol = Formula(name(abs(number)))
        return ~symbol if number < 0 else symbol

    def chain(token: str, parts: list[Formula]) -> Formula:
        return reduce(lambda left, right: Formula(token, (left, right)), parts)

    disjunctions = [
        chain("|", [literal(number) for number in clause]) if clause else Formula("0")
        for clause in clauses
    ]
    return chain("&", disjunctions) if disjunctions else Formula("1")


def clauses_of(formula: Formula, number: Callable[[str], int]) -> list[Clause]:
    """Return the clauses of a formula. `number` returns the variable of a symbol.

    Raises LogicgenError if the formula is not in conjunctive normal form.
    """

    def literal(node: Formula) -> int:
        atom = node.operands[0] if node.token == "!" else node
        if not atom.is_symbol:
            raise LogicgenError(f"not a conjunction of clauses: {atom.token} is not a literal")
        return number(atom.token) * (-1 if node.token == "!" else 1)

    if formula.token == "1":
        return []
    return [
        [] if part.token == "0" else [literal(node) for node in operands_of("|", part)]
        for part in operands_of("&", formula)
    ]


def operands_of(token: str, formula: Formula) -> list[Formula]:
    """Return the operands of a chain of one operator from left to right, however it is nested."""
    parts: list[Formula] = []
    todo = [formula]
    while todo:
        node = todo.pop()
        if node.token == token:
            todo.extend(reversed(node.operands))
        else:
            parts.append(node)
    return parts


SUFFIX = ".cnf"
DIGITS = 18  # the most digits of a number, with its sign; no solver takes longer numbers
_FIRST = "a line 'p cnf VARIABLES CLAUSES' comes first"


@dataclass(frozen=True)
class CNF:
    """A set of clauses over the variables 1 to `variables`."""

    variables: int
    clauses: list[Clause]


def read_cnf(text: bytes, where: str) -> CNF:
    """Return the clauses of the text of file `where`. Raises LogicgenError with file and line."""
    variables = announced = -1
    clauses: list[Clause] = []
    clause: Clause = []
    lines = text.removeprefix(BOM_UTF8).splitlines()
    for number, line in enumerate(lines, start=1):
        if line[:1] == b"c" or not line.strip():
            continue
        if line[:1] == b"%":
            break
        if line[:1] == b"p":
            if variables >= 0:
                raise _wrong(where, number, "a second header; a file holds one problem")
            variables, announced = _header(line, where, number)
            continue
        if variables < 0:
            raise _wrong(where, number, f"a clause before the header; {_FIRST}")
        for literal in _literals(line, variables, where, number):
            if literal:
                clause.append(literal)
            else:
                clauses.append(clause)
                clause = []
    if variables < 0:
        raise LogicgenError(f"{where}: no header; {_FIRST}")
    if clause:
        raise _wrong(where, len(lines), "the file ends inside a clause; a clause ends with 0")
    if len(clauses) != announced:
        raise LogicgenError(
            f"{where}: the header announces {announced} clauses, but there are {len(clauses)}; "
            "restore the file or correct the header"
        )
    return CNF(variables, clauses)


def _literals(line: bytes, variables: int, where: str, number: int) -> list[int]:
    """Return the literals and zeros of a line. Raises LogicgenError for any other word."""
    literals = _integers(line)
    if literals is None:
        wrong = next(word for word in line.split() if _integers(word) is None)
        large = len(wrong) > DIGITS and wrong.removeprefix(b"-").isdigit()
        what = f"has more than {DIGITS} digits" if large else "is not a whole number"
        raise _wrong(where, number, f"{_shown(wrong)} {what}")
    if max(literals) > variables or -min(literals) > variables:
        wide = next(literal for literal in literals if abs(literal) > variables)
        raise _wrong(
            where, number, f"literal {wide}, but the header announces {variables} variables"
        )
    return literals


def _wrong(where: str, number: int, reason: str) -> LogicgenError:
    return LogicgenError(f"{where}, line {number}: {reason}")


def _header(line: bytes, where: str, number: int) -> tuple[int, int]:
    words = line.split()
    numbers = _integers(b" ".join(words[2:]))
    if words[:2] != [b"p", b"cnf"] or numbers is None or len(numbers) != 2 or min(numbers) < 0:
        raise _wrong(
            where, number, f"{_shown(line.strip())} is not a header 'p cnf VARIABLES CLAUSES'"
        )
    return numbers[0], numbers[1]


def _integers(line: bytes) -> list[int] | None:
    words = line.split()
    # Python's int() also accepts underscores, and texts of thousands of digits.
    if b"_" in line or max(map(len, words), default=0) > DIGITS:
        return None
    try:
        return list(map(int, words))
    except ValueError:
        return None


def _shown(word: bytes) -> str:
    return repr(word[:40].decode("ascii", "backslashreplace"))


def write_cnf(cnf: CNF, comments: Iterable[str] = ()) -> str:
    """Return a set of clauses as DIMACS text that begins with the comments."""
    lines = [f"c {comment}" for comment in comments]
    lines.append(f"p cnf {cnf.variables} {len(cnf.clauses)}")
    lines += [" ".join(map(str, [*clause, 0])) for clause in cnf.clauses]
    return "\n".join(lines) + "\n"


def read_model(text: bytes, where: str) -> list[int]:
    """Return the literals of a solver's output (`v` lines or numbers). Raises LogicgenError."""
    literals: list[int] = []
    for number, line in enumerate(text.removeprefix(BOM_UTF8).splitlines(), start=1):
        words = line.split()
        if not words or words[0] == b"c" or words == [b"s", b"SATISFIABLE"]:
            continue
        if words[0] == b"s":
            raise _wrong(where, number, f"{_shown(line)}, so there is no answer to check")
        values = _integers(line.removeprefix(b"v"))
        if values is None:
            reason = f"{_shown(line)} is no line of literals; expected v 1 -2 3 0"
            raise _wrong(where, number, reason)
        literals += values
    if not literals or literals[-1] or 0 in literals[:-1]:
        raise LogicgenError(f"{where}: an answer is a list of literals with one 0, at its end")
    return literals[:-1]


def write_model(literals: Sequence[int] | None) -> str:
    """Return the `s` and `v` lines of a model; for None, only the line `s UNSATISFIABLE`."""
    if literals is None:
        return "s UNSATISFIABLE\n"
    values = " ".join(map(str, [*literals, 0]))
    lines = wrap(values, 76, break_on_hyphens=False, break_long_words=False)
    return "".join(f"{line}\n" for line in ["s SATISFIABLE", *(f"v {line}" for line in lines)])


def satisfies(literals: Sequence[int], clauses: Iterable[Clause]) -> bool:
    """Return whether every assignment with these literals makes every clause true."""
    true = set(literals)
    return all(
        not true.isdisjoint(clause) or not {*clause}.isdisjoint(-literal for literal in clause)
        for clause in clauses
    )
