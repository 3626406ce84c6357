"""One file per task: drawing, answering, writing and judging its problems."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from logicgen.errors import LogicgenError, nearest
from logicgen.tasks.task import Cell, Draw, Settings, Source, Task

__all__ = ["TASKS", "Cell", "Draw", "Settings", "Source", "Task", "load_task"]

TASKS = {
    "copying": "logicgen.tasks.copying:Copying",
    "ltl": "logicgen.tasks.ltl:LTL",
    "propositional": "logicgen.tasks.propositional:Propositional",
}
"""Every task by name, as `module:class`; imported when it is first asked for."""


@cache
def load_task(name: str) -> Task:
    """The task called `name`. Raises LogicgenError for an unknown one."""
    if name not in TASKS:
        raise LogicgenError(f"no task is called {name!r}: {nearest(name, list(TASKS))}")
    module, _, attribute = TASKS[name].partition(":")
    return getattr(import_module(module), attribute)()
