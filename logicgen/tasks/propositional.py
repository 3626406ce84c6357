"""Assignment prediction: given a propositional formula, predict an assignment that satisfies it.

Source: Hahn et al., Teaching Temporal Logics to Neural Networks (ICLR 2021).
"""

from __future__ import annotations

from random import Random
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from logicgen.errors import LogicgenError
from logicgen.solvers import Solver
from logicgen.solvers.pysat import PySATSolver
from logicgen.solvers.truth_table import (
    MOST_COUNTED,
    MOST_SYMBOLS,
    TruthTableSolver,
    determined,
    fewest_literals,
    minimal_assignment,
    satisfying_share,
)
from logicgen.solvers.word import Word
from logicgen.syntax.answers import NO_ANSWER, Assignment, NoAnswer, assignment_language, says_none
from logicgen.syntax.formula import Formula
from logicgen.syntax.language import Language
from logicgen.tasks.cnf import CNFSource
from logicgen.tasks.difficulty import DifficultyColumn, Value
from logicgen.tasks.formula_task import CONNECTIVES, POLISH, FormulaSettings, FormulaTask
from logicgen.tasks.ksat import KSATSource
from logicgen.tasks.rare_formulas import RareSource
from logicgen.tasks.right_tokens import RightTokens
from logicgen.tasks.task import Difficulty, Source, Wording

# A truth table over this number of symbols is faster than a SAT solver.
FEW = 10


_BINDING = (
    " ! binds most tightly, then &, then ^, then |, then -> and <->, which group from the right."
)


class PropositionalSettings(FormulaSettings):
    """Keys of `[problem]` for propositional logic."""

    of_all_sources: ClassVar = frozenset({"source", "assignment"})
    of_source: ClassVar = {"ksat": frozenset({"literals", "ratio"})}

    # `random`: random formulas, by `operators` and `distribution`. `rare`: formulas with few
    # models. `cnf`: clauses as in NeuroSAT. `ksat`: random clauses of equal length. `mixed`:
    # `sources`
    source: Literal["random", "rare", "cnf", "ksat", "mixed"] = "random"
    # Only for `ksat`: the literals of a clause, and the clauses for each symbol
    literals: int = Field(default=3, ge=1, le=20)
    ratio: float = Field(default=4.26, gt=0, le=1000)
    # The right assignment that the data set contains. `first`: derived from the first model in
    # lexicographic order, as all solvers do. `fewest`: with the fewest literals. `random`: derived
    # from a random model. `fewest` and `random` use a truth table
    assignment: Literal["first", "fewest", "random"] = "first"

    @model_validator(mode="after")
    def _cnf_is_not_mixed(self) -> Self:
        if self.sources.get("cnf"):
            raise ValueError("sources: the length of cnf cannot be chosen: leave it out")
        return self


