"""Sentences of a grammar of productions. The probability of every sentence is known.

The grammar is written in the recipe or in a file (`docs/inductive.md`), or drawn at random. A row
is `<start>` and the words of one sentence, filled up with `<end>`. The data set also contains the
grammar, and an automaton that gives every sentence the same probability as the grammar.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, model_validator

from logicgen.automata.automaton_file import automaton_text
from logicgen.files import text_sha256
from logicgen.productions import Grammar, grammar_text, random_grammar, read_grammar
from logicgen.productions.grammar_file import make_grammar
from logicgen.productions.random_grammar import START, as_automaton
from logicgen.tasks.automaton_strings import AUTOMATON
from logicgen.tasks.corpus_task import TOKENS, CorpusTask, Part, RowCounts, RowSource
from logicgen.tokens import END, Tokens

GRAMMAR = "grammar.toml"

# Limits of a random grammar, so that its files stay small. A weight takes about 20 bytes in the
# grammar's file. A transition takes about 70 bytes in the automaton's file. Each transition leads
# from a unit (a nonterminal of the grammar), by a word, to a unit of a lower layer.
MOST_WEIGHTS = 10_000_000
MOST_TRANSITIONS = 500_000


class GrammarSentencesSettings(RowCounts):
    """Keys of `[corpus]`, in addition to the keys for rows."""

    grammar: dict[str, Any] | None = None  # the tables of a grammar file
    file: str | None = None  # path of a grammar
    # words, width, layers, concentration, own_words: arguments of `productions.random_grammar`
    words: Annotated[int, Field(ge=1, le=5_000)] | None = None
    width: Annotated[int, Field(ge=1, le=1_000)] | None = None
    layers: Annotated[int, Field(ge=1, le=1_000)] | None = None
    concentration: Annotated[float, Field(ge=1e-9, le=1e9)] = 1.0
    own_words: bool = False
    # The seed of the random grammar: another number gives another grammar
    draw: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _one_grammar(self) -> GrammarSentencesSettings:
        random = {"words", "width", "layers", "concentration", "own_words", "draw"}
        drawn = sorted(random & self.model_fields_set)
        given = [key for key in ("grammar", "file") if getattr(self, key) is not None]
        if len(given) > 1 or (given and drawn):
            other = given[1] if len(given) > 1 else drawn[0]
            raise ValueError(f"{given[0]} is a grammar, and {other} another: leave one out")
        for key in ("words", "width", "layers"):
            if not given and getattr(self, key) is None:
                raise ValueError(f"give a grammar, a file, or words, width and layers ({key})")
        if not given:
            self._check_size(self.words or 0, self.width or 0, self.layers or 0)
        return self

    def _check_size(self, words: int, width: int, layers: int) -> None:
        if words * width * layers > MOST_WEIGHTS:
            raise ValueError(
                f"words x width x layers is more than {MOST_WEIGHTS:,}: lower one of them"
            )
        # The number of pairs of a unit (nonterminal) of one layer and a word that it can produce.
        said = words if self.own_words else words * width
        if (transitions := said * (width * (layers - 1) + 1)) > MOST_TRANSITIONS:
            raise ValueError(
                f"words, width and layers make an automaton of {transitions:,} transitions;"
                f" {MOST_TRANSITIONS:,} are allowed: lower one of them"
            )

    def made(self) -> Grammar:
        """Return the grammar of the recipe or of the file, or a random grammar.

        Raises LogicgenError if the tables of the recipe or of the file are not a grammar.
        """
        if self.grammar is not None:
            return make_grammar(self.grammar, "corpus.grammar")
        if self.file is not None:
            return read_grammar(Path(self.file))
        assert self.width is not None
        assert self.layers is not None
        assert self.words is not None
        return random_grammar(
            self.width,
            self.layers,
            self.words,
            np.random.default_rng(self.draw),
            concentration=self.concentration,
            own_words=self.own_words,
        )


class GrammarSentencesSource(RowSource):
    """A corpus of independent random sentences of one grammar."""

    def __init__(self, settings: GrammarSentencesSettings, seed: int) -> None:
        self._grammar = settings.made()
        super().__init__(settings, self._grammar.positions + 1, seed)
        words = [word for word in self._grammar.words if word != END]
        self.tokens = Tokens("names", [END, START, *words])
        # The id of the token of each word, in the order of the grammar's words.
        self._ids = np.array([self.tokens.id(word) for word in self._grammar.words])
        self.facts = {}
        self.files = {
            GRAMMAR: grammar_text(self._grammar),
            AUTOMATON: automaton_text(as_automaton(self._grammar, START)),
        }
        self.digest = text_sha256(self.files[GRAMMAR])

    def drawn(self, rng: np.random.Generator, rows: int, split: str, number: int) -> Part:
        """Return the array `tokens` of token ids: `<start>` and one sentence in each row.

        Its shape is (rows, 1 + the most words of a sentence).
        """
        words = self._ids[self._grammar.sample(rng, rows)]
        return {TOKENS: np.insert(words, 0, self.tokens.id(START), axis=1)}


TASK = CorpusTask(
    "production",
    "sentences of a grammar of productions, given or drawn at random",
    GrammarSentencesSettings,
    GrammarSentencesSource,
)
