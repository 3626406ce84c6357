"""Grammars that commands and experiments are given by name."""

from __future__ import annotations

import os
from pathlib import Path

from logicgen import recipes
from logicgen.data.recipe import CorpusRecipe
from logicgen.errors import LogicgenError, nearest, shortened
from logicgen.productions import NEGLIGIBLE, Grammar, read_grammar
from logicgen.tasks.grammar_sentences import GRAMMAR, GrammarSentencesSettings


def find_teacher(name: str) -> Grammar:
    """Return the grammar of a recipe, a grammar file, a data set or a trained model."""
    if name in recipes.names("datasets", ".toml"):
        settings = CorpusRecipe.read(name).settings(name)
        if not isinstance(settings, GrammarSentencesSettings):
            raise LogicgenError(f"{name}: a recipe of another task: give one of production")
        return settings.made()
    if not os.path.exists(name):
        raise LogicgenError(
            f"{shortened(name)}: no recipe is called so, nor is there a file or folder;"
            f" {nearest(name, recipes.names('datasets', '.toml'))}"
        )
    return load_grammar(Path(name))[0]


def load_grammar(run: Path) -> tuple[Grammar, float]:
    """Return the grammar of a file, a data set or a trained model, and what in it is negligible."""
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
