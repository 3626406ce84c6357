"""Make the tables of the pages on results from committed records.

    python -m tests.study.page_tables [NAME ...]

prints all tables, or the named ones. A page marks the place of a table with a line
`<!-- table NAME -->`. `make docs` puts the table there. NAME is a study, whose table is quoted, or
a function below. Tables of one study are numbered: `copying-search 2` is the second.
"""

from __future__ import annotations

import atexit
import csv
import json
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import numpy as np

from logicgen.data.cards import markdown_table
from logicgen.study.records import FILE
from tests.study.made_results import RESULTS, read_lines, write_results
from tests.study.page_controls import controls_of

PAGES = sorted(RESULTS.parent.glob("results*.md"))
MARKER = re.compile(r"^<!-- table (.+) -->$", re.MULTILINE)

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


# Next to the published figures


def _inside(study: str, point: str) -> str:
    found = part(study, point)
    three = (float(found[key]) for key in ("accuracy", "exact_match", "alpha_covariance"))
    return "{:.1%}, {:.1%}, {:.3f}".format(*three)


def _full_size(study: str, method: str) -> str:
    row = rows(study)[method]
    three = f"{share(row['test'])}, {share(row['test, exact'])}, {row['test, alpha-covariance']}"
    return f"published size, {minutes(row)}: {three}"


def in_distribution() -> str:
    small, full = "propositional-baselines", "propositional-35"
    both = {
        name: f"{_inside(small, name)}; {_full_size(full, name)}"
        for name in ("learned", "interchangeable", "symbol-invariant")
    }
    few, named = "propositional, 8% of the data", "names perturbed"
    of_ltl = part("ltl-baselines", "symbol-invariant")
    inside = f"{float(of_ltl['accuracy']):.1%} (inside the grid), 1.000"
    here = {
        "propositional, learned": both["learned"],
        "propositional, interchangeable": both["interchangeable"],
        "propositional, symbol-invariant": both["symbol-invariant"],
        f"{few}, learned": _inside("small-data", "8-percent,learned"),
        f"{few}, symbol-invariant": _inside("small-data", "8-percent,symbol-invariant"),
        "LTL, learned, names shuffled": _inside("perturbation", "shuffled,learned"),
        f"LTL, learned, {named}": _inside("perturbation", "perturbed,learned"),
        f"LTL, alpha-renaming, {named}": _inside("perturbation", "perturbed,alpha-renaming"),
        f"LTL, interchangeable, {named}": _inside("perturbation", "perturbed,interchangeable"),
        "LTL, symbol-invariant": f"{inside}; {_full_size('ltl-35', 'symbol-invariant')}",
    }
    published = [
        *("95.62%, 57.94%, 0.760", "93.25%, 56.45%, 0.930", "98.03%, 60.96%, 1.000"),
        *("63.26%, 29.31%, 0.533", "70.43%, 35.81%, 1.000", "98.23%, 83.23%, 0.918"),
        *("34.13%, 12.12%, 0.409", "97.96%, 77.66%, 0.989", "95.94%, 76.45%, 0.983"),
        "98.24%, 79.65%, 1.000",
    ]
    lines = [[n, said, found] for (n, found), said in zip(here.items(), published, strict=True)]
    return markdown_table(["in distribution", "published", "here"], lines)


def grid() -> str:
    published = {
        "LTL": ["about 42%", "about 83%", "90.76%", "84.13%, converted 85.91%"],
        "propositional": ["", "", "77.70%", "95.05%"],
    }
    lines = []
    for task, figures in published.items():
        small, full = (rows(f"{task.lower()}-{end}") for end in ("baselines", "35"))
        methods = ("learned", "alpha-renaming", "interchangeable", "symbol-invariant")
        for method, figure in zip(methods, figures, strict=True):
            here, there = share(small[method]["all"]), share(full[method]["grid"])
            if method == "alpha-renaming":
                here += f", with 96 rows {share(small['alpha-renaming-96']['all'])}"
                if "alpha-renaming-96" in full:
                    there += f", with 96 rows {share(full['alpha-renaming-96']['grid'])}"
            found = f"{here}; published size, {minutes(full[method])}: {there}"
            lines.append([f"{task}, {method}", figure, found])
    return markdown_table(["grid, more symbols and longer", "published", "here"], lines)


