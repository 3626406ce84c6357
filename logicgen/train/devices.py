"""Several devices of this machine that train one model, a process for each (Lightning's DDP).

The first process is the caller's own; it alone writes the run's folder, and it tells the others,
which are helpers without signals, when to stop. They read the data again from their folder.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.fabric.plugins import ClusterEnvironment
from lightning.pytorch.strategies import DDPStrategy

from logicgen.errors import LogicgenError
from logicgen.helper import die_with_parent, private_streams, start_helper
from logicgen.interruption import status_of
from logicgen.model.share import Rank
from logicgen.worker_process import packed, unpacked

# How long a process waits for the others, which may read data, validate or write a checkpoint.
PATIENCE = timedelta(minutes=30)

READY = b"ready"


@dataclass(frozen=True)
class Member:
    """The place of this process among those that train together, and where they meet.

    port: of the loopback address, where the first process listens.
    """

    rank: Rank
    port: int

    def strategy(self, device: torch.device) -> DDPStrategy:
        """Return how Lightning has the processes work together."""
        return DDPStrategy(
            cluster_environment=Meeting(self),
            process_group_backend="nccl" if device.type == "cuda" else "gloo",
            timeout=PATIENCE,
        )


class Meeting(ClusterEnvironment):
    """What Lightning asks about processes that it did not start."""

    def __init__(self, member: Member) -> None:
        super().__init__()
        self._member = member

    @property
    def creates_processes_externally(self) -> bool:
        """Return that they were started already."""
        return True

    @property
    def main_address(self) -> str:
        """Return where the first process listens."""
        return "127.0.0.1"

    @property
    def main_port(self) -> int:
        """Return at which port."""
        return self._member.port

    @staticmethod
    def detect() -> bool:
        """Return that this is only chosen by name."""
        return False

    def world_size(self) -> int:
        """Return the number of processes."""
        return self._member.rank.devices

    def set_world_size(self, size: int) -> None:
        """Do nothing: it is known."""

    def global_rank(self) -> int:
        """Return the number of this process."""
        return self._member.rank.number

    def set_global_rank(self, rank: int) -> None:
        """Do nothing: it is known."""

    def local_rank(self) -> int:
        """Return the number of this process on this machine."""
        return self._member.rank.number

    def node_rank(self) -> int:
        """Return the number of this machine."""
        return 0


class Agreement(pl.Callback):
    """Stops all processes after the same step. It comes behind whatever stops one of them."""

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        """Stop if one of them wants to."""
        trainer.should_stop = trainer.strategy.reduce_boolean_decision(
            trainer.should_stop, all=False
        )


def agreement(member: Member | None) -> list[pl.Callback]:
    """Return what makes all processes stop together, if there are several."""
    return [] if member is None else [Agreement()]


def check_devices(devices: int, device: torch.device, batch_size: int) -> None:
    """Raise LogicgenError where so many devices are not there, or a batch has no equal parts."""
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
    if batch_size % devices:
        raise LogicgenError(
            f"--devices {devices}: training.batch_size {batch_size} is not divisible by it: choose"
            " a number of devices that divides it"
        )


@contextmanager
def together(
    devices: int, function: Callable[..., None], arguments: tuple[Any, ...]
) -> Iterator[Member | None]:
    """Start the other processes, and give the place of this one; None where it is the only one.

    function: is called there with the arguments, the process's place and a function to be called
        once all is ready for the first step.
    Raises LogicgenError where one of them fails or ends.
    """
    if devices == 1:
        yield None
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    helpers: list[subprocess.Popen[bytes]] = []
    threads = torch.get_num_threads()
    try:
        for number in range(1, devices):
            helper = start_helper(
                "logicgen.train.devices:serve", stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            helpers.append(helper)
            assert helper.stdin is not None
            member = Member(Rank(number, devices), port)
            with suppress(BrokenPipeError):
                helper.stdin.write(packed((function, arguments, member)))
                helper.stdin.close()
        for number, helper in enumerate(helpers, start=1):
            assert helper.stdout is not None
            said = helper.stdout.readline().strip()
            if said != READY:
                raise LogicgenError(
                    said.decode(errors="replace")
                    or f"device {number} of {devices}: its process ended with status"
                    f" {helper.wait()} before the first step"
                )
        torch.set_num_threads(max(1, threads // devices))
        try:
            yield Member(Rank(0, devices), port)
        except RuntimeError as error:
            for number, helper in enumerate(helpers, start=1):
                with suppress(subprocess.TimeoutExpired):
                    if helper.wait(10):
                        raise LogicgenError(
                            f"device {number} of {devices}: its process ended with status"
                            f" {helper.returncode}: --resume goes on from the last checkpoint"
                        ) from error
            raise
        for helper in helpers:  # they leave together, after the last step
            with suppress(subprocess.TimeoutExpired):
                helper.wait(60)
    finally:
        torch.set_num_threads(threads)
        for helper in helpers:
            helper.kill()
            helper.wait()
            if helper.stdout is not None:
                helper.stdout.close()
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()


def serve() -> None:
    """Train as one of several processes: a helper."""
    die_with_parent()
    source, target = private_streams()
    function, arguments, member = unpacked(source.read())

    def say(line: bytes) -> None:
        target.write(line + b"\n")
        target.flush()

    torch.set_num_threads(max(1, torch.get_num_threads() // member.rank.devices))
    try:
        function(*arguments, member, lambda: say(READY))
    except LogicgenError as error:
        say(str(error).encode())
        sys.exit(2)
    except KeyboardInterrupt as error:  # all have stopped, since this one was told to
        sys.exit(status_of(error))
