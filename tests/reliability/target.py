"""What is fuzzed: a reader, inputs for it, and what has to hold of each; the search for defects."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import given, seed, settings
from hypothesis.strategies import SearchStrategy

import logicgen
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


ROOT = Path(logicgen.__file__).parent


@dataclass
class Found:
    """What a search tried of a target, and what broke it."""

    target: str
    inputs: int = 0
    seeds: list[int] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)  # shortest input by place

    def as_dict(self) -> dict[str, Any]:
        """Return the content as JSON has it."""
        return asdict(self)

    def attempt(self, target: Target, given: Any) -> None:
        """Try one input; keep it where it breaks the target and is the shortest one there."""
        self.inputs += 1
        try:
            target.check(given)
        except Exception as error:
            where, shown = place(error), repr(given)
            if len(shown) < len(self.failures.get(where, shown + " ")):
                self.failures[where] = shown


def place(error: BaseException) -> str:
    """Return what went wrong and where: last in the package, or else in a check."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(ROOT)] or frames
    last = own[-1]
    said = str(error).splitlines()[0][:100] if str(error) else ""
    name = Path(last.filename)
    name = name.relative_to(ROOT.parent) if name.is_relative_to(ROOT.parent) else name.name
    # A failed assertion of a check stands further out than what it called last.
    where = f"{frames[-1].name}: {frames[-1].line}" if isinstance(error, AssertionError) else said
    return f"{type(error).__name__} at {name}:{last.lineno} ({where})"


def search(target: Target, seconds: float, rng: Random) -> Found:
    """Return what turned up in rounds of inputs with new seeds, in about so many seconds."""
    found = Found(target.name)
    tried = replace(target, check=lambda given: found.attempt(target, given))
    often = settings(settings.get_profile(LONG), database=None)
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        found.seeds.append(rng.getrandbits(32))
        seed(found.seeds[-1])(often(tried.property()))()
    return found
