"""LTL by Spot, where its Python bindings are installed (any version from 2.10).

Its witnesses are an accepting run of Spot's translation, simplified by Spot, so that a recipe can
ask for data of the kind the literature trained on. They depend on Spot's version, and a renamed
formula need not get the renamed witness, although symbols are given to Spot as `p0`, `p1`, ... in
order of first occurrence.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, ClassVar

from logicgen.solvers.solver import UNSAT, Solution, Verdict
from logicgen.syntax.formula import Formula
from logicgen.syntax.formula_language import ltl, propositional
from logicgen.syntax.trace import Trace

HOW = "Spot is not installed: conda install -c conda-forge spot, or see https://spot.lre.epita.fr"


class SpotSolver:
    """Translation to automata, emptiness, intersection."""

    name: ClassVar[str] = "spot"
    logic: ClassVar[str] = "ltl"
    about: ClassVar[str] = "the automata library Spot; witnesses in Spot's own style"

    @classmethod
    def missing(cls) -> str | None:
        """How to get Spot where it is not installed."""
        if find_spec("spot") is None:
            return HOW
        import spot

        # The package index has another package of this name.
        return None if hasattr(spot, "translate") and hasattr(spot, "parse_word") else HOW

    def solve(self, problem: Formula) -> Solution:
        """A simplified accepting word, or unsat."""
        import spot

        names = {name: f"p{i}" for i, name in enumerate(problem.symbols)}
        word = _automaton(problem.rename(names), spot.make_bdd_dict()).accepting_word()
        if not word:
            return UNSAT
        word.simplify()
        back = {new: old for old, new in names.items()}
        return Solution.sat(Trace.read(str(word)).rename(back))

    def check(self, problem: Formula, answer: Trace) -> Verdict:
        """`correct` if no word of the trace satisfies the negation."""
        import spot

        symbols = dict.fromkeys([*problem.symbols, *answer.symbols])
        names = {name: f"p{i}" for i, name in enumerate(symbols)}
        answer = answer.rename(names)
        dictionary = spot.make_bdd_dict()
        for position in dict.fromkeys(answer.positions):
            propositional().check_operators(position)
            if _automaton(position, dictionary).is_empty():
                return Verdict.INVALID
        wrong = _automaton(~problem.rename(names), dictionary)
        word = spot.parse_word(answer.spot, dictionary).as_automaton()
        return Verdict.INCORRECT if word.intersects(wrong) else Verdict.CORRECT


def _automaton(formula: Formula, dictionary: Any) -> Any:
    import spot

    ltl().check_operators(formula)
    return spot.translate(spot.formula(ltl().write(formula)), dict=dictionary)
