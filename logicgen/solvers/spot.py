"""LTL by Spot, if its Python bindings are installed (version 2.10 or newer).

Spot translates a formula to an automaton. The witness is an accepting run of this automaton, and
Spot simplifies it. Data sets of the literature have such witnesses, so a recipe that selects this
solver makes similar data. Spot gets the symbols as `p0`, `p1`, ... in order of first occurrence.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from logicgen.solvers.solver import UNSAT, Solution, Solver, Status, Verdict
from logicgen.syntax.answers import Trace
from logicgen.syntax.formula import Formula
from logicgen.syntax.formula_language import ltl, propositional

OLDEST = (2, 10)
HOW = (
    "conda install -c conda-forge spot, or a distribution's package, or the source; "
    "see https://spot.lre.epita.fr/install.html (pip does not have it)"
)
NEEDED = ("formula", "make_bdd_dict", "parse_word", "translate", "version")


class SpotSolver(Solver):
    """A solver that translates formulas to automata with Spot.

    A witness depends on Spot's version, and may depend on earlier calls in the same process.
    """

    name: ClassVar[str] = "spot"
    logic: ClassVar[str] = "ltl"
    about: ClassVar[str] = "the automata library Spot; witnesses in Spot's own style"

    @classmethod
    def missing(cls) -> str | None:
        """Return how to get Spot if it is missing, or why the installed Spot cannot be used."""
        try:
            import spot
        except ModuleNotFoundError as error:
            if error.name == "spot":
                return f"Spot is not installed: {HOW}"
            return f"the package spot cannot be imported ({error}): {HOW}"
        except Exception as error:  # a broken installation can raise any exception
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            return f"the package spot cannot be imported ({reason}): {HOW}"
        if not all(hasattr(spot, name) for name in NEEDED):
            where = getattr(spot, "__file__", None) or ", ".join(getattr(spot, "__path__", []))
            return f"another package of the name spot, {where}, hides or replaces Spot: {HOW}"
        version = str(spot.version())
        if tuple(map(int, re.findall(r"\d+", version)[:2])) < OLDEST:
            return f"Spot {version} is too old, 2.10 or newer is needed: {HOW}"
        return None

    def solve(self, problem: Formula) -> Solution:
        """Return a simplified accepting word, or `unsat`; `unknown` if Spot refuses the formula."""
        import spot

        ltl().check_operators(problem)
        names = {name: f"p{i}" for i, name in enumerate(problem.symbols)}
        try:
            automaton = spot.translate(
                spot.formula(ltl().write(problem.rename(names))), dict=spot.make_bdd_dict()
            )
            word = automaton.accepting_word()
        except RuntimeError as error:
            return Solution(Status.UNKNOWN, reason=f"Spot: {str(error).splitlines()[0]}")
        if not word:
            return UNSAT
        word.simplify()
        back = {new: old for old, new in names.items()}
        return Solution.sat(Trace.read(str(word)).rename(back))

    def check(self, problem: Formula, answer: Trace) -> Verdict:
        """Return `correct` if all words satisfy the formula; `unknown` if Spot refuses it."""
        import spot

        symbols = dict.fromkeys([*problem.symbols, *answer.symbols])
        names = {name: f"p{i}" for i, name in enumerate(symbols)}
        answer = answer.rename(names)
        dictionary = spot.make_bdd_dict()
        for position in dict.fromkeys(answer.positions):
            propositional().check_operators(position)
            if _automaton(position, dictionary).is_empty():
                return Verdict.INVALID
        word = spot.parse_word(answer.spot, dictionary).as_automaton()
        try:
            wrong = _automaton(~problem.rename(names), dictionary)
            return Verdict.INCORRECT if word.intersects(wrong) else Verdict.CORRECT
        except RuntimeError:  # Spot needs too many acceptance sets
            return Verdict.UNKNOWN


def _automaton(formula: Formula, dictionary: Any) -> Any:
    """Return the automaton of a formula for checks. It is not minimized, which saves time."""
    import spot

    ltl().check_operators(formula)
    return spot.translate(spot.formula(ltl().write(formula)), "Any", "Low", dict=dictionary)
