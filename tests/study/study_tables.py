"""Read the committed table of a study: its page, its rows, and the figures of a point."""

from __future__ import annotations

import atexit
import csv
from contextlib import suppress
from functools import cache
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import numpy as np
from scipy.stats import ttest_rel

from logicgen.data.cards import markdown_table
from tests.study.made_results import RESULTS, read_lines, write_results

Row = dict[str, str]


@cache
def scratch() -> Path:
    """Return a folder for the tables of studies, which is removed when the process ends."""
    made = TemporaryDirectory()
    atexit.register(made.cleanup)
    return Path(made.name)


@cache
def made(study: str) -> Path:
    """Return a folder with the tables of a study, and with empty files for its pictures."""
    folder = scratch() / study
    no_picture = mock.patch(
        "matplotlib.figure.Figure.savefig", lambda self, path, **_: Path(path).touch()
    )
    if not folder.is_dir():
        with no_picture, TemporaryDirectory(dir=scratch()) as own:  # drawing takes seconds
            write_results(study, Path(own) / study)
            with suppress(OSError):  # another process has made the folder meanwhile
                (Path(own) / study).rename(folder)
    return folder


def tables(text: str) -> list[str]:
    """Return the Markdown tables of a page, in order."""
    found: list[list[str]] = [[]]
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return ["\n".join(lines) for lines in found if lines]


def quoted(name: str) -> str:
    """Return a table of a study's page, such as `ltl-35` or `copying-search 2`."""
    study, _, number = name.partition(" ")
    page = (made(study) / "results.md").read_text(encoding="utf-8")
    return tables(page)[int(number or 1) - 1]


def rows(name: str) -> dict[str, Row]:
    """Return the rows of a study's table by the choices in their first columns."""
    head, _, *lines = [
        [cell.strip() for cell in line.strip("| ").split(" | ")]
        for line in quoted(name).replace("|  |", "| - |").splitlines()
    ]
    found = [dict(zip(head, line, strict=True)) for line in lines]
    keys = next(n for n in range(1, len(head)) if len({tuple(r[:n]) for r in lines}) == len(lines))
    return {",".join(line[:keys]): row for line, row in zip(lines, found, strict=True)}


def part(study: str, point: str, name: str = "inside_training_region") -> Row:
    """Return the line of a point in a study's table for programs."""
    with (made(study) / "results.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    return next(line for line in lines if (line["point"], line["part"]) == (point, name))


def measures(study: str, point: str) -> dict[str, Any]:
    """Return what was measured of a point with seed 0."""
    found: dict[str, Any] = read_lines(RESULTS / study)[f"{point}-0"]["found"]["measures"]
    return found


def share(cell: str) -> str:
    """Return `95.5%` of `95.5% ± 0.9 [94.0, 96.6]`."""
    return cell.split()[0]


def spread(cell: str) -> str:
    """Return `95.5% ± 0.9` of `95.5% ± 0.9 [94.0, 96.6]`."""
    return cell.partition(" [")[0]


def minutes(row: Row) -> str:
    return f"{float(row['minutes']):.0f} minutes"


def paired(study: str) -> str:
    """Return the differences of the points of a study, with paired t-tests over the seeds.

    Trials of one seed were trained and tested on the same problems.
    """
    by_point: dict[str, dict[int, dict[str, Any]]] = {}
    for record in read_lines(RESULTS / study).values():
        seed = record["arguments"]["seed"]
        point = record["point"].removesuffix(f"-{seed}")
        by_point.setdefault(point, {})[seed] = record["found"]["measures"]
    heads = {
        f"{name}{words}": (name, key)
        for name in next(iter(by_point.values()))[0]
        for words, key in (("", "accuracy"), (", verified", "verified_accuracy"))
    }
    lines = []
    for first, second in combinations(by_point, 2):
        seeds = sorted(by_point[first])
        cells = []
        for name, key in heads.values():
            pair = [
                np.array([by_point[each][seed][name]["score"][key] for seed in seeds])
                for each in (first, second)
            ]
            p = ttest_rel(*pair).pvalue
            chance = "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
            cells.append(f"{100 * np.mean(pair[0] - pair[1]):+.1f} ({chance})")
        lines.append([f"`{first}` minus `{second}`", *cells])
    return markdown_table(["points, over the seeds", *heads], lines)
