"""What is fuzzed: a reader, inputs for it, and what has to hold of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis.strategies import SearchStrategy

from logicgen.errors import LogicgenError

SHORT, LONG = "reliability-short", "reliability-long"
"""The profiles of Hypothesis: of `make test`, and of one round of `make fuzz`."""

# How long an input takes depends on what else the machine does; a failure is shown as it is found,
# since shrinking one that reads files takes minutes.
settings.register_profile(SHORT, deadline=None, max_examples=25)
settings.register_profile(LONG, deadline=None, max_examples=500, print_blob=True)


@dataclass(frozen=True)
class Target:
    """A reader under a name.

    `check` reads one input and asserts what has to hold; any exception it lets out is a defect.
    """

    name: str
    inputs: SearchStrategy[Any]
    check: Callable[[Any], None]

    def property(self) -> Callable[[], None]:
        """Return the property as Hypothesis runs it."""

        # A function of its own for each target: Hypothesis keeps failures by name.
        def holds(given_input: Any) -> None:
            self.check(given_input)

        holds.__name__ = holds.__qualname__ = self.name.replace("-", "_")
        return given(self.inputs)(holds)


def refused(error: LogicgenError) -> None:
    """Assert that an error says something, in one line or with the place in a text."""
    said = str(error)
    assert said.strip()
    assert "Traceback" not in said


def value_or_refusal(read: Callable[[], Any]) -> Any:
    """Return what is read, or None where it is refused with a LogicgenError."""
    try:
        return read()
    except LogicgenError as error:
        refused(error)
        return None
