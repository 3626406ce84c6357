"""Identifiability: do students of a teacher's sentences find the teacher's weights?

The steps follow Vigoda and Rochais (2023), section 4.3. The teacher is a given grammar, and
sentences are drawn from it. The students are grammars of the same size. They learn the sentences,
each from its own random weights. The order of the units of a student is arbitrary, so the units are
aligned with the units of the teacher (`productions/compare.py`). Then the weights are compared.
Sentences do not determine all weights. So a student may find the class of the teacher, which
contains all grammars with the same probabilities of sentences, but not its weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from logicgen.errors import LogicgenError
from logicgen.experiments import Call, Experiment, ExperimentSettings, Json, Number, Positive, Seed
from logicgen.experiments.teachers import LessonTable, find_teacher, learn
from logicgen.productions import (
    Grammar,
    aligned,
    class_distance,
    distance,
    divergence,
    is_determined,
)
from logicgen.report.grammar_page import draw_grammars
from logicgen.report.tables import Report
from logicgen.training.students import Sentences

# A learned grammar (student) has found the grammar of its sentences (teacher) if their mean
# `distance` is below this number. The student has found the class of the teacher if their mean
# `class_distance` is below this number.
FOUND = 0.05


class IdentifySettings(ExperimentSettings):
    """Keys of a study of this experiment.

    nudges: values of `lesson.nudge` to compare; only `lesson.nudge` if empty. A nudge is added to
        some weights before the training, so that the units of a layer are not alike.
    """

    teacher: str  # a recipe of the task production, or a path for `load_grammar`
    students: Positive
    # The number of sentences for each student; default: all sentences, with their probabilities
    sentences: Positive | None = None
    seed: Seed
    nudges: tuple[Number, ...] = Field(default=(), strict=False)
    lesson: LessonTable


def taught(teacher: Grammar, lessons: list[Sentences], lesson: Json, seed: int) -> list[Grammar]:
    """Train grammars (students) of the teacher's size.

    lessons: for each student, the set of its training sentences.
    lesson: the settings of the training.
    """
    width = max(len(units) for units in teacher.units)
    if any(len(units) != width for units in teacher.units):
        raise LogicgenError(
            "the layers of this grammar have different numbers of units; give a grammar with the"
            " same number of units in each layer, as students have"
        )
    return learn(lessons, teacher.words, width, lesson, seed)[0]


def identify(
    grammar: dict[str, Any], students: int, sentences: int | None, lesson: dict[str, Any], seed: int
) -> Json:
    """Train grammars (students) on sentences of a grammar (the teacher); return their distances.

    grammar: the teacher.
    sentences: the number of sentences for each student; None means all sentences.

    The result contains, for each weight of the teacher, its name, its value, and the mean and the
    standard deviation over students (`weights`). For each student, it contains its `distance`
    (`distances`), its `class_distance` (`classes`), and KL(teacher || student) in bits
    (`divergences`). It also contains the mean of the weights of all students (`mean`). All these
    are computed after the units of the student are aligned with the teacher's. `unaligned` has the
    mean distance of each student before.
    """
    teacher = Grammar.of_dict(grammar)
    rng = np.random.default_rng(seed)
    if sentences is None:
        lessons = [Sentences.all_of(teacher)] * students
    else:
        lessons = [Sentences.of(teacher.sample(rng, sentences)) for _ in range(students)]
    learned = taught(teacher, lessons, lesson, seed)
    found = [aligned(each, teacher) for each in learned]
    columns = [dict(weights_by_name(each, teacher)) for each in found]
    weights = [
        {
            "weight": name,
            "teacher": value,
            "mean": float(np.mean([each[name] for each in columns])),
            "deviation": float(np.std([each[name] for each in columns], ddof=students > 1)),
        }
        for name, value in weights_by_name(teacher, teacher)
    ]
    return {
        "weights": weights,
        "distances": [list(distance(each, teacher)) for each in found],
        "unaligned": [distance(each, teacher)[0] for each in learned],
        "classes": [list(class_distance(each, teacher)) for each in found],
        "divergences": [divergence(teacher, each) for each in found],
        "mean": _mean(found, teacher),
    }


def _mean(grammars: Sequence[Grammar], teacher: Grammar) -> Json:
    """Return the mean of the weights of grammars with the rules of the teacher."""
    layers = {
        name: [
            np.mean(layer, axis=0).tolist()
            for layer in zip(*(getattr(each, name) for each in grammars), strict=True)
        ]
        for name in ("tokens", "below")
    }
    start = np.mean([each.start for each in grammars], axis=0).tolist()
    return {**teacher.as_dict(), "start": start, **layers}


def weights_by_name(grammar: Grammar, teacher: Grammar) -> list[tuple[str, float]]:
    """Return the name and the value of each weight of a grammar.

    The units of the grammar must be in the order of the teacher's units, and get their names. Units
    that the teacher never uses are left out.
    """
    found = [
        (f"start -> {unit}", float(share))
        for unit, share in zip(teacher.units[0], grammar.start, strict=True)
    ]
    for layer, units in enumerate(teacher.units):
        for number, unit in enumerate(units):
            if not teacher.reach[layer][number]:
                continue
            place = f"{layer + 1}:{unit}"
            said = grammar.tokens[layer][:, number]
            found += [
                (f"{place} says {word}", float(share))
                for word, share in zip(teacher.words, said, strict=True)
            ]
            if layer + 1 < teacher.positions:
                chosen = grammar.below[layer][:, number]
                found += [
                    (f"{place} -> {layer + 2}:{other}", float(share))
                    for other, share in zip(teacher.units[layer + 1], chosen, strict=True)
                ]
    return found


def trials(settings: IdentifySettings) -> dict[str, Call]:
    """Return a trial for each nudge, which trains all students on the teacher's sentences."""
    teacher = find_teacher(settings.teacher)
    try:
        teacher.sentences()  # the divergence is a sum over all sentences
    except LogicgenError as error:
        raise LogicgenError(f"{_called(settings)}: {error}: give a smaller teacher") from None
    arguments = {
        "grammar": teacher.as_dict(),
        **settings.model_dump(include={"students", "sentences", "seed"}),
        "lesson": settings.lesson.arguments(),
    }
    if not settings.nudges:
        return {"students": (identify, arguments)}
    return {
        f"nudge {nudge:g}": (
            identify,
            {**arguments, "lesson": settings.lesson.arguments(nudge=nudge)},
        )
        for nudge in settings.nudges
    }


