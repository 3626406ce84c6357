"""Tasks that draw, answer, write and judge problems, and tasks that make corpora."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint
from pkgutil import resolve_name

from logicgen.errors import LogicgenError, nearest
from logicgen.extras import load_plugin, plugins
from logicgen.solvers import load_solver
from logicgen.tasks.corpus_task import CorpusTask
from logicgen.tasks.task import Cell, Difficulty, Draw, Settings, Source, Task, Wording

__all__ = [
    "CORPORA",
    "TASKS",
    "Cell",
    "Difficulty",
    "Draw",
    "Settings",
    "Source",
    "Task",
    "Wording",
    "fitting_solver",
    "load_corpus_task",
    "load_task",
    "task_names",
]

TASKS = {
    "copying": "logicgen.tasks.copying:Copying",
    "lookup": "logicgen.tasks.lookup:Lookup",
    "ltl": "logicgen.tasks.ltl:LTL",
    "permutation": "logicgen.tasks.permutation:Permutation",
    "propositional": "logicgen.tasks.propositional:Propositional",
}
"""The shipped tasks by name, as `module:class`. A task is imported at its first use."""

CORPORA = {
    "automaton": "logicgen.tasks.automaton_strings:TASK",
    "cipher": "logicgen.tasks.cipher:TASK",
    "production": "logicgen.tasks.grammar_sentences:TASK",
    "text": "logicgen.tasks.text:TASK",
}
"""The corpus tasks (which make sequences for language models) by name, as `module:attribute`."""


@cache
def task_plugins() -> dict[str, EntryPoint]:
    """Return the task plugins of other packages by name, without names of shipped tasks."""
    found = plugins("logicgen.tasks")
    return {name: point for name, point in found.items() if name not in {*TASKS, *CORPORA}}


def task_names() -> list[str]:
    """Return the sorted names of all tasks with answers: shipped tasks and plugins."""
    return sorted([*TASKS, *task_plugins()])


@cache
def load_task(name: str) -> Task:
    """Return the task of this name. Raises LogicgenError if it is unknown."""
    if not isinstance(name, str):
        raise LogicgenError(f"a task is {type(name).__name__}, not the name of a task")
    if name in CORPORA:
        raise LogicgenError(f"task {name} makes corpora, without problems and answers")
    if name in TASKS:
        kind = resolve_name(TASKS[name])
    elif name in task_plugins():
        kind = load_plugin(task_plugins()[name])
    else:
        known = [*TASKS, *CORPORA, *task_plugins()]
        raise LogicgenError(f"no task is called {name!r}: {nearest(name, known)}")
    task: Task = kind()
    return task


@cache
def load_corpus_task(name: str) -> CorpusTask:
    """Return the corpus task of this name. Raises LogicgenError if it is unknown."""
    if name not in CORPORA:
        raise LogicgenError(f"no corpus task is called {name!r}: {nearest(name, list(CORPORA))}")
    task: CorpusTask = resolve_name(CORPORA[name])
    return task


def fitting_solver(task: str, solver: str | None) -> str | None:
    """Return `solver` unchanged. Raises LogicgenError if this solver does not fit the task.

    If `solver` is None, the default solver of the task is checked.
    """
    chosen = load_task(task)
    if chosen.logic is not None:
        load_solver(solver or str(chosen.solver), chosen.logic)
    elif solver is not None:
        raise LogicgenError(f"task {task} needs no solver; leave it out")
    return solver
