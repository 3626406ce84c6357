"""Processes that are forked from a server which has imported what they need.

A new process imports what trains for two seconds, and what solves for half a second. A forked one
has the environment, the folder, the path of modules and the streams that a new one would have. It
differs in one thing that tests can see: it does not end with the process that asked for it, only
when its input does. Tests of helpers themselves start new processes: the fixture `new_helpers`.
"""

from __future__ import annotations

import array
import fcntl
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import IO, Any

import pytest

from logicgen.processes import helper

SOLVING = [
    "logicgen.data.generate",
    "logicgen.solvers.pysat",
    "logicgen.solvers.truth_table",
    "logicgen.tasks.lines",
    "logicgen.tasks.judge",
    "logicgen.processes.worker",
]
TRAINING = [
    *SOLVING,
    "logicgen.cli.main",
    "logicgen.cli.group",
    "logicgen.cli.data",
    "logicgen.cli.terminal",
    "logicgen.cli.judge",
    "logicgen.cli.study",
    "logicgen.data.opening",
    "logicgen.measures.predictions",
    "logicgen.measures.evaluation",
    "logicgen.study.engine",
    "logicgen.study.plan",
    "logicgen.study.trial",
    "logicgen.training.fit",
    "torch.utils.tensorboard",
]

# Numbers of descriptors that no process is given, for those on their way.
HIGH = 1000

start_new_helper = helper.start_helper

forking = True  # whether `start_helper` forks


