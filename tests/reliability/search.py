"""A long search for inputs that break a reader: every failure is kept, and the search goes on."""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
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

    def attempt(given: Any) -> None:
        found.inputs += 1
        try:
            target.check(given)
        except Exception as error:
            where, shown = place(error), repr(given)
            if len(shown) < len(found.failures.get(where, shown + " ")):
                found.failures[where] = shown

    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        found.seeds.append(rng.getrandbits(32))
        rounds = seed(found.seeds[-1])(replace(target, check=attempt).property())
        settings(settings.get_profile(LONG), database=None)(rounds)()
    return found


def share(targets: Sequence[Target], seconds: float, rng: Random) -> list[Found]:
    """Return what turned up for each of some targets, which share the time equally."""
    return [search(target, seconds / len(targets), rng) for target in targets]
