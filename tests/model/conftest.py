"""The tiny copying task of the training tests."""

from tests.train.conftest import data

__all__ = ["data"]