class Forked:
    """Has the attributes and methods of `subprocess.Popen` that the library uses."""

    def __init__(self, pid: int, ended: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdin: IO[Any] | None = None
        self.stdout: IO[Any] | None = None
        self._ended = ended  # descriptor: the status, once the process has ended
        self._lock = threading.Lock()

    def poll(self) -> int | None:
        """Return the exit status or, negative, the signal; None while the process runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the process ends; return its exit status or, negative, the signal."""
        late = subprocess.TimeoutExpired(str(self.pid), timeout or 0)
        if not self._lock.acquire(timeout=-1 if timeout is None else timeout):
            raise late
        try:
            if self.returncode is None:
                if not select.select([self._ended], [], [], timeout)[0]:
                    raise late
                said = os.read(self._ended, 16)
                self.returncode = int(said) if said else -signal.SIGKILL  # with its server
                os.close(self._ended)
            return self.returncode
        finally:
            self._lock.release()

    def send_signal(self, number: int) -> None:
        """Send a signal to a process that has not ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the process."""
        self.send_signal(signal.SIGKILL)


class Server:
    """A process that imports modules, then forks on request. The first request starts it."""

    def __init__(self, modules: list[str]) -> None:
        self._modules = modules
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()

    def start(
        self,
        function: str,
        arguments: Sequence[Any] = (),
        environment: dict[str, str] | None = None,
        files: Sequence[int] = (),
        streams: Sequence[int] = (0, 1, 2),
    ) -> Forked:
        """Fork a process that calls `module:function`.

        environment: variables beside those of this process.
        files: descriptors that it has under the same numbers.
        streams: its standard input, output and error.
        Elsewhere than on Linux the test is skipped.
        """
        if sys.platform != "linux":
            pytest.skip("processes are forked and watched as only Linux can")
        status, its_status = os.pipe()
        variables = {**os.environ, **(environment or {})}
        request = (function, arguments, variables, os.getcwd(), sys.path, list(files))
        content = pickle.dumps(request)
        with self._lock:
            if self._socket is None:
                self._socket = self._begin()
            passed = [its_status, *streams, *files]
            rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", passed))
            self._socket.sendmsg([len(content).to_bytes(8, "little")], [rights])
            self._socket.sendall(content)
            pid = int.from_bytes(_received(self._socket, 8), "little")
        os.close(its_status)
        return Forked(pid, status)

    def _begin(self) -> socket.socket:
        ours, its = socket.socketpair()
        code = f"from tests.forked import serve; serve({its.fileno()}, {self._modules})"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        subprocess.Popen(
            [sys.executable, "-c", code],
            env=environment,
            pass_fds=[its.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        its.close()
        return ours


solving, training = Server(SOLVING), Server(TRAINING)


def start_helper(
    function: str,
    *arguments: int,
    environment: dict[str, str] | None = None,
    files: Sequence[int] = (),
    stdin: int = subprocess.PIPE,
    stdout: int = subprocess.PIPE,
    stderr: IO[Any] | None = None,
    **how: Any,
) -> Any:
    """Start a helper as `logicgen.processes.helper.start_helper` does."""
    if not forking:
        pipes = {"stdin": stdin, "stdout": stdout, "stderr": stderr, **how}
        return start_new_helper(function, *arguments, environment=environment, files=files, **pipes)
    server = solving if function.startswith("logicgen.processes.worker:") else training
    its_input, our_output = os.pipe()
    our_input, its_output = os.pipe()
    error = 2 if stderr is None else stderr.fileno()
    started = server.start(function, arguments, environment, files, (its_input, its_output, error))
    os.close(its_input)
    os.close(its_output)
    options: dict[str, Any] = {"encoding": "utf-8"} if how.get("text") else {"buffering": 0}
    kind = "" if how.get("text") else "b"
    started.stdin = os.fdopen(our_output, "w" + kind, **options)
    started.stdout = os.fdopen(our_input, "r" + kind, **({} if kind else options))
    return started


def _received(stream: socket.socket, count: int) -> bytes:
    content = bytearray()
    while len(content) < count:
        part = stream.recv(count - len(content))
        if not part:
            raise EOFError
        content += part
    return bytes(content)


def serve(descriptor: int, modules: list[str]) -> None:
    """Import the modules; then fork a process for each request, until the other side ends."""
    for module in modules:
        with suppress(ImportError):  # of an extra that is not installed
            import_module(module)
    stream = socket.socket(fileno=descriptor)
    running: dict[int, int] = {}  # the descriptor of the status of each process, by its pidfd
    poll = select.poll()
    poll.register(stream, select.POLLIN)
    while True:
        for ready, _ in poll.poll():
            if ready != descriptor:
                _tell(ready, running, poll)
                continue
            try:
                status, files, request = _request(stream)
            except EOFError:
                os._exit(0)
            child = os.fork()
            if not child:
                stream.close()
                _run(request, files)
            for each in files:
                os.close(each)
            handle = os.pidfd_open(child)
            running[handle] = status
            poll.register(handle, select.POLLIN)
            stream.sendall(child.to_bytes(8, "little"))


def _tell(handle: int, running: dict[int, int], poll: select.poll) -> None:
    """Write how a process ended into its pipe."""
    ended = os.waitid(os.P_PIDFD, handle, os.WEXITED)
    assert ended is not None
    status = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
    with suppress(BrokenPipeError):
        os.write(running[handle], str(status).encode())
    poll.unregister(handle)
    os.close(running.pop(handle))
    os.close(handle)


def _request(stream: socket.socket) -> tuple[int, list[int], Any]:
    """Receive a request: a descriptor for the exit status, descriptors of files, and the call.

    The pickle comes through a socket pair that only the process of the tests writes to.
    """
    head, rights, _, _ = stream.recvmsg(8, 4096)
    if not head:
        raise EOFError
    passed = array.array("i")
    for _, _, content in rights:
        passed.frombytes(content)
    status, *files = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, HIGH) for each in passed]
    for each in passed:
        os.close(each)
    return status, files, pickle.loads(_received(stream, int.from_bytes(head, "little")))


def _run(request: Any, files: list[int]) -> None:
    """Be the process that was asked for; it ends here."""
    function, arguments, environment, folder, path, numbers = request
    status = 1
    try:
        os.setsid()
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        sys.path[:] = path
        for number, each in zip([0, 1, 2, *numbers], files, strict=True):
            os.dup2(each, number)
            os.close(each)
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
        module, _, name = function.partition(":")
        getattr(import_module(module), name)(*arguments)
        status = 0
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # what a user would see
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)
