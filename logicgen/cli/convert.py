"""`logicgen convert`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from os.path import isdir
from pathlib import Path
from typing import TYPE_CHECKING

import click

from logicgen.cli.options import DataPath, LocalPath
from logicgen.cli.terminal import say

if TYPE_CHECKING:
    from logicgen.data.exchange import Example


@click.command("convert")
@click.option("--task", required=True, help="A name from `logicgen list tasks`.")
@click.option("--split", default="train", show_default=True, help="The split of a data-set folder.")
@click.argument("source", type=DataPath(), metavar="SOURCE")
@click.argument("target", type=LocalPath(), metavar="TARGET")
def command(task: str, split: str, source: str, target: str) -> None:
    """Turn examples into the two-lines-per-example text of DeepLTL-style code or DIMACS, or back.

    SOURCE is a data-set folder or its URL, a .jsonl file with problem and answer, such a text
    (.txt), or a .cnf file or folder of them; TARGET ends in .txt or .jsonl, or in / for a folder of
    .cnf files.

    \b
    logicgen convert --task ltl data/ltl-35 --split test test.txt
    logicgen convert --task ltl test.txt test.jsonl
    logicgen convert --task propositional data/propositional-cnf --split test test/
    """
    from logicgen.data.dataset import load_dataset
    from logicgen.data.exchange import (
        read_dimacs,
        read_json_lines,
        read_two_lines,
        write_dimacs,
        write_json_lines,
        write_two_lines,
    )
    from logicgen.errors import LogicgenError
    from logicgen.tasks import load_task

    chosen = load_task(task)
    path, out = Path(source), Path(target)
    writers: dict[str, Callable[[Iterable[Example], Path], int]] = {
        ".txt": write_two_lines,
        ".jsonl": write_json_lines,
        "/": partial(write_dimacs, label=f"{path.name} {split}" if isdir(path) else path.name),
    }
    kind = "/" if target.endswith("/") else out.suffix
    if kind not in writers:
        raise LogicgenError(f"{out}: a target ends in .txt, in .jsonl, or in / for .cnf files")
    dimacs = path.suffix == ".cnf" or (isdir(path) and any(path.glob("*.cnf")))
    if (dimacs or kind == "/") and task != "propositional":
        raise LogicgenError(f"DIMACS files hold propositional problems, not {task} ones")
    if dimacs:
        examples = read_dimacs(path, chosen)
    elif isdir(path):
        examples = load_dataset(path).pairs(split)
    elif path.suffix == ".txt":
        examples = read_two_lines(path, chosen)
    elif path.suffix == ".jsonl":
        examples = read_json_lines(path, chosen)
    else:
        raise LogicgenError(f"{path}: a source is a data-set folder, a .txt, .jsonl or .cnf file")
    try:
        count = writers[kind](examples, out)
    except OSError as error:
        raise LogicgenError(f"{error.filename}: {error.strerror}") from error
    say(f"{out}: {count:,} examples")
