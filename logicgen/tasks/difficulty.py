"""Numbers that measure the difficulty of a problem, and ranges of these numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

Value = int | float | None


@dataclass(frozen=True)
class DifficultyColumn:
    """A number that measures the difficulty of a problem.

    Attributes:
        meaning: a description of the number.
        whole: whether it is an integer.
        least, most: the least and the greatest number that a problem can have.
        needs_witness: whether unsatisfiable problems have no number.
    """

    meaning: str
    whole: bool
    least: float
    most: float = math.inf
    needs_witness: bool = False


@dataclass(frozen=True)
class Band:
    """A range of the numbers of a column of difficulty.

    Attributes:
        low, high: the least and the greatest number.
        below: whether `high` itself is not in the range.
    """

    column: str
    low: float
    high: float
    below: bool = False

    def __contains__(self, value: Value) -> bool:
        if value is None:
            return False
        return self.low <= value < self.high or (value == self.high and not self.below)

    def __str__(self) -> str:
        return f"{self.low:g}" if self.low == self.high else f"{self.low:g}-{self.high:g}"
