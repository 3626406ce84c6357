"""A disk that is really full: a file system in memory, where mounting one is allowed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.reliability.command import run
from tests.reliability.disturbance import finished, refusal
from tests.reliability.scene import Scene, Stage

SIZE = 16 << 20
ROOMS = (0, 4096, 16_384, 65_536)
"""Bytes that are left on the disk: pages."""


@contextmanager
def mounted() -> Iterator[Path | None]:
    """Yield the folder of a new disk, gone afterwards; None where mounting is not allowed."""
    folder = Path(tempfile.mkdtemp(prefix="logicgen-disk-"))
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "none", str(folder)]
    allowed = (
        os.getuid() == 0
        and shutil.which("mount") is not None
        and subprocess.run(command, capture_output=True).returncode == 0
    )
    try:
        yield folder if allowed else None
    finally:
        if allowed:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()


def fill(disk: Path, room: int) -> Path:
    """Fill the disk up to so many bytes; return the file that does."""
    path = disk / "ballast"
    with open(path, "wb") as file:
        left = os.statvfs(disk)
        file.write(bytes(max(0, left.f_bavail * left.f_bsize - room)))
    return path


def full(scene: Scene, disk: Path, rooms: tuple[int, ...] = ROOMS) -> list[str]:
    """Play a scene on a disk with less and more room left, each time to its end afterwards."""
    stage, wrong = Stage(disk / scene.name, scene, errors=Path(tempfile.gettempdir())), []
    for room in rooms:
        stage.clear()
        where = f"{scene.name}, on a disk with {room} bytes left"
        ballast = fill(disk, room)
        ended, orphans = run(scene.arguments, stage.folder, errors=stage.errors)
        ballast.unlink()
        if ended.status:
            wrong += refusal(ended, where)
        wrong += [f"{where}: left {each}" for each in orphans]
        wrong += finished(stage, where)
    return wrong
