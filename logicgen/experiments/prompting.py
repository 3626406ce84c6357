"""Learning and prompting: the published tables 1 and 2 of Vigoda and Rochais (2023), section 4.2.

Students learn the two, or the three, sentences; each is then asked to go on from a first word.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from logicgen.model.inductive import as_grammar
from logicgen.productions import Grammar
from logicgen.report.figure_style import save
from logicgen.report.grammar_figure import draw_grammars
from logicgen.study.experiment import Table, write_experiment
from logicgen.study.points import compute
from logicgen.train.students import Lesson, Sentences, teach

WORDS = ("big", "small", "cat", "dog")
SETS = {
    "two": ("big cat", "small dog"),
    "three": ("big cat", "big dog", "small dog"),
}
LESSON = Lesson(steps=1_000, learning_rate=0.3, starts=10, crispness=1.0)


def sentence_ids(sentences: tuple[str, ...]) -> np.ndarray:
    """(N, 2) ids of sentences of the published words."""
    return np.array([[WORDS.index(word) for word in each.split()] for each in sentences])


def ask(
    sentences: list[str], students: int, generations: int, seed: int, lesson: dict[str, Any]
) -> dict[str, Any]:
    """Completions of each first word: what the first student says, and what all of them expect.

    `said`: how many of `generations` sentences, drawn by the first student, end in each word.
    `expected`: the probability of that word: mean, least and largest over students.
    """
    lessons = [Sentences.of(sentence_ids(tuple(sentences)))] * students
    weights, losses = teach(lessons, words=len(WORDS), width=2, lesson=Lesson(**lesson), seed=seed)
    grammars = [as_grammar(weights, number, WORDS) for number in range(students)]
    rng = np.random.default_rng((seed, 1))  # not the numbers of the starts
    found = {}
    for prompt in ("big", "small"):
        ids = grammars[0].encode(prompt)
        said = grammars[0].sample(rng, generations, ids)[:, 1]
        expected = np.concatenate([each.next_word(ids[None]) for each in grammars])
        for word in ("cat", "dog"):
            number = WORDS.index(word)
            found[f"{prompt} {word}"] = {
                "said": int((said == number).sum()),
                "mean": float(expected[:, number].mean()),
                "least": float(expected[:, number].min()),
                "largest": float(expected[:, number].max()),
            }
    return {
        "completions": found,
        "losses": [float(losses.min()), float(losses.max())],
        "grammar": grammars[0].as_dict(),
    }


def prompting(
    folder: Path,
    *,
    students: int = 100,
    generations: int = 1_000,
    seed: int = 0,
    workers: int = 1,
    command: str = "",
    progress: Any = lambda done, total: None,
) -> str:
    """Run the experiment into a folder; its tables, for people."""
    points = {
        name: {
            "sentences": list(sentences),
            "students": students,
            "generations": generations,
            "seed": seed,
            "lesson": asdict(LESSON),
        }
        for name, sentences in SETS.items()
    }
    found = compute(ask, points, folder, workers=workers, progress=progress)
    tables: list[Table] = []
    pictures = []
    for name, sentences in SETS.items():
        rows = [
            [
                pair.split()[0],
                pair,
                f"{each['said'] / generations:.1%}",
                f"{each['mean']:.2%} ({each['least']:.2%} to {each['largest']:.2%})",
            ]
            for pair, each in found[name]["found"]["completions"].items()
        ]
        heads = ["prompt", "sentence", f"of {generations:,} drawn", "expected by all students"]
        tables.append((f"Trained on {', '.join(sentences)}:", heads, rows))
        grammar = Grammar.of_dict(found[name]["found"]["grammar"])
        picture = f"weights-{name}"
        figure = draw_grammars([(", ".join(sentences), grammar)], "learnt weights")
        save(figure, folder, picture)
        pictures.append((picture, f"weights learnt from {name} sentences"))
    about = (
        f"{students} students learn the two published sets of sentences, each from random weights"
        f" (the best of {LESSON.starts} starts), and go on from a first word. In brackets the least"
        " and the largest of all students."
    )
    return write_experiment(folder, "Prompting", about, command, tables, pictures, found)