def identified(means: np.ndarray, classes: np.ndarray | None) -> tuple[int, int, int] | None:
    """Count the learned grammars (students) that found the teacher, only its class, or neither.

    means: (students,) mean distances.
    classes: (students,) mean distances of canonical forms, or None if they were not measured. In
        this case the result is None unless all students have found the teacher.
    """
    exactly = means < FOUND
    if classes is None:
        return (len(means), 0, 0) if exactly.all() else None
    alike = ~exactly & (classes < FOUND)
    return int(exactly.sum()), int(alike.sum()), int((~exactly & ~alike).sum())


def report(settings: IdentifySettings, found: dict[str, Json]) -> Report:
    """Return the report on the distances of the learned grammars (students) to the teacher grammar.

    A picture shows the weights of the teacher and the mean weights of its students.
    """
    result = next(iter(found.values()))
    teacher, called = find_teacher(settings.teacher), _called(settings)
    columns = [_column(settings.students, each) for each in found.values()]
    rows = [[name, *(column[name] for column in columns)] for name in columns[0]]
    heads = ["", *found] if len(found) > 1 else ["", ""]
    grammars = [("teacher", teacher), ("students, mean", Grammar.of_dict(result["mean"]))]
    figure = draw_grammars(grammars, f"{called}: {settings.students} students")
    count = settings.sentences
    data = "all sentences" if count is None else f"{count:,} sentences of its own"
    return Report(
        "Identifiability",
        f"{settings.students} students of the teacher {called}, each trained on {data} from random"
        f" weights (the best of {settings.lesson.starts} starts). Units are aligned with the"
        " teacher's units. Distance: the mean total variation of a choice, over the teacher's"
        f" choices. A student has found the teacher if the distance is below {FOUND}. The class"
        " contains all grammars with the same probabilities of sentences. A student has found the"
        f" class if the distance of the canonical forms is below {FOUND}. {_determined(teacher)}"
        " Every weight is in `weights.csv`.",
        [("Results:", heads, rows)],
        [("weights", "weights of the teacher and of its students", figure)],
        {"weights.csv": result["weights"]},
    )


def _column(students: int, result: Json) -> dict[str, str]:
    """Return the results of a training of students: texts by the name of the result."""
    means, largest = np.array(result["distances"]).T
    before = np.array(result["unaligned"])
    deviation = max(each["deviation"] for each in result["weights"])
    classes = None if result["classes"] is None else np.array(result["classes"])[:, 0]
    counts = identified(means, classes)
    _, alike, neither = map(str, counts) if counts else ("", "not recorded", "not recorded")
    return {
        "students": f"{students}",
        "that found the teacher": f"{(means < FOUND).sum()}",
        "that found the teacher without alignment": f"{(before < FOUND).sum()}",
        "that found its class, with other weights": alike,
        "that found neither": neither,
        "distance to the teacher, median": f"{np.median(means):.4f}",
        "distance to the teacher, largest": f"{means.max():.4f}",
        "difference of a weight from the teacher's, largest": f"{largest.max():.4f}",
        "standard deviation of a weight over students, largest": f"{deviation:.4%}",
        "KL(teacher || student), median": f"{np.median(result['divergences']):.5f} bits",
    }


def _determined(teacher: Grammar) -> str:
    """Return a sentence about whether students can be expected to find the teacher's class."""
    if is_determined(teacher):
        return "Sentences determine the canonical form of this teacher."
    return "Sentences may not determine the canonical form of this teacher."


def _called(settings: IdentifySettings) -> str:
    """Return the name of the teacher, without its folder and suffix."""
    return Path(settings.teacher).stem


EXPERIMENT = Experiment(IdentifySettings, trials, report)
