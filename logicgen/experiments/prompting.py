"""Learning and prompting: the published tables 1 and 2 of Vigoda and Rochais (2023), section 4.2.

Students are grammars that are learned from two or three sentences of two words. Each student then
gets the first word of a sentence and predicts the second word.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from logicgen.experiments import Call, Experiment, ExperimentSettings, Json, Positive, Seed
from logicgen.experiments.teachers import LessonTable, learn
from logicgen.productions import Grammar
from logicgen.report.grammar_page import draw_grammars
from logicgen.report.tables import Report
from logicgen.training.students import Sentences

WORDS = ("big", "small", "cat", "dog")
SETS = {"two": ("big cat", "small dog"), "three": ("big cat", "big dog", "small dog")}


class PromptingSettings(ExperimentSettings):
    """Keys of a study of this experiment.

    Attributes:
        students: the number of models (grammars) that learn from the sentences.
        generations: the number of random sentences that the first of these models generates.
    """

    students: Positive
    generations: Positive
    seed: Seed
    lesson: LessonTable


def sentence_ids(sentences: tuple[str, ...]) -> np.ndarray:
    """Return the word ids (N, 2) of N sentences of two words; an id is an index in `WORDS`."""
    return np.array([[WORDS.index(word) for word in each.split()] for each in sentences])


def ask(
    sentences: list[str], students: int, generations: int, seed: int, lesson: dict[str, Any]
) -> Json:
    """Train models (students) on some sentences, and let each model complete each first word.

    In the result, `completions` has an entry for each pair of a first and a second word. `mean`,
    `least` and `largest` are probabilities of the second word, over all models. The first model
    also draws `generations` sentences with this first word; `said` of them have the second word.
    """
    lessons = [Sentences.of(sentence_ids(tuple(sentences)))] * students
    grammars, losses = learn(lessons, WORDS, 2, lesson, seed)
    rng = np.random.default_rng((seed, 1))  # a seed that differs from the seed of the training
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


def trials(settings: PromptingSettings) -> dict[str, Call]:
    """Return a trial for each set of sentences."""
    common = settings.model_dump(include={"students", "generations", "seed"})
    common["lesson"] = settings.lesson.arguments()
    return {
        name: (ask, {"sentences": list(sentences), **common}) for name, sentences in SETS.items()
    }


def report(settings: PromptingSettings, found: dict[str, Json]) -> Report:
    """Return the report: a table for each set of sentences, and a picture of learned weights."""
    tables, grammars = [], []
    for name, sentences in SETS.items():
        rows = [
            [
                pair.split()[0],
                pair,
                f"{each['said'] / settings.generations:.1%}",
                f"{each['mean']:.2%} ({each['least']:.2%} to {each['largest']:.2%})",
            ]
            for pair, each in found[name]["completions"].items()
        ]
        drawn = f"of {settings.generations:,} drawn"
        heads = ["prompt", "sentence", drawn, "expected by all students"]
        tables.append((f"Trained on {', '.join(sentences)}:", heads, rows))
        grammars.append((", ".join(sentences), Grammar.of_dict(found[name]["grammar"])))
    figure = draw_grammars(grammars, "learned weights")
    return Report(
        "Prompting",
        f"{settings.students} students learn the two published sets of sentences, each from random"
        f" weights (the best of {settings.lesson.starts} starts). They continue a first word."
        " Brackets contain the least and the largest probability of all students.",
        tables,
        [("weights", "weights learned from two and from three sentences", figure)],
    )


EXPERIMENT = Experiment(PromptingSettings, trials, report)
