"""Helper processes that are forked from a server: importing what trains takes eight seconds each.

The server imports it once per process of pytest. A forked helper differs from one of
`logicgen.helper.start_helper` in nothing else that tests of studies see; tests of signals and of
helpers start real ones.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from multiprocessing.connection import Connection
from typing import IO, Any

from tests.reliability.command import context


class Forked:
    """Has the attributes and methods of `subprocess.Popen` that `logicgen.study.worker` uses."""

    def __init__(self, function: str, environment: dict[str, str], stderr: IO[str]) -> None:
        its_input, our_output = os.pipe()
        our_input, its_output = os.pipe()
        # Connections, since multiprocessing hands these to another process.
        streams = [
            Connection(its_input, writable=False),
            Connection(its_output, readable=False),
            Connection(os.dup(stderr.fileno()), readable=False),
        ]
        self.process = context.Process(target=_run, args=(function, environment, streams))
        self.process.start()
        for stream in streams:
            stream.close()
        self.pid = self.process.pid
        self.stdin = os.fdopen(our_output, "w", encoding="utf-8")
        self.stdout = os.fdopen(our_input, encoding="utf-8")

    def wait(self) -> int:
        """Wait until the process ends; return its exit status or, negative, the signal."""
        self.process.join()
        assert self.process.exitcode is not None
        return self.process.exitcode


def start_helper(
    function: str, *, environment: dict[str, str], stderr: IO[str], **_: Any
) -> Forked:
    """Start a helper as `logicgen.helper.start_helper` does, with pipes of text."""
    return Forked(function, environment, stderr)


def _run(function: str, environment: dict[str, str], streams: list[Connection]) -> None:
    """Call the function in the forked process."""
    os.setsid()
    os.environ.update(environment)
    for number, stream in enumerate(streams):
        os.dup2(stream.fileno(), number)
        stream.close()
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
    module, _, name = function.partition(":")
    getattr(import_module(module), name)()
