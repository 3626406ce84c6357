"""The measures of a study: tables of its recipe, and the one number that ranks what was found."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from logicgen.errors import LogicgenError
from logicgen.experiments import Json
from logicgen.measures.predictions import About
from logicgen.measures.scores import Score, Scores
from logicgen.recipes import Table

Count = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]

CELLS, ANSWERS, PERPLEXITY, KEYS = "cells", "answers", "perplexity", "keys"
"""Kinds of measures: answers counted by cell (`[evaluate]`), answers of which one score is kept,
and what corpora are read for. Which one it is follows from the table and the data."""

EVALUATION = "evaluation"
"""Name of the measure that `[evaluate]` is."""


class RenamedProblems(Table):
    """A split whose alpha-covariance is measured, on so many problems."""

    split: str = "test"
    limit: Count = 100
    embedding_seeds: Count = 1


class DecodingKeys(Table):
    """How answers are decoded; keys are as the options of `logicgen evaluate`.

    Samples are drawn by verified decoding only.
    """

    beams: Count = 1
    ensemble: Count = 1
    grammar: bool = True
    verified: Count | None = None
    temperature: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    covariance: RenamedProblems | None = None


class Evaluation(DecodingKeys):
    """Right answers by cell, and alpha-covariance: the table `[evaluate]`."""

    split: str = "grid"
    limit: Count | None = None
    embedding_seeds: Count = 1
    data: Literal["own", "base"] = "own"  # what a point is trained on, or what [base] names

    @property
    def name(self) -> str:
        """Return its name in records."""
        return EVALUATION

    def kind(self, holds: str, where: str) -> str:
        """Return its kind on data that hold problems. Raises LogicgenError for a corpus."""
        if holds != "problems":
            raise LogicgenError(
                f"{where}: data: a corpus, which has no problems and answers: give [[measure]] and"
                " the recipe of a language model"
            )
        return CELLS

    def data_recipe(self, base: Any) -> tuple[Any, ...] | None:
        """Return name, size, changes and seed of its data; None if those of training."""
        whose = (base.data, base.size, base.data_set, base.data_seed)
        return None if self.data == "own" else whose

    def needed_splits(self) -> dict[str, str]:
        """Return the splits that the data have to have, by the key that names them."""
        splits = {"evaluate.split": self.split}
        if self.covariance is not None:
            splits["evaluate.covariance.split"] = self.covariance.split
        return splits


class Measure(DecodingKeys):
    """One number or curve on data of its own: an entry of `[[measure]]`.

    `data` is a recipe (what the model is trained on, if not given): of look-up or permutation,
    whose answers are scored; of a cipher, whose keys a probe is asked for; of another corpus, of
    which the perplexity is measured. Other keys are as options of `logicgen evaluate` and `probe`.

    Attributes:
        keys: of an automaton's strings, asks a probe what symbols stand for, instead.
        by: draws right answers as a curve, too, over the number of symbols or the length.
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    data: str | None = None
    size: Count | None = None  # of train, validation and test together; as in the data recipe
    data_set: dict[str, Any] = Field(default={})  # changes to that recipe
    data_seed: Seed | None = None  # of those data; that of [base] if not given
    split: str = "test"
    limit: Count | None = None
    embedding_seeds: Count = 1
    by: Literal["symbols", "length"] | None = None
    context: Count | None = None
    beyond: Count = 100
    grammar: bool = False
    keys: bool = False
    steps: Count = 2000
    hidden: Count = 256
    layer: Count | None = None
    last: Count | None = None
    window: Count = 100

    @model_validator(mode="after")
    def _changes_name_their_data(self) -> Self:
        for key in ("size", "data_set", "data_seed"):
            if self.data is None and getattr(self, key) not in (None, {}):
                raise ValueError(f"{key}: is of the measure's own data: give data, too")
        return self

    def kind(self, holds: str, where: str) -> str:
        """Return its kind on data that hold problems, sequences or ciphers.

        Raises LogicgenError where a key asks for what such data have not.
        """
        if self.by is not None and holds != "problems":
            raise LogicgenError(
                f"{where}: measure {self.name}: by: goes with answers to problems; these data hold"
                f" {holds}"
            )
        if self.keys and holds == "problems":
            raise LogicgenError(f"{where}: measure {self.name}: keys: problems have none")
        if self.keys:
            return KEYS
        return {"problems": ANSWERS, "sequences": PERPLEXITY, "ciphers": KEYS}[holds]

    def data_recipe(self, base: Any) -> tuple[Any, ...] | None:
        """Return name, size, changes and seed of its data; None if those of training."""
        seed = base.data_seed if self.data_seed is None else self.data_seed
        return None if self.data is None else (self.data, self.size, self.data_set, seed)

    def needed_splits(self) -> dict[str, str]:
        """Return nothing: what a split lacks is said when it is read."""
        return {}


def headline(found: Json) -> tuple[float, bool]:
    """Return the one number of a measure, and whether less is better."""
    if found["kind"] == CELLS:
        return goal(scores_of(found).score())
    if found["kind"] == ANSWERS:
        return float(found["score"]["accuracy"]), False
    if found["kind"] == KEYS:
        return float(found["windows"][-1]["precision"]), False
    part = found["summary"].get("beyond") or found["summary"]["overall"]
    return float(part.get("kl_ideal", part["bits"])), True


def goal(score: Score) -> tuple[float, bool]:
    """Return the mean edit distance where the task has one, else the share of right answers.

    Beside it: whether less is better.
    """
    if score.edit_distance is not None:
        return score.edit_distance[0], True
    return score.accuracy[0], False


def scores_of(found: Json) -> Scores:
    """Return the counted answers of an evaluation."""
    return Scores.of_tally(found["tally"], About.of_json(found["about"]))
