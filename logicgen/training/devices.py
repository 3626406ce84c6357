"""Train one model on several devices, with one process for each device.

Only the first process writes the run folder, and it decides when all processes stop. It starts the
other processes as helper processes, which read the data again and ignore signals. Alternatively,
torchrun has started all processes.
"""

from __future__ import annotations

import os
import signal
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

# The address of this machine for its own processes.
LOCAL = "127.0.0.1"

# A process waits at most this long for other processes to read data, validate or save.
PATIENCE = timedelta(minutes=30)

READY = b"ready"

# Seconds to wait for a failed helper process to end after its connection is lost.
SECONDS = 10

# If native code still waits this number of seconds after a helper has failed, this process ends.
GRACE = 60


@dataclass(frozen=True)
class Member:
    """One process of a training on several devices.

    `ALONE` is the member for a training in one process.

    rank: the number of this process, and the number of processes.
    local: the number of this process's device on this machine.
    port: the port of this machine at which the first process waits for other processes; 0 for
        torchrun, which sets environment variables instead.
    """

    rank: Rank
    local: int = 0
    port: int = 0

    @property
    def first(self) -> bool:
        """Return whether this is the first process, which writes files and decides when to stop."""
        return self.rank.number == 0

    @property
    def several(self) -> bool:
        """Return whether several processes train together."""
        return self.rank.devices > 1

    def device(self, device: torch.device) -> torch.device:
        """Return the device of this process: with several CUDA devices, the one numbered `local`.

        In all other cases the result is the argument.
        """
        numbered = self.several and device.type == "cuda"
        return torch.device("cuda", self.local) if numbered else device

    def join(self, device: torch.device, server: Any = None) -> None:
        """Wait for all processes, and join their process group.

        server: the server that listens at `port`, in the process that has started it.
        """
        if device.type == "cuda":
            torch.cuda.set_device(self.device(device))
        if self.port and server is None:
            server = _store(self.port)
        distributed.init_process_group(
            "nccl" if device.type == "cuda" else "gloo",
            store=server,
            rank=self.rank.number,
            world_size=self.rank.devices,
            timeout=PATIENCE,
        )

    def told(self, number: int, device: torch.device) -> int:
        """Send the number of the first process to all processes, and return it.

        All processes must call this method; the arguments of other processes are ignored.
        """
        if not self.several:
            return number
        sent = torch.tensor(number, device=self.device(device))
        distributed.broadcast(sent, 0)
        return int(sent)

    def mean(self, value: Tensor) -> Tensor:
        """Return the mean of a number over all processes, which must all call this method."""
        total = value.detach().clone()
        distributed.all_reduce(total)
        return total / self.rank.devices

    def any(self, value: bool, device: torch.device) -> bool:
        """Return whether the value is true in at least one process."""
        if not self.several:
            return value
        return bool(self.mean(torch.tensor(float(value), device=self.device(device))))


ALONE = Member(Rank(0, 1))


def launched() -> Member:
    """Return the member that torchrun's environment describes; `ALONE` without torchrun."""
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK")
    if any(name not in os.environ for name in names):
        return ALONE
    number, devices, local = (int(os.environ[name]) for name in names)
    return Member(Rank(number, devices), local) if devices > 1 else ALONE


def check_devices(devices: int, device: torch.device) -> None:
    """Raise LogicgenError if this process may use fewer than `devices` devices."""
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


def _store(port: int, **how: Any) -> Any:
    """Return a store in which processes of this machine meet. how: arguments of `TCPStore`."""
    # PyTorch documents this class, but does not declare it.
    return distributed.TCPStore(LOCAL, port, timeout=PATIENCE, **how)  # type: ignore[attr-defined]


