"""Students of the experiments: grammars that inductive Transformers learn from sentences."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from logicgen.experiments import Count, Json, Number
from logicgen.model.inductive import as_grammar
from logicgen.productions import Grammar
from logicgen.recipes import Table
from logicgen.training.students import Lesson, Sentences, teach


class LessonTable(Table):
    """The training of students: the keys that experiments change of a `train.students.Lesson`."""

    steps: Count
    starts: Count
    learning_rate: Annotated[Number, Field(gt=0)] = 0.1
    crispness: Annotated[Number, Field(ge=0, le=1e6)] = 0.0
    nudge: Annotated[Number, Field(ge=-100, le=100)] = 0.0

    def arguments(self, **changes: Any) -> Json:
        """Return all keys of the lesson, as an argument of a point."""
        return asdict(Lesson(**{**self.model_dump(), **changes}))


def learn(
    lessons: list[Sentences], words: tuple[str, ...], width: int, lesson: Json, seed: int
) -> tuple[list[Grammar], np.ndarray]:
    """Return a student of each set of sentences, `width` units a layer, and the losses in nats."""
    weights, losses = teach(
        lessons, words=len(words), width=width, lesson=Lesson(**lesson), seed=seed
    )
    return [as_grammar(weights, number, words) for number in range(len(lessons))], losses
