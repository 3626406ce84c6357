"""A map of where identification succeeds: over width, layers, words and number of sentences.

Teachers are drawn at random: units of a layer share the words out among themselves, or any unit may
say any word. A student is of its teacher's size; of teachers of the first kind there are students
that are told so (`crispness`) and students that are not. The last column has every sentence with
its exact probability, in place of a sample without end: what is not found there is not in the
sentences. Of the students that miss a teacher, some have found its class: all that sentences show.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from matplotlib.figure import Figure
from pydantic import Field

from logicgen.experiments import Call, Count, Experiment, ExperimentSettings, Json, Seed
from logicgen.experiments.identify import FOUND
from logicgen.experiments.teachers import LessonTable, learn
from logicgen.measures.answers_figures import ACCURACY
from logicgen.productions import aligned, class_distance, distance, divergence, random_grammar
from logicgen.report.tables import Report
from logicgen.training.students import Sentences

KINDS = {
    "told": ("units share words out, students are told", True, 0.3),
    "own": ("units share words out, students are not told", True, 0.0),
    "any": ("any unit says any word", False, 0.0),
}
"""The description of a kind, whether units have words of their own, and students' crispness."""

SHOWN = ("width", "layers", "words", "sentences", "kind", "teachers")

Size = tuple[int, int, int]


class MapSettings(ExperimentSettings):
    """Keys of a study of this experiment."""

    teachers: Count  # at each place
    sizes: list[Annotated[list[Count], Field(min_length=3, max_length=3)]]  # units, layers, words
    sentences: list[Count | Literal["all"]]  # a student has seen; all: with exact probabilities
    # Of teachers' Dirichlet distributions; the smaller, the more their probabilities differ.
    concentration: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    seed: Seed
    lesson: LessonTable  # of all students; `crispness` follows from the kind of teacher


def map_point(
    width: int,
    layers: int,
    words: int,
    sentences: int | None,
    kind: str,
    teachers: int,
    seed: int,
    concentration: float,
    lesson: dict[str, Any],
) -> Json:
    """Return the distance of each teacher's student to it, and its divergence from it in bits.

    `classes`: the distances of the canonical forms, without what no sentence shows.
    """
    rng = np.random.default_rng(seed)
    _, own_words, _ = KINDS[kind]
    drawn = [
        random_grammar(width, layers, words, rng, concentration=concentration, own_words=own_words)
        for _ in range(teachers)
    ]
    lessons = [
        Sentences.all_of(each) if sentences is None else Sentences.of(each.sample(rng, sentences))
        for each in drawn
    ]
    students, _ = learn(lessons, drawn[0].words, width, lesson, seed)
    pairs = [(aligned(each, own), own) for each, own in zip(students, drawn, strict=True)]
    return {
        "distances": [distance(student, teacher).mean for student, teacher in pairs],
        "classes": [class_distance(student, teacher).mean for student, teacher in pairs],
        "divergences": [divergence(teacher, student) for student, teacher in pairs],
    }


def trials(settings: MapSettings) -> dict[str, Call]:
    """Return a trial for each kind of teacher, size and number of sentences."""
    found: dict[str, Call] = {}
    for kind, (_, own_words, crispness) in KINDS.items():
        for width, layers, words in settings.sizes:
            for count in settings.sentences:
                if words < width and own_words:
                    continue  # no word of its own for each unit
                found[f"{kind}-{width}-{layers}-{words}-{count}"] = (
                    map_point,
                    {
                        "width": width,
                        "layers": layers,
                        "words": words,
                        "sentences": None if count == "all" else count,
                        "kind": kind,
                        "lesson": settings.lesson.arguments(crispness=crispness),
                        **settings.model_dump(include={"teachers", "seed", "concentration"}),
                    },
                )
    return found


Places = dict[tuple[str, Size, int | None], Json]
"""Rows of the table for programs by kind of teacher, size and number of sentences."""


