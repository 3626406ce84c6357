"""Tasks with strings of tokens as problems and answers. Infix and prefix notation are the same.

A problem of a `DeterminedTask` shows examples of a rule (a mapping of keys to values, or a
permutation). If at least one rule fits the examples, and all fitting rules give the same answer,
only this answer is right. Otherwise the problem has no answer.

Source of these tasks: Huang et al., Lexinvariant Language Models (NeurIPS 2023).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from random import Random
from typing import Any, ClassVar

from logicgen.errors import LogicgenError
from logicgen.solvers import Verdict
from logicgen.syntax.language import Language, Token
from logicgen.tasks.frequencies import FrequencyKind, frequencies
from logicgen.tasks.task import Cell, Draw, Explanation, Settings, Source, Task
from logicgen.tokens import symbol_name

Symbols = tuple[str, ...]

# Three special steps of the automaton of a `TokenLanguage`. Their names contain blanks, so they
# differ from all tokens.
_START, _END, _ANY = "start of a text", "end of a text", "any symbol"

# The fixed token of each alternative of the grammars, by the name of the alternative.
_FIXED = {"arrow": "->", "end": "->", "becomes": ">", "next": ";"}


class StringTask(Task):
    """A task without a solver. Its problems and answers are iterables of their tokens."""

    distinct: ClassVar = "exact"
    solver: ClassVar = None
    logic: ClassVar = None

    def encode(self, value: Iterable[str]) -> str:
        return " ".join(value)

    def reason(self, problem: Any, answer: Symbols, verdict: Verdict) -> str:
        if verdict is not Verdict.INCORRECT:
            return ""
        solution = self.solve(problem)
        if solution.witness is None:
            return solution.reason
        return _difference(answer, tuple(solution.witness))

    def explain(self, problem: Any, answer: Symbols, verdict: Verdict) -> Explanation:
        return Explanation(self.reason(problem, answer, verdict), deciding=self.deciding(problem))

    def deciding(self, problem: Any) -> tuple[tuple[int, ...], ...]:
        """Return, for each token of the right answer, the problem's tokens that decide it.

        A token is given by its number in prefix notation, from 0. Returns () if there is no right
        answer.
        """
        return ()


def _difference(answer: Symbols, right: Symbols) -> str:
    """Return a description of the first difference between an answer and the right answer."""
    for number, (given, needed) in enumerate(zip(answer, right, strict=False), start=1):
        if given != needed:
            return f"symbol {number} is {given}, not {needed}"
    return f"{len(answer)} symbols, not {len(right)}"


class TokenLanguage(Language):
    """A language of strings of tokens. `make` turns a list of tokens into a value.

    Its grammar is right-linear: an alternative is empty, a token, or a token and a rule. So the
    rules are the states of a finite automaton, which reads a text twenty times as fast as Lark. The
    automaton reads texts with blanks between tokens. Lark reads all other texts, or reports their
    errors.
    """

    def __init__(self, grammar: str, make: Callable[[list[str]], Any]) -> None:
        super().__init__(grammar, partial(_build, make))
        self._make = make
        self._steps = {notation: self._automaton(notation) for notation in ("infix", "prefix")}
        self._is_symbol = self.symbol_pattern.fullmatch

    def read(self, text: str, notation: str = "infix") -> Any:
        tokens = text.split()
        accepted = self._accepts(tokens, notation)
        return self._make(tokens) if accepted else super().read(text, notation)

    def _automaton(self, notation: str) -> dict[str, dict[str, str]]:
        """Return the automaton: for each rule (state) and each step, the next rule.

        A step is a fixed token, any symbol, or the start or the end of the text.
        """
        steps: dict[str, dict[str, str]] = {_END: {_END: _END}}
        for production in self.productions(notation):
            after = steps.setdefault(production.rule, {})
            match production.parts:
                case (str(rule),) if production.rule == notation:
                    after[_START] = rule
                case ():
                    after[_END] = _END
                case (Token(text=text),):
                    after[text or _ANY] = _END
                case (Token(text=text), str(rule)):
                    after[text or _ANY] = rule
                case parts:
                    raise LogicgenError(f"grammar {self.name}: {parts} is not a token and a rule")
        return steps

    def _accepts(self, tokens: list[str], notation: str) -> bool:
        steps, is_symbol = self._steps[notation], self._is_symbol
        kinds = {token: _ANY if is_symbol(token) else token for token in set(tokens)}
        after = steps[steps[notation][_START]]
        for token in tokens:
            rule = after.get(kinds[token])
            if rule is None:
                return False
            after = steps[rule]
        return _END in after


@cache
def token_language(grammar: str, make: Callable[[list[str]], Any] = tuple) -> Language:
    """Return the language of a grammar (cached). `make` turns a list of tokens into a value."""
    return TokenLanguage(grammar, make)


def _build(make: Callable[[list[str]], Any], meaning: str, values: Sequence[Any]) -> Any:
    # The parser completes right-recursive rules from the last token to the first. So `tokens` is
    # in reverse order.
    tokens: list[str] = values[-1] if values else []
    match meaning:
        case "all":
            return make(tokens[::-1])
        case "then":
            tokens.append(str(values[0]))
        case "nothing":
            pass
        case fixed:
            tokens.append(_FIXED[fixed])
    return tokens


class DeterminedSettings(Settings):
    """Keys of `[problem]` that all tasks of this kind have.

    frequencies: the kind of frequencies of symbols; see `tasks/frequencies.py`.
    """

    frequencies: FrequencyKind = "uniform"


class DeterminedSource(Source):
    """Random problems that show one or more examples. Symbols are drawn by their frequencies."""

    exact = False
    named = True
    called: str  # the name of the problems in messages, with the keys that decide their length
    first: int  # the length of a problem with one example
    step: int  # the number of tokens of each further example

    def __init__(self, settings: DeterminedSettings, symbols: tuple[int, int]) -> None:
        super().__init__(symbols)
        self._frequencies = frequencies(settings.frequencies)

    def sample(self, rng: Random, cell: Cell) -> Draw:
        if obstacle := self.obstacle(cell):
            raise LogicgenError(obstacle)
        return self.drawn(rng, cell)

    @abstractmethod
    def drawn(self, rng: Random, cell: Cell) -> Draw:
        """Return a random problem of a cell that is not empty."""

    @abstractmethod
    def too_few(self, examples: int, symbols: int) -> str | None:
        """Return why `symbols` symbols are too few for the examples; None if they are enough."""

    def obstacle(self, cell: Cell) -> str | None:
        """Return why the lengths or symbols of a cell do not fit; None if they fit."""
        examples, most = self.examples(cell), self.symbols(cell)[-1]
        if not examples:
            first, step, lengths = self.first, self.step, cell.lengths
            asked = str(cell.length) if cell.width == 1 else f"{lengths[0]} to {lengths[-1]}"
            return (
                f"no {self.called} has {asked} tokens, but {first}, {first + step}, "
                f"{first + 2 * step} and so on: change length, or give step = {step}, so that "
                "every cell contains one of them"
            )
        return self.too_few(examples[0], most) or self._frequencies.obstacle(most)

    def examples(self, cell: Cell) -> list[int]:
        """Return the possible numbers of examples of a problem of the cell, in rising order."""
        further = (divmod(length - self.first, self.step) for length in cell.lengths)
        return [number + 1 for number, rest in further if number >= 0 and rest == 0]

    @staticmethod
    def names(numbers: Iterable[int]) -> dict[int, str]:
        """Return a name for each number: `a`, `b`, ... in order of first occurrence."""
        return {number: symbol_name(place) for place, number in enumerate(dict.fromkeys(numbers))}


class DeterminedTask(StringTask):
    """A task that shows examples of a rule and asks to apply the rule.

    between: the text between two symbols, if problems are part of a corpus of text.
    """

    symbols_meaning: ClassVar = "number of symbols the problem was drawn from"
    between: ClassVar[str] = ""
    token_accuracy: ClassVar = True
    Source: ClassVar[type[DeterminedSource]]
    Problem: ClassVar[Any]

    def source(self, settings: Any, symbols: tuple[int, int]) -> DeterminedSource:
        return self.Source(settings, symbols)

    @property
    def problem_language(self) -> Language:
        return token_language(self.name, self.Problem.of_tokens)

    @abstractmethod
    def answer_length(self, problem: Any) -> int:
        """Return the number of tokens of the answer."""

    @property
    def answer_language(self) -> Language:
        return token_language("symbols")

    def check(self, problem: Any, answer: Symbols, solver: str | None = None) -> Verdict:
        return Verdict.CORRECT if answer == self.solve(problem).witness else Verdict.INCORRECT
