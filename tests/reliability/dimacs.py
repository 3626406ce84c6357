"""DIMACS texts and solvers' answers."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from logicgen.solvers.pysat import solve_clauses
from logicgen.syntax.clauses import CNF, read_cnf, read_model, satisfies, write_cnf, write_model
from tests.reliability.mutation import mutated
from tests.reliability.target import Target, value_or_refusal

VARIABLES = 6
LITERALS = st.integers(-VARIABLES, VARIABLES).filter(bool)
CLAUSES = st.lists(st.lists(LITERALS, max_size=4), max_size=6)
SIGNS = [*"cp%sv0-٣\x0c\x85\r", "-0", "+1", "1_0", "9" * 30, "9" * 5000]
PIECES = [*SIGNS, "p cnf 2 1\n", "p cnf 0 0\n", "\nc x\n", "s UNSATISFIABLE\n", "\nv "]
CNF_TEXTS = CLAUSES.map(lambda clauses: write_cnf(CNF(VARIABLES, clauses), ["made"]))
ANSWER_TEXTS = st.lists(LITERALS, max_size=30).map(write_model)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def check_cnf(text: bytes) -> None:
    """A text is refused, or its clauses are written and read back, and solved."""
    cnf: CNF | None = value_or_refusal(lambda: read_cnf(text, "some.cnf"))
    if cnf is None:
        return
    assert read_cnf(write_cnf(cnf).encode(), "again.cnf") == cnf
    model = solve_clauses(cnf.clauses)
    assert model is None or satisfies(model, cnf.clauses)


def check_model(text: bytes) -> None:
    """A text is refused, or its literals are written and read back."""
    literals: Any = value_or_refusal(lambda: read_model(text, "some.sol"))
    if literals is not None:
        assert read_model(write_model(literals).encode(), "again.sol") == literals


TARGETS = [
    Target("dimacs-problems", mutated(CNF_TEXTS, PIECES).map(_encoded), check_cnf),
    Target("dimacs-answers", mutated(ANSWER_TEXTS, PIECES).map(_encoded), check_model),
]