def report(settings: MapSettings, found: dict[str, Json]) -> Report:
    """Return a table for each kind of teacher, and a picture of the shares that were found."""
    by_place: Places = {}
    for name, (_, arguments) in trials(settings).items():
        distances, shown = found[name]["distances"], {key: arguments[key] for key in SHOWN}
        size = shown["width"], shown["layers"], shown["words"]
        by_place[shown["kind"], size, shown["sentences"]] = {
            **shown,
            "found": float(np.mean(np.array(distances) < FOUND)),
            **_found_class(found[name]),
            "distance": float(np.median(distances)),
            "kl_bits": float(np.median(found[name]["divergences"])),
        }
    recorded = all("found_class" in row for row in by_place.values())
    sentences = [None if count == "all" else count for count in settings.sentences]
    sizes = [(width, layers, words) for width, layers, words in settings.sizes]
    heads = ["units", "layers", "words", *(_count(count) for count in sentences)]
    shares = "share found, share of which the class is found," if recorded else "share found,"
    tables = [
        (
            f"{says.capitalize()}: {shares} median distance, median KL in bits.",
            heads,
            [
                [*map(str, size), *(_cell(by_place[kind, size, count]) for count in sentences)]
                for size in sizes
                if (kind, size, sentences[0]) in by_place
            ],
        )
        for kind, (says, _, _) in KINDS.items()
    ]
    pictures = [("map", "share of teachers that were found", _draw(by_place, sizes, sentences))]
    if recorded:
        figure = _draw(by_place, sizes, sentences, "found_class")
        pictures.append(("classes", "share of teachers whose class was found", figure))
    return Report(
        "Where identification succeeds",
        f"Each place has {settings.teachers} teachers drawn at random and a student of each, the"
        f" best of {settings.lesson.starts} starts. Found: the mean distance of a choice, after"
        f" alignment, is below {FOUND}. Columns are the number of sentences a student has seen; in"
        " the last it has seen all, with their exact probabilities.",
        tables,
        pictures,
        {"map.csv": [*by_place.values()]},
    )


def _cell(row: Json) -> str:
    shares = [f"{row[key]:.0%}" for key in ("found", "found_class") if key in row]
    return ", ".join([*shares, f"{row['distance']:.3f}", f"{row['kl_bits']:.3f}"])


def _found_class(found: Json) -> Json:
    """Return the share of students in their teacher's class, if it was measured."""
    if found["classes"] is None:
        return {}
    nearest = np.minimum(found["classes"], found["distances"])
    return {"found_class": float(np.mean(nearest < FOUND))}


def _count(count: int | None) -> str:
    return "all" if count is None else f"{count:,}"


def _draw(
    by_place: Places, sizes: list[Size], sentences: list[int | None], share: str = "found"
) -> Figure:
    """Draw a share of teachers, a panel for each kind of them: sizes by numbers of sentences."""
    figure = Figure(figsize=(13, 1.6 + 0.42 * len(sizes)), layout="constrained")
    grid = figure.subplots(1, len(KINDS), sharey=True)
    for axes, (kind, (says, _, _)) in zip(grid, KINDS.items(), strict=True):
        rows = [[by_place.get((kind, size, count)) for count in sentences] for size in sizes]
        values = np.array([[row[share] if row else np.nan for row in line] for line in rows])
        axes.imshow(values, cmap=ACCURACY, vmin=0, vmax=1, aspect="auto")
        for (row, column), value in np.ndenumerate(values):
            if not np.isnan(value):
                colour = "white" if value < 0.2 or value > 0.85 else "black"
                place = {"ha": "center", "va": "center", "fontsize": 8}
                axes.annotate(f"{value:.0%}", (column, row), color=colour, **place)
        axes.set_title(says, fontsize=10)
        axes.set_xticks(range(len(sentences)), [_count(count) for count in sentences])
        axes.set_xlabel("sentences")
        called = ["{} units, {} layers, {} words".format(*size) for size in sizes]
        axes.set_yticks(range(len(sizes)), called)
    what = {"found": "that their students found", "found_class": "whose class students found"}
    figure.suptitle(f"Share of teachers {what[share]}", fontsize=11)
    return figure


EXPERIMENT = Experiment(MapSettings, trials, report)
