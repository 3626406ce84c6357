"""Identifiability: do students of a teacher's sentences find the teacher's weights?

The steps are those of Vigoda and Rochais (2023), section 4.3: a teacher's weights are set,
sentences are drawn from it, students of the same size learn them from random weights of their own,
and their weights are compared with the teacher's, once the order of their units, which is
arbitrary, is the teacher's (`productions/compare.py`). Sentences leave some weights open: a student
that has others may still have found what they determine (`productions/compare.py`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from logicgen.errors import LogicgenError
from logicgen.experiments import Call, Count, Experiment, ExperimentSettings, Json, Seed
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

# A student has found the teacher if its choices differ by less than this, in total variation and
# on average over those that the teacher makes; and its class if those of the canonical forms do.
FOUND = 0.05


class IdentifySettings(ExperimentSettings):
    """Keys of a study of this experiment."""

    teacher: str  # a recipe of the task production, or what `load_grammar` reads
    students: Count
    sentences: Count | None = None  # of each student; all, as often as they occur, if not given
    seed: Seed
    lesson: LessonTable


def taught(teacher: Grammar, lessons: list[Sentences], lesson: Json, seed: int) -> list[Grammar]:
    """Return students of as many units, each aligned with the teacher."""
    width = max(len(units) for units in teacher.units)
    if any(len(units) != width for units in teacher.units):
        raise LogicgenError(
            "the layers of this grammar have different numbers of units, and students have the"
            " same number in all: give a grammar with as many units in each layer"
        )
    students, _ = learn(lessons, teacher.words, width, lesson, seed)
    return [aligned(each, teacher) for each in students]


def identify(
    grammar: dict[str, Any], students: int, sentences: int | None, lesson: dict[str, Any], seed: int
) -> Json:
    """Return how near students come to a teacher, each with sentences of its own, or all (None).

    `weights`: of each weight of the teacher, by name: what the teacher has, and mean and standard
    deviation over students. `distances`: of each student, mean and largest. `classes`: the same of
    the canonical forms (`class_distance`). `divergences`: bits.
    """
    teacher = Grammar.of_dict(grammar)
    rng = np.random.default_rng(seed)
    if sentences is None:
        lessons = [Sentences.all_of(teacher)] * students
    else:
        lessons = [Sentences.of(teacher.sample(rng, sentences)) for _ in range(students)]
    found = taught(teacher, lessons, lesson, seed)
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
        "classes": [list(class_distance(each, teacher)) for each in found],
        "divergences": [divergence(teacher, each) for each in found],
        "mean": {
            **teacher.as_dict(),
            "start": np.mean([each.start for each in found], axis=0).tolist(),
            **{
                name: [
                    np.mean(layer, axis=0).tolist()
                    for layer in zip(*(getattr(each, name) for each in found), strict=True)
                ]
                for name in ("tokens", "below")
            },
        },
    }


def weights_by_name(grammar: Grammar, teacher: Grammar) -> list[tuple[str, float]]:
    """Return every weight of the units that the teacher uses, in its order and by its names."""
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
    """Return the only trial, all students of the teacher."""
    teacher = find_teacher(settings.teacher)
    try:
        teacher.sentences()  # which the divergence is a sum over
    except LogicgenError as error:
        raise LogicgenError(f"{_called(settings)}: {error}: give a smaller teacher") from None
    arguments = {
        "grammar": teacher.as_dict(),
        **settings.model_dump(include={"students", "sentences", "seed"}),
        "lesson": settings.lesson.arguments(),
    }
    return {"students": (identify, arguments)}


def identified(means: np.ndarray, classes: np.ndarray | None) -> tuple[int, int, int] | None:
    """Return how many students found the teacher, only its class, and neither of them.

    means: (students,) of distances. classes: the same of canonical forms. If they were not measured
        (None), the result is None unless all students have found the teacher.
    """
    exactly = means < FOUND
    if classes is None:
        return (len(means), 0, 0) if exactly.all() else None
    alike = ~exactly & (classes < FOUND)
    return int(exactly.sum()), int(alike.sum()), int((~exactly & ~alike).sum())


def report(settings: IdentifySettings, found: dict[str, Json]) -> Report:
    """Return distances to the teacher, and its weights beside the mean of its students."""
    (result,) = found.values()
    teacher, called = find_teacher(settings.teacher), _called(settings)
    means, largest = np.array(result["distances"]).T
    deviation = max(each["deviation"] for each in result["weights"])
    classes = None if result["classes"] is None else np.array(result["classes"])[:, 0]
    counts = identified(means, classes)
    _, alike, neither = map(str, counts) if counts else ("", "not recorded", "not recorded")
    rows = [
        ["students", f"{settings.students}"],
        ["that found the teacher", f"{(means < FOUND).sum()}"],
        ["that found its class, with other weights", alike],
        ["that found neither", neither],
        ["distance to the teacher, median", f"{np.median(means):.4f}"],
        ["distance to the teacher, largest", f"{means.max():.4f}"],
        ["any weight of any student from the teacher's, largest", f"{largest.max():.4f}"],
        ["standard deviation of a weight over students, largest", f"{deviation:.4%}"],
        ["KL(teacher || student), median", f"{np.median(result['divergences']):.5f} bits"],
    ]
    grammars = [("teacher", teacher), ("students, mean", Grammar.of_dict(result["mean"]))]
    figure = draw_grammars(grammars, f"{called}: {settings.students} students")
    count = settings.sentences
    data = "all sentences" if count is None else f"{count:,} sentences of its own"
    return Report(
        "Identifiability",
        f"{settings.students} students of the teacher {called}, each trained on {data} from random"
        f" weights (the best of {settings.lesson.starts} starts), units aligned with the teacher's."
        " Distance: total variation of a choice, mean over the teacher's choices; found means"
        f" below {FOUND}. Its class: all grammars with the same sentences, in which units of the"
        " first and the last layer may be mixed, since no sentence shows it. A student has found it"
        f" if the distance of the canonical forms is below {FOUND}. {_determined(teacher)} Every"
        " weight is in `weights.csv`.",
        [("In the end:", ["", ""], rows)],
        [("weights", "weights of the teacher and of its students", figure)],
        {"weights.csv": result["weights"]},
    )


def _determined(teacher: Grammar) -> str:
    if is_determined(teacher):
        return "Of this teacher, sentences determine the canonical form."
    return "Of this teacher, sentences may leave more open than that."


def _called(settings: IdentifySettings) -> str:
    return Path(settings.teacher).stem


EXPERIMENT = Experiment(IdentifySettings, trials, report)
