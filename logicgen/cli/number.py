"""A number on the command line."""

from __future__ import annotations

import math
from typing import Any

import click


class Number(click.FloatRange):
    """A range of numbers without `nan`, which click's comparisons would accept."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Return the number. Fails with a usage error if it is `nan` or outside the range."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number", param, ctx)
        return number
