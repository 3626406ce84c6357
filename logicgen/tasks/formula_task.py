"""Tasks with formulas of one language as problems: random formulas of exact length."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import AfterValidator, Field, model_validator

from logicgen.errors import FormatError, nearest
from logicgen.solvers import Solution, Solver, Status, Verdict, load_solver
from logicgen.solvers.word import Word
from logicgen.syntax.answers import NoAnswer
from logicgen.syntax.clauses import operands_of
from logicgen.syntax.formula import Formula
from logicgen.syntax.formula_language import FormulaLanguage, formula_language
from logicgen.syntax.language import Language
from logicgen.syntax.rewriting import plain, spaced, within
from logicgen.syntax.sampling import LONGEST, FormulaSampler, Pattern, most_symbols
from logicgen.tasks.mixture import Mixture
from logicgen.tasks.task import Cell, Draw, Explanation, Settings, Source, Task
from logicgen.tokens import symbol_name


def _sane(weight: float) -> float:
    if 0 < weight < LEAST_WEIGHT:
        raise ValueError(f"a weight is 0, or from {LEAST_WEIGHT} to {MOST_WEIGHT}, not {weight}")
    return weight


CONNECTIVES = (
    "Notation: ! is not, & is and, | is or, ^ is exclusive or, -> is implies, <-> is if and only"
    " if; 1 is true and 0 is false."
)
POLISH = " The formula is written in Polish notation: each operator stands before its operands."
"""Descriptions of the notation in prompts: `CONNECTIVES` always, `POLISH` for prefix notation."""

# Limits of weights above 0. Sums and products of weights are exact, so extreme weights would give
# numbers with many digits and slow computations.
LEAST_WEIGHT, MOST_WEIGHT = 1e-9, 1e9
Weight = Annotated[float, Field(ge=0, le=MOST_WEIGHT), AfterValidator(_sane)]


class FormulaSettings(Settings):
    """Keys of `[problem]` for random formulas.

    Attributes:
        of_all_sources: keys that are valid with every source.
        of_source: keys that are valid with one source other than `random`, by name of the source.
    """

    of_all_sources: ClassVar[frozenset[str]] = frozenset({"source"})
    of_source: ClassVar[Mapping[str, frozenset[str]]] = {}

    # Weight of each operator, and of each constant that may occur
    operators: dict[str, Weight] = Field(
        default={"!": 1, "&": 1, "|": 1, "^": 1, "<->": 1}, min_length=1
    )
    # `tree` draws the root operator by weight and splits the length uniformly; `uniform` draws a
    # formula of a length with probability proportional to the product of its tokens' weights
    distribution: Literal["tree", "uniform"] = "tree"
    source: str = "random"  # `random`, or another source of the task
    # Only for `mixed`: the weights of the sources from which problems are drawn
    sources: dict[str, Weight] = Field(default={})

    @model_validator(mode="after")
    def _keys_fit_the_source(self) -> Self:
        allowed = type(self).model_fields["source"].annotation
        known = [name for name in get_args(allowed) if name != "mixed"]
        for name in self.sources:
            if name not in known:
                raise ValueError(f"sources: no source is called {name!r}: {nearest(name, known)}")
        if self.source == "mixed" and not any(self.sources.values()):
            raise ValueError("source mixed needs sources, such as { random = 1, ... }")
        fitting = {key: name for name, keys in self.of_source.items() for key in keys}
        fitting["sources"] = "mixed"
        for key in sorted(self.model_fields_set - self.of_all_sources):
            if (only := fitting.get(key, "random")) not in (self.source, *self.sources):
                raise ValueError(
                    f"{key} cannot be given with source {self.source}, only with {only}"
                )
        return self


class FormulaSource(Source):
    """A source of random formulas of exact length.

    The number of symbols is exact, too, if the cell has a number of symbols.
    """

    def __init__(
        self, language: FormulaLanguage, settings: FormulaSettings, symbols: tuple[int, int]
    ) -> None:
        super().__init__(symbols)
        self._sampler = FormulaSampler(
            language, settings.operators, settings.distribution, max(symbols[1], 1)
        )

    def sample(self, rng: Random, cell: Cell) -> Draw:
        return self._draw(self._sampler.pattern(rng, cell.length, cell.symbols))

    def count(self, cell: Cell) -> dict[int, int]:
        """Return the number of formulas, satisfiable or not, by number of symbols."""
        return {k: self._sampler.count_patterns(cell.length, k) for k in self._occurring(cell)}

    def all(self, cell: Cell) -> Iterator[Draw]:
        for k in self._occurring(cell):
            yield from map(self._draw, self._sampler.patterns(cell.length, k))

    def obstacle(self, cell: Cell) -> str | None:
        if cell.length <= LONGEST:
            return None
        return (
            f"formulas of {cell.length} tokens are too long to be drawn: lower length to {LONGEST}"
        )

    def _occurring(self, cell: Cell) -> range:
        """Return the numbers of symbols that a cell allows and that its formulas can contain."""
        symbols = self.symbols(cell)
        return range(symbols.start, min(symbols.stop, most_symbols(cell.length) + 1))

    def _draw(self, pattern: Pattern) -> Draw:
        distinct = max(pattern[1], default=-1) + 1
        names = [symbol_name(i) for i in range(distinct)]
        return Draw(self._sampler.formula(pattern, names), distinct)


class FormulaTask(Task):
    """A task with formulas of the grammar `logic` as problems. A solver finds the answers."""

    distinct: ClassVar = "alpha"
    orders: ClassVar = 4
    solver: ClassVar[str]
    logic: ClassVar[str]
    # The sources in addition to random formulas, by name
    other_sources: ClassVar[Mapping[str, Callable[[tuple[int, int]], Source]]]

    def source(self, settings: FormulaSettings, symbols: tuple[int, int]) -> Source:
        if settings.source == "mixed":
            parts = {
                name: (self.source(settings.model_copy(update={"source": name}), symbols), weight)
                for name, weight in settings.sources.items()
            }
            return Mixture(parts, symbols)
        if settings.source != "random":
            return self.other_sources[settings.source](symbols)
        return FormulaSource(self.formulas, settings, symbols)

    @property
    def formulas(self) -> FormulaLanguage:
        """Return the language of the problems."""
        return formula_language(self.logic)

    def _solver(self, name: str | None, problem: Formula) -> Solver:
        return load_solver(name or self.solver, self.logic, self.effort, self.seconds)

    def solve(self, problem: Formula, solver: str | None = None) -> Solution:
        return self._solver(solver, problem).solve(problem)

    def check(self, problem: Formula, answer: Any, solver: str | None = None) -> Verdict:
        """Return the verdict on an answer to a formula.

        An answer allows a set of words (in propositional logic, total assignments). The verdict is
        `correct` if all of them satisfy the formula, and `invalid` if the set is empty. The answer
        `unsat` is checked by solving the problem.
        """
        chosen = self._solver(solver, problem)
        if isinstance(answer, NoAnswer):
            return _NO_ANSWER_IS[chosen.solve(problem).status]
        return chosen.check(problem, answer)

    def in_order(self, problem: str, answer: str) -> str:
        found = self.decode_answer(answer).in_order(self.decode_problem(problem).symbols)
        return self.encode(found)

    def meaning(self, answer: str) -> Hashable:
        try:
            read = self.decode_answer(answer)
        except FormatError:
            return answer
        return answer if isinstance(read, NoAnswer) else read.meaning

    def reason(self, problem: Formula, answer: Any, verdict: Verdict) -> str:
        if verdict is Verdict.INVALID:
            return self._contradiction(answer)
        if verdict is not Verdict.INCORRECT:
            return ""
        if isinstance(answer, NoAnswer):
            witness = self.solve(problem).witness
            return "" if witness is None else f"{self.show(witness)} satisfies it"
        for part in operands_of("&", problem):
            if (example := self._counterexample(part, answer)) is not None:
                return (
                    f"it allows {self.show(example)}, which falsifies {self.formulas.write(part)}"
                )
        return "it also allows words that do not satisfy the formula"

    def explain(self, problem: Formula, answer: Any, verdict: Verdict) -> Explanation:
        found = Explanation(self.reason(problem, answer, verdict))
        wrong = verdict is Verdict.INCORRECT
        if isinstance(answer, NoAnswer):  # show a word that satisfies the formula, if it exists
            answer = self.solve(problem).witness if wrong else None
            wrong = False
        elif not (wrong or verdict.is_right):
            answer = None
        if answer is None:
            return found
        word = self._falsifying(problem, answer) if wrong else self._any_word(answer)
        if word is None:
            return replace(found, truth=() if wrong else self._truth(problem, answer))
        truth = word.truth(problem)
        others = frozenset().union(*word.letters).difference(problem.symbols)
        named = (*problem.symbols, *sorted(others))
        return replace(
            found,
            truth=tuple("".join("01"[held] for held in truth[f]) for f in problem.preorder()),
            letters=tuple(
                tuple(name for name in named if name in letter) for letter in word.letters
            ),
            loop=word.loop,
        )

    def _falsifying(self, problem: Formula, answer: Any) -> Word | None:
        """Return a word that the answer allows and that falsifies a conjunct of the problem.

        The conjuncts are tried in order. Returns None if no word is found.
        """
        words = (self._falsifying_word(part, answer) for part in operands_of("&", problem))
        return next((word for word in words if word is not None), None)

    @abstractmethod
    def _contradiction(self, answer: Any) -> str:
        """Return a sentence that explains why an answer is contradictory."""

    @abstractmethod
    def _counterexample(self, problem: Formula, answer: Any) -> Any:
        """Return an assignment or a trace that agrees with the answer and falsifies a formula.

        Returns None if the search finds no counterexample.
        """

    @abstractmethod
    def _falsifying_word(self, problem: Formula, answer: Any) -> Word | None:
        """Return a word that the answer allows and that falsifies a formula.

        Returns None if the search finds no word.
        """

    def _any_word(self, answer: Any) -> Word | None:
        """Return a word that a right answer allows.

        Returns None if the task explains the answer by `_truth` instead.
        """
        return None

    def _truth(self, problem: Formula, answer: Any) -> tuple[str, ...]:
        """Return the truth value (`1`, `0` or `?`) of each subformula under a right answer.

        The subformulas are in prefix order. Returns () if the truth values are not computed.
        """
        return ()

    @property
    def problem_language(self) -> Language:
        return self.formulas.language

    def within(self, problem: Formula, tokens: Collection[str]) -> Formula:
        return within(problem, tokens)

    @property
    def problem_arities(self) -> Mapping[str, int]:
        return self.formulas.arity

    def read_problem(self, text: str) -> Formula:
        """Parse a formula in infix notation (also with Unicode operators) or prefix notation."""
        return self.formulas.read_either(plain(text))

    def show_problem(self, problem: Formula) -> str:
        return spaced(self.formulas.write(problem))

    def decode_problem(self, text: str) -> Formula:
        return self.formulas.read_prefix(text)

    def encode(self, value: Any) -> str:
        return str(value.prefix)


_NO_ANSWER_IS = {
    Status.UNSAT: Verdict.CORRECT,
    Status.SAT: Verdict.INCORRECT,
    Status.UNKNOWN: Verdict.UNKNOWN,
}