def verdicts() -> str:
    row = rows("acceptance-ltl")["accepted"]
    verdicts_on = "learning from [verdicts](results-verdicts.md) on own answers"
    head = f"with verifier: after imitation, {verdicts_on}"
    name = f"LTL, symbol-invariant, in distribution / grid; {minutes(row)} more"
    found = f"{spread(row['test'])} / {spread(row['grid'])} (three seeds)"
    return markdown_table([head, "published", "here"], [[name, "", found]])


def copying_that_ships() -> str:
    (row,) = rows("copying-shipped").values()
    names = {
        "160-symbols-and-60-letters": "9,440 strings to 160 symbols and 60 letters",
        "1000-symbols": "1,900 strings over 1,000 symbols",
        "221-to-240-letters": "1,000 strings of 221 to 240 letters",
    }
    published = ["no errors at 160 symbols", "", ""]
    lines = [[names[key], row[key], said] for key, said in zip(names, published, strict=True)]
    return markdown_table(["copying", "right", "published"], lines)


def models_that_ship() -> str:
    """Return the accuracy of the shipped models before and after training on hard problems."""
    kinds = {
        "literature": "`{}-35`, grid",
        "patterns": "`{}-patterns`",
        "temporal": "`{}-temporal`, test",
        "temporal-grid": "`{}-temporal`, grid",
        "rare": "`{}-rare`, test",
        "rare-grid": "`{}-rare`, grid",
        "hard": "`{}-35-hard`",
        "long": "`{}-100-hard`",
    }
    lines = []
    for task in ("ltl", "propositional"):
        before, now = rows(f"{task}-shipped").values()
        for kind, name in kinds.items():
            if kind in now:
                heads = [kind, f"{kind}, verified"]
                cells = [
                    [before[head], now[head], now[f"{head}, best control"].replace(":", "")]
                    for head in heads
                ]
                lines.append([name.format(task), *(_bare(cell) for each in cells for cell in each)])
    answers = [
        f"{words}: {who}"
        for words in ("one answer", "16 answers")
        for who in ("before", "now", "best control")
    ]
    return markdown_table(["problems", *answers], lines)


def _bare(cell: str) -> str:
    """Return a cell without its interval."""
    return cell.partition(" [")[0]


def _command(name: str) -> dict[str, Any]:
    """Return the record of a command that is no study."""
    path = RESULTS / "commands" / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def literature() -> str:
    lines = []
    for propositions, counts in _command("literature")["propositions"].items():
        of = counts["satisfiable"]
        right = [f"{counts[key] / of:.1%} ({counts[key]})" for key in ("greedy", "verified, 16")]
        lines.append([propositions, f"{of}", *right])
    heads = ["propositions", "satisfiable formulas", "`ltl`, greedy", "verified, 16 answers"]
    return markdown_table(heads, lines)


def overlap() -> str:
    lines = []
    for study, splits in _command("overlap")["studies"].items():
        counts = [f"{each['in_training']} of {each['problems']:,}" for each in splits.values()]
        lines.append([study, *counts])
    return markdown_table(["renamings of training problems", "test", "grid"], lines)


# Lexinvariant language models


def cache() -> str:
    lines = []
    counters = ("bigram-of-the-string", "trigram-of-the-string")
    without = {"3-states-0.05": "3-states,long", "2-states-0.1": "2-states,long"}
    for language in ("3-states-0.05", "2-states-0.1", "2-states-0.2", "3-states-0.2"):
        of = {
            model: part("lexinvariant-cache", f"{language},{model}", "beyond")
            for model in (*counters, "lexinvariant", "trigram")
        }
        best = min((of[each] for each in counters), key=lambda row: float(row["kl_ideal"]))
        uncached = ""
        if language in without:
            uncached = _above(part("lexinvariant-automata", without[language], "beyond"))
        trigram = f"{float(of['trigram']['kl_ideal']):.3f}"
        both = _bold_least([_above(of["lexinvariant"]), _above(best)])
        lines.append([language, *both, trigram, uncached])
    heads = ["language", "bits above the ideal", "the control: counts of the string"]
    heads += ["trigram that knows the symbols", "without the cache (strings of 192)"]
    return markdown_table(heads, lines)


