"""The findings of a trial, checked, from which tables and figures are made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from logicgen.experiments import Json
from logicgen.study.measure import EVALUATION, headline
from logicgen.study.point import Record
from logicgen.study.study_recipe import AXIS
from logicgen.study.trial import Trial

TABLE = "results.csv"


class Training(BaseModel):
    """The training of a model.

    Attributes:
        minutes: of all its processes together.
        validation: what was logged of held-out data, by name: pairs of a step and a value.
    """

    steps: int
    minutes: float
    parameters: int
    validation: dict[str, list[tuple[int, float]]]


class _Mean(BaseModel):
    mean: float


class _Strings(BaseModel):
    strings: _Mean


class Covariance(BaseModel):
    """Alpha-covariance of exact strings, of all problems and by number of symbols."""

    overall: _Strings
    by_symbols: dict[str, _Strings]
    data: str
    split: str


@dataclass(frozen=True)
class Result:
    """A finished trial."""

    trial: Trial
    record: Record
    training: Training
    measures: dict[str, Json]  # what each found, by name
    headline: tuple[float, bool]  # number of the first measure, and whether less is better
    covariance: Covariance | None

    @staticmethod
    def of(record: Record, trial: Trial) -> Result:
        """Return the result in a record. Raises one of `record.DAMAGE` where it holds none."""
        found = record.found
        names = [each.measure.name for each in trial.measures]
        measures = {name: found["measures"][name] for name in names}
        first, *_ = [headline(each) for each in measures.values()]
        training = Training.model_validate(found["training"])
        covariance = measures.get(EVALUATION, {}).get("covariance")
        if covariance is not None:
            covariance = Covariance.model_validate(covariance)
        return Result(trial, record, training, measures, first, covariance)


def by_point(results: list[Result]) -> dict[str, list[Result]]:
    """Return the results of each combination of choices, one for each training seed."""
    points: dict[str, list[Result]] = {}
    for result in results:
        points.setdefault(result.trial.combination, []).append(result)
    return points


def beside_choices(
    lines: Iterable[tuple[str, dict[str, str], dict[str, Any]]],
) -> list[dict[str, Any]]:
    """Return rows of a table from (point, choices by axis, values by column).

    The column of an axis is its name, or `axis.NAME` if a value has a column of that name.
    """
    lines = list(lines)
    taken = {"point", *(column for *_, values in lines for column in values)}
    return [
        {
            "point": point,
            **{AXIS * (axis in taken) + axis: name for axis, name in choices.items()},
            **values,
        }
        for point, choices, values in lines
    ]
