"""Evaluate LTL formulas on many lassos at once.

A lasso is a word of `positions` letters; after the last letter, it continues with letter number
`loop`. All lassos of a call have the same two numbers. An integer contains the truth values of one
subformula at one position, with one bit for each lasso.

`evaluate` returns truth values on lassos. `evaluate_known` takes a trace in which only some symbols
have known values. It returns the truth values that are certain (Kleene's three-valued logic).
"""

from __future__ import annotations

from functools import cache
from random import Random

from logicgen.solvers.ltl_graph import AND, NEXT, SYMBOL, UNTIL, Graph
from logicgen.solvers.truth_table import table_columns

# The number of lassos in a random sample. In a larger sample, more formulas have a lasso that
# satisfies them. In a smaller sample, an operation on the integers is faster.
LANES = 1024
_BITS = LANES.bit_length() - 1

Columns = list[list[int]]
"""By symbol, then position: the lassos in which the symbol is true at the position."""

Values = list[list[int] | None]
"""By edge, then position: the lassos in which the formula holds; None until they are computed."""


@cache
def all_or_some(symbols: int, positions: int) -> tuple[Columns, int]:
    """Return the letters of all lassos, or of LANES random lassos if there are more.

    The result is the letters as columns, and the integer in which the bit of every lasso is 1. In
    the first lasso all symbols are true. The random lassos are the same on every machine.
    """
    bits = symbols * positions
    if exhaustive(symbols, positions):
        columns, full = table_columns(bits)
    else:
        full = (1 << LANES) - 1
        rng = Random(f"{symbols} symbols, {positions} positions")
        columns = [rng.getrandbits(LANES) | 1 for _ in range(bits)]
    return by_position(columns, symbols, positions), full


def by_position(columns: list[int], symbols: int, positions: int) -> Columns:
    """Group columns, which are ordered by position and then by symbol, by symbol and position."""
    return [[columns[p * symbols + s] for p in range(positions)] for s in range(symbols)]


def spread(columns: Columns, graph: Graph, nodes: list[int]) -> Columns:
    """Give the columns of the symbols among the nodes to these symbols of the graph."""
    used = of_symbols(graph, nodes)
    if len(used) == len(graph.symbols):
        return columns
    found: Columns = [[]] * len(graph.symbols)
    for symbol, column in zip(used, columns, strict=True):
        found[symbol] = column
    return found


def of_symbols(graph: Graph, nodes: list[int]) -> list[int]:
    """Return the numbers of the symbols among the nodes of a graph."""
    return [graph.left[node] for node in nodes if graph.kind[node] == SYMBOL]


def exhaustive(symbols: int, positions: int) -> bool:
    """Return whether `all_or_some` returns all lassos."""
    return symbols * positions <= _BITS


def evaluate(
    graph: Graph, nodes: list[int], columns: Columns, positions: int, loop: int, full: int
) -> Values:
    """Return the truth values of the nodes of a graph on lassos.

    nodes: the numbers of the nodes, operands before operators.
    columns: the letters of the lassos. Symbols that are not among the nodes may have any values.
    full: the integer in which the bit of every lasso is 1.
    """
    kind, left, right = graph.kind, graph.left, graph.right
    values: Values = [None] * (2 * len(kind))
    values[0] = [full] * positions
    backwards = range(positions - 1, -1, -1)
    round_the_period = range(positions - 1, loop - 1, -1)
    for node in nodes:
        what = kind[node]
        if what == SYMBOL:
            values[2 * node] = columns[left[node]]
            continue
        a = values[left[node]] or _negated(values, left[node], full)
        if what == NEXT:
            values[2 * node] = [*a[1:], a[loop]]
            continue
        b = values[right[node]] or _negated(values, right[node], full)
        if what == AND:
            values[2 * node] = [x & y for x, y in zip(a, b, strict=True)]
        elif what == UNTIL:
            held = 0
            for i in round_the_period:
                held = b[i] | a[i] & held
            result = [0] * positions
            for i in backwards:
                held = result[i] = b[i] | a[i] & held
            values[2 * node] = result
        else:
            values[2 * node] = [x ^ y for x, y in zip(a, b, strict=True)]
    return values


def _negated(values: Values, edge: int, full: int) -> list[int]:
    positive = values[edge ^ 1]
    assert positive is not None
    negative = values[edge] = [x ^ full for x in positive]
    return negative


def holds(values: Values, edge: int, full: int) -> int:
    """Return the lassos (as bits) that satisfy the formula of an edge at their first position."""
    found = values[edge]
    if found is None:
        found = _negated(values, edge, full)
    return found[0]


def evaluate_known(
    graph: Graph,
    nodes: list[int],
    known: list[tuple[list[int], list[int]]],
    positions: int,
    loop: int,
) -> list[list[int]]:
    """Return, by edge and position, 1 if the edge's formula is found to be certainly true, else 0.

    known: two lists for each symbol. The entry of a position is 1 if the symbol is known to be true
        (first list) or false (second list), else 0. An unknown value may change at each visit.

    Operators are evaluated one at a time, so some certain values are not found.
    """
    kind, left, right = graph.kind, graph.left, graph.right
    certain: list[list[int]] = [[]] * (2 * len(kind))
    certain[0], certain[1] = [1] * positions, [0] * positions
    backwards = range(positions - 1, -1, -1)
    round_the_period = range(positions - 1, loop - 1, -1)
    for node in nodes:
        what, a, b, edge = kind[node], left[node], right[node], 2 * node
        if what == SYMBOL:
            certain[edge], certain[edge + 1] = known[a]
            continue
        yes_a, no_a = certain[a], certain[a ^ 1]
        if what == NEXT:
            certain[edge] = [*yes_a[1:], yes_a[loop]]
            certain[edge + 1] = [*no_a[1:], no_a[loop]]
            continue
        yes_b, no_b = certain[b], certain[b ^ 1]
        if what == AND:
            certain[edge] = [x & y for x, y in zip(yes_a, yes_b, strict=True)]
            certain[edge + 1] = [x | y for x, y in zip(no_a, no_b, strict=True)]
        elif what == UNTIL:
            held, refused = 0, 1
            for i in round_the_period:
                held = yes_b[i] | yes_a[i] & held
                refused = no_b[i] & (no_a[i] | refused)
            yes, no = [0] * positions, [0] * positions
            for i in backwards:
                held = yes[i] = yes_b[i] | yes_a[i] & held
                refused = no[i] = no_b[i] & (no_a[i] | refused)
            certain[edge], certain[edge + 1] = yes, no
        else:
            both = list(zip(yes_a, no_a, yes_b, no_b, strict=True))
            certain[edge] = [ya & nb | na & yb for ya, na, yb, nb in both]
            certain[edge + 1] = [ya & yb | na & nb for ya, na, yb, nb in both]
    return certain
