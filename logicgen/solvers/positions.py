"""The fewest positions of a lasso that satisfies an LTL formula.

A lasso is a word that repeats its last letters (the period) for ever. A lasso with n positions also
has n + 1 positions: write the first letter of the period once more before it. So if no lasso of n
positions satisfies a formula, no shorter lasso does. The search therefore goes down from a known
number of positions, and stops at the first number without a lasso.
"""

from __future__ import annotations

from logicgen.solvers.bounded import has_word
from logicgen.solvers.lassos import by_position, evaluate, holds, of_symbols, spread
from logicgen.solvers.ltl_graph import TRUE, Graph
from logicgen.solvers.sat_engine import Effort, EffortError
from logicgen.solvers.truth_table import table_columns
from logicgen.syntax.formula import Formula

# If symbols times positions is at most this number, all lassos are evaluated at once. Beyond it, a
# SAT solver is faster.
MOST_BITS = 14


def least_positions(problem: Formula, known: int, effort: int | None = None) -> int | None:
    """Return the fewest positions of a lasso that satisfies a formula, at most `known`.

    Returns None if the effort (see `Effort`) is spent.

    known: the number of positions of a lasso that satisfies the formula.
    """
    if known == 1:
        return 1
    graph = Graph()
    root = graph.add(problem)
    if root == TRUE:
        return 1
    nodes, limit = graph.reachable(root), Effort.of(effort)
    try:
        while known > 1 and _has_lasso(graph, nodes, root, known - 1, limit):
            known -= 1
    except EffortError:
        return None
    return known


def _has_lasso(
    graph: Graph, nodes: list[int], root: int, positions: int, effort: Effort | None
) -> bool:
    """Return whether a lasso with this number of positions satisfies the formula of edge `root`."""
    used = of_symbols(graph, nodes)
    periods = range(1, positions + 1)
    if len(used) * positions > MOST_BITS:
        return any(has_word(graph, root, positions, period, effort) for period in periods)
    rows, full = table_columns(len(used) * positions)
    columns = spread(by_position(rows, len(used), positions), graph, nodes)
    for period in periods:
        values = evaluate(graph, nodes, columns, positions, positions - period, full)
        if holds(values, root, full):
            return True
    return False
