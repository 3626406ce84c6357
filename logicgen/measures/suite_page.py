"""The HTML page of a result on a suite, with all answers to its problems."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from logicgen.data.suite import FORMS, Suite
from logicgen.measures.leaderboard import HEADS, Scores, score_rows
from logicgen.measures.suite_results import PartAnswers, SuiteResult
from logicgen.report.document import Document, FactTable, write_document
from logicgen.report.rows import (
    LENGTH,
    PROBLEM,
    SYMBOLS,
    column,
    page_data,
    problem_rows,
    shown_answers,
    task_facts,
)

COLUMNS = [
    column("part", "part", "choice", facet=True, shown=True),
    column("rating", "rating: systems that are wrong, in percent", "number", facet=True),
    SYMBOLS,
    LENGTH,
    column("verdict", "verdict", "choice", facet=True, shown=True),
    column("draws", "answers tried", "number", facet=True),
    column("forms", "forms of the problem answered right", "number", facet=True),
    PROBLEM,
    column("prediction", "answer", "text", shown=True),
]
ANSWERS = [
    {"label": "certified answer", "text": "answer"},
    {
        "label": "answer of the system",
        "text": "prediction",
        "verdict": "verdict",
        "tokens": "tokens",
    },
]
"""The columns and the two answers of the page of a result, for the scripts of the page."""


def write_result_page(path: Path, suite: Suite, result: SuiteResult, listed: Scores) -> None:
    """Write the HTML page of a result, with all answers to the problems (not to the rewrites)."""
    tasks: dict[str, Any] = {}
    rows: dict[str, list[Any]] = {}
    for part, answers in result.parts.items():
        task = suite.task(part)
        tasks[task.name] = task_facts(task)
        found, before = _page_rows(suite, part, answers), len(rows.get("key", ()))
        for name in {**rows, **found}:
            rows.setdefault(name, [""] * before)
            rows[name] += found.get(name, [""] * len(answers.answers))
    document = Document(
        title=f"{result.system} on {suite.name}",
        lead=suite.recipe.description + ".",
        summary=[FactTable("Scores in percent", HEADS, score_rows(suite, result, listed))],
        data=page_data(tasks, COLUMNS, rows, ANSWERS, total=len(rows["key"])),
        notes=[f"Fingerprint of the suite: {suite.fingerprint}."],
    )
    write_document(document, path)


def _page_rows(suite: Suite, part: str, answers: PartAnswers) -> dict[str, list[Any]]:
    """Return the columns of a part on the page of a result."""
    task, problems, rated = suite.task(part), suite.rows[part], suite.ratings
    count = len(problems)
    return problem_rows(task, suite.forms(part, 0)) | {
        "key": [f"{part}-{row}" for row in range(count)],
        "part": [part] * count,
        "task": [task.name] * count,
        "symbols": [row["symbols"] for row in problems],
        "length": [row["length"] for row in problems],
        "rating": [round(100 * share) for share in rated[part]] if rated else [None] * count,
        "prediction": shown_answers(task, answers.answers, answers.verdicts),
        "tokens": answers.answers,
        "draws": list(answers.draws),
        # The verifier compared the answer with no stored answer.
        "verdict": ["correct" if each.is_right else str(each) for each in answers.verdicts],
        "answer": shown_answers(task, [row["answer"] for row in problems]),
        "forms": _forms_right(answers),
    }


def _forms_right(answers: PartAnswers) -> list[int | None]:
    """Return how many of the three forms of each problem have a right answer."""
    if len(answers.rewrites) + 1 < FORMS:
        return [None] * len(answers.answers)
    masks = [answers.plain, *(rewrite.plain for rewrite in answers.rewrites)]
    return [int(count) for count in np.sum(masks, axis=0)]
