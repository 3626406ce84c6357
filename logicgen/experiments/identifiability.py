"""Identifiability: do students of a teacher's sentences find the teacher's weights?

The steps are those of Vigoda and Rochais (2023), section 4.3: a teacher's weights are set,
sentences are drawn from it, students of the same size learn them from random weights of their own,
and their weights are compared with the teacher's, once the order of their units, which is
arbitrary, is the teacher's (`productions/align.py`).
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from logicgen.errors import LogicgenError
from logicgen.model.inductive import as_grammar
from logicgen.productions import Grammar, aligned, distance, divergence
from logicgen.report.figure_style import save
from logicgen.report.grammar_figure import draw_grammars
from logicgen.report.tables import write_csv
from logicgen.study.experiment import write_experiment
from logicgen.study.points import compute
from logicgen.train.students import Lesson, Sentences, teach

# A student has found the teacher if its choices differ by less than this, in total variation and
# on average over those that the teacher makes.
FOUND = 0.05

LESSON = Lesson(steps=1_000, starts=10)


def taught(teacher: Grammar, lessons: list[Sentences], lesson: Lesson, seed: int) -> list[Grammar]:
    """Students of as many units, each aligned with the teacher."""
    width = max(len(units) for units in teacher.units)
    if any(len(units) != width for units in teacher.units):
        raise LogicgenError(
            "the layers of this grammar have different numbers of units, and students have the"
            " same number in all: give a grammar with as many units in each layer"
        )
    weights, _ = teach(lessons, words=len(teacher.words), width=width, lesson=lesson, seed=seed)
    return [
        aligned(as_grammar(weights, number, teacher.words), teacher)
        for number in range(len(lessons))
    ]


def identify(
    grammar: dict[str, Any],
    students: int,
    sentences: int | None,
    lesson: dict[str, Any],
    seed: int,
) -> dict[str, Any]:
    """Students of one teacher, each with sentences of its own (None: all, as often as they occur).

    `weights`: of each weight of the teacher, by name: what the teacher has, and mean and standard
    deviation over students. `distances`: of each student, mean and largest. `divergences`: bits.
    """
    teacher = Grammar.of_dict(grammar)
    rng = np.random.default_rng(seed)
    if sentences is None:
        lessons = [Sentences.all_of(teacher)] * students
    else:
        lessons = [Sentences.of(teacher.sample(rng, sentences)) for _ in range(students)]
    found = taught(teacher, lessons, Lesson(**lesson), seed)
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
        "divergences": [divergence(teacher, each) for each in found],
        "mean": {
            **teacher.as_dict(),
            "start": np.mean([each.start for each in found], axis=0).tolist(),
            "tokens": [
                np.mean([each.tokens[layer] for each in found], axis=0).tolist()
                for layer in range(teacher.positions)
            ],
            "below": [
                np.mean([each.below[layer] for each in found], axis=0).tolist()
                for layer in range(teacher.positions - 1)
            ],
        },
    }


def weights_by_name(grammar: Grammar, teacher: Grammar) -> list[tuple[str, float]]:
    """Every weight of the units that the teacher uses, in its order and by its names."""
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


def identifiability(
    teacher: Grammar,
    called: str,
    folder: Path,
    *,
    students: int = 100,
    sentences: int | None = None,
    lesson: Lesson = LESSON,
    seed: int = 0,
    command: str = "",
    progress: Any = lambda done, total: None,
) -> str:
    """Run the experiment into a folder; its table, for people."""
    try:
        teacher.sentences()  # which the divergence is a sum over
    except LogicgenError as error:
        raise LogicgenError(f"{called}: {error}: give a smaller teacher") from None
    arguments = {
        "grammar": teacher.as_dict(),
        "students": students,
        "sentences": sentences,
        "lesson": asdict(lesson),
        "seed": seed,
    }
    points = compute(identify, {"students": arguments}, folder, progress=progress)
    found = points["students"]["found"]
    write_csv(found["weights"], folder / "weights.csv")
    means, largest = np.array(found["distances"]).T
    rows = [
        ["students", f"{students}"],
        ["that found the teacher", f"{(means < FOUND).sum()}"],
        ["distance to the teacher, median", f"{np.median(means):.4f}"],
        ["distance to the teacher, largest", f"{means.max():.4f}"],
        ["any weight of any student from the teacher's, largest", f"{largest.max():.4f}"],
        [
            "standard deviation of a weight over students, largest",
            f"{max(each['deviation'] for each in found['weights']):.4%}",
        ],
        ["KL(teacher || student), median", f"{np.median(found['divergences']):.5f} bits"],
    ]
    figure = draw_grammars(
        [("teacher", teacher), ("students, mean", Grammar.of_dict(found["mean"]))],
        f"{called}: {students} students",
    )
    save(figure, folder, "weights")
    data = "all sentences" if sentences is None else f"{sentences:,} sentences of its own"
    about = (
        f"{students} students of the teacher {called}, each trained on {data} from random weights"
        f" (the best of {lesson.starts} starts), units aligned with the teacher's."
        " Distance: total variation of a choice, mean over the teacher's choices; found means"
        f" below {FOUND}. Every weight is in `weights.csv`."
    )
    tables = [("In the end:", ["", ""], rows)]
    pictures = [("weights", "weights of the teacher and of its students")]
    return write_experiment(folder, "Identifiability", about, command, tables, pictures, points)
