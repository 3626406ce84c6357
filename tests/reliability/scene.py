"""Commands that are disturbed, in a folder with what they need, and what they leave undisturbed."""

from __future__ import annotations

import gzip
import json
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from logicgen.files import is_part
from logicgen.model.checkpoint import LAST
from logicgen.study.records import FILE as RECORDS
from tests.reliability.command import run

DATA = """task = "propositional"
solver = "truth-table"
verifier = "pysat"
[problem]
operators = { "!" = 1, "&" = 1, "|" = 1 }
[region]
symbols = [1, 3]
length = [1, 8]
[sizes]
train = 300
validation = 20
test = 20
[grid]
symbols = [1, 4]
length = [1, 9]
per_cell = 2
"""
CORPUS = """task = "automaton"
[corpus]
symbols = 3
states = 2
expected_length = 8.0
length = 64
train = 2000
validation = 500
test = 500
"""
MODEL = """[embedding]
method = "interchangeable"
random_part = "normal"
random_width = 8
normalize_parts = true
normalize_rows = true
[network]
kind = "encoder-decoder"
width = 16
heads = 2
encoder_layers = 1
decoder_layers = 1
feed_forward = 16
dropout = 0.1
encoder_positions = "sinusoidal"
decoder_positions = "rotary"
normalize_features = true
[loss]
method = "adacos"
[training]
steps = 30
batch_size = 8
learning_rate = 3e-3
warmup_steps = 5
schedule = "cosine"
log_every = 1
checkpoint_every = 3
validate_every = 10
"""
STUDY = """[base]
model = "model.toml"
data = "data.toml"
[base.set]
"training.steps" = 5
[evaluate]
split = "test"
limit = 6
[axes]
"embedding.random_part" = ["normal", "hypercube"]
"""

GENERATE = ["generate", "data.toml", "-o", "data", "--workers", "2"]
TRAIN = ["train", "model.toml", "--data", "data", "-o", "run", "--resume", "--device", "cpu"]
SOLVE = ["solve", "--task", "propositional", "--in", "problems.txt", "--out", "solved.jsonl"]
VERIFY = ["verify", "--task", "propositional", "--in", "answers.jsonl", "--out", "verified.jsonl"]


@dataclass(frozen=True)
class Scene:
    """A command under a name, what has to be done before it, and where its results go."""

    name: str
    arguments: list[str]
    result: str
    before: list[list[str]] = field(default_factory=list)
    slow: bool = False  # its processes import torch anew


SCENES = [
    Scene("data-set", GENERATE, "data"),
    Scene("corpus", ["generate", "corpus.toml", "-o", "corpus"], "corpus"),
    Scene("train", TRAIN, "run", [GENERATE]),
    Scene(
        "evaluate",
        ["evaluate", "run", "--data", "data", "--split", "test", "-o", "scores", "--device", "cpu"],
        "scores",
        [GENERATE, TRAIN],
    ),
    Scene("solve", SOLVE, "solved.jsonl"),
    Scene("verify", VERIFY, "verified.jsonl"),
    Scene(
        "study",
        ["study", "study.toml", "-o", "study", "--workers", "1", "--device", "cpu"],
        "study",
        slow=True,
    ),
]


def _problems() -> list[str]:
    symbols = "abcde"
    return [
        f"({symbols[i % 5]} | !{symbols[i // 5 % 5]}) & ({symbols[i % 3]} ^ {symbols[i % 4]})"
        for i in range(400)
    ]


class Stage:
    """A folder in which a scene is played: once undisturbed, and then again from its beginning."""

    def __init__(self, folder: Path, scene: Scene, errors: Path | None = None) -> None:
        self.scene, self.folder, self.errors = scene, folder, errors
        folder.mkdir()
        files = {"data": DATA, "corpus": CORPUS, "model": MODEL, "study": STUDY}
        for name, text in files.items():
            (folder / f"{name}.toml").write_text(text)
        (folder / "problems.txt").write_text("\n".join(_problems()))
        rows = [json.dumps({"problem": each, "answer": "a=1, b=1"}) for each in _problems()]
        (folder / "answers.jsonl").write_text("\n".join(rows))
        # First one that starts the server which the others are forked from, and measures nothing.
        for arguments in [["--version"], *scene.before, scene.arguments]:
            start = time.monotonic()
            ended, orphans = run(arguments, folder, errors=errors)
            self.seconds = time.monotonic() - start  # of the scene itself, which comes last
            assert ended.status == 0, ended.said
            assert not orphans
        self.undisturbed = self.contents()

    def clear(self) -> None:
        """Remove the results, so that the command begins anew."""
        result = self.folder / self.scene.result
        for path in (*self.folder.glob("*/.*.part"), *self.folder.glob(".*.part")):
            path.unlink()
        if result.is_dir():
            shutil.rmtree(result)
        else:
            result.unlink(missing_ok=True)

    def contents(self) -> dict[str, Any]:
        """Return what the command has to leave, by file; logs and what was measured left out."""
        result = self.folder / self.scene.result
        paths = sorted(result.rglob("*")) if result.is_dir() else [result]
        found: dict[str, Any] = {}
        for path in paths:
            name = path.relative_to(self.folder).as_posix()
            if path.is_dir() or "/logs/" in name or name.endswith(".log"):
                continue
            if path.name == LAST.name:  # its tensors may lie in another order
                continue
            if path.name == RECORDS:
                found[name] = _records(path)
            elif self.scene.name != "study" or path.parent != result:  # tables tell the minutes
                found[name] = path.read_bytes()
        return found

    def parts(self) -> list[str]:
        """Return the files that a process has left unfinished."""
        return [path.name for path in self.folder.rglob(".*") if is_part(path)]


def _records(path: Path) -> list[Any]:
    """Return the records of a study without what is another number each time: times, digests."""
    records = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    for record in records:
        for key in ("sha256", "commit"):  # a commit may be made meanwhile
            record.pop(key, None)
        record["found"].pop("training")
    return records
