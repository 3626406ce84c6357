"""Problems of look-up and permutation with their answers, written for a corpus of text.

The problems have the same form as the prompts for language models of text (`model/prompted.py`).
Fixed tokens such as `->` are unchanged. A symbol is written as a character that occurs in no fixed
token. The characters are chosen at random for each problem.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from logicgen.errors import LogicgenError
from logicgen.recipes import validate
from logicgen.solvers import Status
from logicgen.tasks import load_task
from logicgen.tasks.string_task import DeterminedTask
from logicgen.tasks.task import Cell, Settings
from logicgen.tokens import Tokens, Vocabulary

# If this number of random problems in a row have no answer, an error is raised.
MOST_ATTEMPTS = 1_000


class ProblemText(Settings):
    """Keys of `[corpus.problems]`."""

    task: Literal["lookup", "permutation"]
    problem: dict[str, Any] = Field(default={})  # the keys of the task's `[problem]` table
    length: Annotated[int, Field(ge=1, le=10_000)]  # the number of tokens of a problem
    # Share of the tokens of the training text that belong to these problems
    share: Annotated[float, Field(gt=0, lt=1)]


def problem_texts(settings: ProblemText, tokens: Tokens, rng: Random) -> Iterator[np.ndarray]:
    """Yield random problems without end, each with its answer and `<end>`, as an array of ids.

    Raises LogicgenError if a fixed token cannot be written, or if there are too few characters.
    """
    task = load_task(settings.task)
    assert isinstance(task, DeterminedTask)
    fixed, between = {*task.vocabulary.fixed[Vocabulary.end + 1 :]}, task.between
    needed = {*"".join(fixed), *between}
    missing = sorted(needed - {*tokens.texts})
    if tokens.kind != "characters" or missing:
        raise LogicgenError(
            f"problems: {task.name} is written with {' '.join(sorted(needed))!r}, and the text has"
            f" no token for {' '.join(missing)!r}: take tokens = 'characters' and a text that has"
            " them, or raise vocabulary"
        )
    characters = [text for text in tokens.texts[2:] if text not in needed]
    own = validate(task.Settings, settings.problem, "problems", "problem")
    source = task.source(own, (1, len(characters)))
    cell = Cell(len(characters), settings.length)
    if obstacle := source.obstacle(cell):
        raise LogicgenError(f"problems: length = {settings.length}: {obstacle.partition(':')[0]}")
    failed = 0
    while True:
        problem = source.sample(rng, cell).problem
        solution = task.solve(problem)
        if solution.status is not Status.SAT:
            failed += 1
            if failed == MOST_ATTEMPTS:
                raise LogicgenError(
                    f"problems: {failed:,} problems of {task.name} with length = {settings.length}"
                    " and none that determines its answer: change problems.length or"
                    " problems.problem"
                )
            continue
        failed = 0
        words = [*task.encode(problem).split(), *task.encode(solution.witness).split()]
        symbols = list(dict.fromkeys(word for word in words if word not in fixed))
        names = dict(zip(symbols, rng.sample(characters, len(symbols)), strict=True))
        text, before = "", False
        for word in words:
            symbol = word in names
            text += (between if symbol and before else "") + names.get(word, word)
            before = symbol
        yield np.append(tokens.encode(text), tokens.end)
