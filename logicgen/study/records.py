"""The records of a study: one compressed file with a line for each finished trial."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from logicgen.errors import LogicgenError
from logicgen.experiments import Json
from logicgen.files import json_sha256, read_gzip, write_gzip
from logicgen.measures import find_measure
from logicgen.recipes import Table
from logicgen.study.trial import Training, Trial

FILE = "trials.jsonl.gz"

ONE = "take its line out of the file to run the point again"

# Exceptions that a record of the wrong shape raises while it is read.
DAMAGE = (ValueError, KeyError, TypeError, IndexError)


class Run(BaseModel):
    """The effort and the curves of a training.

    Attributes:
        minutes: the minutes of training, including the time before interruptions.
        validation: curves on held-out data by name. A curve is a list of (step, value) pairs.
    """

    steps: int
    minutes: float
    parameters: int
    validation: dict[str, list[tuple[int, float]]]


class Record(Table):
    """The record of a finished trial, with its machine, Git commit and versions of packages.

    The properties exist only for trials that train a model. They raise one of the exceptions
    `DAMAGE` if the record has another shape.
    """

    point: str  # the name of the trial
    arguments: Json
    found: Json  # the result of the trial's function
    machine: str
    commit: str | None
    versions: dict[str, str]

    @cached_property
    def training(self) -> Training:
        """Return the validated arguments of the trial."""
        return Training.model_validate_json(json.dumps(self.arguments))

    @cached_property
    def run(self) -> Run:
        """Return the effort and the curves of the training."""
        return Run.model_validate(self.found["training"])

    @cached_property
    def measures(self) -> dict[str, Json]:
        """Return the results of each measure by the name of the measure."""
        names = [each.measure.name for each in self.training.measures]
        return {name: self.found["measures"][name] for name in names}

    @property
    def score(self) -> tuple[float, bool]:
        """Return the score of the first measure, and whether a smaller score is better."""
        found = next(iter(self.measures.values()))
        return find_measure(found["kind"]).headline(found)

    def line(self) -> str:
        """Return the record as a line of JSON, with its SHA-256 as the key `sha256`."""
        content = self.model_dump()
        return json.dumps({**content, "sha256": digest(content)})


def digest(content: Json) -> str:
    """Return the SHA-256 of the content of a record, except the key `sha256`."""
    return json_sha256(content, without="sha256")


def write_records(records: Iterable[Record], folder: Path) -> None:
    """Write the file of records. Equal records give equal bytes."""
    write_gzip(folder / FILE, "".join(f"{record.line()}\n" for record in records))


def in_order(trials: Iterable[str], records: dict[str, Record]) -> list[Record]:
    """Return records in the order of the names `trials`. Records of other trials come last."""
    return [records[name] for name in dict.fromkeys([*trials, *records]) if name in records]


def read_records(trials: Mapping[str, Trial], folder: Path) -> dict[str, Record]:
    """Return the records in a folder by the name of the trial.

    Records of `trials` come first, in the order of `trials`. Raises LogicgenError if the file is
    damaged, or if a record has other arguments than its trial.
    """
    stored = _stored(folder / FILE)
    found = {record.point: record for record in in_order(trials, stored)}
    for name, record in found.items():
        if name in trials:
            _check(trials[name], record, f"{folder / FILE}: {name}")
    return found


def _stored(path: Path) -> dict[str, Record]:
    if not os.path.isfile(path):
        return {}
    lines = read_gzip(path, "restore the file, or delete it to run all points again").splitlines()
    found: dict[str, Record] = {}
    for number, line in enumerate(lines, 1):
        name = "?"
        try:
            content = json.loads(line)
            name = content["point"]
            if content.pop("sha256") != digest(content) or name in found:
                raise ValueError
            found[name] = Record.model_validate(content)
        except (*DAMAGE, AttributeError, RecursionError):
            raise LogicgenError(
                f"{path}: line {number} ({name}): damaged: restore the file, or {ONE}"
            ) from None
    return found


def _check(trial: Trial, record: Record, where: str) -> None:
    """Raise LogicgenError if a record is damaged or has other arguments than its trial."""
    differs = _difference(record.arguments, json.loads(json.dumps(trial.arguments)))
    if differs is not None:
        raise LogicgenError(
            f"{where}: made with another recipe ({differs}): choose another folder with -o, or"
            f" {ONE}"
        )
    try:
        if trial.training is not None:
            _ = record.run
            for found in record.measures.values():
                find_measure(found["kind"]).check_found(found)
    except DAMAGE:
        raise LogicgenError(f"{where}: damaged: restore the file, or {ONE}") from None


def _difference(before: Any, now: Any, place: str = "") -> str | None:
    """Return a text with the first difference of two JSON values and its place.

    Returns None if the values are equal.
    """
    if before == now:
        return None
    if isinstance(before, dict) and isinstance(now, dict):
        for key in [*now, *before]:
            if before.get(key) != now.get(key):
                return _difference(before.get(key), now.get(key), f"{place}.{key}".lstrip("."))
    return f"{place}: {json.dumps(before)} there, {json.dumps(now)} now"


def made_with(records: Sequence[Record]) -> str:
    """Return a text with the machines, Git commits and versions of records, for the report."""
    trainings = [record.found.get("training") for record in records]
    precisions = [each.get("precision") for each in trainings if isinstance(each, dict)]
    values: dict[str, list[Any]] = {
        "Machine": [record.machine for record in records],
        "Commit": [record.commit for record in records],
        "Precision": precisions,
    }
    known = {key: sorted({*filter(None, each)}) for key, each in values.items()}
    lines = [f"{key}: {'; '.join(each)}." for key, each in known.items() if each]
    versions = [f"{name} {value}" for name, value in records[0].versions.items()]
    return "\n".join([*lines, f"{', '.join(versions)}."])


def machine(device: str) -> str:
    """Return the name of the GPU. On a CPU, return the processor and the number of used threads."""
    import torch

    if device != "cpu" and torch.cuda.is_available():
        return torch.cuda.get_device_name()
    threads = torch.get_num_threads()
    return f"{processor()}, {threads} {'thread' if threads == 1 else 'threads'}"


def processor() -> str:
    """Return the name of this machine's processor."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    """Return the versions of the packages that can change a result."""
    found = {name: version(name) for name in ("torch", "numpy")}
    return {"logicgen": version("logicgen"), "python": platform.python_version(), **found}
