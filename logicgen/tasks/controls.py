"""Controls: programs that answer problems without training, to compare models with.

A model has learned something only if it is right more often than every control that may try the
same number of answers. Controls need no solver and no network. They are deterministic.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING, ClassVar

from logicgen.errors import LogicgenError, nearest

if TYPE_CHECKING:
    from logicgen.tasks.task import Task

PREFIX = "control:"
"""The beginning of the name of a control where the name of a model is expected."""

Shot = tuple[str, str]
"""A solved problem that a prompt shows first: the problem and its answer, in prefix notation."""


class Control(ABC):
    """A program that answers problems of one task.

    Attributes:
        name: the name after `control:`.
        about: a description of the control, in one line.
        needs_shots: whether it only answers problems that come with solved problems.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    needs_shots: ClassVar[bool] = False

    def fit(self, solved: Sequence[Shot]) -> None:  # noqa: B027  (most controls have no settings)
        """Choose settings by problems of the training split. Most controls have no settings."""

    @abstractmethod
    def answers(self, problem: str, count: int, shots: Sequence[Shot] = ()) -> list[str]:
        """Return at most `count` different answers to a problem, the most trusted first.

        problem: in prefix notation, like the answers.
        shots: the solved problems before it.
        """


def load_control(task: Task, name: str) -> Control:
    """Return a control of a task. Raises LogicgenError if the task has no control of this name."""
    if name not in task.controls:
        known = nearest(name, list(task.controls)) if task.controls else "this task has none"
        raise LogicgenError(f"{PREFIX}{name}: no control of {task.name} has this name; {known}")
    control: Control = resolve_name(task.controls[name])()
    return control
