"""The standard deviation over seeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def deviation(values: Sequence[float] | np.ndarray) -> float:
    """Return the sample standard deviation, which divides by n - 1; 0 for a single value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
