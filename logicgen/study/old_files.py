"""Records of the format before: a JSON file for each point, in `trials/` or in `points/`."""

from __future__ import annotations

import json
import os
from pathlib import Path

from logicgen.errors import LogicgenError
from logicgen.experiments import Json
from logicgen.study.measure import CELLS, EVALUATION
from logicgen.study.point import DAMAGE, Record, digest

ABOUT = ("machine", "commit", "versions")


def read_old_file(folder: Path, name: str) -> tuple[Path, Record] | None:
    """Return the file of a point and its record, if there is one. LogicgenError if damaged."""
    for inner, read in (("trials", _of_trial), ("points", _of_point)):
        path = folder / inner / f"{name}.json"
        if os.path.isfile(path):
            try:
                content = json.loads(path.read_text(encoding="utf-8"))
                about = {key: content.get(key) for key in ABOUT}
                return path, Record.model_validate({"point": name, **about, **read(content)})
            except (*DAMAGE, AttributeError, OSError, RecursionError):
                raise LogicgenError(
                    f"{path}: damaged: restore the file, or delete it to run the point again"
                ) from None
    return None


def _of_point(content: Json) -> Json:
    if content["sha256"] != digest(content):
        raise ValueError
    return {"arguments": content["arguments"], "found": content["found"]}


def _of_trial(content: Json) -> Json:
    """Return arguments and findings; a trial was evaluated, or measured as a language model."""
    trial = dict(content["trial"])
    how, data = trial.pop("evaluate"), trial.pop("evaluated")
    measured = trial.pop("measured", None)
    if measured is None:
        trial["measures"] = [{"measure": how, "data": data}]
        parts = ("about", "summary", "covariance", "tally")
        evaluated = {key: content[key] for key in parts if key in content}
        found = {EVALUATION: {"kind": CELLS, **evaluated}}
    else:
        trial["measures"] = measured
        names = [each["measure"]["name"] for each in measured]
        found = {name: content[f"measure {name}"] for name in names}
    return {"arguments": trial, "found": {"training": content["training"], "measures": found}}
