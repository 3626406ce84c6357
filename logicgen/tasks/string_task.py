"""Tasks whose problems and answers are strings of tokens, the same in both notations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import Any, ClassVar

from logicgen.errors import LogicgenError
from logicgen.solvers import Verdict
from logicgen.syntax.language import Language, Token
from logicgen.tasks.task import Explanation, Task

Symbols = tuple[str, ...]

# With blanks, so that no token is called so.
_START, _END, _ANY = "start of a text", "end of a text", "any symbol"

# The fixed tokens of the grammars, by the names of their alternatives.
_FIXED = {"arrow": "->", "end": "->", "becomes": ">", "next": ";"}


class StringTask(Task):
    """A task without a solver, whose problems and answers are iterables of their tokens."""

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
        """Return, by token of the right answer, the tokens of the problem that decide it.

        Tokens are numbered in prefix notation, from 0. Empty where there is no right answer.
        """
        return ()


def _difference(answer: Symbols, right: Symbols) -> str:
    """Say where an answer first differs from the right one."""
    for number, (given, needed) in enumerate(zip(answer, right, strict=False), start=1):
        if given != needed:
            return f"symbol {number} is {given}, not {needed}"
    return f"{len(answer)} symbols, not {len(right)}"


class TokenLanguage(Language):
    """A language of strings of tokens; `make` turns a text's tokens into its value.

    An alternative of its grammar is a token and perhaps a rule, or nothing: so the rules are the
    states of a finite automaton, twenty times as fast as Lark. It reads tokens between blanks, and
    accepts what the grammar derives. All other texts are left to Lark, which reads them or says
    what is wrong.
    """

    def __init__(self, grammar: str, make: Callable[[list[str]], Any]) -> None:
        super().__init__(grammar, partial(_build, make))
        self._make = make
        self._steps = {notation: self._automaton(notation) for notation in ("infix", "prefix")}
        self._is_symbol = self.symbol_pattern.fullmatch

    def read(self, text: str, notation: str = "infix") -> Any:
        """Return the value of `text`. Raises FormatError with line and column."""
        tokens = text.split()
        accepted = self._accepts(tokens, notation)
        return self._make(tokens) if accepted else super().read(text, notation)

    def _automaton(self, notation: str) -> dict[str, dict[str, str]]:
        """Return, by rule, which rule follows a token, any symbol, or the end of a text."""
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
                    raise LogicgenError(f"grammar {self.name}: {parts} is no token and a rule")
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
    """Return the language of a grammar, made once; `make` turns a text's tokens into its value."""
    return TokenLanguage(grammar, make)


def _build(make: Callable[[list[str]], Any], meaning: str, values: Sequence[Any]) -> Any:
    # Right-recursive rules are complete from the last token on, so tokens are gathered backwards.
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