def _above(row: Row) -> str:
    """Return the bits above the ideal with their interval."""
    bits, low, high = (float(row[f"kl_ideal{end}"]) for end in ("", "_low", "_high"))
    return f"{bits:.3f} [{low:.3f}, {high:.3f}]"


def _bold_least(cells: list[str]) -> list[str]:
    """Set the least figure in bold type; cells have an interval after it."""
    least = min(cells, key=lambda cell: float(cell.split()[0]))
    return [re.sub(r"^(\S+)", r"**\1**", cell) if cell == least else cell for cell in cells]


def which_rows() -> str:
    names = {
        "names": "dealt out anew for each string (`lexinvariant-names`)",
        "some-names-at-first": (
            "... to some of the symbols only, in four fifths of the training strings"
            " (`whole = 0.2`)"
        ),
        "random-rows": "drawn at random, as published (`lexinvariant`)",
    }
    heads = ["way from the counter to the ideal", "keys, last window", "minutes"]
    found = rows("lexinvariant-rows")
    lines = []
    for key, name in names.items():
        for has, said in (("false", "no"), ("true", "yes")):
            row = found[f"{key},{has}"]
            lines.append([name if has == "false" else "", said, *(row[head] for head in heads)])
    return markdown_table(["rows", "cache", *heads], lines)


def many() -> str:
    (row,) = rows("lexinvariant-many").values()
    heads = {
        "perplexity from 16 on": "perplexity from 16 on",
        "perplexity of the best counter": "of the best counter",
        "way from the counter to the ideal": (
            "way from the counter to the ideal, which knows the language"
        ),
    }
    lines = [
        [f"draw-{number}", *(row[f"draw-{number}: {head}"] for head in heads)]
        for number in range(4)
    ]
    return markdown_table(["language", *heads.values()], lines)


def perplexities(bits: Iterable[float], places: Iterable[tuple[int, int]]) -> list[float]:
    """Return the perplexity of tokens with so many tokens before them, from the first to the last.

    bits: of the tokens with 1, 2, ... tokens before them.
    """
    by_position = np.array([np.nan, *bits])
    return [float(2 ** by_position[first : last + 1].mean()) for first, last in places]


LETTERS = [(1, 7), (16, 31), (64, 127), (128, 191), (180, 219), (256, 383), (384, 510)]
CHARACTERS = [(1, 7), (16, 31), (64, 127), (128, 191), (180, 219), (224, 254)]


def _spans(places: Iterable[tuple[int, int]]) -> list[str]:
    return [f"{first} to {last}" for first, last in places]


def letters_by_position() -> str:
    means = {
        name: measures("lexinvariant-letters", name)["text"]["means"]
        for name in ("learned", "lexinvariant-names")
    }
    twin, ours = (perplexities(each["bits"], LETTERS) for each in means.values())
    counter = perplexities(means["learned"]["counter_bits"], LETTERS)
    excess = [(there - here) / here for here, there in zip(twin, ours, strict=True)]
    below = [1 - there / counted for there, counted in zip(ours, counter, strict=True)]
    lines = [
        ["knows the letters (`learned`)", *(f"{each:.1f}" for each in twin)],
        ["does not (`lexinvariant-names`)", *(f"{each:.1f}" for each in ours)],
        ["best counter of the same text", *(f"{each:.1f}" for each in counter)],
        ["excess over `learned`, in multiples of its perplexity", *(f"{e:.2f}" for e in excess)],
        ["below the counter", *(f"{each:.0%}" for each in below)],
    ]
    return markdown_table(["letters before", *_spans(LETTERS)], lines)


