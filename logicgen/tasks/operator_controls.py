"""Controls for formulas with unknown operators, which a model has to learn in context.

If every token of a data set is renamed at random, a formula alone cannot be understood: the name of
a token does not show whether it is `&`. Only the solved problems before the formula show it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import permutations

from logicgen.errors import LogicgenError
from logicgen.solvers import Status
from logicgen.tasks.controls import Control, Shot
from logicgen.tasks.propositional import Propositional
from logicgen.tokens import symbol_name

ARITIES: Mapping[str, int] = {"!": 1, "&": 2, "|": 2, "^": 2, "->": 2, "<->": 2}
"""The operators of propositional logic, with their numbers of operands."""

VALUES = ("1", "0")

FIXED = frozenset({*ARITIES, *VALUES})

_TASK = Propositional()

# Canonical answers that are kept in memory.
KEPT = 200_000

Tokens = tuple[str, ...]


class Meanings(Control):
    """The most probable answer over all meanings of the tokens that agree with the solved problems.

    A meaning assigns at most one token to each operator of the training problems, and a token to
    each truth value. All meanings are equally probable at first. A meaning agrees with a solved
    problem if the formula can be read with it, and if its canonical answer is the shown answer.
    This is the posterior, so no program that sees only the tokens gives more exact answers on
    average. If answers are equally probable, the answer that was found first comes first.
    """

    name = "meanings"
    about = "the exact posterior over the meanings of operators and truth values"
    needs_shots = True

    def __init__(self) -> None:
        self._arities = {name: ARITIES[name] for name in ("!", "&", "|")}

    def fit(self, solved: Sequence[Shot]) -> None:
        """Learn which operators occur."""
        occurring = {token for problem, _ in solved for token in problem.split()}
        self._arities = {name: count for name, count in ARITIES.items() if name in occurring}

    def answers(self, problem: str, count: int, shots: Sequence[Shot] = ()) -> list[str]:
        asked = tuple(problem.split())
        for other in {*asked} & {*_TASK.vocabulary.fixed} - {*self._arities}:
            known = " ".join(self._arities)
            raise LogicgenError(f"control:{self.name}: knows {known}, and the formula has {other}")
        shown = [(tuple(text.split()), tuple(answer.split())) for text, answer in shots]
        votes: Counter[str] = Counter()
        values = _values(shown)
        for operators in _operators(asked, shown, self._arities):
            if (answer := _canonical(asked, operators)) is None:
                continue
            for named in permutations(values, len(VALUES)):
                said = dict(zip(VALUES, named, strict=True))
                if all(_says(each, operators, said) == stored for each, stored in shown):
                    votes[" ".join(said.get(token, token) for token in answer)] += 1
        return [text for text, _ in votes.most_common(count)]


class Nearest(Control):
    """The answer to the most similar solved problem, with its symbols replaced in order."""

    name = "nearest"
    about = "the answer of the most similar solved problem, with its symbols renamed"
    needs_shots = True

    def answers(self, problem: str, count: int, shots: Sequence[Shot] = ()) -> list[str]:
        from rapidfuzz.distance import Levenshtein

        asked, found = _numbered(problem), dict[str, None]()
        ranked = sorted(shots, key=lambda shot: Levenshtein.distance(_numbered(shot[0]), asked))
        symbols = _symbols(problem)
        for text, answer in ranked:
            names = dict(zip(_symbols(text), symbols, strict=False))
            pairs = zip(answer.split()[::2], answer.split()[1::2], strict=False)
            kept = [f"{names[name]} {value}" for name, value in pairs if name in names]
            found[" ".join(kept)] = None
        return list(found)[:count]


class AllTrue(Control):
    """Every symbol is true.

    It knows which tokens are symbols, which a program that sees only the tokens does not.
    """

    name = "all-true"
    about = "every symbol of the formula is true"

    def answers(self, problem: str, count: int, shots: Sequence[Shot] = ()) -> list[str]:
        return [" ".join(f"{name} 1" for name in _symbols(problem))][:count]


def _symbols(problem: str) -> list[str]:
    """Return the distinct symbols of a formula, in order of first occurrence."""
    return [token for token in dict.fromkeys(problem.split()) if token not in FIXED]


def _numbered(problem: str) -> list[str]:
    """Return the tokens of a formula, with its symbols numbered in order of first occurrence."""
    numbers = {name: str(number) for number, name in enumerate(_symbols(problem))}
    return [numbers.get(token, token) for token in problem.split()]


def _values(shown: Sequence[tuple[Tokens, Tokens]]) -> list[str]:
    """Return the two tokens for truth values. A value that never occurs keeps its true name."""
    seen = list(dict.fromkeys(token for _, answer in shown for token in answer[1::2]))
    return [*seen, *(value for value in VALUES if value not in seen)][: len(VALUES)]


def _operators(
    asked: Tokens, shown: Sequence[tuple[Tokens, Tokens]], arities: Mapping[str, int]
) -> Iterator[tuple[tuple[str, str], ...]]:
    """Yield every assignment of operators to tokens with which all formulas can be read.

    An assignment is a tuple of pairs (token, operator). Operators without a token are left out.
    Tokens that occur as symbols of an answer, or at the end of a formula, are no operators.
    """
    formulas = [asked, *(formula for formula, _ in shown)]
    known = {token for _, answer in shown for token in answer}
    known |= {formula[-1] for formula in formulas}
    tokens = [t for t in dict.fromkeys(t for each in formulas for t in each) if t not in known]
    missing = [None] * len(arities)
    for chosen in dict.fromkeys(permutations([*tokens, *missing], len(arities))):
        pairs = tuple((t, name) for t, name in zip(chosen, arities, strict=True) if t is not None)
        operands = {token: arities[name] for token, name in pairs}
        if all(_can_be_read(formula, operands) for formula in formulas):
            yield pairs


def _can_be_read(formula: Tokens, arities: Mapping[str, int]) -> bool:
    """Return whether tokens are one formula in prefix notation; other tokens are symbols."""
    open_places = 1
    for token in formula:
        if open_places == 0:
            return False
        open_places += arities.get(token, 0) - 1
    return open_places == 0


def _says(
    formula: Tokens, operators: tuple[tuple[str, str], ...], said: dict[str, str]
) -> Tokens | None:
    """Return the canonical answer to a formula, in the tokens of a meaning.

    The result is None if the formula is unsatisfiable.
    """
    answer = _canonical(formula, operators)
    return None if answer is None else tuple(said.get(token, token) for token in answer)


@lru_cache(maxsize=KEPT)
def _canonical(formula: Tokens, operators: tuple[tuple[str, str], ...]) -> Tokens | None:
    """Return the canonical answer to a formula with these operators.

    The result is None if the formula is unsatisfiable.

    operators: pairs (token, operator). All other tokens are symbols.
    """
    meaning = dict(operators)
    names = {t: t for t in formula if t not in meaning}
    ours = {token: symbol_name(number) for number, token in enumerate(names)}
    text = " ".join(meaning.get(token) or ours[token] for token in formula)
    solution = _TASK.solve(_TASK.decode_problem(text))
    if solution.status is not Status.SAT:
        return None
    theirs = {name: token for token, name in ours.items()}
    return tuple(theirs.get(token, token) for token in _TASK.encode(solution.witness).split())
