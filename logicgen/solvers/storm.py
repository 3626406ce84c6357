"""LTL judged by the probabilistic model checker Storm, independently of the embedded solver.

A lasso of letters is a Markov chain. A symbolic trace is a Markov decision process that chooses the
letter of the next position. `Pmin` and `Pmax` are the least and the greatest probability of a
formula over all choices. All words of a trace satisfy a formula if and only if `Pmin = 1`. A
formula is satisfiable if and only if `Pmax > 0` on the process that may choose any letter. Storm
translates the formula with the copy of Spot in its wheel.

For a few formulas in ten thousand, Storm (stormpy 2.0.0) refuses the acceptance condition of its
own automaton, or returns `Pmax = 0` although `Pmin = 0` for the negation. So this module asks about
the formula and about its negation. If the answers contradict each other, the verdict is `unknown`.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from itertools import product
from typing import Any, ClassVar

from logicgen.errors import LogicgenError
from logicgen.solvers.solver import UNSAT, Solution, Solver, Status, Verdict
from logicgen.solvers.word import BOOLEAN
from logicgen.syntax.answers import Trace
from logicgen.syntax.formula import Formula

MOST_SYMBOLS = 8

Letter = tuple[bool, ...]

# Each operator in Storm's notation, which has only ! & | X F G U. {0} and {1} are the operands.
_WRITTEN = {
    "!": "!({0})",
    "&": "(({0}) & ({1}))",
    "|": "(({0}) | ({1}))",
    "^": "((({0}) & !({1})) | (!({0}) & ({1})))",
    "->": "(!({0}) | ({1}))",
    "<->": "((({0}) & ({1})) | (!({0}) & !({1})))",
    "X": "(X ({0}))",
    "F": "(F ({0}))",
    "G": "(G ({0}))",
    "U": "(({0}) U ({1}))",
    "R": "!((!({0})) U (!({1})))",
    "W": "((({0}) U ({1})) | (G ({0})))",
    "M": "(({1}) U (({0}) & ({1})))",
}


class StormSolver(Solver):
    """A solver that decides satisfiability without a witness, and checks traces exactly.

    The result is `unknown` if Storm fails.
    """

    name: ClassVar[str] = "storm"
    logic: ClassVar[str] = "ltl"
    about: ClassVar[str] = "the model checker Storm: decides, checks traces, gives no witness"

    @classmethod
    def missing(cls) -> str | None:
        if find_spec("stormpy") is None:
            return "stormpy is not installed: pip install 'logicgen[storm]'"
        return None

    def solve(self, problem: Formula) -> Solution:
        """Return `sat` without a witness, or `unsat`. Raises LogicgenError above 8 symbols."""
        symbols = problem.symbols
        model = _any_letter(_few(symbols))
        try:
            possible = max(_probabilities(model, "Pmax", problem)) > 0
            avoidable = min(_probabilities(model, "Pmin", ~problem)) < 1
        except RuntimeError as error:
            return Solution(Status.UNKNOWN, reason=f"Storm: {str(error).splitlines()[0]}")
        if possible != avoidable:
            return Solution(Status.UNKNOWN, reason="Storm contradicts itself")
        return Solution(Status.SAT, reason="Storm gives no witness") if possible else UNSAT

    def check(self, problem: Formula, answer: Trace) -> Verdict:
        """Return the verdict, `unknown` if Storm fails. Raises LogicgenError above 8 symbols."""
        symbols = problem.symbols
        _few(symbols)
        letters = [_letters(position, symbols) for position in answer.positions]
        if not all(letters):
            return Verdict.INVALID
        first = range(len(letters[0]))  # the states of the first position
        loop = len(answer.stem)
        chain = all(len(choices) == 1 for choices in letters)
        model, (least, most) = (
            _model(letters, loop, chain),
            ("P", "P") if chain else ("Pmin", "Pmax"),
        )
        try:
            certain = _probabilities(model, least, problem)
            avoided = _probabilities(model, most, ~problem)
        except RuntimeError:
            return Verdict.UNKNOWN
        right = all(certain[state] == 1 for state in first)
        if right != all(avoided[state] == 0 for state in first):
            return Verdict.UNKNOWN
        return Verdict.CORRECT if right else Verdict.INCORRECT


def _few(symbols: tuple[str, ...]) -> int:
    if len(symbols) > MOST_SYMBOLS:
        raise LogicgenError(
            f"{len(symbols)} symbols are too many for storm (at most {MOST_SYMBOLS}); "
            "use the embedded solver"
        )
    return len(symbols)


def _letters(position: Formula, symbols: tuple[str, ...]) -> list[Letter]:
    """Return the letters over `symbols` that can be extended to satisfy a position's formula."""
    others = tuple(name for name in position.symbols if name not in symbols)
    _few(others)
    found = dict[Letter, None]()
    names = symbols + others
    for values in product((True, False), repeat=len(names)):
        letter = dict(zip(names, values, strict=True))

        def value(node: Formula, operands: list[bool], letter: dict[str, bool] = letter) -> bool:
            if operands:
                if node.token not in BOOLEAN:
                    raise LogicgenError(f"{node.token} is not an operator of propositional logic")
                return BOOLEAN[node.token](*operands)
            return letter[node.token] if node.is_symbol else node.token == "1"

        if position.fold(value):
            found[values[: len(symbols)]] = None
    return list(found)