def letters_found() -> str:
    keys = measures("lexinvariant-letters", "lexinvariant-names")["keys"]
    windows = {
        "letters found": keys["windows"],
        "control: ranks of frequency": keys["controls"]["frequencies"],
        "control: always the most frequent": keys["controls"]["most frequent"],
    }
    lines = [[n, *(f"{each['precision']:.1%}" for each in some)] for n, some in windows.items()]
    heads = [f"{64 * number}" for number in range(1, 1 + len(keys["windows"]))]
    for place in (4, 8):
        low, high = (100 * keys["windows"][place - 1][end] for end in ("low", "high"))
        lines[0][place] = f"**{lines[0][place]}** [{low:.1f}, {high:.1f}]"
    return markdown_table(["letters read", *heads], lines)


def in_context() -> str:
    found = rows("lexinvariant-tasks")
    lines = [
        [task, row["as-trained"], row["over-80-symbols"], row["minutes"]]
        for task, row in found.items()
    ]
    return markdown_table(["task", "as in training", "over 80 symbols, longer", "minutes"], lines)


# Points of the study `lexinvariant-text`, with their names in tables.
TEXT_MODELS = {
    "learned": "knows the characters (`learned`)",
    "learned-cache": "... with a cache",
    "lexinvariant": "random rows (`lexinvariant`)",
    "lexinvariant-cache": "... with a cache",
    "lexinvariant-names": "rows dealt out (`lexinvariant-names`)",
    "lexinvariant-names-cache": "... with a cache",
}


def characters_by_position() -> str:
    means = {n: measures("lexinvariant-text", n)["python"]["means"] for n in TEXT_MODELS}
    counter = perplexities(means["learned"]["counter_bits"], CHARACTERS)
    lines = [["best counter of the same text", *(f"{each:.1f}" for each in counter), ""]]
    cached = rows("lexinvariant-text")
    for point, name in TEXT_MODELS.items():
        found = perplexities(means[point]["bits"], CHARACTERS)
        part_of_cache = cached[point]["share of the cache"].replace("-", "")
        lines.append([name, *(f"{each:.1f}" for each in found), part_of_cache])
    heads = ["perplexity, characters before", *_spans(CHARACTERS), "share of the cache"]
    return markdown_table(heads, lines)


def prompts() -> str:
    names = TEXT_MODELS | {
        "learned-permutations": "`learned`, a twentieth permutations",
        "lexinvariant-names-permutations": "`lexinvariant-names`, a twentieth permutations",
    }
    controls = {
        "ppm": "control: a counter of the prompt (PPM of order 3, nothing learnt)",
        "trigram": "control: a trigram counter of the prompt",
    }
    columns = {
        "look-up-any-token": "look-up, any token",
        "look-up": "look-up",
        "look-up-by-frequency": "by frequency",
        "permutation": "permutation",
        "permutation, tokens": "tokens",
        "permutation-dropped": "one symbol dropped",
        "permutation-dropped, tokens": "tokens",
    }
    guess = ["control: a guess among what could be meant", "", "25%", ""]
    lines = []
    for study, some in (("lexinvariant-controls", controls), ("lexinvariant-text", names)):
        found = rows(study)
        lines += [[n, *(share(found[point][c]) for c in columns)] for point, n in some.items()]
    lines.insert(2, [*guess, "16.7%", "33.3%", "16.7%", "33.3%"])
    return markdown_table(["", *columns.values()], lines)


def partial() -> str:
    found = rows("lexinvariant-text")
    points = {
        "0 (`learned`)": ("learned", "learned"),
        "0.2": ("partial-rows-0.2", "partial-names-0.2"),
        "0.5": ("partial-rows-0.5", "partial-names-0.5"),
        "1 (`lexinvariant`, `lexinvariant-names`)": ("lexinvariant", "lexinvariant-names"),
    }
    lines = []
    for name, both in points.items():
        cells = [name]
        for point in both:
            row = found[point]
            cells += [row["python: perplexity from 100 on"], row["look-up"]]
            cells.append(share(row["look-up-by-frequency"]))
        lines.append(cells)
    heads = ["rows: perplexity from 100 on", "names: perplexity"]
    return markdown_table(
        ["p", heads[0], "look-up", "by frequency", heads[1], "look-up", "by frequency"], lines
    )


# Inductive Transformers


