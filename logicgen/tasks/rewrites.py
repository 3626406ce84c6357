"""Rewrites: other forms of a problem with the same answers up to the names of symbols.

A program that understands a problem answers all its forms. The first rewrite of a formula reorders
the operands of commutative operators. The second rewrite adds double negations and repeats small
subformulas. In both, the symbols exchange their names. A solver proves that each rewritten formula
is equivalent to the problem. In problems of other tasks, only the symbols exchange their names.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from logicgen.solvers import Status
from logicgen.syntax.clauses import operands_of
from logicgen.syntax.formula import Formula
from logicgen.tasks.task import Task, rename, symbols_of

# Binary operators that are commutative and associative.
COMMUTATIVE = ("&", "|", "^", "<->")

# The number of random reorderings that a solver tries to prove equivalent, and its effort.
TRIES, EFFORT = 3, 2_000

# In longer formulas, only the two operands of an operator are exchanged. Solvers prove that at
# once, while other proofs may take minutes.
LONGEST = 60

# The second rewrite changes PADDED subformulas. It repeats a subformula of at most SMALL tokens.
PADDED, SMALL = 2, 3

Rewriting = Callable[[Formula, Random], Formula]


def rewrites(task: Task, problem: str, rng: Random) -> tuple[str, str]:
    """Return two rewrites of a problem. All texts are in prefix notation."""
    value = task.decode_problem(problem)
    texts = [problem, problem]
    if isinstance(value, Formula):
        tries = TRIES if value.length <= LONGEST or task.refutation is None else 0
        texts = [
            _equivalent(task, value, [*[reordered] * tries, swapped], rng),
            _equivalent(task, value, [padded], rng),
        ]
    return renamed(texts[0], rng), renamed(texts[1], rng)


def renamed(problem: str, rng: Random) -> str:
    """Return a problem with the names of its symbols exchanged at random."""
    symbols = symbols_of(problem)
    return rename(problem, dict(zip(symbols, rng.sample(symbols, len(symbols)), strict=True)))


def equivalent(task: Task, formula: Formula, other: Formula) -> bool:
    """Return whether a solver proves, with a limited effort, that two formulas are equivalent."""
    different = Formula("^", (formula, other))
    return task.limited(EFFORT).solve(different).status is Status.UNSAT


def _equivalent(task: Task, formula: Formula, kinds: list[Rewriting], rng: Random) -> str:
    """Return the first rewriting that is proved equivalent, in prefix notation.

    If no rewriting is proved equivalent, or all leave the formula as it is, return the formula.
    """
    for kind in kinds:
        found = kind(formula, rng)
        if found is not formula and equivalent(task, formula, found):
            return found.prefix
    return formula.prefix


def reordered(formula: Formula, rng: Random) -> Formula:
    """Return a formula with its chains of commutative operators shuffled and nested at random."""

    def combine(node: Formula, operands: list[Formula]) -> Formula:
        if node.token not in COMMUTATIVE:
            return Formula(node.token, tuple(operands)) if operands else node
        parts = [leaf for operand in operands for leaf in operands_of(node.token, operand)]
        rng.shuffle(parts)
        while len(parts) > 1:
            place = rng.randrange(len(parts) - 1)
            parts[place : place + 2] = [Formula(node.token, (parts[place], parts[place + 1]))]
        return parts[0]

    return formula.fold(combine)


def swapped(formula: Formula, rng: Random) -> Formula:
    """Return a formula in which operands of commutative operators are exchanged at random."""

    def combine(node: Formula, operands: list[Formula]) -> Formula:
        if node.token in COMMUTATIVE and rng.random() < 0.5:
            operands = operands[::-1]
        return Formula(node.token, tuple(operands)) if operands else node

    return formula.fold(combine)


def padded(formula: Formula, rng: Random) -> Formula:
    """Return a formula with double negations and repeated small subformulas."""
    nodes = list(dict.fromkeys(formula.preorder()))
    chosen = {*rng.sample(nodes, min(PADDED, len(nodes)))}

    def combine(node: Formula, operands: list[Formula]) -> Formula:
        built = Formula(node.token, tuple(operands)) if operands else node
        if node not in chosen:
            return built
        return built & built if built.length <= SMALL and rng.random() < 0.5 else ~~built

    return formula.fold(combine)
