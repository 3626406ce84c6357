"""Text that language models read and write: prompts, readers of completions, the bounded scorer."""

from __future__ import annotations

import sys

from logicgen.callable_room import CallableRoom
from logicgen.score.judgement import Judgement
from logicgen.score.prompts import prompt
from logicgen.score.scorer import Scorer

__all__ = ["Judgement", "Scorer", "prompt"]

sys.modules[__name__].__class__ = CallableRoom
