"""Helper processes: a new Python that ignores the caller's script, working folder and Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import IO, Any

_DIE_WITH_PARENT = "LOGICGEN_DIES_WITH"


def start_helper(
    function: str,
    *arguments: int,
    environment: dict[str, str] | None = None,
    files: Sequence[int] = (),
    tied: bool | None = None,
    **pipes: Any,
) -> subprocess.Popen[Any]:
    """Start a process that calls a function, `module:name`, with integer arguments.

    The process uses the import path of this process. It does not import the script that this
    process runs. A file in the working folder cannot replace a module (option -P of Python). The
    process has its own session, so Ctrl-C does not reach it. The caller must end it.

    environment: additional environment variables.
    files: file descriptors that the process inherits under the same numbers.
    tied: whether Linux kills the process when the thread that calls this function ends. The default
        is True in the main thread, else False. If False, a process that reads its standard input
        ends at the end of that input.
    pipes: stdin, stdout, stderr, text and so on, as in `subprocess.Popen`.
    """
    module, _, name = function.partition(":")
    call = f"from {module} import {name}; {name}({', '.join(map(str, arguments))})"
    # An empty entry in the import path means the working folder.
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    variables = {**os.environ, **(environment or {}), "PYTHONPATH": path}
    variables.pop(_DIE_WITH_PARENT, None)
    # Linux kills the child when the thread that started it ends, even if its process continues.
    if threading.current_thread() is threading.main_thread() if tied is None else tied:
        variables[_DIE_WITH_PARENT] = str(os.getpid())
    return subprocess.Popen(  # noqa: S603 - the program is this Python interpreter
        [sys.executable, "-P", "-c", call],
        env=variables,
        pass_fds=files,
        start_new_session=True,
        **pipes,
    )


def die_with_parent() -> None:
    """End this helper when the process that started it ends, also inside native code (Linux).

    On other systems a helper finishes its current item. It ends when its standard input ends.
    """
    parent = os.environ.pop(_DIE_WITH_PARENT, None)
    if parent is not None and sys.platform == "linux":
        die_with(int(parent))


def die_with(parent: int) -> None:
    """End this process when its parent ends (Linux). parent: the process id of the parent."""
    from ctypes import CDLL

    set_parent_death_signal = 1  # PR_SET_PDEATHSIG of prctl(2)
    CDLL(None).prctl(set_parent_death_signal, int(signal.SIGKILL))
    if os.getppid() != parent:  # the parent ended before the call above
        os._exit(1)


def private_streams() -> tuple[IO[bytes], IO[bytes]]:
    """Return copies of a helper's standard input and output for its messages.

    Afterwards all prints of the helper go to standard error, and its standard input is empty. So
    libraries and plugins that print or read cannot disturb the messages.
    """
    source, target = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return source, target
