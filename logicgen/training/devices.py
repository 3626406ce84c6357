"""Several devices that train one model, a process for each.

The first process alone writes the run's folder, and it tells the others when to stop. Either it
starts the others, helpers without signals that read the data again, or torchrun has started all.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor, distributed

from logicgen.errors import LogicgenError
from logicgen.model.batches import Rank
from logicgen.processes.helper import die_with_parent, private_streams, start_helper
from logicgen.processes.worker import packed, unpacked

Helper = subprocess.Popen[bytes]

# How long a process waits for the others, which may read data, validate or write a checkpoint.
PATIENCE = timedelta(minutes=30)

READY = b"ready"

# Seconds that a helper may take to end when the connection is lost, and after which a process that
# still waits for one that has ended does so in vain.
SECONDS, GRACE = 10, 60


@dataclass(frozen=True)
class Member:
    """The place of this process among those that train together, and where they meet.

    A process that trains alone is a member, too: `ALONE`.

    local: number of its device on this machine.
    meeting: a URL, as of `torch.distributed.init_process_group`.
    """

    rank: Rank
    local: int = 0
    meeting: str = ""

    @property
    def first(self) -> bool:
        """Return whether this is the process that writes and decides."""
        return self.rank.number == 0

    @property
    def several(self) -> bool:
        """Return whether there are others."""
        return self.rank.devices > 1

    def device(self, device: torch.device) -> torch.device:
        """Return the device of this process, of the kind of `device`."""
        numbered = self.several and device.type == "cuda"
        return torch.device("cuda", self.local) if numbered else device

    def join(self, device: torch.device) -> None:
        """Wait for all processes, and form a group with them."""
        if device.type == "cuda":
            torch.cuda.set_device(self.device(device))
        distributed.init_process_group(
            "nccl" if device.type == "cuda" else "gloo",
            init_method=self.meeting,
            rank=self.rank.number,
            world_size=self.rank.devices,
            timeout=PATIENCE,
        )

    def told(self, number: int, device: torch.device) -> int:
        """Return the number that the first process gives."""
        if not self.several:
            return number
        said = torch.tensor(number, device=self.device(device))
        distributed.broadcast(said, 0)
        return int(said)

    def mean(self, value: Tensor) -> Tensor:
        """Return the mean of a number over all processes."""
        total = value.detach().clone()
        distributed.all_reduce(total)
        return total / self.rank.devices

    def any(self, value: bool, device: torch.device) -> bool:
        """Return whether a value is true in any process."""
        if not self.several:
            return value
        return bool(self.mean(torch.tensor(float(value), device=self.device(device))))


ALONE = Member(Rank(0, 1))


def launched() -> Member:
    """Return the place that torchrun has given this process; `ALONE` if it has not started it."""
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK")
    if any(name not in os.environ for name in names):
        return ALONE
    number, devices, local = (int(os.environ[name]) for name in names)
    return Member(Rank(number, devices), local, "env://") if devices > 1 else ALONE


def check_devices(devices: int, device: torch.device) -> None:
    """Raise LogicgenError where this machine has not so many devices."""
    if device.type == "cuda":
        there, noun = torch.cuda.device_count(), "CUDA device"
    else:
        affinity = getattr(os, "sched_getaffinity", None)
        there, noun = len(affinity(0)) if affinity else os.cpu_count() or 1, "CPU core"
    if devices > there:
        raise LogicgenError(
            f"--devices {devices}: this process may use {there} {noun}{'s' * (there != 1)}: ask for"
            " no more"
        )


@contextmanager
def together(
    devices: int, device: torch.device, function: Callable[..., None], argument: Any
) -> Iterator[Member]:
    """Start the other processes, and give the place of this one.

    function: is called there with the argument, the process's place and a function to be called
        once all is ready for the first step.
    Raises LogicgenError where one of them fails or ends.
    """
    if devices == 1:
        yield ALONE
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        meeting = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    member, *others = (Member(Rank(each, devices), each, meeting) for each in range(devices))
    helpers: list[Helper] = []
    left = threading.Event()
    threads = torch.get_num_threads()
    torch.set_num_threads(max(1, threads // devices))
    try:
        helpers += [_start(packed((function, argument, other))) for other in others]
        _wait_until_ready(helpers)
        threading.Thread(target=_watch, args=(helpers, left), daemon=True).start()
        try:
            member.join(device)
            yield member
        except (RuntimeError, LogicgenError) as error:
            raise _explained(error, helpers) from error
        left.set()
        distributed.destroy_process_group()  # before the others end, which may need this one
        _lost(helpers, 60)  # whatever they end with: the model is there
    finally:
        left.set()
        _end(helpers)
        torch.set_num_threads(threads)


def _start(work: bytes) -> Helper:
    """Start a helper."""
    helper = start_helper(
        "logicgen.training.devices:serve",
        environment={"OMP_NUM_THREADS": str(torch.get_num_threads())},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert helper.stdin is not None
    with suppress(BrokenPipeError):
        helper.stdin.write(work)
        helper.stdin.close()
    return helper


def _wait_until_ready(helpers: list[Helper]) -> None:
    """Wait for all helpers. Raises LogicgenError with what one of them says instead."""
    for number, helper in enumerate(helpers, start=1):
        assert helper.stdout is not None
        said = helper.stdout.readline().strip()
        if said != READY:
            raise LogicgenError(
                said.decode(errors="replace")
                or f"device {number} of {len(helpers) + 1}: its process ended with status"
                f" {helper.wait()} before the first step"
            )


def _end(helpers: list[Helper]) -> None:
    """End the helpers that are left, and the process group."""
    for helper in helpers:
        helper.kill()
        helper.wait()
        if helper.stdout is not None:
            helper.stdout.close()
    if distributed.is_initialized():
        distributed.destroy_process_group()


def _explained(error: Exception, helpers: list[Helper]) -> Exception:
    """Return the error of a helper that has failed, if one has, instead of the error it led to."""
    # One that is told of a lost connection is told before the helper has ended.
    lost = _lost(helpers, SECONDS if isinstance(error, RuntimeError) else 1)
    if lost is None and isinstance(error, distributed.DistError):
        line = str(error).partition("\n")[0]
        lost = LogicgenError(
            f"--devices {len(helpers) + 1}: the processes have lost each other ({line}); the same"
            " command with --resume goes on from the last checkpoint"
        )
    return lost or error


def _lost(helpers: list[Helper], seconds: float) -> LogicgenError | None:
    """Return what to say of a helper that fails within some seconds; None if none does."""
    end = time.monotonic() + seconds
    for helper in helpers:
        with suppress(subprocess.TimeoutExpired):
            helper.wait(max(0.0, end - time.monotonic()))
    failed = [number for number, helper in enumerate(helpers) if helper.returncode]
    if not failed:
        return None
    # One that was killed is why others have lost their connection.
    first = min(failed, key=lambda number: helpers[number].returncode)
    helper = helpers[first]
    assert helper.stdout is not None
    said = helper.stdout.read().decode(errors="replace").strip()
    return LogicgenError(
        said
        or f"device {first + 1} of {len(helpers) + 1}: its process ended with status"
        f" {helper.returncode}: --resume goes on from the last checkpoint"
    )


def _watch(helpers: list[Helper], left: threading.Event) -> None:
    """End this process where a helper has failed and native code still waits for it.

    Neither a rendezvous nor NCCL would notice for half an hour, nor let Ctrl-C through.
    """
    while not left.wait(1):
        if any(helper.poll() for helper in helpers):
            if not left.wait(GRACE) and (lost := _lost(helpers, 0)) is not None:
                shown = "\x1b[?25h" if sys.stderr.isatty() else ""  # the cursor, which a bar hides
                print(f"{shown}\n{lost}", file=sys.stderr, flush=True)
                os._exit(2)
            return


def serve() -> None:
    """Train as one of several processes: a helper."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    die_with_parent()
    source, target = private_streams()
    function, argument, member = unpacked(source.read())

    def say(line: bytes) -> None:
        target.write(line + b"\n")
        target.flush()

    try:
        function(argument, member, lambda: say(READY))
    except LogicgenError as error:
        say(str(error).encode())
        sys.exit(2)
