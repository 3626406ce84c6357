"""Points of an experiment: computed in worker processes, each one kept as soon as it is there.

An experiment is a function of plain arguments and a dict of points, arguments by name. What a point
gave is a JSON file that holds its arguments, so that an experiment goes on where it stopped, and a
point whose arguments have changed is computed again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from logicgen.atomic import write_text
from logicgen.checksum import json_sha256
from logicgen.errors import LogicgenError
from logicgen.study.trial import commit, processor, versions
from logicgen.workers import Failure, Workers

Point = dict[str, Any]
"""Arguments, as JSON has them."""

Function = Callable[..., dict[str, Any]]
"""From a point's arguments to what is found, as JSON has it. At a module's top level."""

POINTS = "points"


def compute(
    function: Function,
    points: dict[str, Point],
    folder: Path,
    *,
    workers: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, dict[str, Any]]:
    """What the function says at each point, by name, from `folder/points/NAME.json` or new.

    Beside `arguments` and `found`, a point's file names machine, commit and versions, and its own
    digest. Raises LogicgenError for a damaged file.
    """
    known: dict[str, dict[str, Any]] = {}
    for name, arguments in points.items():
        content = _read(folder / POINTS / f"{name}.json")
        if content is not None and content.get("arguments") == arguments:
            known[name] = content
    missing = [name for name in points if name not in known]
    progress(len(known), len(points))
    if missing:
        threads = f"{workers} {'process' if workers == 1 else 'processes'} of one thread"
        about = {
            "machine": f"{processor()}, {threads}",
            "commit": commit(),
            "versions": versions(),
        }
        with Workers[Point, dict[str, Any]](_single, (function,), count=workers) as pool:
            results = pool.map([points[name] for name in missing])
            for name, found in zip(missing, results, strict=True):
                if isinstance(found, Failure):
                    raise LogicgenError(f"{name}: {found.reason}; run the command again")
                content = {"arguments": points[name], "found": found, **about}
                known[name] = {**content, "sha256": _digest(content)}
                text = json.dumps(known[name], indent=1) + "\n"
                write_text(folder / POINTS / f"{name}.json", text)
                progress(len(known), len(points))
    return {name: known[name] for name in points}


def _single(function: Function) -> Callable[[Point], dict[str, Any]]:
    """The function with one thread: there are as many workers as cores."""
    import torch

    torch.set_num_threads(1)
    return lambda arguments: function(**arguments)


def _digest(content: dict[str, Any]) -> str:
    """Return the checksum of a point's file, without the key that holds it."""
    return json_sha256(content, without="sha256")


def _read(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict) or content.get("sha256") != _digest(content):
            raise ValueError
    except (ValueError, OSError):
        raise LogicgenError(f"{path}: damaged: remove it, and it is computed again") from None
    return content
