"""Suites: fixed collections of problems with certified answers, to compare programs with.

A suite is a TOML file. Each part names the recipe of a data set, changes to it, a split and a seed.
Every problem comes with two rewrites (`tasks/rewrites.py`). The file contains the fingerprint of
each part, so that all copies of a suite contain the same problems.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from random import Random
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from logicgen import recipes
from logicgen.callbacks import StageProgress, no_progress
from logicgen.data.dataset import Dataset
from logicgen.data.opening import make, read_data_recipe
from logicgen.data.recipe import DataRecipe
from logicgen.errors import LogicgenError
from logicgen.files import prepare_folder, read_gzip, read_json, text_sha256, write_gzip
from logicgen.recipes import Table, read_toml, validate
from logicgen.scoring.prompts import VERSION, prompt_of
from logicgen.tasks import Task, load_task
from logicgen.tasks.rewrites import rewrites

FOLDER = Path("runs") / "suites"

# The columns of a problem in the file of a part. Columns of difficulty follow, if the task has any.
COLUMNS = ("problem", "answer", "rewrites", "symbols", "length")
DIFFICULTY = ("positions", "depth", "satisfying")

FORMS = 3  # the problem and its two rewrites

Row = dict[str, Any]


class SuitePart(Table):
    """A part of a suite: problems of one task.

    Attributes:
        about: a description of the problems, in one line.
        data: the name of the recipe, with the changes `set`.
        limit: the most problems, chosen evenly from the split; None means all problems.
        fingerprint: the SHA-256 of all problems, answers and rewrites; None if it is not yet known.
    """

    name: str
    about: str
    data: str
    split: str
    seed: int
    set: dict[str, Any] = Field(default={})
    limit: Annotated[int, Field(ge=1)] | None = None
    fingerprint: str | None = None

    @property
    def key(self) -> str:
        """Return a checksum of the keys that determine the problems, for the names of files."""
        return text_sha256(self.model_dump_json(exclude={"about", "fingerprint"}))[:8]

    def recipe(self) -> DataRecipe:
        """Return the recipe of the problems. Raises LogicgenError if it is not of problems."""
        found = read_data_recipe(self.data, self.set)
        if not isinstance(found, DataRecipe):
            raise LogicgenError(f"part {self.name}: {self.data} is a corpus, without answers")
        return found


class SuiteRecipe(Table):
    """The content of the TOML file of a suite."""

    description: str
    parts: list[SuitePart] = Field(min_length=1)

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [part.name for part in self.parts]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"parts: several are called {name!r}: give each its own name")
        return self

    @classmethod
    def read(cls, name: str) -> SuiteRecipe:
        """Return a suite. name: the name of a shipped suite, or the path of a TOML file."""
        path = recipes.find("suites", ".toml", name)
        return validate(cls, read_toml(path), str(path))


@dataclass(frozen=True)
class Suite:
    """The problems of a suite.

    Attributes:
        name: the name of the suite.
        rows: for each part, its problems (see `COLUMNS`).
        fingerprints: for each part, the SHA-256 of its problems, answers and rewrites.
    """

    name: str
    recipe: SuiteRecipe
    rows: Mapping[str, list[Row]]
    fingerprints: Mapping[str, str]

    @cached_property
    def fingerprint(self) -> str:
        """Return the SHA-256 of the fingerprints of the parts."""
        return text_sha256(" ".join(self.fingerprints.values()))

    @cached_property
    def listed(self) -> dict[str, Any] | None:
        """Return the content of the file of ratings; None if the suite's version has no such file.

        Keys: `systems`, the names of the systems that answer each part; `failures`, how many of
        them are wrong on each problem; `scores`, the scores of each system on each part.
        """
        try:
            path = recipes.find("suites", ".json", f"{self.name}.ratings")
        except LogicgenError:
            return None
        found = read_json(path, "run logicgen suite leaderboard again")
        return found if found["fingerprint"] == self.fingerprint else None

    @property
    def ratings(self) -> dict[str, list[float]] | None:
        """Return the rating of each problem, by part; None if the suite has no file of ratings.

        The rating is the share of the listed systems that are wrong on the problem, of the systems
        that answer its part. Source: Sutcliffe and Suttner, Evaluating general purpose automated
        theorem proving systems (Artificial Intelligence, 2001).
        """
        return self.listed and ratings_of(self.listed)

    def task(self, part: str) -> Task:
        """Return the task of a part."""
        return load_task(self._part(part).recipe().task)

    def about(self, part: str) -> str:
        """Return the description of the problems of a part."""
        return self._part(part).about

    def _part(self, name: str) -> SuitePart:
        return next(part for part in self.recipe.parts if part.name == name)

    def forms(self, part: str, form: int) -> list[str]:
        """Return the problems of a part in prefix notation.

        form: 0 for the problems, 1 and 2 for their rewrites.
        """
        rows = self.rows[part]
        return [row["rewrites"][form - 1] if form else row["problem"] for row in rows]

    def prompts(self) -> Iterator[Row]:
        """Yield a prompt for each form of each problem, to ask a language model.

        A part is left out if its task has no prompts.
        """
        for part in self.rows:
            task = self.task(part)
            if task.wording is None:
                continue
            for form in range(FORMS):
                for row, text in enumerate(self.forms(part, form)):
                    yield {
                        "prompt": prompt_of(task, task.decode_problem(text)),
                        "suite": self.name,
                        "fingerprint": self.fingerprint,
                        "part": part,
                        "row": row,
                        "form": form,
                        "prompt_version": VERSION,
                    }


def open_suite(
    name: str,
    folder: Path | None = None,
    *,
    workers: int = 1,
    progress: StageProgress = no_progress,
) -> Suite:
    """Make the problems of a suite, or read them if an earlier call has made them.

    name: the name of a shipped suite, or the path of a TOML file.
    folder: the folder of the problems; by default `runs/suites/NAME`.

    Raises LogicgenError if the problems differ from the fingerprints in the file of the suite.
    """
    recipe, called = SuiteRecipe.read(name), Path(name).stem if name.endswith(".toml") else name
    folder = folder or FOLDER / called
    prepare_folder(folder)
    rows: dict[str, list[Row]] = {}
    fingerprints: dict[str, str] = {}
    for part in recipe.parts:
        path = folder / f"{part.name}-{part.key}.jsonl.gz"
        if not path.is_file():
            text = "".join(_lines(part, folder / "data" / path.stem, workers, progress))
            write_gzip(path, text)
        text = read_gzip(path, "delete this file and try again")
        found = fingerprints[part.name] = text_sha256(text)
        if part.fingerprint not in (None, found):
            raise LogicgenError(
                f"{path}: the problems have the fingerprint {found[:16]}, and {called} asks for"
                f" {str(part.fingerprint)[:16]}: delete {folder} and try again; if that does not"
                " help, this version of logicgen draws other problems"
            )
        rows[part.name] = [json.loads(line) for line in text.splitlines()]
    return Suite(called, recipe, rows, fingerprints)


def ratings_of(listed: Mapping[str, Any]) -> dict[str, list[float]]:
    """Return the rating of each problem, by part. listed: see `Suite.listed`."""
    return {
        part: [failed / len(listed["systems"][part]) for failed in failures]
        for part, failures in listed["failures"].items()
    }


def _lines(part: SuitePart, folder: Path, workers: int, progress: StageProgress) -> Iterator[str]:
    """Make the data set of a part; yield a line of JSON for each problem."""
    recipe = part.recipe()
    if part.split not in recipe.splits:
        raise LogicgenError(f"part {part.name}: {part.data} has no split {part.split!r}")
    making = partial(progress, f"{part.name}: problems of")
    make(
        recipe,
        folder,
        name=part.data,
        seed=part.seed,
        workers=workers,
        progress=lambda split, done, total: making(done, total) if total else None,
    )
    data = Dataset(folder)
    table = data.table(part.split)
    count = min(part.limit or len(table), len(table))
    for number in range(count):
        row = table.slice(number * len(table) // count, 1).to_pylist()[0]
        rng = Random(f"{part.seed} {number}")
        kept = {key: row[key] for key in (*COLUMNS, *DIFFICULTY) if key in row}
        kept["rewrites"] = rewrites(data.task, row["problem"], rng)
        yield json.dumps(kept, sort_keys=True, ensure_ascii=False) + "\n"
        progress(f"{part.name}: rewrites", number + 1, count)
