"""Folders in which commands are disturbed, each made when it is first asked for."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.reliability.scene import SCENES, Stage


@pytest.fixture(scope="session")
def stage() -> Iterator[Callable[[str], Stage]]:
    """Return the stage of a scene by name."""
    # Not below pytest's own folder, which is closed to other users.
    root = Path(tempfile.mkdtemp(prefix="logicgen-reliability-"))
    root.chmod(0o755)
    stages: dict[str, Stage] = {}

    def named(name: str) -> Stage:
        if name not in stages:
            (scene,) = (scene for scene in SCENES if scene.name == name)
            stages[name] = Stage(root / name, scene)
        return stages[name]

    yield named
    shutil.rmtree(root)
