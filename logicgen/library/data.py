"""Make, load, convert and export data sets, and list recipes and versions."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logicgen.callbacks import Bars, Say, no_bars, no_progress
from logicgen.errors import LogicgenError, at, printable
from logicgen.extras import EXTRAS, extras_named

if TYPE_CHECKING:
    from logicgen.data.corpus import Corpus
    from logicgen.data.dataset import Dataset
    from logicgen.data.recipe import DataRecipe, Recipe
    from logicgen.tasks.public_task import Notation


def generate(
    recipe: str | Path,
    folder: str | Path,
    *,
    seed: int = 0,
    size: int | None = None,
    workers: int | None = None,
) -> Dataset | Corpus:
    """Make the data set or corpus of a recipe in a folder, and return it.

    If an earlier run in this folder was interrupted, continue it.

    recipe: the name of a shipped recipe, or the path of a TOML file.
    folder: a folder, or a URL such as `s3://bucket/folder` if fsspec's package for it is installed.
    size: number of examples in train, validation and test together. The default is in the recipe.
    workers: number of worker processes; one for each core if not given. The data do not depend on
        it.

    Raises LogicgenError if the recipe is wrong, or if the folder holds other files.
    """
    make_data(recipe, folder, seed=seed, size=size, workers=workers)
    return load_dataset(folder)


def make_data(
    recipe: str | Path | DataRecipe,
    folder: str | Path,
    *,
    name: str | None = None,
    seed: int = 0,
    size: int | None = None,
    changes: Sequence[str] = (),
    workers: int | None = None,
    bars: Bars = no_bars,
    say: Say = no_progress,
) -> None:
    """Make data as `generate` does, and pass the lines of a summary to `say`.

    name: name of the recipe. The default is the file name of `recipe` without its suffix.
    changes: texts `KEY=VALUE` that replace values of a recipe that is read from a file.
    bars: a function that shows the progress.
    """
    from logicgen.data.estimate import announcement
    from logicgen.data.opening import kind_of, make, read_data_recipe
    from logicgen.recipes import parse_changes

    if isinstance(recipe, str | Path):
        read: Recipe = read_data_recipe(str(recipe), parse_changes(changes))
        name = name or Path(recipe).stem
    else:
        read, name = recipe, name or recipe.task
    if size is not None:
        read = read.resized(size, name)
    for line in announcement(read, name):
        say(line)
    count = workers or os.cpu_count() or 1
    with bars(read.progress_unit, f"{printable(name)} ") as progress:
        made = make(read, folder, name=name, seed=seed, workers=count, progress=progress)
    for line in kind_of(read).summary(made, folder):
        say(line)


def load_dataset(folder: str | Path) -> Dataset | Corpus:
    """Return the finished data set or corpus in a folder or at a URL.

    Data at a URL are first copied to a local cache. Raises LogicgenError if the data are missing,
    unfinished or damaged.
    """
    from logicgen.data import opening

    return opening.load_dataset(folder)


def convert(task: str, source: str | Path, target: str, *, split: str = "train") -> int:
    """Read examples, write them in another format, and return their number.

    source: path of the examples: a data-set folder, a `.txt` file with two lines for each example,
        a `.jsonl` file, a `.cnf` file, or a folder of `.cnf` files.
    target: path of the result. Its end selects the format: `.txt`, `.jsonl`, or `/` for a folder of
        `.cnf` files.
    split: the split to read, if `source` is a data set.

    Raises LogicgenError for another source or target, and for DIMACS of a task other than
    `propositional`.
    """
    from logicgen.data.exchange import convert

    return convert(task, Path(source), target, split)


def convert_notation(task: str, problem: str, notation: Notation) -> str:
    """Return a problem in another notation. Raises FormatError for a problem that does not parse.

    notation: `infix`, `prefix`, `unicode` or `latex`.
    """
    from logicgen.tasks.public_task import PublicTask

    chosen = PublicTask(task)
    return chosen.write(chosen.read(problem), notation)


def convert_lines(task: str, source: str, notation: Notation) -> Iterator[str]:
    """Yield the lines of a file with the problems converted to `notation`. Skip blank lines.

    source: path of a file; `-` is standard input. Each line is a problem, or a JSON object with the
        key `problem` and perhaps `answer`. A JSON line remains a JSON line.

    Raises LogicgenError, with file and line, if a problem or answer cannot be read.
    """
    from logicgen.tasks.lines import fields_of, read_lines, text_of
    from logicgen.tasks.public_task import PublicTask

    chosen = PublicTask(task)
    readers = {"problem": chosen.read, "answer": chosen.read_answer}
    for number, line in enumerate(read_lines(source), start=1):
        if not line.strip():
            continue
        with at(f"{'standard input' if source == '-' else source}, line {number}"):
            row = fields_of(line)
            for key, read in readers.items():
                if key == "problem" or key in row:
                    row[key] = chosen.write(read(text_of(row, key)), notation)
        yield json.dumps(row) if line.lstrip().startswith("{") else row["problem"]


def export_prompts(
    data: Path, target: Path, kind: str, *, bars: Bars = no_bars, **settings: Any
) -> dict[str, int]:
    """Write the splits of a data set as prompts, and return the number of prompts in each split.

    kind: the format of the prompts, as in `logicgen export --for`.
    settings: `examples` and `notation`, as in `logicgen.prompt`.
    """
    from logicgen.data.opening import as_dataset
    from logicgen.data.prompts import write_prompts

    with bars("prompts") as progress:
        dataset = as_dataset(load_dataset(data))
        return write_prompts(dataset, target, kind, progress=progress, **settings)


def write_gallery(path: Path, bars: Bars = no_bars) -> None:
    """Write one HTML page with examples of every recipe."""
    from logicgen.report.gallery_page import write_gallery

    with bars("recipes") as progress:
        write_gallery(path, progress=partial(progress, "drawing"))


def catalog(kind: str) -> list[tuple[str, str]]:
    """Return (name, one-line description) pairs of all tasks, solvers or shipped recipes.

    kind: the kind of list: `tasks`, `datasets`, `models`, `studies` or `solvers`.
    """
    from logicgen import recipes
    from logicgen.solvers import solver_facts, solver_plugins
    from logicgen.tasks import CORPORA, load_corpus_task, load_task, task_names

    if kind == "solvers":
        return [(name, solver_facts(name).line) for name in solver_plugins()]
    if kind != "tasks":
        return [
            (name, recipes.read_toml(recipes.find(kind, ".toml", name)).get("description", ""))
            for name in recipes.names(kind, ".toml")
        ]
    rows = []
    for names, load in ((task_names(), load_task), (CORPORA, load_corpus_task)):
        for name in names:
            try:
                with extras_named():
                    rows.append((name, load(name).about))
            except LogicgenError as error:  # list the other tasks although a plugin is broken
                rows.append((name, f"(not available: {error})"))
    return sorted(rows)


def environment() -> Iterator[tuple[str, str]]:
    """Yield (label, text) pairs: versions of packages, devices and solvers of this machine.

    The text for a missing package contains the command that installs it.
    """
    from logicgen.solvers import solver_facts, solver_plugins

    yield "python", f"{platform.python_version()} on {platform.platform()}"
    for package in ("logicgen", "python-sat", "lark", "pyarrow", *EXTRAS):
        try:
            yield package, version(package)
        except PackageNotFoundError:
            extra = f"logicgen[{EXTRAS[package]}]" if package in EXTRAS else package
            yield package, f"missing: pip install '{extra}'"
    yield "cpu", f"{os.cpu_count()} cores"
    yield from _torch_devices()
    for name in solver_plugins():
        yield "solver", f"{name}: {solver_facts(name).state}"


def _torch_devices() -> Iterator[tuple[str, str]]:
    """Yield (label, text) pairs of the devices that torch can use; no pair without torch."""
    try:
        import torch
    except ModuleNotFoundError:
        return
    from logicgen.nn.linear import bfloat16_instructions, faster_in_bfloat16

    yield "threads", f"torch uses {torch.get_num_threads()}"
    names = ", ".join(bfloat16_instructions()) or "no instructions for it"
    fast = "" if faster_in_bfloat16(torch.device("cpu")) else "not "
    yield "bfloat16", f"{fast}faster than float32 on this CPU ({names})"
    if not torch.cuda.is_available():
        yield "cuda", "no device (needs a CUDA build of torch and a driver); the CPU is used"
        return
    for number in range(torch.cuda.device_count()):
        yield f"cuda:{number}", torch.cuda.get_device_name(number)