def prompting() -> str:
    published = {
        ("1", "big"): "cat 100%, dog 0%",
        ("1", "small"): "dog 100%, cat 0%",
        ("2", "big"): "cat 50%, dog 50%",
        ("2", "small"): "dog 100%, cat 0%",
    }
    trained = {"1": "big cat, small dog", "2": "big cat, big dog, small dog"}
    lines = []
    for (number, prompt), said in published.items():
        found = rows(f"inductive-prompting {number}")
        chances, drawn = [], []
        for word in ("cat", "dog") if said.startswith("cat") else ("dog", "cat"):
            row = found[f"{prompt},{prompt} {word}"]
            chances.append(f"{word} {row['expected by all students'].split()[0]}")
        for word in ("cat", "dog"):
            row = found[f"{prompt},{prompt} {word}"]
            drawn.append(f"{word} {10 * float(row['of 1,000 drawn'].rstrip('%')):,.0f}")
        first = trained[number] if prompt == "big" else ""
        lines.append([first, prompt, said, ", ".join(chances), ", ".join(drawn)])
    heads = ["trained on", "prompt", "published", "expected by all 100", "1,000 sentences drawn"]
    return markdown_table(heads, lines)


def classes() -> str:
    found = [rows(f"inductive-classes {number}") for number in (1, 2, 3)]
    lines = []
    for place in found[0]:
        cells = [row for each in found for row in each[place]["all"].split(", ")[:2]]
        lines.append([place.replace(",", ", "), *cells])
    heads = ["units, layers, words", "told: teacher found", "its class", "not told: teacher"]
    heads += ["its class", "any unit any word: teacher", "its class"]
    return markdown_table(heads, lines)


def needed() -> str:
    found = rows("inductive-needed")
    names = {
        "inductive, stopped": "inductive, stopped",
        "inductive": "inductive, trained to the end",
        "decoder, width 8": "decoder, width 8, stopped",
        "decoder, width 32": "decoder, width 32, stopped",
    }
    heads = [head for head in found["inductive"] if head.startswith("to ")]
    lines = []
    for key, name in names.items():
        cells = [found[key][head] for head in heads]
        if key == "inductive, stopped":
            cells = [re.sub(r"^(\S+)", r"**\1**", cell) for cell in cells]
        lines.append([name, found[key]["parameters"], *cells])
    return markdown_table(["model", "parameters", *heads], lines)


# Machines


def machines() -> str:
    """Return which studies ran on which processor."""
    found: dict[str, list[str]] = {}
    for folder in sorted(path for path in RESULTS.iterdir() if (path / FILE).is_file()):
        points = [record["machine"].partition(",")[0] for record in read_lines(folder).values()]
        for processor in sorted(set(points)):
            share_of_points = f" ({points.count(processor)} of {len(points)} points)"
            several = share_of_points if len(set(points)) > 1 else ""
            found.setdefault(processor, []).append(folder.name + several)
    lines = [[processor, ", ".join(some)] for processor, some in sorted(found.items())]
    return markdown_table(["processor", "studies"], lines)


MADE: dict[str, Callable[[], str]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        *(
            in_distribution,
            grid,
            verdicts,
            copying_that_ships,
            models_that_ship,
            literature,
            overlap,
            cache,
        ),
        *(which_rows, many, letters_by_position, letters_found, in_context),
        *(characters_by_position, prompts, partial, prompting, classes, needed, machines),
    )
}


def make(name: str) -> str:
    """Return the table that a name stands for."""
    if name in MADE:
        return MADE[name]()
    return f"{quoted(name)}\n\n{controls_of(name.partition(' ')[0])}".rstrip()


def fill(page: str) -> str:
    """Return a page with each marked table made from the records."""
    return MARKER.sub(lambda mark: f"{mark[0]}\n\n{make(mark[1])}", page)


def marked() -> list[str]:
    """Return the names of the tables in all pages, in order."""
    return [mark for page in PAGES for mark in MARKER.findall(page.read_text(encoding="utf-8"))]


if __name__ == "__main__":
    for name in sys.argv[1:] or marked():
        print(f"{name}\n\n{make(name)}\n")
