"""Controllability: if a connection is cut, exactly the sentences that need it have to vanish.

A connection leads from a unit of a grammar (`productions/grammar.py`) to a unit of the next layer.
To cut it is to remove it. A student is a grammar that an inductive Transformer learned from
sentences. The published case is table 3 of Vigoda and Rochais (2023), section 4.4: a student of
three sentences loses `big` -> `dog`. Then all connections of random grammars are cut, one at a
time. The expected probabilities are computed independently of `cut`, as a sum over paths.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from logicgen.errors import LogicgenError
from logicgen.experiments import Call, Experiment, ExperimentSettings, Json, Positive, Seed
from logicgen.experiments.prompting import SETS, WORDS, sentence_ids
from logicgen.experiments.teachers import LessonTable, learn
from logicgen.productions import NEGLIGIBLE, Grammar, cut, find_connection, pruned, random_grammar
from logicgen.report.grammar_page import draw_grammars
from logicgen.report.tables import Report
from logicgen.training.students import Sentences

Connection = tuple[int, int, int]
"""The numbers, from 0, of a layer, of a unit of this layer, and of a unit of the next layer."""

# The largest permitted deviation of a probability from its expected value.
ASKED = 1e-6


class ControlSettings(ExperimentSettings):
    """Keys of a study of this experiment."""

    students: Positive  # number of learned grammars
    grammars: Positive  # number of random grammars
    seed: Seed
    improbable: float  # weights of random grammars up to this number are set to 0
    lesson: LessonTable


def path_by_path(
    grammar: Grammar, sentences: np.ndarray, without: Connection | None = None
) -> np.ndarray:
    """Return the probabilities of N sentences, (N,), as sums over all paths of units.

    sentences: (N, words) word ids.
    without: a connection. Paths that use this connection are left out, without normalization.
    """
    total = np.zeros(len(sentences))
    for path in product(*map(range, map(len, grammar.units))):
        if without is not None and path[without[0] : without[0] + 2] == without[1:]:
            continue
        weight = float(grammar.start[path[0]])
        for layer, below in enumerate(grammar.below):
            weight *= float(below[path[layer + 1], path[layer]])
        if weight:
            said = np.ones(len(sentences))
            for layer, unit in enumerate(path):
                said *= grammar.tokens[layer][sentences[:, layer], unit]
            total += weight * said
    return total


def check(grammar: Grammar, connection: Connection) -> Json | None:
    """Cut a connection of a grammar, and compare the result with the expected probabilities.

    The result is None if no sentence would be left. Otherwise it contains:

    sentences: the number of sentences before the cut.
    vanished: the number of sentences with expected probability 0.
    untouched: the number of sentences that never use the connection.
    wrong: the number of sentences that wrongly vanished or wrongly remained.
    deviation: the largest difference between a probability and its expected value.
    proportion: the largest relative change of the ratio of the probabilities of two untouched
        sentences.
    """
    layer, unit, chosen = connection
    units = grammar.units[layer][unit], grammar.units[layer + 1][chosen]
    names = f"{layer + 1}:{units[0]}", f"{layer + 2}:{units[1]}"
    ids, before = grammar.sentences()
    left = path_by_path(grammar, ids, connection)
    if not left.sum():
        return None
    after = np.exp(cut(grammar, *names).log_probabilities(ids))
    gone = left == 0
    untouched = np.isclose(left, before, rtol=1e-12, atol=0)
    ratios = after[untouched] / before[untouched]
    change = float(ratios.max() / ratios.min() - 1) if untouched.any() else 0.0
    return {
        "sentences": len(ids),
        "vanished": int(gone.sum()),
        "untouched": int(untouched.sum()),
        "wrong": int(((after == 0) != gone).sum()),
        "deviation": float(np.abs(after - left / left.sum()).max()),
        "proportion": change,
    }


def published(students: int, seed: int, lesson: dict[str, Any]) -> Json:
    """Learn grammars (students) of the published sentences, and cut `big` -> `dog` in each.

    The result contains, for each student with this connection, the probabilities of four sentences
    before and after the cut (`probabilities`), and the largest difference from an expected
    probability (`deviations`). It also contains the grammar of the first such student (`grammar`).
    """
    lessons = [Sentences.of(sentence_ids(SETS["three"]))] * students
    learned, _ = learn(lessons, WORDS, 2, lesson, seed)
    ids = sentence_ids(("big cat", "big dog", "small dog", "small cat"))
    found: list[list[list[float]]] = []
    deviations: list[float] = []
    pictured: Json = {}
    for student in (pruned(each, NEGLIGIBLE) for each in learned):
        try:
            connection = find_connection(student, "big", "dog")
        except LogicgenError:  # the learned grammar (student) lacks this connection
            continue
        after = cut(student, "big", "dog")
        left = path_by_path(student, ids, connection)
        whole = path_by_path(student, student.sentences()[0], connection).sum()
        tried = np.exp(after.log_probabilities(ids))
        deviations.append(float(np.abs(tried - left / whole).max()))
        found.append([np.exp(student.log_probabilities(ids)).tolist(), tried.tolist()])
        if len(found) == 1:
            pictured = student.as_dict()
    if not found:
        raise LogicgenError(f"no student of {students} has learned big -> dog: increase students")
    return {"probabilities": found, "deviations": deviations, "grammar": pictured}


def random_cuts(grammars: int, seed: int, improbable: float) -> Json:
    """Check each cut of random grammars with two to four layers and some weights of 0.

    improbable: weights up to this number are set to 0.

    Returns the results of `check` (`cuts`), and the number of cuts that would leave no sentence
    (`refused`).
    """
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(grammars):
        width, layers, words = (int(rng.integers(2, high)) for high in (5, 5, 6))
        drawn = random_grammar(width, layers, words, rng, concentration=0.5)
        # Set small weights to 0, so that some sentences have only one path.
        grammar = pruned(drawn, improbable)
        for layer, below in enumerate(grammar.below):
            for chosen, unit in zip(*np.nonzero(below), strict=True):
                if grammar.reach[layer][unit] == 0:
                    continue
                found.append(check(grammar, (layer, int(unit), int(chosen))))
    cuts = [result for result in found if result is not None]
    return {"cuts": cuts, "refused": len(found) - len(cuts)}


def trials(settings: ControlSettings) -> dict[str, Call]:
    """Return two trials: the published case, and all cuts of random grammars."""
    common = {"seed": settings.seed}
    students = {"students": settings.students, "lesson": settings.lesson.arguments()}
    grammars = settings.model_dump(include={"grammars", "improbable"})
    return {"published": (published, students | common), "random": (random_cuts, grammars | common)}


def report(settings: ControlSettings, results: dict[str, Json]) -> Report:
    """Return the report on the cuts of connections.

    The report contains the probabilities of sentences before and after the cut in learned grammars
    (students). It also contains the largest deviations from expected probabilities, and a picture
    of the weights of a learned grammar.
    """
    found, drawn = results["published"], results["random"]
    before, after = np.array(found["probabilities"]).transpose(1, 0, 2)
    sentences = "big cat", "big dog", "small dog", "small cat"
    rows = [
        [sentence, _range(before[:, place]), _range(after[:, place])]
        for place, sentence in enumerate(sentences)
    ]
    heads = ["sentence", "before", "big -> dog cut"]
    tables = [
        (
            f"{len(before)} of {settings.students} students of three sentences have the connection."
            " Mean probability of a sentence (least to largest):",
            heads,
            rows,
        ),
        (
            f"Every connection of {settings.grammars} random grammars, cut alone"
            f" ({drawn['refused']} cuts were refused, since every sentence needs the connection):",
            ["", ""],
            _cut_rows(drawn["cuts"], found["deviations"]),
        ),
    ]
    grammar = Grammar.of_dict(found["grammar"])
    figure = draw_grammars(
        [("before", grammar), ("big -> dog cut", cut(grammar, "big", "dog"))],
        "A student of big cat, big dog, small dog",
        gone=find_connection(grammar, "big", "dog"),
    )
    return Report(
        "Controllability",
        "One connection is cut. The expected probability of a sentence is p(s), summed over the"
        " paths that do not use the connection, divided by the sum over all sentences. Largest"
        f" permitted deviation: {ASKED:.0e}. Students' weights up to {NEGLIGIBLE} count as 0.",
        tables,
        [("cut", "a student's weights before and after the cut", figure)],
    )


def _cut_rows(cuts: list[Json], deviations: list[float]) -> list[list[str]]:
    """Return the (name, number) rows of the table of cuts of random grammars.

    deviations: for each learned grammar (student), the largest deviation of a probability from its
        expected value.
    """
    total = {
        key: f"{sum(each[key] for each in cuts):,}"
        for key in ("sentences", "vanished", "wrong", "untouched")
    }
    most = {
        key: f"{max((each[key] for each in cuts), default=0):.1e}"
        for key in ("proportion", "deviation")
    }
    return [
        ["cuts", f"{len(cuts):,}"],
        ["sentences", total["sentences"]],
        ["vanished sentences", total["vanished"]],
        ["sentences that wrongly vanished or remained", total["wrong"]],
        ["sentences that never use the connection", total["untouched"]],
        ["largest relative change between these sentences", most["proportion"]],
        ["largest deviation of a probability", most["deviation"]],
        ["largest deviation of a probability, students", f"{max(deviations):.1e}"],
    ]


def _range(values: np.ndarray) -> str:
    """Return the mean, the least and the largest value as text, in percent."""
    return f"{values.mean():.2%} ({values.min():.2%} to {values.max():.2%})"


EXPERIMENT = Experiment(ControlSettings, trials, report)
