"""Formal-logic data sets whose every answer a solver has verified.

The functions below cover the common uses; everything is imported when it is first used.

    logicgen.solve("propositional", "a & !b")               # Solution(status, witness)
    logicgen.verify("propositional", "a | b", "a=1")        # Verdict.CORRECT
    logicgen.load_dataset("data/propositional-mini")        # rows and arrays of token ids
    logicgen.load_model("runs/propositional-interchangeable")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from logicgen.data.dataset import Dataset
    from logicgen.model.encoder_decoder import EncoderDecoder
    from logicgen.solvers import Solution, Verdict

__all__ = ["load_dataset", "load_model", "solve", "verify"]
__version__ = "0.1.0"


def solve(task: str, problem: str, *, solver: str | None = None) -> Solution:
    """Return the canonical answer to a problem, written for people or in prefix notation.

    The solution has `status` `sat` and a `witness`, or `unsat`. Raises LogicgenError for an unknown
    task or solver, FormatError (with line and column) for a problem that does not parse.
    """
    from logicgen.tasks import fitting_solver, load_task

    chosen = load_task(task)
    return chosen.solve(chosen.read_problem(problem), fitting_solver(task, solver))


def verify(task: str, problem: str, answer: str, *, solver: str | None = None) -> Verdict:
    """Return the verdict on an answer: `correct`, `incorrect`, or `invalid` if it does not parse.

    Raises as `solve` does for everything else.
    """
    from logicgen.errors import FormatError
    from logicgen.solvers import Verdict
    from logicgen.tasks import fitting_solver, load_task

    chosen = load_task(task)
    fitting_solver(task, solver)
    parsed = chosen.read_problem(problem)
    try:
        predicted = chosen.read_answer(answer)
    except FormatError:
        return Verdict.INVALID
    return chosen.check(parsed, predicted, solver)


def load_dataset(folder: str | Path) -> Dataset:
    """Return the finished data set in a folder."""
    from logicgen.data.dataset import load_dataset

    return load_dataset(folder)


def load_model(run: str | Path, device: str = "auto") -> EncoderDecoder:
    """Return the trained model in a run's folder, on `auto`, `cpu` or `cuda`."""
    from pathlib import Path

    from logicgen.model.checkpoint import load_model

    return load_model(Path(run), device)
