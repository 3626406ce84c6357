"""Corpora on disk: made from a recipe part by part, opened as memory-mapped arrays.

FOLDER/corpus.json                 recipe, seed, versions, tokens, files with checksums
FOLDER/train/00000.tokens.npy      arrays of one part, which NumPy opens in one line
FOLDER/validation/ FOLDER/test/    likewise
FOLDER/README.md                   a card for people
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from logicgen import shipped
from logicgen.atomic import is_part, write_atomically, write_text
from logicgen.data.dataset import CORPUS as DESCRIPTION
from logicgen.data.dataset import Dataset, load_dataset
from logicgen.data.generate import alone
from logicgen.data.shard import sha256
from logicgen.declaration import changed, read_toml, validate
from logicgen.errors import LogicgenError, nearest
from logicgen.markdown import markdown_table
from logicgen.tasks import CORPORA, load_corpus_task
from logicgen.tasks.corpus_task import CORPUS_SPLITS, TOKENS, CorpusSettings, CorpusSource
from logicgen.tokens import Tokens

CARD = "README.md"

Progress = Callable[[str, int, int], None]
"""Called with a split, parts done, and parts in all."""


class CorpusRecipe(BaseModel):
    """What a corpus is made of: a task, and the task's own settings."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: str
    description: str = ""
    corpus: dict[str, Any]

    def settings(self, where: str) -> CorpusSettings:
        """The `[corpus]` table, checked by the task."""
        return validate(load_corpus_task(self.task).Settings, self.corpus, where, "corpus")


def is_corpus_recipe(name: str) -> bool:
    """Whether a recipe is for a corpus. Raises LogicgenError where there is none."""
    tables = read_toml(shipped.find("datasets", ".toml", name))
    return tables.get("task") in list(CORPORA) or "corpus" in tables


def read_corpus_recipe(name: str, changes: Mapping[str, Any] | None = None) -> CorpusRecipe:
    """A shipped recipe by name, or the one in a TOML file.

    changes: values to use instead of the file's, by dotted key.
    Raises LogicgenError naming file and key where it is not a recipe for a corpus.
    """
    path = shipped.find("datasets", ".toml", name)
    recipe: CorpusRecipe = validate(
        CorpusRecipe, changed(read_toml(path), changes or {}, str(path)), str(path)
    )
    try:
        load_corpus_task(recipe.task)
    except LogicgenError as error:
        raise LogicgenError(f"{path}: task: {error}") from None
    recipe.settings(str(path))
    return recipe


def make_corpus(
    recipe: CorpusRecipe,
    folder: Path,
    *,
    name: str,
    seed: int = 0,
    progress: Progress = lambda split, done, total: None,
) -> dict[str, Any]:
    """Make the corpus in `folder`, or finish it there; returns its description.

    Memory does not grow with the corpus. Parts that are there are not made again.
    Raises LogicgenError where the folder holds something else, or there is nothing to make it of.
    """
    head: dict[str, Any] = {
        "format": 1,
        "name": name,
        "seed": seed,
        "recipe": recipe.model_dump(mode="json"),
        "versions": {"logicgen": version("logicgen"), "numpy": np.__version__},
    }
    before = _open_folder(folder, head)
    if before is not None and before["complete"]:
        return before
    source = load_corpus_task(recipe.task).source(recipe.settings(name), seed)
    head["versions"] |= source.facts
    if before is not None and before["versions"] != head["versions"]:
        raise _another(folder, "versions")
    head["tokens"], head["sources"] = source.tokens.as_dict(), source.digest
    if before is not None and any(before.get(key) != head[key] for key in ("tokens", "sources")):
        raise LogicgenError(
            f"{folder}: begun with other files than there are now; choose another folder with -o,"
            " or delete it"
        )
    folder.mkdir(parents=True, exist_ok=True)
    with alone(folder):
        _write_json(folder / DESCRIPTION, {**head, "complete": False})
        splits = _make_parts(source, folder, progress)
        for file, text in source.files.items():
            write_text(folder / file, text)
        description = {**head, "complete": True, "splits": splits}
        write_text(folder / CARD, _card(recipe, description))
        _write_json(folder / DESCRIPTION, description)
    for split in CORPUS_SPLITS:
        for number in range(len(splits[split]["parts"])):
            _list(folder, split, number).unlink(missing_ok=True)
    return description


def _make_parts(source: CorpusSource, folder: Path, progress: Progress) -> dict[str, Any]:
    """All parts of all splits that are not there yet; what the description says of them."""
    # Arrays of numbers no larger than they have to be.
    kinds = np.uint8, np.uint16, np.uint32
    kind = next(each for each in kinds if len(source.tokens) <= np.iinfo(each).max + 1)
    splits: dict[str, Any] = {}
    for split in CORPUS_SPLITS:
        parts = source.parts(split)
        splits[split] = {"tokens": 0, "parts": []}
        for number in range(parts):
            progress(split, number, parts)
            made = _made(folder, split, number)
            if made is None:
                files = {}
                for what, array in source.part(split, number).items():
                    path = folder / split / f"{number:05d}.{what}.npy"
                    array = array.astype(kind)
                    write_atomically(path, lambda part, array=array: _save(part, array))  # type: ignore[misc]
                    files[what] = {"shape": list(array.shape), "sha256": sha256(path)}
                made = files
                # The list of its files says that a part is whole.
                _write_json(_list(folder, split, number), made)
            splits[split]["parts"].append(made)
            splits[split]["tokens"] += int(np.prod(made[TOKENS]["shape"]))
        progress(split, parts, parts)
    return splits


