"""Propositional assignment prediction: given a formula, a partial assignment that satisfies it.

Source: Hahn et al., Teaching Temporal Logics to Neural Networks (ICLR 2021).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from random import Random
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from logicgen.solvers import Solution, Verdict, load_solver
from logicgen.syntax.assignment import Assignment, assignment_language
from logicgen.syntax.core import within
from logicgen.syntax.formula import Formula
from logicgen.syntax.formula_language import FormulaLanguage, propositional
from logicgen.syntax.language import Language
from logicgen.syntax.sampler import FormulaSampler, Pattern
from logicgen.tasks.cnf import CNFSource
from logicgen.tasks.task import Cell, Draw, Settings, Source, Task, read_either
from logicgen.vocabulary import symbol_name


class FormulaSettings(Settings):
    """Keys of `[problem]` for random formulas.

    Attributes:
        operators: weight of each operator, and of each constant that may occur.
        distribution: `tree` draws the root operator by weight and splits the length uniformly;
            `uniform` makes every formula of a length equally likely (times its tokens' weights).
    """

    operators: dict[str, Annotated[float, Field(ge=0)]] = Field(
        default={"!": 1, "&": 1, "|": 1, "^": 1, "<->": 1}, min_length=1
    )
    distribution: Literal["tree", "uniform"] = "tree"


class PropositionalSettings(FormulaSettings):
    """Keys of `[problem]`.

    Attributes:
        source: `random` draws formulas over the operators; `cnf` draws conjunctions of clauses, as
            NeuroSAT does, for which the other keys mean nothing.
    """

    source: Literal["random", "cnf"] = "random"

    @model_validator(mode="after")
    def _fitting(self) -> PropositionalSettings:
        if self.source == "cnf" and (unused := self.model_fields_set - {"source"}):
            raise ValueError(f"{' and '.join(sorted(unused))} cannot be given with source cnf")
        return self


class FormulaSource(Source):
    """Formulas of exact length, with an exact number of symbols where a cell asks for it."""

    def __init__(
        self, language: FormulaLanguage, settings: FormulaSettings, symbols: tuple[int, int]
    ) -> None:
        self._range = symbols
        self._sampler = FormulaSampler(
            language, settings.operators, settings.distribution, max(symbols[1], 1)
        )

    def sample(self, rng: Random, cell: Cell) -> Draw:
        """A formula of the cell; without symbols asked for, each leaf holds any one of them."""
        return self._draw(self._sampler.pattern(rng, cell.length, cell.symbols))

    def count(self, cell: Cell) -> dict[int, int]:
        """Formulas by number of symbols; satisfiable or not."""
        return {k: self._sampler.count_patterns(cell.length, k) for k in self._symbols(cell)}

    def all(self, cell: Cell) -> Iterator[Draw]:
        """Every formula of the cell."""
        for k in self._symbols(cell):
            yield from map(self._draw, self._sampler.patterns(cell.length, k))

    def _symbols(self, cell: Cell) -> range:
        low, high = self._range if cell.symbols is None else (cell.symbols, cell.symbols)
        return range(low, high + 1)

    def _draw(self, pattern: Pattern) -> Draw:
        distinct = max(pattern[1], default=-1) + 1
        names = [symbol_name(i) for i in range(distinct)]
        return Draw(self._sampler.formula(pattern, names), distinct)


class Propositional(Task):
    """Formula in, partial assignment out; right if every completion satisfies the formula."""

    name: ClassVar = "propositional"
    about: ClassVar = "a formula -> a partial assignment all of whose completions satisfy it"
    Settings: ClassVar = PropositionalSettings
    distinct: ClassVar = "alpha"
    solver: ClassVar = "pysat"
    logic: ClassVar = "propositional"

    def source(self, settings: PropositionalSettings, symbols: tuple[int, int]) -> Source:
        """Formulas over the operators of the settings, or satisfiable sets of clauses."""
        if settings.source == "cnf":
            return CNFSource(symbols)
        return FormulaSource(propositional(), settings, symbols)

    def solve(self, problem: Formula, solver: str | None = None) -> Solution:
        """A subset-minimal assignment, or unsat."""
        return load_solver(solver or self.solver, self.logic).solve(problem)

    def check(self, problem: Formula, answer: Assignment, solver: str | None = None) -> Verdict:
        """Whether every completion satisfies the formula; a contradictory assignment is invalid."""
        return load_solver(solver or self.solver, self.logic).check(problem, answer)

    def same(self, answer: Assignment, other: Assignment) -> bool:
        """Whether both give the same symbols the same values."""
        return answer.same_as(other)

    @property
    def problem_language(self) -> Language:
        """`propositional.lark`."""
        return propositional().language

    def within(self, problem: Formula, tokens: Collection[str]) -> Formula:
        """An equivalent formula over these operators and constants."""
        return within(problem, tokens)

    @property
    def problem_arities(self) -> Mapping[str, int]:
        """Of operators and constants."""
        return propositional().arity

    @property
    def answer_language(self) -> Language:
        """`assignment.lark`."""
        return assignment_language()

    def read_problem(self, text: str) -> Formula:
        """From `a & !b` or `& a ! b`."""
        return read_either(self.problem_language, text)

    def decode_problem(self, text: str) -> Formula:
        """From `& a ! b`."""
        return propositional().read_prefix(text)

    def read_answer(self, text: str) -> Assignment:
        """From `a=1, b=0`, `a & !b` or `a 1 b 0`."""
        return read_either(self.answer_language, text)

    def decode_answer(self, text: str) -> Assignment:
        """From `a 1 b 0`."""
        return Assignment.read_prefix(text)

    def encode(self, value: Formula | Assignment) -> str:
        """Prefix notation."""
        return value.prefix

    def show(self, answer: Assignment) -> str:
        """`a=1, b=0`, each literal once: a model may repeat itself."""
        return Assignment(tuple(dict.fromkeys(answer.literals))).infix
