"""A stand-in for worker processes: what a test changes here holds in the steps, too."""

from __future__ import annotations


class InThisProcess:
    """Does what `open_pool` gives out, without another process."""

    def __init__(self, setup, arguments, count=1):
        self.function = setup(*arguments)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def map(self, items):
        return map(self.function, items)
