"""A file with the outcomes of an unfinished run, from which the run continues."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from logicgen.files import write_text
from logicgen.measures.verified import Outcome
from logicgen.solvers import Verdict

Part = tuple[str, int]


class OutcomeLog:
    """The outcomes of a run, by part: a name and a number.

    The first line of the file identifies the run. Each further line has the part, the number of the
    first problem, and the outcomes of some problems. All lines from a damaged line on are ignored.

    result: the path of the run's result. The name of the file is this name, a hash of the identity
        and `.unfinished`. The first outcomes make the file. If the path is None, there is no file.
    identity: values that must be the same when the run continues.
    """

    def __init__(
        self, result: Path | None = None, identity: Mapping[str, Any] | None = None
    ) -> None:
        self._begun = False
        self._found: dict[Part, list[Outcome]] = {}
        head = json.dumps(identity) + "\n"
        path = None
        if result is not None:
            digest = sha256(head.encode()).hexdigest()[:8]
            path = result.with_name(f"{result.name}.{digest}.unfinished")
        self._path = path
        lines = path.read_text(errors="replace").splitlines(True) if path and path.is_file() else []
        whole = [line for line in lines[1:] if line.endswith("\n")] if lines[:1] == [head] else []
        self._text = head
        for line in whole:
            try:
                name, number, first, outcomes = json.loads(line)
                read = [Outcome(str(text), Verdict(v), int(tried)) for text, v, tried in outcomes]
                known = self._found.setdefault((str(name), int(number)), [])
            except (ValueError, TypeError):
                break
            if first == len(known):  # another process may have written the same outcomes
                known += read
                self._text += line

    def found(self, part: Part) -> list[Outcome]:
        """Return the outcomes of the first problems of a part."""
        return list(self._found.get(part, ()))

    def add(self, part: Part, outcomes: Sequence[Outcome]) -> None:
        """Add the outcomes of the next problems of a part."""
        known = self._found.setdefault(part, [])
        first = len(known)
        known += outcomes
        if self._path is None:
            return
        if not self._begun:
            write_text(self._path, self._text)  # without a line that was cut off
            self._begun = True
        with self._path.open("a") as file:
            file.write(json.dumps([*part, first, outcomes]) + "\n")

    def remove(self) -> None:
        """Delete the file: the run is complete."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
