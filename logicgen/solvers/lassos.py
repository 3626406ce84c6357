"""LTL on many lassos at once: one integer per subformula and position, one bit per lasso.

All lassos of a run have the same shape: `positions` letters; after the last letter, the word
continues with letter number `loop`. `evaluate` returns truth values on words. `evaluate_known`
takes one symbolic trace, in which only some values are known. It returns the truth values that are
certain (Kleene's three-valued logic).
"""

from __future__ import annotations

from functools import cache
from random import Random

from logicgen.solvers.ltl_graph import AND, NEXT, SYMBOL, UNTIL, Graph
from logicgen.solvers.truth_table import table_columns

# Many lassos find nearly every formula that many words satisfy. Few lassos keep an operation on
# these integers nearly as fast as on a machine word.
LANES = 1024
_BITS = LANES.bit_length() - 1

Columns = list[list[int]]
"""By symbol, then position: the lassos in which the symbol is true at the position."""

Values = list[list[int] | None]
"""By edge of a graph, then position: the lassos in which the formula holds; None if not needed."""


@cache
def all_or_some(symbols: int, positions: int) -> tuple[Columns, int]:
    """Return the letters of all lassos over the symbols, or of LANES random ones if there are more.

    The result is the columns, and the integer with a bit for each lasso. In the first lasso all
    symbols are true. The random lassos are the same on every machine.
    """
    bits = symbols * positions
    if exhaustive(symbols, positions):
        columns, full = table_columns(bits)
    else:
        full = (1 << LANES) - 1
        rng = Random(f"{symbols} symbols, {positions} positions")
        columns = [rng.getrandbits(LANES) | 1 for _ in range(bits)]
    return [[columns[p * symbols + s] for p in range(positions)] for s in range(symbols)], full


def exhaustive(symbols: int, positions: int) -> bool:
    """Return whether `all_or_some` returns all lassos."""
    return symbols * positions <= _BITS


def evaluate(
    graph: Graph, nodes: list[int], columns: Columns, positions: int, loop: int, full: int
) -> Values:
    """Return the truth values of `nodes` (operands first) on words. `full` has all lassos.

    Columns of symbols that are not among the nodes may have any values.
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
    """Return the lassos (as bits) whose first position satisfies the formula of an edge."""
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
    """Return the truth values that are certain, by edge and position.

    `known` lists, by symbol, the positions where it is known to be true, and to be false (1). An
    unknown symbol may have a different value at each visit. Each operator is evaluated on the
    certain values of its operands alone, so some certain values are not found.
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
