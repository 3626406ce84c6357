"""The best controls on the data sets of studies, for the sentences below tables of pages."""

from __future__ import annotations

from functools import cache

from logicgen.data.opening import read_data_recipe
from logicgen.data.recipe import DataRecipe
from logicgen.experiments.guesses import ALL
from logicgen.study.plan import open_study
from tests.study.made_results import RESULTS, read_lines

# The study that measures controls on data sets.
GUESSES = "guesses"

Guess = list[tuple[str, float]]
"""The best control with its share of right answers: with one answer, and within 16 answers."""


@cache
def guessed() -> dict[tuple[str, str], Guess]:
    """Return the best control by data set and split, from the records of the study `guesses`."""
    best = {}
    for data, record in read_lines(RESULTS / GUESSES).items():
        for split, groups in record["found"].items():
            counts = {n: each for n, each in groups[ALL].items() if isinstance(each, list)}
            shares = [max((each[k], name) for name, each in counts.items()) for k in (0, 1)]
            examples = groups[ALL]["examples"]
            best[data, split] = [(name, right / examples) for right, name in shares]
    return best


@cache
def measured(study: str) -> list[tuple[str, str]]:
    """Return the data sets of problems, with splits, on which the models of a study answer.

    Left out are data sets whose recipe the study changes, and measures with controls of their own.
    """
    found: dict[tuple[str, str], None] = {}
    for trial in open_study(study).trials.values():
        for each in trial.training.measures if trial.training else ():
            recipe, split = each.data.recipe, getattr(each.measure, "split", None)
            if not isinstance(recipe, DataRecipe) or getattr(each.measure, "controls", None):
                continue
            shipped = read_data_recipe(each.data.name)
            same = ("task", "problem", "region", "difficulty", "unsatisfiable")
            if split and all(getattr(recipe, key) == getattr(shipped, key) for key in same):
                # The grid of `ltl-mini-full` is the grid of `ltl-mini`.
                found[each.data.name.removesuffix("-full"), split] = None
    return list(found)


def controls_of(study: str) -> str:
    """Return a sentence with the best controls on the data sets of a study; empty: no data set."""
    parts = []
    for data, split in measured(study):
        if (data, split) in guessed():
            (plain, right), (verified, accepted) = guessed()[data, split]
            several = f", within 16 answers `{verified}` {accepted:.1%}"
            parts.append(f"{data} ({split}) `{plain}` {right:.1%}{several}")
    if not parts:
        return ""
    return (
        "Best [control](evaluation.md#controls) on other problems of these recipes, with one answer"
        f" ([all controls](results-easy.md)): {'; '.join(parts)}."
    )
