"""A number on the command line."""

from __future__ import annotations

import math
from typing import Any

import click


class Number(click.FloatRange):
    """A range of numbers, of which `nan` is none, though every comparison lets it pass."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """The number. Fails with a usage error."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number", param, ctx)
        return number
