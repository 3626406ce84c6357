"""Disturbances of a scene: signals at random moments, a full disk, a folder that is read-only.

A disk is full by a limit on files, or really: a file system in memory, where mounting is allowed.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random

from tests.reliability.command import Command, Ended, mortal, run, starved
from tests.reliability.scene import Scene, Stage

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)

# Bytes of a file on a full disk; with less, workers have no shared memory.
LIMITS = (4096, 6000, 20_000)

STATUS = {signal.SIGKILL: -signal.SIGKILL, signal.SIGTERM: 143, signal.SIGINT: 130}


def killed(stage: Stage, numbers: list[int], rng: Random) -> list[str]:
    """Send signals to the command, one in each of as many starts; then let it finish.

    The moments are drawn from the time that the command took undisturbed.
    Returns what went wrong, with the moment.
    """
    wrong = []
    stage.clear()
    for number in numbers:
        moment = rng.uniform(0, stage.seconds)
        where = f"{stage.scene.name}, {signal.Signals(number).name} after {moment:.3f} s"
        before = set(stage.parts())  # of a SIGKILL; only a run that gets so far replaces them
        command = Command(stage.scene.arguments, stage.folder)
        if not command.wait(moment):
            command.send(number)
        ended = command.end()
        # It may have ended just before, or just have begun, before it can say anything; to a shell
        # that is the same status.
        begun = ended.status == -number and not ended.said
        if ended.status not in (STATUS[number], 0) and not begun:
            wrong.append(f"{where}: status {ended.status}: {ended.said[-300:]}")
        if "Traceback" in ended.said:
            wrong.append(f"{where}: a traceback: {ended.said[-600:]}")
        wrong += [f"{where}: left {orphan}" for orphan in command.orphans()]
        left = sorted(set(stage.parts()) - before)
        if number != signal.SIGKILL and ended.status and left:
            wrong.append(f"{where}: left {left}")
    return wrong + finished(stage, str([signal.Signals(number).name for number in numbers]))


def finished(stage: Stage, after: str) -> list[str]:
    """Run the command to its end; return how what it leaves differs from an undisturbed run."""
    where = f"{stage.scene.name}, again after {after}"
    ended, orphans = run(stage.scene.arguments, stage.folder)
    if ended.status:
        return [f"{where}: status {ended.status}: {ended.said[-600:]}"]
    found = stage.contents()
    differ = [
        name
        for name in {**stage.undisturbed, **found}
        if found.get(name) != stage.undisturbed.get(name)
    ]
    return [
        *(f"{where}: left {orphan}" for orphan in orphans),
        *(f"{where}: {name} differs" for name in differ),
        *(f"{where}: left {part}" for part in stage.parts()),
    ]


def refusal(ended: Ended, where: str) -> list[str]:
    """Return how a refusal is not one line with exit status 2."""
    # A progress bar is drawn before it.
    said = [line for line in ended.said.splitlines() if line.startswith("logicgen: ")]
    wrong = []
    if ended.status != 2:
        wrong.append(f"{where}: status {ended.status}: {ended.said[-600:]}")
    if "Traceback" in ended.said:
        wrong.append(f"{where}: a traceback: {ended.said[-600:]}")
    if len(said) != 1:
        wrong.append(f"{where}: said {ended.said[-600:]!r}")
    return wrong


def full_disk(stage: Stage, limit: int, *, finish: bool = True) -> list[str]:
    """Let the command write files of so many bytes only; then run it again without a limit."""
    stage.clear()
    where = f"{stage.scene.name}, files of {limit} bytes at most"
    ended, orphans = run(stage.scene.arguments, stage.folder, partial(starved, limit))
    wrong = refusal(ended, where) if ended.status else []  # all files may be that small
    wrong += [f"{where}: left {each}" for each in orphans]
    return [*wrong, *(finished(stage, where) if finish else ())]


def read_only(stage: Stage) -> list[str]:
    """Let the command write into a folder that it may only read; then run it again in peace."""
    stage.clear()
    where = f"{stage.scene.name}, in a folder that is read-only"
    stage.folder.chmod(0o555)
    ended, orphans = run(stage.scene.arguments, stage.folder, mortal)
    stage.folder.chmod(0o755)
    wrong = [*refusal(ended, where), *(f"{where}: left {each}" for each in orphans)]
    return [*wrong, *finished(stage, where)]


def interrupted_start(rng: Random) -> list[str]:
    """Press Ctrl-C, or send SIGTERM, while a command starts, which imports as users' do."""
    number, moment = rng.choice([signal.SIGINT, signal.SIGTERM]), rng.uniform(0.03, 1.0)
    where = f"solve, {number.name} {moment:.3f} s after its start"
    command = [sys.executable, "-m", "logicgen.cli.main", "solve", "--task", "ltl", "G(a -> F b)"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # A shell in the background ignores SIGINT, and so would what it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        process.wait(moment)
    except subprocess.TimeoutExpired:
        process.send_signal(number)
    said = process.communicate()[1]
    # Before Python has handlers, the signal itself ends it; then Python says what it was at, until
    # the first line of the program runs.
    ours = "Traceback" in said and "logicgen" in said
    if process.returncode in (0, STATUS[number], -number) and not ours:
        return []
    return [f"{where}: status {process.returncode}: {said[-600:]}"]


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
