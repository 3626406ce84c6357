"""Solvers against each other on fresh random formulas; where they differ, a word decides.

For LTL `embedded` against `storm`, for propositional logic `pysat` against `truth-table`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from random import Random
from typing import Any

from logicgen.processes.pool import Limits
from logicgen.solvers import load_solver
from logicgen.syntax import Assignment, Formula, Trace, ltl, propositional
from logicgen.syntax.sampling import FormulaSampler
from logicgen.tasks.lines import solve_lines, verify_lines
from tests.solvers.lasso_words import holds
from tests.solvers.random_traces import random_formulas, trace_for
from tests.solvers.test_ltl_storm import words

CLAIMS = FormulaSampler(
    propositional(), dict.fromkeys(propositional().arity, 1) | {"symbol": 3}, "tree", 6
)

# Storm refuses a few automata, and takes too long on others.
LIMITS = Limits(5.0)


@dataclass
class Compared:
    """Formulas on which two solvers were compared, and what a word said where they differ."""

    what: str
    seed: int
    formulas: int = 0
    unknown: int = 0
    disagreements: int = 0
    verdicts: dict[str, int] = field(default_factory=dict)
    first_wrong: list[str] = field(default_factory=list)  # the first solver, by a word
    second_wrong: list[str] = field(default_factory=list)  # the second one, likewise
    undecided: list[str] = field(default_factory=list)  # no word says which

    def as_dict(self) -> dict[str, Any]:
        """Return the content as JSON has it."""
        return asdict(self)

    def add(self, shown: str, first: str, second: str, judged: str | None) -> None:
        """Count one answer of each solver; `judged` says which one a word proves right."""
        self.formulas += 1
        self.verdicts[first] = self.verdicts.get(first, 0) + 1
        if "unknown" in (first, second):
            self.unknown += 1
        elif first != second:
            self.disagreements += 1
            line = f"{shown}: {first}, {second}"
            known = {first: self.second_wrong, second: self.first_wrong}
            known.get(str(judged), self.undecided).append(line)


def satisfied_by(formula: Formula, trace: Trace) -> Iterator[bool]:
    """Yield of words of a trace whether each satisfies the formula, by the definition of LTL."""
    return (holds(formula, letters, loop) for letters, loop in words(trace, formula.symbols))


def ltl_satisfiability(count: int, seed: int, workers: int = 1) -> Compared:
    """Compare embedded and Storm on satisfiability; a witness that a word confirms decides."""
    compared = Compared("LTL satisfiability: embedded, storm", seed)
    formulas = random_formulas(Random(seed), count)
    lines = [ltl().write(formula) for formula in formulas]
    solver = load_solver("embedded", "ltl")
    for formula, row in zip(
        formulas, solve_lines("ltl", lines, "storm", workers, LIMITS), strict=True
    ):
        solution = solver.solve(formula)
        judged = None
        if solution.status != row["status"] and isinstance(solution.witness, Trace):
            # A trace is right if all of its words are.
            judged = "sat" if all(satisfied_by(formula, solution.witness)) else None
        compared.add(row["problem"], str(solution.status), row["status"], judged)
    return compared


def ltl_checks(count: int, seed: int, workers: int = 1) -> Compared:
    """Compare embedded and Storm on traces; a word of the trace that breaks the formula decides."""
    compared = Compared("LTL traces: embedded, storm", seed)
    rng = Random(seed)
    pairs = [(formula, trace_for(rng, formula)) for formula in random_formulas(rng, count)]
    lines = [
        json.dumps({"problem": ltl().write(formula), "answer": trace.infix})
        for formula, trace in pairs
    ]
    solver = load_solver("embedded", "ltl")
    rows = verify_lines("ltl", lines, "storm", workers, LIMITS)
    for (formula, trace), row in zip(pairs, rows, strict=True):
        verdict, judged = str(solver.check(formula, trace)), None
        if verdict != row["verdict"] and not all(satisfied_by(formula, trace)):
            judged = "incorrect"
        shown = f"{row['problem']} on {row['answer']}"
        compared.add(shown, verdict, row["verdict"], judged)
    return compared


def propositional_logic(count: int, seed: int) -> Compared:
    """Compare pysat and the truth table on satisfiability, witness and the check of an answer."""
    compared = Compared("propositional logic: pysat, truth-table", seed)
    rng = Random(seed)
    solvers = [load_solver(name, "propositional") for name in ("pysat", "truth-table")]
    for _ in range(count):
        formula = CLAIMS.sample(rng, rng.randint(1, 24), "abcdef")
        answer = Assignment(tuple((name, rng.random() < 0.5) for name in formula.symbols[:-1]))
        first, second = (
            f"{solution.status} {solution.witness and solution.witness.infix},"
            f" {solver.check(formula, answer)}"
            for solver in solvers
            for solution in [solver.solve(formula)]
        )
        status = first.partition(" ")[0]
        compared.add(formula.prefix, status, second.partition(" ")[0], None)
        if first != second:  # also in the witness, which is the same whoever finds it
            compared.undecided.append(f"{formula.prefix}: {first}; {second}")
    return compared
