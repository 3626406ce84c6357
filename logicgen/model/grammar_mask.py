"""The mask under which a model writes only answers that parse."""

from __future__ import annotations

import torch

from logicgen.nn.decoding import GrammarMask
from logicgen.tasks import Task


def grammar_mask(task: Task, longest: int) -> GrammarMask:
    """Return the mask under which answers of up to `longest` tokens parse."""
    automaton = task.answer_automaton(longest)
    return GrammarMask(torch.from_numpy(automaton.transition), torch.from_numpy(automaton.distance))
