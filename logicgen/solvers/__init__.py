"""Solver plugins that find answers and check them. All of them implement one small protocol."""

from __future__ import annotations

from logicgen.solvers.registry import PluginFacts, load_solver, solver_facts, solver_plugins
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
