"""The readers of texts under Atheris, which looks for inputs that take new ways through the code.

Optional: it runs where the extra `fuzz` is installed. `python -m tests.reliability.coverage_guided
SECONDS FILE` writes what it tried and found to FILE.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["logicgen", "lark"]):
    from tests.reliability import dimacs, lines, problems
    from tests.reliability.target import Found

# Targets whose inputs are texts, and those whose inputs are bytes.
TEXTS = [target for kind in (problems, lines) for target in kind.TARGETS[:10]]
BYTES = dimacs.TARGETS
TARGETS = [*TEXTS, *BYTES]

# Longer inputs take new ways only by being longer.
LONGEST = 200


def main() -> None:
    """Try inputs for so many seconds; libFuzzer, which counts from its own start, is stopped."""
    seconds, out = float(sys.argv[1]), Path(sys.argv[2])
    found = {target.name: Found(target.name) for target in TARGETS}
    ends = time.monotonic() + seconds

    def try_one(data: bytes) -> None:
        if time.monotonic() >= ends:
            out.write_text(json.dumps([each.as_dict() for each in found.values()]))
            os._exit(0)  # libFuzzer has no end of its own that keeps the report
        if not data:
            return
        target, content = TARGETS[data[0] % len(TARGETS)], data[1:]
        text = content.decode("utf-8", "surrogateescape")
        found[target.name].attempt(target, content if target in BYTES else text)

    corpus = [f"-max_len={LONGEST}", f"-seed={found_seed(found)}", "-verbosity=0"]
    atheris.Setup([sys.argv[0], *corpus], try_one)
    atheris.Fuzz()


def found_seed(found: dict[str, Found]) -> int:
    """Return a new seed, which the report of every target names."""
    seed = int.from_bytes(os.urandom(4)) or 1
    for each in found.values():
        each.seeds.append(seed)
    return seed


if __name__ == "__main__":
    main()