class Propositional(FormulaTask):
    """The task of assignment prediction: the answer is a partial assignment.

    The answer is right if the formula is true for all values of the symbols without a value.
    """

    name: ClassVar = "propositional"
    about: ClassVar = "a formula -> a partial assignment all of whose completions satisfy it"
    Settings: ClassVar = PropositionalSettings
    solver: ClassVar = "pysat"
    candidates: ClassVar = 3
    symbols_once: ClassVar = True
    hard_operators: ClassVar = ("^", "<->")  # no single operand decides their value
    logic: ClassVar = "propositional"
    other_sources: ClassVar = {"cnf": CNFSource, "rare": RareSource}
    rated: ClassVar = ("vote", "greedy")
    controls: ClassVar = {
        "all-true": "logicgen.tasks.operator_controls:AllTrue",
        "constant": "logicgen.tasks.propositional_controls:ConstantAssignment",
        "greedy": "logicgen.tasks.propositional_controls:Greedy",
        "meanings": "logicgen.tasks.operator_controls:Meanings",
        "nearest": "logicgen.tasks.operator_controls:Nearest",
        "parities": "logicgen.tasks.propositional_controls:Parities",
        "random": "logicgen.tasks.propositional_controls:RandomAssignments",
        "vote": "logicgen.tasks.propositional_controls:AssignmentVote",
        "walk": "logicgen.tasks.propositional_controls:AssignmentWalk",
    }
    difficulty: ClassVar = Difficulty(length=(5, 10, 20, 30, 40), few=(1, 3), short=(2, 9))
    difficulties: ClassVar = {
        "satisfying": DifficultyColumn(
            "The share of assignments to all symbols of the formula that satisfy it; empty above"
            f" {MOST_COUNTED} symbols.",
            whole=False,
            least=2**-MOST_COUNTED,
            most=1,
        )
    }
    wording: ClassVar = Wording(
        "Find an assignment that satisfies a formula of propositional logic.",
        CONNECTIVES,
        "An answer gives values to symbols of the formula, such as `a=1, b=0`. It may leave symbols"
        " out if the formula is true whatever values they have. If no assignment satisfies the"
        " formula, the answer is `unsat`.",
        "Formula",
        (("(a -> b) & !b", "a=0, b=0"), ("a ^ b | c", "c=1"), ("a & !a", "unsat")),
        _BINDING,
        POLISH,
    )

    def source(self, settings: Any, symbols: tuple[int, int]) -> Source:
        if settings.source == "ksat":
            return KSATSource(symbols, settings.literals, settings.ratio)
        return super().source(settings, symbols)

    def _solver(self, name: str | None, problem: Formula) -> Solver:
        # If no solver is requested, a small problem uses the truth table. It gives the same answers
        # as the SAT solver, and is faster.
        few = name is None and len(problem.symbols) <= FEW
        return super()._solver("truth-table" if few else name, problem)

    def difficulty_of(self, column: str, problem: Formula, answer: Assignment | NoAnswer) -> Value:
        return satisfying_share(problem)

    def _contradiction(self, answer: Assignment) -> str:
        return f"{answer.contradictory[0]} is given both values"

    def _counterexample(self, problem: Formula, answer: Assignment) -> Assignment | None:
        few = len(problem.symbols) <= FEW
        solver = TruthTableSolver() if few else PySATSolver()
        return solver.counterexample(problem, answer)

    def _falsifying_word(self, problem: Formula, answer: Assignment) -> Word | None:
        example = self._counterexample(problem, answer)
        if example is None:
            return None
        literals = (*answer.literals, *example.literals)
        return Word((frozenset(name for name, value in literals if value),), 0)

    def _truth(self, problem: Formula, answer: Assignment) -> tuple[str, ...]:
        given = {name for name, _ in answer.literals}
        if sum(name not in given for name in problem.symbols) > MOST_SYMBOLS:
            return ()
        values = determined(problem, answer)
        return tuple({True: "1", False: "0", None: "?"}[values[f]] for f in problem.preorder())

    def arranged(
        self, problem: Formula, answer: Assignment | NoAnswer, settings: PropositionalSettings
    ) -> Assignment | NoAnswer:
        if settings.assignment == "first" or isinstance(answer, NoAnswer):
            return answer
        if len(problem.symbols) > MOST_SYMBOLS:
            raise LogicgenError(
                f"problem.assignment: {settings.assignment!r}: it needs a truth table, of at most"
                f" {MOST_SYMBOLS} symbols, not {len(problem.symbols)}: ask for fewer, or leave the"
                " key out"
            )
        if settings.assignment == "fewest":
            chosen = fewest_literals(problem)
        else:  # the seed depends on the problem alone, so that data sets keep their bytes
            chosen = minimal_assignment(problem, Random(self.encode(problem)))
        # If `chosen` is None, the formula is unsatisfiable, so the solver's answer is wrong. The
        # verifier then reports that answer.
        return chosen or answer

    def right_tokens(self, problem: Formula) -> RightTokens:
        return RightTokens(problem)

    def same(self, answer: Assignment | NoAnswer, other: Assignment | NoAnswer) -> bool:
        if isinstance(answer, NoAnswer) or isinstance(other, NoAnswer):
            return answer == other
        return answer.meaning == other.meaning

    def read_answer(self, text: str) -> Assignment | NoAnswer:
        """Parse an answer: `unsat`, or an assignment in any notation."""
        return NO_ANSWER if says_none(text) else Assignment.read_either(text)

    def decode_answer(self, text: str) -> Assignment | NoAnswer:
        return NO_ANSWER if text.strip() == NO_ANSWER.prefix else Assignment.read_prefix(text)

    @property
    def answer_language(self) -> Language:
        return assignment_language()

    def answer_room(self, tokens: int, symbols: int) -> int:
        return 2 * symbols  # a longer answer repeats a symbol

    def answer_limit(self, stored: int, symbols: int) -> int:
        # A stored assignment may name few symbols, and an answer all of them.
        return max(super().answer_limit(stored, symbols), 2 * symbols)

    def show(self, answer: Assignment | NoAnswer) -> str:
        """Return a text such as `a=1, b=0`. If a model repeats a literal, it is written once."""
        if isinstance(answer, NoAnswer):
            return answer.infix
        return Assignment(tuple(dict.fromkeys(answer.literals))).infix
