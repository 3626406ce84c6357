"""The conditions of a recipe on the difficulty of its problems, and how they are measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from logicgen.errors import FormatError, LogicgenError, nearest, shown
from logicgen.tasks.controls import load_control
from logicgen.tasks.difficulty import Band, DifficultyColumn, Value
from logicgen.tasks.task import Task

CONTROLS = "controls"
"""The column that names the controls with a right first answer, separated by blanks."""

BEYOND = "beyond"
"""The key of `[difficulty]` with the controls that have to give a wrong first answer."""


@dataclass(frozen=True)
class Conditions:
    """The conditions of a recipe on the difficulty of its problems.

    Attributes:
        bands: ranges of columns. A problem without a number is in no range.
        beyond: controls that have to give a wrong first answer.
    """

    bands: tuple[Band, ...] = ()
    beyond: tuple[str, ...] = ()

    @staticmethod
    def of(task: Task, table: Mapping[str, Sequence[Any]], unsatisfiable: float) -> Conditions:
        """Read the table `[difficulty]` of a recipe.

        unsatisfiable: the share of problems without a witness.

        Raises LogicgenError naming the key.
        """
        bands = [
            read_band(task, name, values, unsatisfiable)
            for name, values in table.items()
            if name != BEYOND
        ]
        return Conditions(tuple(bands), read_controls(task, table.get(BEYOND, ())))


ANY = Conditions()
"""The conditions that every problem meets."""


def read_band(task: Task, name: str, values: Sequence[Any], unsatisfiable: float) -> Band:
    """Return the inclusive range `values` of a column, the least and the greatest number.

    unsatisfiable: the share of problems without a witness.

    Raises LogicgenError if the task has no such column, or if no problem can be in the range.
    """
    column = column_of(task, name)
    match values:
        case [int() | float() as low, int() | float() as high] if all(map(math.isfinite, values)):
            band = Band(name, low, high)
        case _:
            raise LogicgenError(f"{name}: {list(values)}: give the least and the greatest number")
    if low > high:
        raise LogicgenError(f"{name}: the range {list(values)} is empty: the smaller number first")
    if high < column.least or low > column.most:
        to = "" if column.most == math.inf else f" to {column.most:g}"
        raise LogicgenError(
            f"{name}: no problem is in {list(values)}: the numbers are from {column.least:g}{to}"
        )
    if column.whole and math.ceil(low) > math.floor(high):
        raise LogicgenError(f"{name}: no whole number is in {list(values)}: widen the range")
    if column.needs_witness and unsatisfiable > 0:
        raise LogicgenError(
            f"{name}: unsatisfiable problems have no {name}: leave out the key unsatisfiable"
        )
    return band


def read_controls(task: Task, names: Sequence[Any]) -> tuple[str, ...]:
    """Return the value of `beyond`. Raises LogicgenError if the task does not have a control."""
    for name in names:
        if name not in task.controls:
            known = nearest(str(name), list(task.controls)) if task.controls else "it has none"
            raise LogicgenError(f"{BEYOND}: {shown(name)} is no control of {task.name}: {known}")
    return tuple(names)


def column_of(task: Task, name: str) -> DifficultyColumn:
    """Return a column of difficulty. Raises LogicgenError if the task does not have the column."""
    if name not in task.difficulties:
        known = f"it has {', '.join(task.difficulties)}" if task.difficulties else "it has none"
        raise LogicgenError(f"{shown(name)} is no column of difficulty of {task.name}: {known}")
    return task.difficulties[name]


def difficulty_columns(task: Task) -> dict[str, str]:
    """Return the columns of difficulty of a data set, by name, with their meanings."""
    found = {name: column.meaning for name, column in task.difficulties.items()}
    if task.rated:
        found[CONTROLS] = (
            f"The controls whose first answer is right ({' or '.join(task.rated)}), separated by"
            " blanks."
        )
    return found


class Meter:
    """Measures the difficulty of the examples of a task, as far as they meet some conditions."""

    def __init__(self, task: Task, conditions: Conditions) -> None:
        self.task, self.conditions = task, conditions
        names = (*task.rated, *conditions.beyond)
        self._controls = {name: load_control(task, name) for name in names}

    def measured(
        self, problem: Any, answer: Any, text: str, bands: Sequence[Band] = ()
    ) -> tuple[int | float | str | None, ...] | None:
        """Return the values of `difficulty_columns`; None if the example fails a condition.

        problem, answer: values of the task. The names of their symbols do not matter.
        text: the problem as the data set contains it, in prefix notation.
        bands: further conditions.
        """
        task, found = self.task, dict[str, Value]()
        for each in (*self.conditions.bands, *bands):
            if each.column not in found:
                found[each.column] = task.difficulty_of(each.column, problem, answer)
            if found[each.column] not in each:
                return None
        is_right = _examiner(task, text)
        if not self._resists(text, is_right):
            return None
        rest = (name for name in task.difficulties if name not in found)
        found |= {name: task.difficulty_of(name, problem, answer) for name in rest}
        values: list[int | float | str | None] = [found[name] for name in task.difficulties]
        if task.rated:
            answers = ((name, self._controls[name].answers(text, 1)) for name in task.rated)
            values.append(" ".join(name for name, given in answers if is_right(given)))
        return tuple(values)

    def within(self, problem: Any, answer: Any) -> bool:
        """Return whether a problem is in all ranges of the conditions. answer: a right answer."""
        value = self.task.difficulty_of
        return all(value(band.column, problem, answer) in band for band in self.conditions.bands)

    def resists(self, text: str) -> bool:
        """Return whether the first answers of all controls of `beyond` to a problem are wrong."""
        return self._resists(text, _examiner(self.task, text))

    def _resists(self, text: str, is_right: Callable[[Sequence[str]], bool]) -> bool:
        answers = (self._controls[name].answers(text, 1) for name in self.conditions.beyond)
        return not any(map(is_right, answers))


def _examiner(task: Task, text: str) -> Callable[[Sequence[str]], bool]:
    """Return a function that takes a control's answers to a problem, likeliest first.

    It returns whether the first answer is right, and False if there is no answer.
    """
    problem = cache(partial(task.decode_problem, text))  # read only if there is an answer

    @cache
    def is_right(answer: str) -> bool:
        try:
            value = task.decode_answer(answer)
        except FormatError:
            return False
        return task.check(problem(), value).is_right

    return lambda answers: bool(answers) and is_right(answers[0])
