"""Tasks, one file each: they draw, answer, write and judge problems, or make corpora."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from logicgen.errors import LogicgenError, nearest
from logicgen.solvers import load_solver
from logicgen.tasks.corpus_task import CorpusTask
from logicgen.tasks.task import Cell, Draw, Settings, Source, Task

__all__ = [
    "CORPORA",
    "TASKS",
    "Cell",
    "Draw",
    "Settings",
    "Source",
    "Task",
    "fitting_solver",
    "load_corpus_task",
    "load_task",
]

TASKS = {
    "copying": "logicgen.tasks.copying:Copying",
    "lookup": "logicgen.tasks.lookup:Lookup",
    "ltl": "logicgen.tasks.ltl:LTL",
    "permutation": "logicgen.tasks.permutation:Permutation",
    "propositional": "logicgen.tasks.propositional:Propositional",
}
"""Every task by name, as `module:class`; imported when it is first asked for."""

CORPORA = {
    "automaton": "logicgen.tasks.automaton_strings:TASK",
    "cipher": "logicgen.tasks.cipher:TASK",
    "production": "logicgen.tasks.grammar_sentences:TASK",
    "text": "logicgen.tasks.text:TASK",
}
"""Every corpus task, likewise: sequences to be modelled, without questions and answers."""


@cache
def load_task(name: str) -> Task:
    """Return the task called `name`. Raises LogicgenError for an unknown one."""
    if name in CORPORA:
        raise LogicgenError(f"task {name} makes corpora, without problems and answers")
    if name not in TASKS:
        raise LogicgenError(f"no task is called {name!r}: {nearest(name, [*TASKS, *CORPORA])}")
    task: Task = _load(TASKS[name])()
    return task


@cache
def load_corpus_task(name: str) -> CorpusTask:
    """Return the corpus task called `name`. Raises LogicgenError for an unknown one."""
    if name not in CORPORA:
        raise LogicgenError(f"no corpus task is called {name!r}: {nearest(name, list(CORPORA))}")
    task: CorpusTask = _load(CORPORA[name])
    return task


def _load(place: str) -> Any:
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


def fitting_solver(task: str, solver: str | None) -> str | None:
    """Check that a solver fits a task, return its name as given; raise LogicgenError if not."""
    chosen = load_task(task)
    if chosen.logic is not None:
        load_solver(solver or str(chosen.solver), chosen.logic)
    elif solver is not None:
        raise LogicgenError(f"task {task} needs no solver; leave it out")
    return solver
