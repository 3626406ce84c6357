"""Propositional problems by truth table: exact, without dependencies, independent of SAT solvers.

A table over n symbols is one Python integer of 2**n bits, one for each row (total assignment). An
operator is one operation on integers.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, product
from random import Random
from typing import ClassVar

from logicgen.errors import LogicgenError
from logicgen.solvers.solver import UNSAT, Solution, Solver, Verdict
from logicgen.syntax.answers import Assignment
from logicgen.syntax.formula import Formula

MOST_SYMBOLS = 20

# The share of satisfying assignments is computed for formulas with at most this number of symbols.
MOST_COUNTED = 24

# A table over this number of symbols fits into the cache of a processor.
SMALL_TABLE = 16


class TruthTableSolver(Solver):
    """A solver of propositional formulas by truth tables.

    Its witness is defined as follows. Take the first total model in lexicographic order: symbols in
    order of first occurrence, true before false. Then drop each literal, last one first, if the
    formula is then still true for all values of the symbols without a literal. The result is a
    prime implicant: no further literal can be dropped. All solvers that follow this
    definition give the same witness.
    """

    name: ClassVar[str] = "truth-table"
    logic: ClassVar[str] = "propositional"
    about: ClassVar[str] = f"truth tables as big integers, up to {MOST_SYMBOLS} symbols"
    limit: ClassVar = "nothing"

    def solve(self, problem: Formula) -> Solution:
        """Return the canonical witness, or unsat. Raises LogicgenError above 20 symbols."""
        found = minimal_assignment(problem)
        return UNSAT if found is None else Solution.sat(found)

    def check(self, problem: Formula, answer: Assignment) -> Verdict:
        """Return `correct` if the formula is true for all values of the symbols without a value."""
        if answer.is_contradictory:
            return Verdict.INVALID
        return Verdict.INCORRECT if _falsifying(problem, answer) else Verdict.CORRECT

    def counterexample(self, problem: Formula, answer: Assignment) -> Assignment | None:
        """Return the first assignment that agrees with the answer and falsifies the formula.

        It gives a value to each symbol of the formula; true comes before false. Returns None if
        there is no such assignment.
        """
        found = _falsifying(problem, answer)
        if not found:
            return None
        symbols = problem.symbols
        columns, _ = table_columns(len(symbols))
        row = (found & -found).bit_length() - 1
        values = (bool(column >> row & 1) for column in columns)
        return Assignment(tuple(zip(symbols, values, strict=True)))


def minimal_assignment(problem: Formula, rng: Random | None = None) -> Assignment | None:
    """Return a minimal right assignment; None if the formula is unsatisfiable.

    Minimal: no literal can be dropped. The default is the canonical assignment. With `rng`, it
    comes from a random model (all are equally probable). Raises LogicgenError above 20 symbols.
    """
    symbols = problem.symbols
    columns, full, table = _tables(problem)
    if not table:
        return None
    # The rows (bits) are in lexicographic order of their assignments, true before false. So the
    # lowest bit is the first model.
    row = (table & -table).bit_length() - 1 if rng is None else rng.choice(_rows(table))
    wrong = full ^ table
    literals = [column if column >> row & 1 else full ^ column for column in columns]
    # covers[i]: the rows that agree with the literals before place i.
    covers = [full]
    for literal in literals:
        covers.append(covers[-1] & literal)
    kept = full
    values: list[tuple[str, bool]] = []
    for i in range(len(symbols) - 1, -1, -1):
        if covers[i] & kept & wrong:
            kept &= literals[i]
            values.append((symbols[i], literals[i] == columns[i]))
    return Assignment(tuple(reversed(values)))


def satisfying_share(problem: Formula) -> float | None:
    """Return the share of the total assignments that satisfy a formula, as an exact number.

    The assignments give a value to each symbol of the formula. Returns None if there are more than
    `MOST_COUNTED` symbols.
    """
    symbols = problem.symbols
    if len(symbols) > MOST_COUNTED:
        return None
    inside = symbols[:SMALL_TABLE]  # a table for each choice of values for the other symbols
    columns, full = table_columns(len(inside))
    column, models = dict(zip(inside, columns, strict=True)), 0
    for values in product((0, full), repeat=len(symbols) - len(inside)):
        column.update(zip(symbols[SMALL_TABLE:], values, strict=True))
        models += truth_table(problem, column, full).bit_count()
    return models / (1 << len(symbols))


def fewest_literals(problem: Formula) -> Assignment | None:
    """Return the right assignment with the fewest literals; None if the formula is unsatisfiable.

    Assignments of equal size are ordered by their symbols (in order of first occurrence), then by
    their values (true before false). Raises LogicgenError above 20 symbols. This function is slow
    above a dozen symbols.
    """
    symbols = problem.symbols
    columns, _, table = _tables(problem)
    if not table:
        return None
    places = range(len(symbols))
    for chosen in (each for size in range(len(symbols) + 1) for each in combinations(places, size)):
        right = table  # rows that satisfy the formula for all values of the omitted symbols
        for i in set(places).difference(chosen):
            run = 1 << (len(symbols) - 1 - i)  # distance of two rows that differ only in symbol i
            both = right & right >> run & columns[i]
            right = both | both << run
        if right:
            row = (right & -right).bit_length() - 1
            return Assignment(tuple((symbols[i], bool(columns[i] >> row & 1)) for i in chosen))
    raise AssertionError("a satisfiable formula has a total model")


def determined(problem: Formula, answer: Assignment) -> dict[Formula, bool | None]:
    """Return the truth value of each subformula under an assignment.

    The value is None if it depends on symbols that the assignment omits. Raises LogicgenError if
    the assignment is contradictory, or omits more than 20 symbols of the formula.
    """
    if answer.is_contradictory:
        raise LogicgenError("a contradictory assignment has no completions")
    given = dict(answer.literals)
    free = [name for name in problem.symbols if name not in given]
    columns, full = table_columns(len(free))
    column = {name: full if value else 0 for name, value in given.items()}
    column |= dict(zip(free, columns, strict=True))
    found: dict[Formula, bool | None] = {}

    def table(node: Formula, operands: list[int]) -> int:
        if operands:  # apply only the operator: the tables of its operands are known
            places = tuple(map(Formula, "ab"[: len(operands)]))
            rows = truth_table(
                Formula(node.token, places), dict(zip("ab", operands, strict=False)), full
            )
        else:
            rows = truth_table(node, column, full)
        found[node] = True if rows == full else None if rows else False
        return rows

    problem.fold(table)
    return found


def _tables(problem: Formula) -> tuple[list[int], int, int]:
    """Return the columns of the symbols, the set of all rows, and the set of the models."""
    columns, full = table_columns(len(problem.symbols))
    column = dict(zip(problem.symbols, columns, strict=True))
    return columns, full, truth_table(problem, column, full)


def _rows(table: int) -> list[int]:
    """Return the numbers of the rows in a table, in time proportional to its size."""
    return [row for row, bit in enumerate(reversed(f"{table:b}")) if bit == "1"]


def _falsifying(problem: Formula, answer: Assignment) -> int:
    """Return the rows that agree with an answer and falsify a formula."""
    symbols = problem.symbols
    columns, full = table_columns(len(symbols))
    column = dict(zip(symbols, columns, strict=True))
    cover = full
    for name, value in answer.literals:
        if name in column:  # other symbols do not affect the formula
            cover &= column[name] if value else full ^ column[name]
    return cover & ~truth_table(problem, column, full)


@cache
def table_columns(symbols: int) -> tuple[list[int], int]:
    """Return the rows in which each symbol is true, as bit sets, and the set of all rows.

    Row 0 makes every symbol true; the first symbol changes last. Raises LogicgenError above 20
    symbols.
    """
    if symbols > MOST_SYMBOLS:
        raise LogicgenError(
            f"{symbols} symbols are too many for a truth table (at most {MOST_SYMBOLS}); "
            "use fewer symbols, or the pysat solver, which needs no table"
        )
    rows = 1 << symbols
    full = (1 << rows) - 1
    columns = []
    for i in range(symbols):
        run = 1 << (symbols - 1 - i)  # symbol i is true in `run` rows, then false in `run` rows
        ones = (1 << run) - 1
        columns.append(full // ((1 << (2 * run)) - 1) * ones)
    return columns, full


def truth_table(formula: Formula, column: dict[str, int], full: int) -> int:
    """Return the rows that satisfy a formula, as bits.

    column: for each symbol, the rows in which it is true. full: the set of all rows.
    """
    stack: list[int] = []
    nodes: list[Formula] = []
    todo = [formula]
    while todo:
        node = todo.pop()
        nodes.append(node)
        todo.extend(node.operands)
    # `nodes` holds every operator before its operands, right operands first. Backwards, it is
    # postorder with left operands first.
    for node in reversed(nodes):
        right = stack.pop() if len(node.operands) == 2 else 0
        match node.token:
            case "!":
                stack[-1] ^= full
            case "&":
                stack[-1] &= right
            case "|":
                stack[-1] |= right
            case "^":
                stack[-1] ^= right
            case "<->":
                stack[-1] ^= right ^ full
            case "->":
                stack[-1] = stack[-1] ^ full | right
            case "1":
                stack.append(full)
            case "0":
                stack.append(0)
            case token if not node.operands and token in column:
                stack.append(column[token])
            case token:
                raise LogicgenError(f"{token} is not an operator of propositional logic")
    return stack[0]
