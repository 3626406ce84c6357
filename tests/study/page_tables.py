"""Make the tables of the pages on results from committed records.

    python -m tests.study.page_tables [NAME ...]

prints all tables, or the named tables. A page marks the place of a table with a line that contains
this command. `make docs` replaces the line by the table. On GitHub, the line shows readers how to
print the table. NAME is a study, whose table is quoted, or
a function below. Tables of one study are numbered: `copying-search 2` is the second. `paired NAME`
compares the points of a study.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import Any

from logicgen.data.cards import markdown_table
from logicgen.study.records import FILE
from tests.study.deciphering_tables import (
    cache,
    characters_by_position,
    in_context,
    in_context_128,
    letters_by_position,
    letters_found,
    many,
    partial,
    prompts,
    prose,
    which_rows,
)
from tests.study.made_results import RESULTS, read_lines
from tests.study.page_controls import controls_of
from tests.study.study_tables import (
    minutes,
    paired,
    part,
    quoted,
    rows,
    share,
    spread,
)

PAGES = sorted(RESULTS.parent.glob("results*.md"))
MARKER = re.compile(
    r"""^\*Table: `python -m tests\.study\.page_tables "?([^"`]+)"?`\*$""", re.MULTILINE
)


# Next to the published figures


def _inside(study: str, point: str) -> str:
    found = part(study, point)
    three = (float(found[key]) for key in ("accuracy", "exact_match", "alpha_covariance"))
    return "{:.1%}, {:.1%}, {:.3f}".format(*three)


def _full_size(study: str, method: str) -> str:
    row = rows(study)[method]
    three = f"{share(row['test'])}, {share(row['test, exact'])}, {row['test, alpha-covariance']}"
    return f"published problems, {minutes(row)}: {three}"


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
            found = f"{here}; published problems, {minutes(full[method])}: {there}"
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


NONE = "not measured"


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
        "symbols-100": "100 tokens, 5 to 50 symbols",
        "symbols-199": "199 tokens, 5 to 100 symbols",
    }
    lines = []
    for task in ("ltl", "propositional"):
        before, now = rows(f"{task}-shipped").values()
        for kind, name in kinds.items():
            if kind in now:
                cells = []
                for head in (kind, f"{kind}, verified"):
                    best = now.get(f"{head}, best control", NONE).replace(":", "")
                    cells += [before.get(head, NONE), now.get(head, NONE), best]
                cells.insert(2, now.get(f"{kind}-4-orders", NONE))
                lines.append([name.format(task), *map(_bare, cells)])
    answers = ["before", "now", "now, four orders", "best control"]
    verified = ["before", "now", "best control"]
    heads = [
        *(f"one answer: {who}" for who in answers),
        *(f"16 answers: {who}" for who in verified),
    ]
    return markdown_table(["problems", *heads], lines)


def _bare(cell: str) -> str:
    """Return a cell without its interval."""
    return cell.partition(" [")[0]


def _command(name: str) -> dict[str, Any]:
    """Return the record of a command that is no study."""
    path = RESULTS / "commands" / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


LITERATURE = {
    "greedy": "`ltl`, greedy",
    "verified, 16": "verified, 16 answers",
    "control: place": "control `place`, one answer",
}


def literature() -> str:
    lines = []
    for propositions, counts in _command("literature")["propositions"].items():
        of = counts["satisfiable"]
        right = [f"{counts[key] / of:.1%} ({counts[key]})" for key in LITERATURE]
        lines.append([propositions, f"{of}", *right])
    return markdown_table(["propositions", "satisfiable formulas", *LITERATURE.values()], lines)


def overlap() -> str:
    lines = []
    for study, splits in _command("overlap")["studies"].items():
        counts = [f"{each['in_training']} of {each['problems']:,}" for each in splits.values()]
        lines.append([study, *counts])
    return markdown_table(["renamings of training problems", "test", "grid"], lines)


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
        *(which_rows, many, letters_by_position, letters_found, in_context, in_context_128),
        *(characters_by_position, prose, prompts, partial, prompting, classes, needed, machines),
    )
}


def make(name: str) -> str:
    """Return the table that a name stands for."""
    if name in MADE:
        return MADE[name]()
    if name.startswith("paired "):
        return paired(name.removeprefix("paired "))
    return f"{quoted(name)}\n\n{controls_of(name.partition(' ')[0])}".rstrip()


def fill(page: str) -> str:
    """Return a page with each marked table made from the records."""
    return MARKER.sub(lambda mark: make(mark[1]), page)


def marked() -> list[str]:
    """Return the names of the tables in all pages, in order."""
    return [mark for page in PAGES for mark in MARKER.findall(page.read_text(encoding="utf-8"))]


if __name__ == "__main__":
    for name in sys.argv[1:] or marked():
        print(f"{name}\n\n{make(name)}\n")
