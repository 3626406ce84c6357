"""The small data set of the evaluation tests."""

from tests.evaluate.conftest import about, data

__all__ = ["about", "data"]
