"""A long search for inputs that break a reader: every failure is kept, and the search goes on."""

from __future__ import annotations

import time
import traceback
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import seed, settings

import logicgen
from tests.reliability.target import LONG, Target

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