@contextmanager
def together(
    devices: int, device: torch.device, function: Callable[..., None], argument: Any
) -> Iterator[Member]:
    """Start the other processes, and yield the member of this process.

    function: called in each other process with `argument`, its member and a callback. It must call
        the callback when it is ready for the first step.

    Raises LogicgenError if another process fails or ends early.
    """
    if devices == 1:
        yield ALONE
        return
    # The store must listen before the other processes connect. The system chooses its port.
    server = _store(0, is_master=True, wait_for_workers=False)
    member, *others = (Member(Rank(each, devices), each, server.port) for each in range(devices))
    helpers: list[Helper] = []
    left = threading.Event()
    threads = torch.get_num_threads()
    torch.set_num_threads(max(1, threads // devices))
    try:
        helpers += [_start(packed((function, argument, other))) for other in others]
        _wait_until_ready(helpers)
        threading.Thread(target=_watch, args=(helpers, left), daemon=True).start()
        try:
            member.join(device, server)
            yield member
        except (RuntimeError, LogicgenError) as error:
            raise _explained(error, helpers) from error
        left.set()
        distributed.destroy_process_group()  # other processes may wait for this connection
        _lost(helpers, 60)  # waits for their end; their status is not needed any more
    finally:
        left.set()
        _end(helpers)
        torch.set_num_threads(threads)


def _start(work: bytes) -> Helper:
    """Start a helper process."""
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
    """Wait until all helper processes are ready.

    Raises LogicgenError with the message of a helper that failed.
    """
    for number, helper in enumerate(helpers, start=1):
        assert helper.stdout is not None
        line = helper.stdout.readline().strip()
        if line != READY:
            raise LogicgenError(
                line.decode(errors="replace")
                or f"device {number} of {len(helpers) + 1}: its process ended with status"
                f" {helper.wait()} before the first step"
            )


def _end(helpers: list[Helper]) -> None:
    """End all helper processes and the process group."""
    for helper in helpers:
        helper.kill()
        helper.wait()
        if helper.stdout is not None:
            helper.stdout.close()
    if distributed.is_initialized():
        distributed.destroy_process_group()


def _explained(error: Exception, helpers: list[Helper]) -> Exception:
    """Return the error of the helper that failed, or `error` if no helper has failed."""
    # The connection is lost before the failed helper has ended, so wait for its end.
    lost = _lost(helpers, SECONDS if isinstance(error, RuntimeError) else 1)
    if lost is None and isinstance(error, distributed.DistError):
        line = str(error).partition("\n")[0]
        lost = LogicgenError(
            f"--devices {len(helpers) + 1}: the processes have lost each other ({line}); run the"
            " same command with --resume to continue from the last checkpoint"
        )
    return lost or error


def _lost(helpers: list[Helper], seconds: float) -> LogicgenError | None:
    """Return the error of a helper that has failed, or None. Wait at most `seconds` for its end."""
    end = time.monotonic() + seconds
    for helper in helpers:
        with suppress(subprocess.TimeoutExpired):
            helper.wait(max(0.0, end - time.monotonic()))
    failed = [number for number, helper in enumerate(helpers) if helper.returncode]
    if not failed:
        return None
    # A killed helper (negative status) is the cause: other helpers only lost their connection.
    first = min(failed, key=lambda number: helpers[number].returncode)
    helper = helpers[first]
    assert helper.stdout is not None
    message = helper.stdout.read().decode(errors="replace").strip()
    return LogicgenError(
        message
        or f"device {first + 1} of {len(helpers) + 1}: its process ended with status"
        f" {helper.returncode}: continue from the last checkpoint with --resume"
    )


def _watch(helpers: list[Helper], left: threading.Event) -> None:
    """End this process if a helper has failed and native code still waits for it.

    Otherwise PyTorch could wait half an hour for the helper, without reacting to Ctrl-C.
    """
    while not left.wait(1):
        if any(helper.poll() for helper in helpers):
            if not left.wait(GRACE) and (lost := _lost(helpers, 0)) is not None:
                # Show the cursor of the terminal again.
                shown = "\x1b[?25h" if sys.stderr.isatty() else ""
                print(f"{shown}\n{lost}", file=sys.stderr, flush=True)
                os._exit(2)
            return


def serve() -> None:
    """Run the training function that is read from standard input: the main of a helper process."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    die_with_parent()
    source, target = private_streams()
    function, argument, member = unpacked(source.read())

    def send(line: bytes) -> None:
        target.write(line + b"\n")
        target.flush()

    try:
        function(argument, member, lambda: send(READY))
    except LogicgenError as error:
        send(str(error).encode())
        sys.exit(2)
