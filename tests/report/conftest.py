"""The small data sets of the evaluation tests."""

from tests.evaluate.conftest import about, data
from tests.evaluate.test_covariance import data as renamed_data
from tests.evaluate.test_perplexity import strings

__all__ = ["about", "data", "renamed_data", "strings"]
