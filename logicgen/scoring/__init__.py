"""Prompts for language models, readers of their completions, and a scorer with limits."""

from __future__ import annotations

from logicgen.scoring.prompts import prompt
from logicgen.scoring.scorer import Judgement, Scorer

__all__ = ["Judgement", "Scorer", "prompt"]
