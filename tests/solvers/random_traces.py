"""Random formulas over all operators, and traces: right for them, nearly right, or random."""

from __future__ import annotations

from logicgen.solvers import load_solver
from logicgen.syntax import Formula, Trace, ltl, propositional
from logicgen.syntax.sampling import FormulaSampler

FORMULAS = FormulaSampler(ltl(), dict.fromkeys(ltl().arity, 1) | {"symbol": 2}, "tree", 3)
POSITIONS = FormulaSampler(
    propositional(), dict.fromkeys(propositional().arity, 1) | {"symbol": 3}, "tree", 4
)


def random_formulas(rng, count):
    return [FORMULAS.sample(rng, rng.randint(2, 13), "abc") for _ in range(count)]


def position(rng):
    """Anything, a conjunction of literals, or any propositional formula."""
    kind = rng.random()
    if kind < 0.25:
        return Formula("1")
    if kind < 0.5:
        return POSITIONS.sample(rng, rng.randint(1, 6), "abcd")
    literals = [name if rng.random() < 0.5 else f"!{name}" for name in rng.sample("abcd", 2)]
    return propositional().read(" & ".join(literals))


def trace_for(rng, formula):
    """A witness with one position changed, or something random."""
    witness = load_solver("embedded", "ltl").solve(formula).witness
    if witness is None or rng.random() < 0.3:
        stem = tuple(position(rng) for _ in range(rng.randint(0, 2)))
        return Trace(stem, tuple(position(rng) for _ in range(rng.randint(1, 3))))
    positions = list(witness.positions)
    i = rng.randrange(len(positions))
    match rng.randrange(4):
        case 0:
            positions[i] = position(rng)
        case 1:
            positions[i] = positions[i] & position(rng)
        case 2:
            positions[i] = positions[i] | position(rng)
    return Trace(tuple(positions[: len(witness.stem)]), tuple(positions[len(witness.stem) :]))
