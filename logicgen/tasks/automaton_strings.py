"""Strings of a weighted automaton, whose every probability is known.

The automaton is given as a file (`docs/automata.md`) or drawn at random. Every row is one string
from its beginning, cut at the row's length, so that the automaton gives the exact probability of
whatever stands there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, model_validator

from logicgen.automata import Automaton, normalise, random_automaton, read_automaton
from logicgen.automata.automaton_file import automaton_text
from logicgen.automata.sampling import sample_beginnings
from logicgen.checksum import text_sha256
from logicgen.errors import LogicgenError
from logicgen.tasks.corpus_task import (
    CORPUS_SPLITS,
    TOKENS,
    CorpusSource,
    CorpusTask,
    Positive,
    RowSettings,
)
from logicgen.tokens import Tokens
from logicgen.vocabulary import END, symbol_name

AUTOMATON = "automaton.toml"


class AutomatonSettings(RowSettings):
    """Keys of `[corpus]` beside those of rows.

    Attributes:
        file: of an automaton; without it one is drawn, and the other keys say which.
        symbols, states, branching, concentration: as of `automata.random_automaton`.
        expected_length: of its strings, in symbols.
        draw: which of the automata with these keys.
    """

    file: str | None = None
    symbols: Positive | None = None
    states: Positive | None = None
    expected_length: Annotated[float, Field(gt=0, lt=1e9)] | None = None
    branching: Positive = 1
    concentration: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    draw: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _one_automaton(self) -> AutomatonSettings:
        random = {"symbols", "states", "expected_length", "branching", "concentration", "draw"}
        if self.file is not None and (given := random & self.model_fields_set):
            raise ValueError(f"file is an automaton, and {min(given)} draws one: leave one out")
        if self.file is None:
            for key in ("symbols", "states", "expected_length"):
                if getattr(self, key) is None:
                    raise ValueError(f"give a file, or symbols, states and expected_length ({key})")
        return self

    def automaton(self) -> Automaton:
        """The one that is meant, locally normalised."""
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
            np.random.default_rng(self.draw),
            self.branching,
            self.concentration,
        )


class AutomatonSource(CorpusSource):
    """Strings drawn independently; those of part n of a split follow from seed, split and n."""

    def __init__(self, settings: AutomatonSettings, seed: int) -> None:
        self._settings, self._seed = settings, seed
        self._automaton = settings.automaton()
        self.tokens = Tokens("names", [END, *self._automaton.symbols])
        self.facts = {}
        self.files = {AUTOMATON: automaton_text(self._automaton)}
        self.digest = text_sha256(self.files[AUTOMATON])

    def parts(self, split: str) -> int:
        """As many as the rows take."""
        return len(self._settings.parts(split))

    def part(self, split: str, number: int) -> dict[str, np.ndarray]:
        """`tokens`: (rows, length)."""
        rows, length = self._settings.parts(split)[number], self._settings.length
        rng = np.random.default_rng((self._seed, CORPUS_SPLITS.index(split), number))
        strings = sample_beginnings(self._automaton, len(rows), length, rng)
        tokens = np.full((len(rows), length), self.tokens.end)
        tokens[:, : strings.ids.shape[1]] = np.where(
            strings.inside, strings.ids + 1, self.tokens.end
        )
        return {TOKENS: tokens}


class AutomatonTask(CorpusTask):
    """Strings of an automaton."""

    name: ClassVar = "automaton"
    about: ClassVar = "strings of a weighted automaton, given as a file or drawn at random"
    Settings: ClassVar = AutomatonSettings

    def source(self, settings: AutomatonSettings, seed: int) -> AutomatonSource:  # type: ignore[override]
        """Random strings."""
        return AutomatonSource(settings, seed)
