"""Formal-logic data sets whose every answer a solver has verified.

The functions below cover the common uses; everything is imported when it is first used.

    logicgen.solve("propositional", "a & !b")               # Solution(status, witness)
    logicgen.verify("propositional", "a | b", "a=1")        # Verdict.CORRECT
    logicgen.prompt("ltl", "a U b")                         # the text that asks a language model
    logicgen.Scorer("ltl").score("a U b", "<answer>{b}</answer>").reward                  # 1.0
    logicgen.load_dataset("data/propositional-mini")        # rows and arrays of token ids
    logicgen.load_model("runs/propositional-interchangeable")
"""

from __future__ import annotations

# As of `typing`, which takes a while to import: a Ctrl-C meanwhile would be a traceback.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from logicgen.data.dataset import Dataset
    from logicgen.model.encoder_decoder import EncoderDecoder
    from logicgen.score import Judgement, Scorer, prompt
    from logicgen.solvers import Solution, Verdict

__all__ = [
    "Judgement",
    "Scorer",
    "load_dataset",
    "load_model",
    "prompt",
    "solve",
    "verify",
]
__version__ = "0.1.0"

_OF_SCORE = {"Judgement", "Scorer", "prompt"}


def __getattr__(name: str) -> Any:
    """Return what `logicgen.score` has under a name, imported when it is first used."""
    if name not in _OF_SCORE:
        raise AttributeError(f"module 'logicgen' has no attribute {name!r}")
    from logicgen import score

    return getattr(score, name)


def solve(
    task: str, problem: str, *, solver: str | None = None, timeout: float | None = None
) -> Solution:
    """Return the canonical answer to a problem, written for people or in prefix notation.

    timeout: seconds after which reading and solving, in a process of their own, are given up.

    The solution has `status` `sat` and a `witness`, `unsat`, or `unknown` and a `reason`. Raises
    LogicgenError for an unknown task or solver, FormatError (with line and column) for a problem
    that does not parse.
    """
    from logicgen.tasks import limited

    return limited.solve(task, problem, solver, timeout)


def verify(
    task: str,
    problem: str,
    answer: str,
    *,
    solver: str | None = None,
    timeout: float | None = None,
) -> Verdict:
    """Return the verdict on an answer: `correct`, `incorrect`, or `invalid` if it does not parse.

    timeout: seconds after which the verdict is `unknown`.

    Raises as `solve` does for everything else.
    """
    from logicgen.solvers import Verdict
    from logicgen.tasks import limited

    try:
        return limited.verify(task, problem, answer, solver, timeout)[0]
    except limited.AnswerError:
        return Verdict.INVALID


def load_dataset(folder: str | Path) -> Dataset:
    """Return the finished data set in a folder."""
    from logicgen.data.dataset import load_dataset

    return load_dataset(folder)


def load_model(run: str | Path, device: str = "auto") -> EncoderDecoder:
    """Return the trained model in a run's folder, on `auto`, `cpu` or `cuda`.

    Raises MissingExtraError, a LogicgenError, where `logicgen[train]` is not installed.
    """
    from pathlib import Path

    from logicgen.extras import extras_named

    with extras_named():
        from logicgen.model.checkpoint import load_model

    return load_model(Path(run), device)
