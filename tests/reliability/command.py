"""Commands in processes of their own: started fast, killed, starved of disk, searched for orphans.

They are forked from a server that has imported what commands import, which takes seconds. What they
start themselves (workers) starts as it always does.
"""

from __future__ import annotations

import ctypes
import os
import resource
import select
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.forked import training

MARK = "LOGICGEN_RELIABILITY"

# From Linux: CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH.
DAC_RIGHTS, PR_CAPBSET_DROP = (1, 2), 24

# Orphans have that long to notice that their parent is gone; there are none that do not, but one
# must fail a test, not keep it waiting for ever.
PATIENCE = 60.0


@dataclass(frozen=True)
class Ended:
    """How a command ended: exit status or, negative, the signal; and its standard error."""

    status: int
    said: str


def starved(limit: int) -> None:
    """Let no file of this process grow beyond so many bytes, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


def mortal() -> None:
    """Give up the right of root to read and write what its modes forbid; nothing for others."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    if os.getuid() or libc.capget(header, sets):
        return
    for number in DAC_RIGHTS:
        libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)  # of what this process starts
        sets[0] &= ~(1 << number)
        sets[1] &= ~(1 << number)
    libc.capset(header, sets)


class Command:
    """A running `logicgen` command, in a folder, leading a process group of its own.

    before: called in the process before the command, such as `mortal`.
    errors: folder for the file of what it says; beside the command's if not given.
    """

    def __init__(
        self,
        arguments: list[str],
        folder: Path,
        before: Callable[[], None] | None = None,
        errors: Path | None = None,
    ) -> None:
        self.mark = uuid.uuid4().hex
        self.said = (errors or folder.parent) / f"{folder.name}.{self.mark}.err"
        ready, its = os.pipe()
        with open(os.devnull) as nothing:
            self.process = training.start(
                "tests.reliability.command:_run",
                (arguments, folder, self.said, before, its),
                {MARK: self.mark},
                [its],
                (nothing.fileno(), 1, 2),
            )
        os.close(its)
        os.read(ready, 1)  # signals reach it now, or it has ended
        os.close(ready)

    def send(self, number: int) -> None:
        """Send a signal: Ctrl-C to the whole group, as a terminal does, others to the command."""
        with suppress(ProcessLookupError):  # it ended just now
            (os.killpg if number == signal.SIGINT else os.kill)(self.process.pid, number)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the command has ended, or so many seconds; return whether it has."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        return self.process.returncode is not None

    def end(self) -> Ended:
        """Return how the command ended, once it has."""
        status = self.process.wait()
        said = self.said.read_text(encoding="utf-8", errors="replace") if self.said.exists() else ""
        self.said.unlink(missing_ok=True)
        return Ended(status, said)

    def orphans(self) -> list[str]:
        """Return the command lines of processes that outlived the command, and end these."""
        left = []
        for pid in self._descendants():
            try:
                handle = os.pidfd_open(pid)
            except ProcessLookupError:
                continue
            # Readable once the process has ended.
            if not select.select([handle], [], [], PATIENCE)[0]:
                left.append(Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " "))
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            os.close(handle)
        return left

    def _descendants(self) -> list[int]:
        """Return the processes that were started with the mark of this command."""
        mark = f"{MARK}={self.mark}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:  # ended meanwhile, or another user's
                continue
        return found


def run(
    arguments: list[str],
    folder: Path,
    before: Callable[[], None] | None = None,
    errors: Path | None = None,
) -> tuple[Ended, list[str]]:
    """Run a command to its end; return how it ended, and its orphans."""
    command = Command(arguments, folder, before, errors)
    return command.end(), command.orphans()


def _run(
    arguments: list[str],
    folder: Path,
    said: Path,
    before: Callable[[], None] | None,
    ready: int,
) -> None:
    """Be the command: the process."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    import logicgen.cli.main as program

    # As after `python -m logicgen.cli.main`: workers import what their parent's main module is.
    sys.modules["__main__"] = program
    stream = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    os.dup2(stream, 1)
    os.dup2(stream, 2)
    os.chdir(folder)
    sys.argv = ["logicgen", *arguments]
    if before is not None:
        before()
    os.write(ready, b"!")
    os.close(ready)
    program.main()
