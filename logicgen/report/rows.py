"""Turn examples into the rows of an HTML page, with the solver's explanations of answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from logicgen.callbacks import Progress, no_progress
from logicgen.errors import FormatError
from logicgen.processes.engines import open_pool
from logicgen.processes.pool import Failure
from logicgen.solvers import Verdict
from logicgen.tasks import Task
from logicgen.tasks.judge import Finding, Item, Wants, is_missing, judge
from logicgen.tasks.task import Explanation

REPORT = "report.html"
"""The name of the HTML file of a page."""

# The largest number of examples on a page. If there are more, the page shows a sample of this size.
MOST = 10_000

# The time limit in seconds for the explanation of a verdict.
SECONDS = 2.0

ExplainedAnswer = tuple[str, list[Any] | None]
"""An answer as readable text, and its explanation as a list of five values.

The values are `reason`, `truth`, `letters` and `loop`, which `tasks.task.Explanation` describes,
and a picture as text. The explanation is None if the problem cannot be read.
"""


def explanations(
    task: Task,
    answers: Iterable[tuple[str, str, str]],
    workers: int = 1,
    progress: Progress = no_progress,
) -> list[ExplainedAnswer]:
    """Return each answer as readable text with its explanation, from worker processes.

    An answer that occurs several times is explained only once.

    answers: tuples (problem, answer, verdict), with problem and answer in prefix notation.
    """
    items = [Item(problem, text, verdict=Verdict(verdict)) for problem, text, verdict in answers]
    lacking = {item for item in items if item.verdict and is_missing(item.answer, item.verdict)}
    said: list[Any] = ["no answer was found", "", None, None, ""]
    found: dict[Item, ExplainedAnswer] = dict.fromkeys(lacking, ("", said))
    new = [item for item in dict.fromkeys(items) if item not in lacking]
    wants = Wants(prefix=True, shown=True, explanation=True)
    with open_pool(judge, (task.name, wants), count=workers) as pool:
        results = pool.map(new, SECONDS, 64)
        for done, (item, result) in enumerate(zip(new, results, strict=True), 1):
            found[item] = _packed(item, result)
            progress(done, len(new))
    return [found[item] for item in items]


def _packed(item: Item, result: Finding | Failure) -> ExplainedAnswer:
    """Return the answer of an item as text, and its explanation as JSON data for a page.

    The explanation is None if the problem cannot be read because the file is damaged.
    """
    if isinstance(result, Failure):
        wrong = item.verdict is not None and not item.verdict.is_right
        said = f"no reason was found: {result.reason}" if wrong else ""
        return item.answer, [said, "", None, None, ""]
    if result.error is not None:  # the file is damaged
        return item.answer, None
    if result.answer is None:
        first = result.reason.partition("\n")[0]
        return item.answer, [f"it does not parse: {first}", "", None, None, ""]
    seen = result.explanation or Explanation()
    letters = ";".join(" ".join(letter) for letter in seen.letters)
    shown = letters if seen.letters else None
    return result.answer, [seen.reason, ",".join(seen.truth), shown, seen.loop, result.picture]


def shown_answers(
    task: Task, texts: Iterable[str], verdicts: Iterable[str] | None = None
) -> list[str]:
    """Return answers as readable text. An answer that does not parse is not changed.

    verdicts: the verdicts on the answers; without them no answer is missing (`is_missing`).
    """
    texts, found = list(texts), dict[str, str]()
    for text in dict.fromkeys(texts):
        try:
            found[text] = task.show(task.decode_answer(text))
        except FormatError:
            found[text] = text
    if verdicts is None:
        return [found[text] for text in texts]
    return [
        "" if is_missing(text, Verdict(verdict)) else found[text]
        for text, verdict in zip(texts, verdicts, strict=True)
    ]


def task_facts(task: Task) -> dict[str, Any]:
    """Return the facts about a task with which the scripts of a page draw its problems."""
    arities = task.problem_arities
    return {
        "arities": None if arities is None else dict(arities),
        "temporal": task.refutation is not None,
    }


def problem_rows(task: Task, problems: Iterable[str]) -> dict[str, list[Any]]:
    """Return columns for problems: readable text, prefix notation and operators.

    If the problems are not formulas, two columns replace the operators: the right answer, and the
    tokens of the problem that decide each token of this answer.

    problems: texts in prefix notation.
    """
    arities = task.problem_arities
    rows: dict[str, list[Any]] = {"problem": [], "prefix": []}
    if arities is None:
        rows |= {"right": [], "deciding": []}
    else:
        rows["operators"] = []
    for text in problems:
        rows["prefix"].append(text)
        try:
            problem = task.decode_problem(text)
        except FormatError:  # the file is damaged: show only the text
            rows["problem"].append(text)
            for name in rows.keys() - {"problem", "prefix"}:
                rows[name].append("" if name != "deciding" else ())
            continue
        rows["problem"].append(task.show_problem(problem))
        if arities is None:
            witness = task.solve(problem).witness
            rows["right"].append("" if witness is None else task.encode(witness))
            rows["deciding"].append(task.explain(problem, witness, Verdict.CORRECT).deciding)
        else:
            used = dict.fromkeys(token for token in text.split() if arities.get(token))
            rows["operators"].append(" ".join(sorted(used)))
    return rows


def chosen(preferred: np.ndarray, most: int = MOST) -> np.ndarray:
    """Choose at most `most` examples: preferred examples first, the rest at random.

    Return the sorted indices of the chosen examples. Equal arguments give equal choices.

    preferred: for each example, whether it is preferred, bool (examples,).
    """
    if len(preferred) <= most:
        return np.arange(len(preferred))
    order = np.random.default_rng(0).permutation(len(preferred))
    order = order[np.argsort(~preferred[order], kind="stable")]
    return np.asarray(np.sort(order[:most]))


def column(name: str, label: str, kind: str, *, facet: bool = False, shown: bool = False) -> Any:
    """Return the description of a column for the scripts of the page.

    facet: whether the reader can filter by the column.
    shown: whether the list of examples shows the column.
    """
    return {"name": name, "label": label, "kind": kind, "facet": facet, "shown": shown}


ROW, SYMBOLS, LENGTH, PROBLEM, ANSWER, OPERATORS = (
    column("row", "row", "number", shown=True),
    column("symbols", "symbols", "number", facet=True, shown=True),
    column("length", "length", "number", facet=True, shown=True),
    column("problem", "problem", "text", shown=True),
    column("answer", "answer", "text", shown=True),
    column("operators", "operators", "choices", facet=True),
)
"""Descriptions of columns that several kinds of pages have."""

RIGHT_ANSWER = {"label": "answer", "text": "answer", "explanation": "explained", "drawn": True}
"""The description of the column with the stored answers, for the scripts of a page."""


def cell_map(
    title: str,
    kind: str,
    cells: list[list[Any]],
    step: int,
    trained: list[list[int]] | None = None,
    **said: Any,
) -> dict[str, Any]:
    """Return the description of a heat map for the scripts of a page.

    kind: the meaning of the values: "count", "share" or "difference".
    cells: lists [symbols, first length, value, text of the tooltip].
    step: number of lengths in a cell.
    trained: the training region, as its range of symbols and its range of lengths.
    said: further entries for the scripts. The entry `also` contains filters. If the reader clicks
        on a cell, these filters are added to the filters for the cell.
    """
    fixed = {"title": title, "kind": kind, "cells": cells, "trained": trained, "step": step}
    return fixed | said


def page_data(
    tasks: dict[str, Any],
    columns: list[Any],
    rows: dict[str, list[Any]],
    answers: list[Any],
    *,
    maps: Iterable[Any] = (),
    total: int,
    sampled: str = "",
    **said: Any,
) -> dict[str, Any]:
    """Return the data of a page of examples for the scripts of the page.

    tasks: the result of `task_facts` for each name of a task.
    total: number of all examples.
    sampled: text that describes the choice of rows, if `rows` has fewer than `total` examples.
    said: further entries for the scripts of the page. `problem` is the key in `rows` of the text of
        each example. `called` is the label of this text on the page ("problem" by default). `noun`
        is the word on the page for a row ("example" by default).
    """
    fixed = {"tasks": tasks, "maps": list(maps), "columns": columns, "rows": rows}
    said = {"answers": answers, "problem": "problem"} | said
    return {**fixed, **said, "total": total, "sampled": sampled}
