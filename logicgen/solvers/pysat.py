"""Propositional problems, solved by a SAT solver of PySAT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from logicgen.errors import LogicgenError
from logicgen.solvers.sat_engine import STRONG_ENGINE, Effort, EffortError, SatEngine, first_model
from logicgen.solvers.solver import UNSAT, Solution, Solver, Status, Verdict
from logicgen.syntax.answers import Assignment
from logicgen.syntax.formula import Formula


class PySATSolver(Solver):
    """A solver that translates formulas to clauses and calls a SAT solver.

    It returns the same witness as `TruthTableSolver`.

    effort: the number of steps (see `Effort`) after which the solver gives up and returns
    `unknown`. None means no limit.
    """

    name: ClassVar[str] = "pysat"
    logic: ClassVar[str] = "propositional"
    about: ClassVar[str] = "the SAT solver MiniSat 2.2 through PySAT, any number of symbols"
    limit: ClassVar = "effort"

    def __init__(self, effort: int | None = None) -> None:
        self.effort = effort

    def solve(self, problem: Formula) -> Solution:
        """Return the canonical witness or `unsat`; `unknown` if the effort is spent."""
        try:
            return self._solution(problem, Effort.of(self.effort))
        except EffortError as error:
            return Solution(Status.UNKNOWN, reason=str(error))

    def _solution(self, problem: Formula, effort: Effort | None) -> Solution:
        symbols, root, clauses = tseitin_encoding(problem)
        with SatEngine(clauses, effort=effort) as engine:
            before = list(range(1, len(symbols) + 1))
            # The first candidate makes all symbols true. Search only if this candidate does not
            # satisfy the formula.
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
        """Return `correct` if the formula is true for all values of the symbols without a value.

        Returns `unknown` if the effort is spent.
        """
        if answer.is_contradictory:
            return Verdict.INVALID
        _, clauses, assumed = _falsifying(problem, answer)
        with SatEngine(clauses, effort=Effort.of(self.effort)) as engine:
            try:
                return Verdict.INCORRECT if engine.solve(assumed) else Verdict.CORRECT
            except EffortError:
                return Verdict.UNKNOWN

    def counterexample(self, problem: Formula, answer: Assignment) -> Assignment | None:
        """Return the first assignment that agrees with the answer and falsifies the formula.

        It gives a value to each symbol of the formula; true comes before false. Returns None if
        there is no such assignment, or if the effort is spent.
        """
        symbols, clauses, assumed = _falsifying(problem, answer)
        with SatEngine(clauses, effort=Effort.of(self.effort)) as engine:
            try:
                found = first_model(engine, len(symbols), assumed)
            except EffortError:
                return None
        if found is None:
            return None
        return Assignment(tuple((symbols[abs(i) - 1], i > 0) for i in found))


def _falsifying(
    problem: Formula, answer: Assignment
) -> tuple[tuple[str, ...], list[list[int]], list[int]]:
    """Return a SAT problem: symbols, clauses and assumed literals.

    Its models are the assignments that agree with the answer and falsify the formula.
    """
    symbols, root, clauses = tseitin_encoding(problem)
    variable = {name: i for i, name in enumerate(symbols, start=1)}
    assumed = [-root]
    for name, value in answer.literals:
        if name in variable:  # other symbols do not affect the formula
            assumed.append(variable[name] if value else -variable[name])
    return symbols, clauses, assumed


def solve_clauses(clauses: Sequence[Sequence[int]]) -> list[int] | None:
    """Return a model of a set of clauses, or None if the set is unsatisfiable.

    It is the first model that the engine finds, with a literal for every variable that occurs.
    """
    variables = sorted({abs(literal) for clause in clauses for literal in clause})
    if not all(clauses):  # an empty clause is false; some engines ignore it
        return None
    # Engines allocate memory up to the highest number, so the variables are numbered anew.
    dense = {variable: i for i, variable in enumerate(variables, start=1)}
    dense |= {-variable: -i for variable, i in dense.items()}
    with SatEngine([[dense[n] for n in clause] for clause in clauses], STRONG_ENGINE) as engine:
        if not engine.solve():
            return None
        true = set(engine.get_model())
    return [variable if dense[variable] in true else -variable for variable in variables]


# Operators are expressed by `&` and `^`; for example, `a | b` is `!(!a & !b)`. For `&`, the numbers
# are the signs (-1: negated) of the result and of both operands; for `^`, the sign of the result.
_CONJUNCTIONS = {"&": (1, 1, 1), "|": (-1, -1, -1), "->": (-1, 1, -1)}
_EXCLUSIVE = {"^": 1, "<->": -1}


def tseitin_encoding(formula: Formula) -> tuple[tuple[str, ...], int, list[list[int]]]:
    """Return the Tseitin encoding of a formula: symbols, root literal, clauses.

    Symbol number i (from 0, by first occurrence) is variable i + 1. In each model of the clauses,
    the root literal has the value of the formula. Raises LogicgenError for an operator or constant
    of another logic.
    """
    symbols = formula.symbols
    literal = {Formula(name): i for i, name in enumerate(symbols, start=1)}
    last = len(symbols)
    clauses: list[list[int]] = []
    todo = [formula]
    # `fold` would number left operands first. The steps of a search depend on these numbers.
    while todo:
        node = todo[-1]
        operands = node.operands
        missing = [operand for operand in operands if operand not in literal]
        if missing:
            todo.extend(missing)
            continue
        todo.pop()
        if node in literal:
            continue
        if node.token == "!":
            literal[node] = -literal[operands[0]]
        else:
            last += 1
            literal[node] = _define(last, node.token, [literal[o] for o in operands], clauses)
    return symbols, literal[formula], clauses


def _define(variable: int, token: str, operands: list[int], clauses: list[list[int]]) -> int:
    """Add clauses that define a variable by an operator or a constant.

    operands: the literals of the operands. Returns the literal with the value of the operator or
    constant: the variable or its negation.
    """
    if token in _CONJUNCTIONS:
        sign, first, second = _CONJUNCTIONS[token]
        a, b = first * operands[0], second * operands[1]
        clauses += [-variable, a], [-variable, b], [variable, -a, -b]
        return sign * variable
    if token in _EXCLUSIVE:
        a, b = operands
        clauses += [-variable, a, b], [-variable, -a, -b], [variable, -a, b], [variable, a, -b]
        return _EXCLUSIVE[token] * variable
    if token in ("0", "1"):
        clauses.append([variable])
        return variable if token == "1" else -variable
    what = "an operator" if operands else "a constant"
    raise LogicgenError(f"{token} is not {what} of propositional logic")
