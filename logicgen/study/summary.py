"""The small file that a finished trial leaves: all that tables and figures are made from."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from logicgen.atomic import write_text
from logicgen.errors import LogicgenError
from logicgen.evaluate.predictions import About
from logicgen.evaluate.scores import Scores
from logicgen.study.measure import headline
from logicgen.study.plan import Plan, Trial

TRIALS = "trials"


class _Training(BaseModel):
    steps: int
    minutes: float
    parameters: int


class _Strings(BaseModel):
    mean: float


class _Measured(BaseModel):
    strings: _Strings


class _Covariance(BaseModel):
    overall: _Measured
    by_symbols: dict[str, _Measured]
    data: str
    split: str


class _File(BaseModel):
    """What tables and figures read of a trial's file, besides the counted answers."""

    training: _Training
    machine: str
    commit: str | None
    versions: dict[str, str]
    covariance: _Covariance | None = None


@dataclass(frozen=True)
class Result:
    """A finished trial: its answers counted, and the rest of its file.

    Of a language model no answers are counted; its measures are in the rest.
    """

    trial: Trial
    counted: Scores | None
    content: dict[str, Any]

    @property
    def scores(self) -> Scores:
        """The answers, where they were counted."""
        assert self.counted is not None
        return self.counted

    @property
    def measures(self) -> dict[str, dict[str, Any]]:
        """The measures of a language model, by name."""
        names = [each.measure.name for each in self.trial.measured or ()]
        return {name: self.content[f"measure {name}"] for name in names}


def goal(scores: Scores) -> tuple[float, bool]:
    """What the points of a study are ranked by, and whether less is better.

    The mean edit distance where the task has one, else the share of right answers.
    """
    score = scores.score()
    if score.edit_distance is not None:
        return score.edit_distance[0], True
    return score.accuracy[0], False


def path_of(trial: str, folder: Path) -> Path:
    """Where the file of the trial of that name is, in the folder of a study's results."""
    return folder / TRIALS / f"{trial}.json"


def write_measures(
    trial: Trial, measures: dict[str, Any], rest: dict[str, Any], folder: Path
) -> None:
    """Write the file of a trial of a language model that is done."""
    content = {
        "trial": trial.model_dump(mode="json", exclude_none=True),
        **rest,
        **{f"measure {name}": result for name, result in measures.items()},
    }
    _write(trial, content, folder)


def write_summary(trial: Trial, scores: Scores, rest: dict[str, Any], folder: Path) -> None:
    """Write the file of a trial that is done."""
    content = {
        "trial": trial.model_dump(mode="json", exclude_none=True),
        **rest,
        "tally": scores.tally(),
    }
    _write(trial, content, folder)


def _write(trial: Trial, content: dict[str, Any], folder: Path) -> None:
    # One line a key: a list of counts is not read by people.
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in content.items()]
    write_text(path_of(trial.name, folder), "{\n" + ",\n".join(lines) + "\n}\n")


def read_results(plan: Plan, folder: Path) -> dict[str, Result]:
    """The finished trials of a plan, by name, in its order.

    Raises LogicgenError for a damaged file, and for one that was made with other recipes.
    """
    found = {}
    for name, trial in plan.trials.items():
        path = path_of(name, folder)
        if path.is_file():
            found[name] = _read(trial, path)
    return found


def _read(trial: Trial, path: Path) -> Result:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        stored = content["trial"]
        _File.model_validate(content)
        scores = None
        if trial.measured is None:
            about = dict(content["about"])
            about["symbols"], about["length"] = tuple(about["symbols"]), tuple(about["length"])
            scores = Scores.of_tally(content["tally"], About(**about))
        else:
            for each in trial.measured:
                headline(content[f"measure {each.measure.name}"])
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        raise LogicgenError(
            f"{path}: damaged: restore the file, or delete it to run the trial again"
        ) from None
    # A key that a later version added has its default in a recipe that was stored before.
    with suppress(ValidationError):
        stored = Trial.model_validate_json(json.dumps(stored)).model_dump(mode="json")
    differs = _difference(stored, trial.model_dump(mode="json"))
    if differs is not None:
        raise LogicgenError(
            f"{path}: made with another recipe ({differs}): choose another folder with -o, or"
            " delete the file to run the trial again"
        )
    return Result(trial, scores, content)


def _difference(before: Any, now: Any, place: str = "") -> str | None:
    """The first place where two trees differ, and how; None where they are equal."""
    if before == now:
        return None
    if isinstance(before, dict) and isinstance(now, dict):
        for key in [*now, *before]:
            if before.get(key) != now.get(key):
                return _difference(before.get(key), now.get(key), f"{place}.{key}".lstrip("."))
    return f"{place}: {json.dumps(before)} there, {json.dumps(now)} now"
