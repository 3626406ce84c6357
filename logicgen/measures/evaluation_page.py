"""The page of an evaluation: scores, heat maps, and all answers with the reasons of verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from logicgen.callbacks import Progress, no_progress
from logicgen.measures.answers_figures import hard_accuracy, plain_accuracy, verified_accuracy
from logicgen.measures.best_control import PLAIN, comparison_lines, control_text
from logicgen.measures.predictions import About
from logicgen.measures.scores import VERDICTS, Score, Scores
from logicgen.report.document import Document, FactTable
from logicgen.report.rows import (
    LENGTH,
    MOST,
    OPERATORS,
    PROBLEM,
    ROW,
    SYMBOLS,
    ExplainedAnswer,
    cell_map,
    chosen,
    column,
    explanations,
    page_data,
    problem_rows,
    shown_answers,
    task_facts,
)
from logicgen.report.tables import percent
from logicgen.solvers import Verdict
from logicgen.tasks import Task, load_task

PARTS = {
    "overall": "overall",
    "inside_training_region": "inside the training region",
    "beyond_in_symbols_only": "more symbols",
    "beyond_in_length_only": "other lengths",
    "beyond_training_region": "beyond it, in any way",
}
"""The parts of a summary, with their names in tables."""


def evaluation_document(
    table: pa.Table,
    about: About,
    *,
    most: int = MOST,
    workers: int = 1,
    progress: Progress = no_progress,
) -> Document:
    """Return the page of a table of predictions.

    most: the largest number of answers on the page. Wrong answers come first.
    """
    task, scores = load_task(about.task), Scores.of(table, about)
    places = chosen(~are_right(table), most)
    listed = table.take(pa.array(places)).to_pydict()
    items = zip(listed["problem"], listed["prediction"], listed["verdict"], strict=True)
    rows = _rows(task, listed, explanations(task, items, workers, progress), scores.seeds)
    columns, answers, cells = _columns(rows), [STORED, PREDICTION], scores.by_cell()
    maps = [share_map("right answers", cells, about)]
    if listed.get("verified_prediction", [None])[:1] != [None]:
        rows["verified"] = shown_answers(
            task, listed["verified_prediction"], listed["verified_verdict"]
        )
        rows["verified_verdict"] = listed["verified_verdict"]
        label = "verdict of the verified answer"
        columns.append(column("verified_verdict", label, "choice", facet=True))
        answers.append(VERIFIED)
        maps.append(share_map("right verified answers", cells, about, verified_accuracy))
    if listed.get(PLAIN, [None])[:1] != [None]:
        rows[PLAIN] = [names or "no control" for names in listed[PLAIN]]
        columns.append(column(PLAIN, "controls that are right", "choice", facet=True))
        maps.append(share_map("right where no control is right", cells, about, hard_accuracy))
    return Document(
        title=title_of(scores),
        lead=_lead(scores),
        summary=[_scores(scores)],
        data=page_data(
            {about.task: task_facts(task)},
            columns,
            rows,
            answers,
            maps=maps,
            noun="example" if scores.seeds == 1 else "answer",
            total=len(table),
            sampled="first the answers that are not right, then right answers at random",
        ),
        facts=[_facts(about, scores)],
        notes=["Made by logicgen. Intervals are 95% Wilson intervals over problems."],
    )


def title_of(scores: Scores) -> str:
    """Return the title of the figures and of the page.

    If some rows of the split have no answer, the title contains the number of answered rows.
    """
    about, partly = scores.about, scores.partly()
    return f"{about.model} on {about.data} ({about.split})" + (
        f", {partly} problems" if partly else ""
    )


def _lead(scores: Scores) -> str:
    """Return the sentence under the title of the page."""
    share = percent(scores.score().flat())
    lead = f"{share} of {len(scores):,} answers are right: the solver accepts them."
    partly = scores.partly()
    return lead + (f" {partly} rows of the split have a reply." if partly else "")


STORED = {"label": "stored answer", "text": "answer"}
PREDICTION = {
    "label": "prediction",
    "text": "prediction",
    "verdict": "verdict",
    "explanation": "explained",
    "tokens": "tokens",
    "drawn": True,
}
VERIFIED = {
    "label": "verified answer",
    "text": "verified",
    "verdict": "verified_verdict",
}
"""The three answers to a problem, for the page's scripts.

Values other than `label` and `drawn` are names of columns.
"""


def _rows(
    task: Task, listed: dict[str, list[Any]], explained: list[ExplainedAnswer], seeds: int
) -> dict[str, list[Any]]:
    """Return the columns of the page by name, each with a value for each listed answer.

    seeds: number of embedding seeds.
    """
    of_seed = [""] if seeds == 1 else [f"-{seed}" for seed in range(seeds)]
    keys = zip(listed["row"], listed["embedding_seed"], strict=True)
    rows: dict[str, list[Any]] = {
        "key": [f"{row}{of_seed[seed]}" for row, seed in keys],
        **{name: listed[name] for name in ("row", "symbols", "length", "verdict")},
        **problem_rows(task, listed["problem"]),
        "answer_length": [len(text.split()) for text in listed["prediction"]],
        "answer": shown_answers(task, listed["answer"]),
        "prediction": [text for text, _ in explained],
        "explained": [found for _, found in explained],
        "tokens": listed["prediction"],
    }
    return rows | ({"embedding_seed": listed["embedding_seed"]} if seeds > 1 else {})


def _columns(rows: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Return the descriptions of the columns of the page, for its scripts.

    A column that `rows` lacks is left out.
    """
    columns = [
        ROW,
        column("embedding_seed", "embedding seed", "number", facet=True),
        SYMBOLS,
        LENGTH,
        column("verdict", "verdict", "choice", facet=True, shown=True),
        PROBLEM,
        column("prediction", "prediction", "text", shown=True),
        column("answer", "stored answer", "text"),
        column("answer_length", "tokens of the prediction", "number", facet=True),
        OPERATORS,
    ]
    return [each for each in columns if each["name"] in rows]


