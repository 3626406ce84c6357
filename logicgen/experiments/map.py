"""A map of where students find their teacher, by size of the grammar and number of sentences.

Teachers are random grammars (`productions/grammar.py`). In the first kind, each word has one unit
in each layer, and no other unit may emit the word. In the second kind, any unit may emit any word.
A student is a grammar of the same size that learns sentences of its teacher. For teachers of the
first kind, students are trained with and without `crispness`, a term of the loss that prefers
grammars in which each word determines its unit. Instead of a sample, students may also learn all
sentences with their exact probabilities. A student may miss the weights of the teacher and still
find its class: all grammars with the same probabilities of sentences.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from matplotlib.figure import Figure
from pydantic import Field

from logicgen.experiments import Call, Experiment, ExperimentSettings, Json, Positive, Seed
from logicgen.experiments.identify import FOUND
from logicgen.experiments.teachers import LessonTable, learn
from logicgen.measures.answers_figures import ACCURACY
from logicgen.productions import aligned, class_distance, distance, divergence, random_grammar
from logicgen.report.tables import Report
from logicgen.training.students import Sentences

KINDS = {
    "told": ("each word has one unit, with crispness", True, 0.3),
    "own": ("each word has one unit, without crispness", True, 0.0),
    "any": ("any unit emits any word", False, 0.0),
}
"""For each kind of teacher and training: a description, whether only one unit of each layer may
emit a word, and the `crispness` of the training."""

SHOWN = ("width", "layers", "words", "sentences", "kind", "teachers")
"""The arguments of a trial that are columns of map.csv."""

Size = tuple[int, int, int]
"""The numbers of units of a layer, of layers, and of different words."""


class MapSettings(ExperimentSettings):
    """Keys of a study of this experiment."""

    teachers: Positive  # number of teachers for each kind, size and number of sentences
    # The size of each grammar: the numbers of units of a layer, of layers, and of words
    sizes: list[Annotated[list[Positive], Field(min_length=3, max_length=3)]]
    # The numbers of training sentences; "all" means all sentences, with their exact probabilities
    sentences: list[Positive | Literal["all"]]
    # The parameter of the Dirichlet distributions of teachers. If it is small, probabilities differ
    # much.
    concentration: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    seed: Seed
    lesson: LessonTable  # the training of all students; `KINDS` determines its `crispness`


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
    """Learn a grammar (student) from sentences of each of several random grammars (teachers).

    The result contains, for each teacher and its student, the mean `distance` (`distances`), the
    mean `class_distance`, which ignores differences that no sentence reveals (`classes`), and
    KL(teacher || student) in bits (`divergences`).

    sentences: the number of sentences for a student; None means all, with exact probabilities.
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
                    continue  # there are fewer words than units, so some unit would have no word
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
"""Rows of map.csv by kind of teacher, size and number of sentences."""


def report(settings: MapSettings, found: dict[str, Json]) -> Report:
    """Return the report: a table for each kind of teacher, and maps of the found teachers."""
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
        pictures.append(("classes", "share of teachers with their class found", figure))
    return Report(
        "Where identification succeeds",
        f"Each cell has {settings.teachers} random teachers and a student of each, the best of"
        f" {settings.lesson.starts} starts. Found: the mean distance of a choice, after alignment,"
        f" is below {FOUND}. Columns are numbers of training sentences. In the last column,"
        " students learn all sentences with their exact probabilities.",
        tables,
        pictures,
        {"map.csv": [*by_place.values()]},
    )


def _cell(row: Json) -> str:
    """Return the text of a cell of the table: shares found, median distance, median divergence."""
    shares = [f"{row[key]:.0%}" for key in ("found", "found_class") if key in row]
    return ", ".join([*shares, f"{row['distance']:.3f}", f"{row['kl_bits']:.3f}"])


def _found_class(found: Json) -> Json:
    """Return the share of learned grammars (students) that found the class of their teacher.

    The result is a dictionary with the key `found_class`. If `class_distance` was not measured, the
    dictionary is empty.
    """
    if found["classes"] is None:
        return {}
    nearest = np.minimum(found["classes"], found["distances"])
    return {"found_class": float(np.mean(nearest < FOUND))}


def _count(count: int | None) -> str:
    """Return a number of sentences as text; None means all sentences."""
    return "all" if count is None else f"{count:,}"


def _draw(
    by_place: Places, sizes: list[Size], sentences: list[int | None], share: str = "found"
) -> Figure:
    """Draw a heat map of a share of teachers, by size and number of sentences, for each kind.

    share: the column of map.csv to draw, `found` or `found_class`.
    """
    figure = Figure(figsize=(13, 1.6 + 0.42 * len(sizes)), layout="constrained")
    grid = figure.subplots(1, len(KINDS), sharey=True)
    for axes, (kind, (says, _, _)) in zip(grid, KINDS.items(), strict=True):
        rows = [[by_place.get((kind, size, count)) for count in sentences] for size in sizes]
        values = np.array([[row[share] if row else np.nan for row in line] for line in rows])
        axes.imshow(values, cmap=ACCURACY, vmin=0, vmax=1, aspect="auto")
        for (row, column), value in np.ndenumerate(values):
            if not np.isnan(value):
                color = "white" if value < 0.2 or value > 0.85 else "black"
                place = {"ha": "center", "va": "center", "fontsize": 8}
                axes.annotate(f"{value:.0%}", (column, row), color=color, **place)
        axes.set_title(says, fontsize=10)
        axes.set_xticks(range(len(sentences)), [_count(count) for count in sentences])
        axes.set_xlabel("sentences")
        called = ["{} units, {} layers, {} words".format(*size) for size in sizes]
        axes.set_yticks(range(len(sizes)), called)
    what = {"found": "found by their students", "found_class": "with their class found by students"}
    figure.suptitle(f"Share of teachers {what[share]}", fontsize=11)
    return figure


EXPERIMENT = Experiment(MapSettings, trials, report)
