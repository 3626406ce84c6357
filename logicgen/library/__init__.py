"""The main commands as functions: `logicgen.generate`, `logicgen.evaluate`, ...

They print nothing and start their workers in processes of their own, which do not import the
calling script: they can be called from scripts without a `__main__` guard and from notebooks.
What needs an extra says which, as MissingExtraError, a LogicgenError.
"""

from __future__ import annotations

from logicgen.library.data import (
    catalog,
    convert,
    environment,
    export_prompts,
    generate,
    load_dataset,
    make_data,
    write_gallery,
)
from logicgen.library.judging import (
    audit,
    score,
    shown_answers,
    solve,
    solve_dimacs,
    solve_lines,
    task,
    verdict_and_reason,
    verify,
    verify_dimacs,
    verify_lines,
)
from logicgen.library.measuring import (
    collapse,
    complete,
    covariance,
    cut_grammar,
    probe,
    sentence_lines,
    show_grammar,
    text_probability,
    tightness,
    write_renamed_prompts,
)
from logicgen.library.models import (
    compare,
    evaluate,
    export_model,
    judge_replies,
    load_model,
    measure_perplexity,
    perplexity_lines,
    report,
    score_answers,
    score_lines,
    study,
    train,
)
from logicgen.library.progress import Bars, Progress, Say, no_bars, silent, write_texts

__all__ = [
    "Bars",
    "Progress",
    "Say",
    "audit",
    "catalog",
    "collapse",
    "compare",
    "complete",
    "convert",
    "covariance",
    "cut_grammar",
    "environment",
    "evaluate",
    "export_model",
    "export_prompts",
    "generate",
    "judge_replies",
    "load_dataset",
    "load_model",
    "make_data",
    "measure_perplexity",
    "no_bars",
    "perplexity_lines",
    "probe",
    "report",
    "score",
    "score_answers",
    "score_lines",
    "sentence_lines",
    "show_grammar",
    "shown_answers",
    "silent",
    "solve",
    "solve_dimacs",
    "solve_lines",
    "study",
    "task",
    "text_probability",
    "tightness",
    "train",
    "verdict_and_reason",
    "verify",
    "verify_dimacs",
    "verify_lines",
    "write_gallery",
    "write_renamed_prompts",
    "write_texts",
]