def _save(path: Path, array: np.ndarray) -> None:
    with open(path, "wb") as file:
        np.save(file, array, allow_pickle=False)


def _list(folder: Path, split: str, number: int) -> Path:
    return folder / split / f"{number:05d}.json"


def _made(folder: Path, split: str, number: int) -> dict[str, Any] | None:
    """What a part consists of, if all its files are there; else None, and it is made anew."""
    with suppress(OSError, ValueError, AttributeError):
        made = json.loads(_list(folder, split, number).read_text(encoding="utf-8"))
        files = [folder / split / f"{number:05d}.{what}.npy" for what in made]
        if all(file.is_file() for file in files):
            return dict(made)
    return None


def _write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def _another(folder: Path, what: str) -> LogicgenError:
    return LogicgenError(
        f"{folder}: holds a corpus of another {what}; choose another folder with -o, or delete it"
    )


def _open_folder(folder: Path, head: dict[str, Any]) -> dict[str, Any] | None:
    """What the folder's description says, where it holds this corpus; None if it is empty."""
    if folder.exists() and not folder.is_dir():
        raise LogicgenError(f"{folder}: a file is in the way; choose another folder with -o")
    if not folder.exists() or all(is_part(file) for file in folder.iterdir()):
        return None
    path = folder / DESCRIPTION
    if not path.is_file():
        raise LogicgenError(f"{folder}: not empty and not a corpus; choose another folder with -o")
    found = _read_description(path)
    for key in ("format", "name", "seed", "recipe"):
        if found.get(key) != head[key]:
            raise _another(folder, key)
    return found


def _read_description(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        _ = found["complete"], found["recipe"], found["name"], found["versions"]
        if found["complete"]:
            _ = Tokens(**found["tokens"])
            for part in (part for split in found["splits"].values() for part in split["parts"]):
                _ = [(file["shape"], file["sha256"]) for file in part.values()]
        return dict(found)
    except (ValueError, KeyError, TypeError, OSError):
        raise LogicgenError(f"{path}: damaged; make the corpus again in an empty folder") from None


class Corpus:
    """One corpus.

    Attributes:
        folder: where it is.
        description: the contents of `corpus.json`.
        recipe: what it was made from.
        tokens: of which it consists.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = folder / DESCRIPTION
        if not path.is_file():
            raise LogicgenError(f"{folder}: not a corpus (no {DESCRIPTION})")
        self.description = _read_description(path)
        if not self.description["complete"]:
            raise LogicgenError(
                f"{folder}: not finished; run the same logicgen generate command again"
            )
        self.recipe: CorpusRecipe = validate(
            CorpusRecipe, self.description["recipe"], str(path), "recipe"
        )
        self.tokens = Tokens(**self.description["tokens"])

    @property
    def name(self) -> str:
        """Name of the recipe it was made from."""
        return str(self.description["name"])

    @property
    def splits(self) -> dict[str, int]:
        """Number of tokens of each split."""
        return {name: split["tokens"] for name, split in self.description["splits"].items()}

    @cached_property
    def fingerprint(self) -> str:
        """Changes when any byte of it does."""
        sums = [
            file["sha256"]
            for split in self.description["splits"].values()
            for part in split["parts"]
            for file in part.values()
        ]
        return hashlib.sha256("".join(sums).encode()).hexdigest()[:16]

    def arrays(self, split: str, what: str = TOKENS) -> list[np.ndarray]:
        """The arrays of a split, memory-mapped, part by part.

        Raises LogicgenError for an unknown or empty split, what the corpus has not, and a file that
        is missing or truncated.
        """
        splits = self.description["splits"]
        if split not in splits:
            raise LogicgenError(
                f"{self.folder}: no split is called {split!r}: {nearest(split, list(splits))}"
            )
        if not splits[split]["tokens"]:
            raise LogicgenError(f"{self.folder}: split {split!r} is empty")
        found = []
        for number, part in enumerate(splits[split]["parts"]):
            path = self.folder / split / f"{number:05d}.{what}.npy"
            if what not in part:
                raise LogicgenError(f"{self.folder}: a corpus of {self.recipe.task} has no {what}")
            try:
                array = np.load(path, mmap_mode="r", allow_pickle=False)
                if list(array.shape) != part[what]["shape"]:
                    raise ValueError
            except (OSError, ValueError, EOFError):
                raise LogicgenError(
                    f"{path}: missing, altered or truncated; make the corpus again in an empty"
                    " folder"
                ) from None
            found.append(array)
        return found


def load_data(folder: str | Path) -> Dataset | Corpus:
    """The data set or the corpus in a folder. LogicgenError where there is no finished one."""
    folder = Path(folder)
    return Corpus(folder) if (folder / DESCRIPTION).is_file() else load_dataset(folder)


def _card(recipe: CorpusRecipe, description: dict[str, Any]) -> str:
    """The card's text."""
    sizes = markdown_table(
        ["split", "tokens", "parts"],
        [
            [split, f"{content['tokens']:,}", str(len(content["parts"]))]
            for split, content in description["splits"].items()
        ],
    )
    versions = ", ".join(f"{name} {number}" for name, number in description["versions"].items())
    return f"""# {description["name"]}

{recipe.description}

A corpus of the task `{recipe.task}`, made by logicgen from the recipe in `{DESCRIPTION}` with seed
{description["seed"]}; the same recipe, seed and versions ({versions}) give the same bytes. Its
{len(description["tokens"]["texts"]):,} tokens are in `{DESCRIPTION}` as well.

{sizes}

```python
import numpy
tokens = numpy.load("train/00000.tokens.npy", mmap_mode="r")
```
"""