def are_right(table: pa.Table) -> np.ndarray:
    """Return a mask of the answers that are right."""
    right = pa.array([str(each) for each in Verdict if each.is_right])
    return np.asarray(pc.is_in(table["verdict"], value_set=right))


def share_map(
    title: str,
    cells: dict[tuple[int, int], Score],
    about: About,
    value: Callable[[Score], float | None] = plain_accuracy,
) -> dict[str, Any]:
    """Return the heat map of right answers for the page's scripts.

    value: the share that the map shows.
    """
    rows: list[list[Any]] = []
    for (symbols, length), score in sorted(cells.items()):
        share = value(score)
        there = sum(score.counts.values())
        says = f"{score.examples:,} example{'' if score.examples == 1 else 's'}"
        says += f", {there:,} answers" if there != score.examples else ""
        if value is plain_accuracy:
            low, high = (100 * bound for bound in score.interval)
            counts = ", ".join(f"{name} {count:,}" for name, count in score.counts.items() if count)
            says = f"{100 * score.accuracy[0]:.1f}% [{low:.1f}, {high:.1f}]\n{says}: {counts}"
        elif share is not None:
            says = f"{100 * share:.1f}%\n{says}"
        rows.append([symbols, length, share, says])
    missing = [place for place in about.split_cells() if place not in cells]
    rows = sorted(
        [*rows, *([*place, None, "no replies"] for place in missing)], key=itemgetter(0, 1)
    )
    return cell_map(title, "share", rows, about.step, [[*about.symbols], [*about.length]])


def _scores(scores: Scores) -> FactTable:
    """Return the table of scores: a row for all answers, and a row for each part of them."""
    rows = []
    parts = {"overall": scores.score(), **scores.by_part()}
    flats = {name: score.flat() for name, score in parts.items()}
    verified = "verified_accuracy" in flats["overall"]
    control = "best_control" in flats["overall"]
    heads = ["", "examples", "right", *(["best control"] if control else []), *VERDICTS]
    heads += ["verified answer right"] if verified else []
    heads += ["best control, verified"] if verified and control else []
    for name, flat in flats.items():
        row = [PARTS.get(name, name), f"{flat['examples']:,}", percent(flat)]
        row += [control_text(flat)] if control else []
        row += [f"{flat[verdict]:,}" for verdict in VERDICTS]
        row += [percent(flat, "verified_accuracy")] if verified else []
        rows.append(row + ([control_text(flat, "verified_")] if verified and control else []))
    notes = comparison_lines(flats["overall"])
    return FactTable("Scores", heads, rows, " ".join(f"{line}." for line in notes))


def _facts(about: About, scores: Scores) -> FactTable:
    """Return the table of the model, the data and the decoding."""
    said: dict[str, Any] = {
        "task": about.task,
        "model": about.model,
        "data set": f"{about.data}, split {about.split}",
        "symbols in training": "{} to {}".format(*about.symbols),
        "lengths in training": "{} to {}".format(*about.length),
        **({"rows with a reply": partly} if (partly := scores.partly()) else {}),
        "embedding seeds": scores.seeds,
        **_decoding_facts(about.decoding),
    }
    if about.precision is not None:
        said["precision of the training"] = about.precision
    if about.reset_rows is not None:
        said["seed of redrawn rows"] = about.reset_rows
    return FactTable("What was evaluated", ["", ""], [[name, str(said[name])] for name in said])


DECODING = {
    "beams": "beams (1 is greedy decoding)",
    "length_normalization": "length normalization of beams",
    "top_k": "top-k",
    "top_p": "top-p",
    "seed": "seed of sampling",
    "grammar": "only answers that parse",
    "ensemble": "draws of the embedding that are averaged",
    "votes": "answers that vote",
    "verified": "verified answer",
    "draws": "most answers tried",
    "mode": "mode of reading replies",
    "replies": "replies to each problem",
}
"""The settings of decoding, with their names on the page."""


def _decoding_facts(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings of decoding as texts, by their names on the page."""
    return {
        DECODING.get(name, name): _words(value)
        for name, value in settings.items()
        if value is not None and name != "answers"
    }


def _words(value: Any) -> str:
    """Return a setting as text. The texts of nested settings are joined by commas."""
    match value:
        case bool():
            return "yes" if value else "no"
        case Mapping():
            nested = {name: each for name, each in value.items() if isinstance(each, Mapping)}
            own = {name: each for name, each in value.items() if name not in nested}
            facts = [f"{name}: {words}" for name, words in _decoding_facts(own).items()]
            return ", ".join([*facts, *map(_words, nested.values())])
    return str(value)
