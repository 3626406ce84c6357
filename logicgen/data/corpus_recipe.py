"""Corpus recipes: TOML files that, with a seed, fully determine a corpus."""

from __future__ import annotations

from typing import Any, Self

from logicgen.data.data_recipe import Holds, Recipe
from logicgen.declaration import validate
from logicgen.errors import LogicgenError
from logicgen.tasks import load_corpus_task
from logicgen.tasks.corpus_task import CORPUS_SPLITS, CorpusTask
from logicgen.tasks.task import Settings


class CorpusRecipe(Recipe):
    """What a corpus is made of.

    Attributes:
        corpus: the task's own settings.
    """

    maker, progress_unit = "logicgen.data.corpus:make_corpus", "parts"

    corpus: dict[str, Any]

    def load_task(self) -> CorpusTask:
        """Return the task."""
        return load_corpus_task(self.task)

    def settings(self, where: str) -> Settings:
        """Return the `[corpus]` table, checked by the task."""
        return validate(self.load_task().Settings, self.corpus, where, "corpus")

    @property
    def holds(self) -> Holds:
        """Return what the data are; ciphers are sequences with keys."""
        return "ciphers" if self.task == "cipher" else "sequences"

    @property
    def splits(self) -> tuple[str, ...]:
        """Return the splits that it makes; a text is shared among all of them."""
        asked = self.settings("recipe").model_dump()
        return tuple(split for split in CORPUS_SPLITS if asked.get(split, 1))

    def resized(self, size: int, where: str = "recipe") -> Self:
        """Raise LogicgenError: what a corpus is counted in depends on its task."""
        raise LogicgenError(
            f"{where}: size is not for corpora: change the recipe instead (in a study by data_set)"
        )
