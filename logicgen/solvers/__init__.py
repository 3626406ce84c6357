"""Solver plugins behind one small protocol: they find answers and judge them."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

from logicgen.errors import LogicgenError, nearest
from logicgen.solvers.solver import UNSAT, Solution, Solver, Status, Verdict

__all__ = ["UNSAT", "Solution", "Solver", "Status", "Verdict", "load_solver", "solver_plugins"]

GROUP = "logicgen.solvers"


@cache
def solver_plugins() -> dict[str, EntryPoint]:
    """Return every registered solver plugin by name; nothing is imported yet."""
    return {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda p: p.name)}


@cache
def load_solver(name: str, logic: str) -> Solver:
    """Return the solver plugin, made once; raise LogicgenError if unknown, missing or unfit."""
    plugins = solver_plugins()
    if name not in plugins:
        raise LogicgenError(f"no solver is called {name!r}: {nearest(name, list(plugins))}")
    try:
        plugin = plugins[name].load()
    except ImportError as error:
        raise LogicgenError(
            f"solver {name} cannot be loaded ({error}); see logicgen doctor for how to get it"
        ) from error
    missing = plugin.missing()
    if missing:
        raise LogicgenError(f"solver {name} is not available here: {missing}")
    if plugin.logic != logic:
        raise LogicgenError(f"solver {name} decides {plugin.logic} problems, not {logic} ones")
    solver: Solver = plugin()
    return solver
