"""Propositional problems by a SAT solver, through PySAT."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar

from pysat.solvers import Solver as SatEngine
from pysolvers import error as NativeError

from logicgen.errors import LogicgenError
from logicgen.solvers.solver import UNSAT, Solution, Solver, Verdict
from logicgen.syntax.assignment import Assignment
from logicgen.syntax.formula import Formula

# The fastest of PySAT's solvers to start and stop, which decides the time of a million formulas.
ENGINE = "minisat22"

# Simplifies clauses while it searches, which pays for one problem of a hundred thousand clauses.
STRONG_ENGINE = "cadical153"


class PySATSolver(Solver):
    """A SAT solver on the Tseitin encoding; its witness is that of `TruthTableSolver`."""

    name: ClassVar[str] = "pysat"
    logic: ClassVar[str] = "propositional"
    about: ClassVar[str] = "the SAT solver MiniSat 2.2 through PySAT, any number of symbols"

    def solve(self, problem: Formula) -> Solution:
        """Return the canonical witness, or unsat."""
        symbols, root, clauses = tseitin_encoding(problem)
        with sat_engine(clauses) as engine:
            before = list(range(1, len(symbols) + 1))
            # All true is the first candidate; the engine is asked only where it fails.
            if not engine.solve([root, *before]):
                found = first_model(engine, len(symbols), [root])
                if found is None:
                    return UNSAT
                before = found
            kept: list[int] = []
            while before:
                literal = before.pop()
                if engine.solve([-root, *before, *kept]):
                    kept.append(literal)
        literals = tuple((symbols[abs(i) - 1], i > 0) for i in reversed(kept))
        return Solution.sat(Assignment(literals))

    def check(self, problem: Formula, answer: Assignment) -> Verdict:
        """Return `correct` if every completion of the assignment satisfies the formula."""
        if answer.is_contradictory:
            return Verdict.INVALID
        symbols, root, clauses = tseitin_encoding(problem)
        variable = {name: i for i, name in enumerate(symbols, start=1)}
        assumed = [-root]
        for name, value in answer.literals:
            if name in variable:  # a symbol that does not occur does no harm
                assumed.append(variable[name] if value else -variable[name])
        with sat_engine(clauses) as engine:
            return Verdict.INCORRECT if engine.solve(assumed) else Verdict.CORRECT


def first_model(engine: SatEngine, count: int, assumed: Sequence[int] = ()) -> list[int] | None:
    """Return the literals of `count` variables in the first model, true before false, or None."""
    fixed = list(assumed)
    if not engine.solve(fixed):
        return None
    model = engine.get_model()
    for variable in range(1, count + 1):
        if variable > len(model) or model[variable - 1] > 0:
            fixed.append(variable)
        elif engine.solve([*fixed, variable]):
            model = engine.get_model()
            fixed.append(variable)
        else:
            fixed.append(-variable)
    return fixed[len(assumed) :]


def clause_solver() -> Callable[[list[list[int]]], list[int] | None]:
    """Return the function that solves a set of clauses, for worker processes."""
    return solve_clauses


def solve_clauses(clauses: Sequence[Sequence[int]]) -> list[int] | None:
    """Return a model of a set of clauses, or None if it is unsatisfiable.

    It has a literal for every variable that occurs, and is the first that the engine finds.
    """
    variables = sorted({abs(literal) for clause in clauses for literal in clause})
    if not all(clauses):  # an empty clause is false, which not every engine notices
        return None
    # Engines allocate up to the highest number, so the numbers are made dense.
    dense = {variable: i for i, variable in enumerate(variables, start=1)}
    dense |= {-variable: -i for variable, i in dense.items()}
    with sat_engine([[dense[n] for n in clause] for clause in clauses], STRONG_ENGINE) as engine:
        if not engine.solve():
            return None
        true = set(engine.get_model())
    return [variable if dense[variable] in true else -variable for variable in variables]


@contextmanager
def sat_engine(clauses: Sequence[Sequence[int]] = (), name: str = ENGINE) -> Iterator[SatEngine]:
    """Yield a SAT engine with these clauses; Ctrl-C in native code is a KeyboardInterrupt again."""
    try:
        with SatEngine(name=name, bootstrap_with=clauses) as engine:
            yield engine
    except NativeError as error:
        raise KeyboardInterrupt from error


def tseitin_encoding(formula: Formula) -> tuple[tuple[str, ...], int, list[list[int]]]:
    """Return the Tseitin encoding of a formula: symbols, root literal, clauses.

    Symbol number i (from 0, by first occurrence) is variable i + 1. The root or its negation can be
    assumed. Raises LogicgenError for an operator or a constant that is not propositional.
    """
    symbols = formula.symbols
    variable = {name: i for i, name in enumerate(symbols, start=1)}
    last = len(symbols)
    clauses: list[list[int]] = []
    literal: dict[Formula, int] = {}
    todo = [formula]
    while todo:
        node = todo[-1]
        if node in literal:
            todo.pop()
            continue
        operands = node.operands
        missing = [operand for operand in operands if operand not in literal]
        if missing:
            todo.extend(missing)
            continue
        todo.pop()
        token = node.token
        if token == "!":
            literal[node] = -literal[operands[0]]
        elif len(operands) == 2:
            a, b = literal[operands[0]], literal[operands[1]]
            last += 1
            gate = last
            if token == "&" or token == "|" or token == "->":
                if token == "|":  # a | b is !(!a & !b), a -> b is !(a & !b)
                    literal[node] = -gate
                    a, b = -a, -b
                elif token == "->":
                    literal[node] = -gate
                    b = -b
                else:
                    literal[node] = gate
                clauses += [-gate, a], [-gate, b], [gate, -a, -b]
            elif token == "^" or token == "<->":
                literal[node] = gate if token == "^" else -gate
                clauses += [-gate, a, b], [-gate, -a, -b], [gate, -a, b], [gate, a, -b]
            else:
                raise LogicgenError(f"{token} is not an operator of propositional logic")
        elif operands:
            raise LogicgenError(f"{token} is not an operator of propositional logic")
        elif token in variable:
            literal[node] = variable[token]
        elif token == "1" or token == "0":
            last += 1
            clauses.append([last])
            literal[node] = last if token == "1" else -last
        else:
            raise LogicgenError(f"{token} is not a constant of propositional logic")
    return symbols, literal[formula], clauses
