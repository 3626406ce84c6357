"""Text that language models read and write: prompts, readers of completions, the bounded scorer."""

from __future__ import annotations

from logicgen.scoring.prompts import prompt
from logicgen.scoring.scorer import Judgement, Scorer

__all__ = ["Judgement", "Scorer", "prompt"]
