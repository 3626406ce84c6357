"""Controls for copying, look-up and permutation: programs that copy, count or guess.

The answers of these tasks contain only symbols of the problem. So a program can answer without
training. Solved problems before a problem are ignored. Random answers follow from the text of the
problem alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, product
from random import Random

from logicgen.tasks.controls import Control, Shot
from logicgen.tasks.lookup import LookupProblem
from logicgen.tasks.permutation import Permutation, PermutationProblem
from logicgen.tokens import symbol_index

# The number of random draws for each answer that is wanted. Equal answers count once.
DRAWS = 20

_PERMUTATION = Permutation()


class Copy(Control):
    """The string itself, which is always right.

    Copying needs no learning. Only a model that learns has to generalize to new symbols.
    """

    name = "copy"
    about = (
        "the string itself: a program that learns nothing copies also symbols that are new to it"
    )

    def answers(self, problem: str, count: int, shots: Sequence[Shot] = ()) -> list[str]:
        return [problem][:count]


class Constant(Control):
    """One symbol of the string, repeated; the most frequent symbol first."""

    name = "constant"
    about = "the most frequent symbol of the string, repeated"

    def answers(self, problem: str, count: int, shots: Sequence[Shot] = ()) -> list[str]:
        tokens = problem.split()
        ranked = Counter(tokens).most_common(count)
        return [" ".join([symbol] * len(tokens)) for symbol, _ in ranked]


class StringGuess(Control):
    """A random string of the same length, over the symbols of the string."""

    name = "random"
    about = "a random string of the same length, over the symbols of the string"

    def answers(self, problem: str, count: int, shots: Sequence[Shot] = ()) -> list[str]:
        tokens, rng = problem.split(), Random(problem)
        symbols = list(dict.fromkeys(tokens))
        return _different(lambda: rng.choices(symbols, k=len(tokens)) if tokens else [], count)


class KeyCounter(Control):
    """The value that most often follows each queried key.

    Values that follow other keys come after it. In an alternative answer, the last value changes
    first.
    """

    name = "counter"
    about = "the value that most often follows each key: always right, by counting alone"

    def answers(self, problem: str, count: int, shots: Sequence[Shot] = ()) -> list[str]:
        asked = LookupProblem.of_tokens(problem.split())
        all_values = _ranked(value for _, value in asked.pairs)
        ranked = [
            dict.fromkeys([*_ranked(v for key, v in asked.pairs if key == query), *all_values])
            for query in asked.queries
        ]
        return [" ".join(values) for values in islice(product(*ranked), count)]


class FrequentValue(Control):
    """One value for all queries; the most frequent value first."""

    name = "frequent"
    about = "the most frequent value, for every queried key"

    def answers(self, problem: str, count: int, shots: Sequence[Shot] = ()) -> list[str]:
        asked = LookupProblem.of_tokens(problem.split())
        ranked = _ranked(value for _, value in asked.pairs)[:count]
        return [" ".join([value] * len(asked.queries)) for value in ranked]


class ValueGuess(Control):
    """A random shown value for each queried key."""

    name = "random"
    about = "a random value of the pairs, for each queried key"

    def answers(self, problem: str, count: int, shots: Sequence[Shot] = ()) -> list[str]:
        asked, rng = LookupProblem.of_tokens(problem.split()), Random(problem)
        values = list(dict.fromkeys(value for _, value in asked.pairs))
        if asked.queries and not values:
            return []
        return _different(lambda: [rng.choice(values) for _ in asked.queries], count)


class SymbolCounter(Control):
    """A counter of the text: the symbol that most often followed the last two tokens.

    Symbols that followed only the last token come next, then all other symbols of the text. The
    answer is written from left to right. In an alternative answer, the last symbol changes first.
    """

    name = "counter"
    about = "the symbols that most often followed the last two tokens before (a trigram counter)"

    def answers(self, problem: str, count: int, shots: Sequence[Shot] = ()) -> list[str]:
        tokens = problem.split()
        length = _PERMUTATION.answer_length(PermutationProblem.of_tokens(tokens))
        return [" ".join(found) for found in islice(_continuations(tokens, length), count)]


class OrderGuess(Control):
    """A random order of the query, which follows no demonstration.

    An answer to a query of n different symbols is right with probability 1 / n!, and a token of it
    with probability 1 / n.
    """

    name = "guess"
    about = "a random order of the query's symbols"

    def answers(self, problem: str, count: int, shots: Sequence[Shot] = ()) -> list[str]:
        asked, rng = PermutationProblem.of_tokens(problem.split()), Random(problem)
        kept = min(_PERMUTATION.answer_length(asked), len(asked.query))
        return _different(lambda: rng.sample(asked.query, kept), count)


def _different(draw: Callable[[], Sequence[str]], count: int) -> list[str]:
    """Return at most `count` different random answers, in the order of their first draw."""
    found = dict[str, None]()
    for _ in range(DRAWS * count):
        found[" ".join(draw())] = None
        if len(found) == count:
            break
    return list(found)


def _ranked(tokens: Iterable[str]) -> list[str]:
    """Return different tokens, most frequent first, then in order of first occurrence."""
    return [token for token, _ in Counter(tokens).most_common()]


def _continuations(tokens: list[str], length: int) -> Iterator[list[str]]:
    """Yield each continuation of a text by `length` of its symbols, the most counted first."""
    pending = [tokens]
    while pending:
        text = pending.pop()
        if len(text) == len(tokens) + length:
            yield text[len(tokens) :]
        else:
            pending += [[*text, symbol] for symbol in reversed(_followers(text))]


def _followers(text: list[str]) -> list[str]:
    """Return the symbols of a text, ranked by how often they follow its last tokens."""
    found = dict[str, None]()
    for order in (2, 1, 0):
        last = text[len(text) - order :]
        places = range(order, len(text))
        after = (text[place] for place in places if text[place - order : place] == last)
        found |= dict.fromkeys(_ranked(each for each in after if symbol_index(each) is not None))
    return list(found)
