"""Helper processes of ours: Python without the caller's main module, its folder or its signals."""

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
    """Start a process that calls a function, `module:name`, with some numbers.

    environment: variables beside those of this process.
    files: descriptors that it inherits under the same numbers.
    tied: whether it ends with the thread that starts it (Linux); if not given, whether that is the
        main one. Untied, it ends when its standard input does, if it reads that to the end.
    pipes: stdin, stdout, stderr, text and so on, as of `subprocess.Popen`.

    It imports what this process can import, but never the script that this process runs, nor (-P)
    a file of the working folder that happens to have the name of a module. Ctrl-C does not reach
    it (it has a session of its own): whoever started it decides what becomes of it.
    """
    module, _, name = function.partition(":")
    call = f"from {module} import {name}; {name}({', '.join(map(str, arguments))})"
    # A path that is empty stands for the folder that this process works in.
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    variables = {**os.environ, **(environment or {}), "PYTHONPATH": path}
    variables.pop(_DIE_WITH_PARENT, None)
    # Linux ties the child to the thread that starts it, which may end before the process does.
    if threading.current_thread() is threading.main_thread() if tied is None else tied:
        variables[_DIE_WITH_PARENT] = str(os.getpid())
    return subprocess.Popen(  # noqa: S603 - this Python, with code of ours
        [sys.executable, "-P", "-c", call],
        env=variables,
        pass_fds=files,
        start_new_session=True,
        **pipes,
    )


def die_with_parent() -> None:
    """End this helper when the process that started it ends, also inside native code (Linux).

    Elsewhere a helper ends when its standard input does, after what it is at.
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
    """Return standard input and output of a helper, out of reach of whatever else runs in it.

    What libraries and plugins print goes to standard error, and they read nothing.
    """
    source, target = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return source, target
