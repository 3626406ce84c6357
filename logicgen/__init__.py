"""Formal-logic data sets in which a solver has verified every answer.

The functions below cover the common uses. Each function is imported at its first use.

    logicgen.solve("propositional", "a & !b")               # Solution(status, witness)
    logicgen.verify("propositional", "a | b", "a=1")        # Verdict.CORRECT
    logicgen.task("ltl").sample(symbols=3, length=12, seed=0, index=7)    # problem number 7
    logicgen.prompt("ltl", "a U b")                         # a prompt for a language model
    logicgen.Scorer("ltl").score("a U b", "<answer>{b}</answer>").reward                  # 1.0
    logicgen.audit(reward, "ltl").text                      # wrong answers that `reward` pays
    logicgen.generate("propositional-mini", "data/mini")    # makes or completes a data set
    logicgen.load_dataset("data/mini")                      # rows and arrays of token ids
    logicgen.train("propositional-interchangeable", "data/mini", "runs/mini")
    logicgen.evaluate("runs/mini", "data/mini")             # scores, cell by cell
    logicgen.load_model("runs/mini")                        # or the name of a shipped model
"""

from __future__ import annotations

# The import of `typing` is slow. After Ctrl-C during this import, Python would print a traceback.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from logicgen.library import (
        audit,
        evaluate,
        generate,
        load_dataset,
        load_model,
        score,
        solve,
        task,
        train,
        verify,
    )
    from logicgen.scoring import Judgement, Scorer, prompt
    from logicgen.syntax.rewriting import from_sympy, to_sympy

__all__ = [
    "Judgement",
    "Scorer",
    "audit",
    "evaluate",
    "from_sympy",
    "generate",
    "load_dataset",
    "load_model",
    "prompt",
    "score",
    "solve",
    "task",
    "to_sympy",
    "train",
    "verify",
]
__version__ = "1.0.0rc1"

_ELSEWHERE = {
    "Judgement": "logicgen.scoring",
    "Scorer": "logicgen.scoring",
    "prompt": "logicgen.scoring",
    "from_sympy": "logicgen.syntax.rewriting",
    "to_sympy": "logicgen.syntax.rewriting",
}


def __getattr__(name: str) -> Any:
    """Import and return the public function or class called `name`."""
    if name not in __all__:
        raise AttributeError(f"module 'logicgen' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_ELSEWHERE.get(name, "logicgen.library")), name)


def __dir__() -> list[str]:
    """Return the public names of the package, for `dir(logicgen)`."""
    return [*__all__, "__version__"]
