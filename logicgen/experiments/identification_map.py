"""Where identification succeeds: over width, layers, vocabulary and the number of sentences.

Teachers are drawn at random: units of a layer share the words out among themselves, or any unit may
say any word. A student is of its teacher's size; of teachers of the first kind there are students
that are told so (`crispness`) and students that are not. The last column has every sentence with
its exact probability, in place of a sample without end: what is not found there is not in the
sentences.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from logicgen.experiments.identifiability import FOUND
from logicgen.model.inductive import as_grammar
from logicgen.productions import aligned, distance, divergence, random_grammar
from logicgen.report.figure_style import save
from logicgen.report.heatmap import ACCURACY
from logicgen.report.tables import write_csv
from logicgen.study.experiment import Table, write_experiment
from logicgen.study.points import compute
from logicgen.train.students import Lesson, Sentences, teach

# Units, layers, words. Around the first one at a time is changed.
SIZES = [
    (3, 3, 8),
    (2, 3, 8),
    (4, 3, 8),
    (6, 3, 8),
    (3, 2, 8),
    (3, 4, 8),
    (3, 3, 4),
    (3, 3, 12),
]
SENTENCES: list[int | None] = [30, 100, 300, 1_000, 3_000, None]
KINDS = {
    "told": ("units share words out, students are told", True, 0.3),
    "own": ("units share words out, students are not told", True, 0.0),
    "any": ("any unit says any word", False, 0.0),
}
"""What is said of a kind, whether units have words of their own, and students' crispness."""

STARTS = 20

SHOWN = ("width", "layers", "words", "sentences", "kind", "teachers")

# Of teachers' Dirichlet distributions: some things are a good deal more probable than others.
CONCENTRATION = 0.3


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
) -> dict[str, Any]:
    """Of each teacher's student: distance to the teacher, and divergence from it in bits."""
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
    weights, _ = teach(
        lessons,
        words=words,
        width=width,
        lesson=Lesson(**lesson),
        seed=seed,
    )
    found = []
    for number, teacher in enumerate(drawn):
        student = aligned(as_grammar(weights, number, teacher.words), teacher)
        found.append((distance(student, teacher).mean, divergence(teacher, student)))
    return {"distances": [each for each, _ in found], "divergences": [each for _, each in found]}


def identification_map(
    folder: Path,
    *,
    teachers: int = 10,
    sizes: list[tuple[int, int, int]] = SIZES,
    sentences: list[int | None] = SENTENCES,
    seed: int = 0,
    workers: int = 1,
    command: str = "",
    progress: Any = lambda done, total: None,
) -> str:
    """Run the experiment into a folder; its tables, for people."""
    points = {
        f"{kind}-{width}-{layers}-{words}-{count or 'all'}": {
            "width": width,
            "layers": layers,
            "words": words,
            "sentences": count,
            "kind": kind,
            "teachers": teachers,
            "seed": seed,
            "concentration": CONCENTRATION,
            "lesson": asdict(Lesson(starts=STARTS, crispness=KINDS[kind][2])),
        }
        for kind in KINDS
        for width, layers, words in sizes
        for count in sentences
        if words >= width or not KINDS[kind][1]
    }
    computed = compute(map_point, points, folder, workers=workers, progress=progress)
    rows = [
        {
            **{key: each["arguments"][key] for key in SHOWN},
            "found": float(np.mean(np.array(each["found"]["distances"]) < FOUND)),
            "distance": float(np.median(each["found"]["distances"])),
            "kl_bits": float(np.median(each["found"]["divergences"])),
        }
        for each in computed.values()
    ]
    write_csv(rows, folder / "map.csv")
    by_place = {
        (row["kind"], (row["width"], row["layers"], row["words"]), row["sentences"]): row
        for row in rows
    }
    heads = ["units", "layers", "words", *(_count(count) for count in sentences)]
    tables: list[Table] = []
    for kind, (says, _, _) in KINDS.items():
        lines = [
            [
                *map(str, size),
                *(
                    f"{row['found']:.0%}, {row['distance']:.3f}, {row['kl_bits']:.3f}"
                    for count in sentences
                    for row in [by_place[kind, size, count]]
                ),
            ]
            for size in sizes
            if (kind, size, sentences[0]) in by_place
        ]
        tables.append(
            (f"{says.capitalize()}: share found, median distance, median KL in bits.", heads, lines)
        )
    _draw(by_place, sizes, sentences, folder)
    about = (
        f"Each place has {teachers} teachers drawn at random and a student of each, the best of"
        f" {STARTS} starts. Found: the mean distance of a choice, after alignment, is"
        f" below {FOUND}. Columns are the number of sentences a student has seen; in the last it"
        " has seen all, with their exact probabilities."
    )
    pictures = [("map", "share of teachers that were found")]
    title = "Where identification succeeds"
    return write_experiment(folder, title, about, command, tables, pictures, computed)


def _count(count: int | None) -> str:
    return "all" if count is None else f"{count:,}"


def _draw(
    by_place: dict[tuple[str, tuple[int, int, int], int | None], dict[str, Any]],
    sizes: list[tuple[int, int, int]],
    sentences: list[int | None],
    folder: Path,
) -> None:
    """A panel for each kind of teacher: sizes by numbers of sentences."""
    figure = Figure(figsize=(13, 1.6 + 0.42 * len(sizes)), layout="constrained")
    grid = figure.subplots(1, len(KINDS), sharey=True)
    for axes, (kind, (says, _, _)) in zip(grid, KINDS.items(), strict=True):
        values = np.array(
            [
                [
                    by_place.get((kind, size, count), {"found": np.nan})["found"]
                    for count in sentences
                ]
                for size in sizes
            ]
        )
        axes.imshow(values, cmap=ACCURACY, vmin=0, vmax=1, aspect="auto")
        for (row, column), share in np.ndenumerate(values):
            if not np.isnan(share):
                dark = share < 0.2 or share > 0.85
                axes.annotate(
                    f"{share:.0%}",
                    (column, row),
                    ha="center",
                    va="center",
                    fontsize=8,
                    color="white" if dark else "black",
                )
        axes.set_title(says, fontsize=10)
        axes.set_xticks(range(len(sentences)), [_count(count) for count in sentences])
        axes.set_xlabel("sentences")
        axes.set_yticks(
            range(len(sizes)),
            [f"{width} units, {layers} layers, {words} words" for width, layers, words in sizes],
        )
    figure.suptitle("Share of teachers that their students found", fontsize=11)
    save(figure, folder, "map")
