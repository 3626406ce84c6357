"""Solver plugins behind one small protocol: they find answers and judge them."""

from __future__ import annotations

from functools import cache

from logicgen.errors import LogicgenError, nearest
from logicgen.extras import is_own
from logicgen.solvers.registry import PluginFacts, facts_of, in_words, solver_plugins
from logicgen.solvers.solver import UNSAT, Solution, Solver, Status, Verdict

__all__ = [
    "UNSAT",
    "PluginFacts",
    "Solution",
    "Solver",
    "Status",
    "Verdict",
    "load_solver",
    "solver_facts",
    "solver_plugins",
]

JUDGE = {"propositional": "pysat", "ltl": "embedded"}
"""Who checks the witnesses of other packages' solvers, by logic."""


@cache
def solver_facts(name: str) -> PluginFacts:
    """Return what a registered plugin says of itself, or why it is broken."""
    point = solver_plugins()[name]
    if is_own(point):
        return facts_of(point.load)
    from logicgen.solvers.separate import foreign_facts

    return foreign_facts(name)


@cache
def load_solver(
    name: str, logic: str, effort: int | None = None, seconds: float | None = None
) -> Solver:
    """Return the solver plugin, made once; raise LogicgenError if unknown, missing or unfit.

    effort, seconds: where to give up, for a solver that counts its steps, and for one that may not
    end and does not (`Solver.limit`).
    """
    plugins = solver_plugins()
    if name not in plugins:
        raise LogicgenError(f"no solver is called {name!r}: {nearest(name, list(plugins))}")
    facts = solver_facts(name)
    if facts.broken:
        raise LogicgenError(
            f"solver {name} cannot be loaded ({facts.broken}); see logicgen list environment"
            " for how to get it, or remove the package that registers it"
        )
    if facts.missing:
        raise LogicgenError(f"solver {name} is not available here: {facts.missing}")
    if facts.logic != logic:
        raise LogicgenError(f"solver {name} decides {facts.logic} problems, not {logic} ones")
    own = is_own(plugins[name])
    if not own or (facts.limit == "seconds" and seconds is not None):
        from logicgen.solvers.separate import SeparateSolver

        judge = None if own else load_solver(JUDGE[logic], logic)
        return SeparateSolver(name, logic, judge, seconds)
    try:
        plugin = plugins[name].load()
        counted = facts.limit == "effort" and effort is not None
        solver: Solver = plugin(effort=effort) if counted else plugin()
    except Exception as error:
        raise LogicgenError(f"solver {name} cannot be made: {in_words(error)}") from error
    return solver
