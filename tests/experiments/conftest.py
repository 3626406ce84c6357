"""The forked processes of studies."""

from tests.study.conftest import forked_workers

__all__ = ["forked_workers"]
