"""Strings of a weighted automaton. The probability of every string is known.

The automaton is read from a file (`docs/automata.md`) or drawn at random. Every row is a string, or
the beginning of a string that is longer than a row. A corpus can have strings of many automata. A
model that is trained on it can predict strings of automata that it has never seen.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from logicgen.automata import Automaton, normalise, random_automaton, read_automaton
from logicgen.automata.automaton_file import automaton_text
from logicgen.automata.strings import sample_beginnings
from logicgen.errors import LogicgenError
from logicgen.files import text_sha256
from logicgen.tasks.corpus_task import TOKENS, CorpusTask, Part, RowSettings, RowSource
from logicgen.tasks.task import Positive
from logicgen.tokens import END, Tokens, symbol_name

AUTOMATON = "automaton.toml"

# Limits of a random automaton, so that its file and the time to make it stay small. A transition
# takes about 50 bytes in the file. To make the automaton, about 50 systems of equations are solved,
# with an unknown for each state. Each symbol needs a transition matrix.
MOST_TRANSITIONS = 200_000
MOST_STATES = 2_000
MOST_SYMBOLS = 2_000
MOST_AUTOMATA = 10_000


class AutomatonSettings(RowSettings):
    """Keys of `[corpus]`, in addition to the keys for rows."""

    file: str | None = None  # path of an automaton; if missing, an automaton is drawn at random
    # symbols, states, branching, concentration: arguments of `automata.random_automaton`
    symbols: Annotated[int, Field(ge=1, le=MOST_SYMBOLS)] | None = None
    states: Annotated[int, Field(ge=1, le=MOST_STATES)] | None = None
    # Mean length of the strings, in symbols
    expected_length: Annotated[float, Field(ge=1e-9, lt=1e9)] | None = None
    branching: Positive = 1
    # The least value is 0.01, because too many weights would be rounded to 0 with a smaller value
    concentration: Annotated[float, Field(ge=0.01, le=1e9)] = 1.0
    # The seed of the random automaton: another number gives another automaton
    draw: Annotated[int, Field(ge=0)] = 0
    # The number of automata; their seeds are `draw`, `draw` + 1 and so on. Each string comes from
    # a random automaton
    automata: Annotated[int, Field(ge=1, le=MOST_AUTOMATA)] = 1

    @model_validator(mode="after")
    def _one_automaton(self) -> AutomatonSettings:
        random = {"symbols", "states", "expected_length", "branching", "concentration", "draw"}
        random |= {"automata"}
        if self.file is not None and (given := random & self.model_fields_set):
            raise ValueError(f"file is an automaton, and {min(given)} draws another: leave one out")
        if self.file is None:
            for key in ("symbols", "states", "expected_length"):
                if getattr(self, key) is None:
                    raise ValueError(f"give a file, or symbols, states and expected_length ({key})")
            symbols, states = self.symbols or 0, self.states or 0
            if self.branching > states:
                raise ValueError(f"branching is {self.branching}, and there are {states} states")
            transitions = symbols * states * self.branching * self.automata
            if transitions > MOST_TRANSITIONS:
                raise ValueError(
                    f"symbols x states x branching x automata is {transitions:,} transitions;"
                    f" {MOST_TRANSITIONS:,} are allowed: lower one of them"
                )
        return self

    def automaton(self, number: int = 0) -> Automaton:
        """Return random automaton `number`, or the automaton of the file.

        The automaton is locally normalized: the probabilities of a state's transitions and of
        ending there sum to 1. Raises LogicgenError for a faulty file.
        """
        if self.file is not None:
            automaton = normalise(read_automaton(Path(self.file)))
            for symbol in automaton.symbols:
                if symbol == END or symbol.split() != [symbol]:
                    raise LogicgenError(
                        f"{self.file}: symbol {symbol!r}: a token of a corpus has no blanks and is"
                        f" not {END}: rename it"
                    )
            return automaton
        assert self.symbols is not None
        assert self.states is not None
        assert self.expected_length is not None
        return random_automaton(
            map(symbol_name, range(self.symbols)),
            self.states,
            self.expected_length,
            np.random.default_rng(self.draw + number),
            self.branching,
            self.concentration,
        )


class AutomatonSource(RowSource):
    """A corpus of independent random strings of one automaton or of several automata."""

    def __init__(self, settings: AutomatonSettings, seed: int) -> None:
        super().__init__(settings, settings.length, seed)
        self._automata = [settings.automaton(number) for number in range(settings.automata)]
        self.tokens = Tokens("names", [END, *self._automata[0].symbols])
        self.facts = {}
        texts = [automaton_text(automaton) for automaton in self._automata]
        self.files = {AUTOMATON: texts[0]} if len(texts) == 1 else {}
        self.digest = text_sha256("".join(texts))

    def drawn(self, rng: np.random.Generator, rows: int, split: str, number: int) -> Part:
        """Return the array `tokens` of token ids, of shape (rows, length)."""
        tokens = np.full((rows, self._length), self.tokens.end)
        whose = np.zeros(rows, dtype=np.int64)
        if len(self._automata) > 1:
            whose = rng.integers(len(self._automata), size=rows)
        for which in np.unique(whose):
            own = np.flatnonzero(whose == which)
            strings = sample_beginnings(self._automata[which], len(own), self._length, rng)
            written = np.where(strings.inside, strings.ids + 1, self.tokens.end)
            tokens[own, : written.shape[1]] = written
        return {TOKENS: tokens}


TASK = CorpusTask(
    "automaton",
    "strings of a weighted automaton, given as a file or drawn at random",
    AutomatonSettings,
    AutomatonSource,
)