def _property(operator: str, formula: Formula) -> str:
    """Return Storm's query for the probability `operator` of a formula.

    Storm reads `!(false)` as a label. So the constant true is written as the label `one`, which
    every state has.
    """
    number = {name: i for i, name in enumerate(formula.symbols)}

    def text(node: Formula, operands: list[str]) -> str:
        if node.is_symbol:
            return f'"p{number[node.token]}"'
        if not operands:
            return '"one"' if node.token == "1" else '!"one"'
        if node.token not in _WRITTEN:
            raise LogicgenError(f"{node.token} is not an operator of LTL")
        return _WRITTEN[node.token].format(*operands)

    # The X makes Storm accept any formula as a path formula.
    return f'{operator}=? [ (X "one") & {formula.fold(text)} ]'


def _probabilities(model: Any, operator: str, formula: Formula) -> list[float]:
    import stormpy

    (wanted,) = stormpy.parse_properties(_property(operator, formula))
    result = stormpy.model_checking(model, wanted, only_initial_states=False)
    return [result.get_value(state) for state in range(model.nr_states)]


@lru_cache(MOST_SYMBOLS + 1)
def _any_letter(symbols: int) -> Any:
    return _model([list(product((True, False), repeat=symbols))], 0, chain=False)


def _model(letters: list[list[Letter]], loop: int, chain: bool) -> Any:
    """Return Storm's model of a trace: a Markov chain, or (if not `chain`) a decision process.

    letters: by position, the letters that are allowed there. A Markov chain needs exactly one
    letter at each position. A decision process chooses among them at each visit.
    """
    from stormpy.datastructures import SparseMatrixBuilder
    from stormpy.models import SparseDtmc, SparseMdp, SparseModelComponents

    starts = [sum(map(len, letters[:i])) for i in range(len(letters))]
    builder = SparseMatrixBuilder[float](
        rows=0, columns=0, entries=0, force_dimensions=False, has_custom_row_grouping=not chain
    )
    row = 0
    for position, choices in enumerate(letters):
        after = position + 1 if position + 1 < len(letters) else loop
        for _ in choices:
            if not chain:
                builder.new_row_group(row)
            for target in range(starts[after], starts[after] + len(letters[after])):
                builder.add_next_value(row, target, 1.0)
                row += 1
    labels = _labeling([letter for choices in letters for letter in choices])
    parts = SparseModelComponents(transition_matrix=builder.build(), state_labeling=labels)
    return SparseDtmc(parts) if chain else SparseMdp(parts)


def _labeling(letters: list[Letter]) -> Any:
    from stormpy.models import StateLabeling

    labels = StateLabeling(len(letters))
    labels.add_label("init")
    labels.add_label_to_state("init", 0)
    labels.add_label("one")
    for state in range(len(letters)):
        labels.add_label_to_state("one", state)
    for number in range(len(letters[0])):
        labels.add_label(f"p{number}")
        for state, letter in enumerate(letters):
            if letter[number]:
                labels.add_label_to_state(f"p{number}", state)
    return labels
