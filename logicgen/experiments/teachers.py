"""Teachers and students.

A teacher is a given grammar of productions. A student is a grammar that an inductive Transformer
learns from sentences.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from logicgen import recipes
from logicgen.data.recipe import CorpusRecipe
from logicgen.errors import LogicgenError, nearest, shortened
from logicgen.experiments import Json, Number, Positive
from logicgen.productions import NEGLIGIBLE, Grammar, read_grammar
from logicgen.recipes import Table
from logicgen.tasks.grammar_sentences import GRAMMAR, GrammarSentencesSettings

if TYPE_CHECKING:
    from logicgen.training.students import Sentences


def find_teacher(name: str) -> Grammar:
    """Return the grammar of a data-set recipe, a grammar file, a data set or a trained model.

    name: the name of a shipped recipe, or a path.

    Raises LogicgenError if there is no grammar.
    """
    if name in recipes.names("datasets", ".toml"):
        settings = CorpusRecipe.read(name).settings(name)
        if not isinstance(settings, GrammarSentencesSettings):
            raise LogicgenError(
                f"{name}: a recipe of another task: give a recipe of the task production"
            )
        return settings.made()
    if not os.path.exists(name):
        raise LogicgenError(
            f"{shortened(name)}: there is no such recipe, file or folder;"
            f" {nearest(name, recipes.names('datasets', '.toml'))}"
        )
    return load_grammar(Path(name))[0]


def load_grammar(run: Path) -> tuple[Grammar, float]:
    """Return the grammar of a grammar file, a data set or a trained model.

    Also returns the number up to which weights of this grammar count as 0. Raises LogicgenError if
    `run` has no grammar.
    """
    if run.suffix == ".toml":
        return read_grammar(run), 0.0
    if os.path.isfile(run / GRAMMAR):
        return read_grammar(run / GRAMMAR), 0.0
    from logicgen.model.checkpoint import RUN, load_model

    if not os.path.isfile(run / RUN) and str(run) not in recipes.trained():
        raise LogicgenError(
            f"{run}: no trained model, no grammar file (.toml), and no folder with a {GRAMMAR}"
        )
    return load_model(run, "cpu").grammar(str(run)), NEGLIGIBLE


class LessonTable(Table):
    """The keys of `training.students.Lesson` that experiments change."""

    steps: Positive
    starts: Positive
    learning_rate: Annotated[Number, Field(gt=0)] = 0.1
    crispness: Annotated[Number, Field(ge=0, le=1e6)] = 0.0
    nudge: Annotated[Number, Field(ge=-100, le=100)] = 0.0

    def arguments(self, **changes: Any) -> Json:
        """Return all keys of `Lesson` as a dictionary; `changes` replaces some values."""
        from logicgen.training.students import Lesson

        return asdict(Lesson(**{**self.model_dump(), **changes}))


def learn(
    lessons: list[Sentences], words: tuple[str, ...], width: int, lesson: Json, seed: int
) -> tuple[list[Grammar], np.ndarray]:
    """Learn a grammar (student) from each of `lessons`, which are sets of sentences.

    width: the number of units of each layer.
    lesson: the keys of `Lesson`, the settings of the training.

    Returns the grammars of the students, and their losses in nats, (students,).
    """
    from logicgen.model.inductive import as_grammar
    from logicgen.training.students import Lesson, teach

    weights, losses = teach(
        lessons, words=len(words), width=width, lesson=Lesson(**lesson), seed=seed
    )
    return [as_grammar(weights, number, words) for number in range(len(lessons))], losses
