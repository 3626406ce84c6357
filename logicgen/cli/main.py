"""The `logicgen` program: runs a command, and says in one line what ended it."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import warnings

INTERRUPTED = "interrupted; nothing half-written is left, and the same command starts again"


def main() -> None:
    """Run the command line and exit with its status.

    A LogicgenError is printed in one line (or with the place in a text); the status is then 2, as
    for whatever else the machine refuses. An interruption ends with 128 and the signal's number.
    LOGICGEN_TRACEBACK=1 shows where an error comes from.
    """
    # Threads of torch's OpenMP spin while they wait for each other. With another program on one of
    # two cores, that made training six times slower; without one, sleeping costs a third.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # A Ctrl-C while what follows is imported ends the process, as nobody could say more of it.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    import click

    from logicgen.cli.group import group
    from logicgen.cli.terminal import flush_output, open_streams
    from logicgen.processes.signals import raise_interruptions, status_of

    open_streams()
    threading.excepthook = _in_a_thread
    warnings.formatwarning = lambda message, *_: f"logicgen: warning: {message}\n"
    interruptions = raise_interruptions()
    try:
        status = group.main(standalone_mode=False) or 0
        flush_output()
    except BaseException as error:
        if os.environ.get("LOGICGEN_TRACEBACK"):
            import traceback

            traceback.print_exc()
        # What others make of an interruption, such as a file that cannot be loaded, is not so.
        ended = isinstance(error, KeyboardInterrupt | click.Abort)
        status = _explained(interruptions[-1] if interruptions and not ended else error)
        if ended and interruptions:  # Ray makes a Ctrl-C of any signal
            status = status_of(interruptions[-1])
    # Nothing is left to be lost, and a signal now needs no words.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    sys.exit(status)


def _in_a_thread(ended: threading.ExceptHookArgs) -> None:
    """Say what ended a thread; of a disk that is full the main thread hears as well."""
    from logicgen.cli.terminal import say

    if ended.exc_value is not None and not isinstance(ended.exc_value, OSError | SystemExit):
        say(f"logicgen: in a thread: {type(ended.exc_value).__name__}: {ended.exc_value}")


def _explained(error: BaseException) -> int:
    """Say what ended the command, in one line, and return the exit status."""
    import click

    from logicgen.cli.terminal import OutputClosedError, drop_output, say
    from logicgen.processes.signals import status_of

    match error:
        case SystemExit():
            return error.code if isinstance(error.code, int) else 2
        case click.exceptions.Exit():
            return error.exit_code
        case click.ClickException():
            shown = io.StringIO()
            error.show(file=shown)
            say(shown.getvalue().rstrip("\n"))
            if isinstance(error, click.NoSuchOption) and error.option_name.startswith("->"):
                say("(a PROBLEM that begins with - goes after --)")
            return error.exit_code
        case KeyboardInterrupt() | click.Abort():
            # Click turns KeyboardInterrupt into Abort. The message of training says how to go on.
            cause = error.__cause__ or error
            say(f"logicgen: {str(cause) or INTERRUPTED}")
            return status_of(cause)
        case OutputClosedError() | BrokenPipeError():  # when it ran, or when the output was flushed
            drop_output()
            return 0  # the reader of the output has read enough
        case _:
            if isinstance(error, OSError):
                drop_output()
            say(f"logicgen: {_reason(error)}")
            return 2


def _reason(error: BaseException) -> str:
    """Return what went wrong, for a person."""
    from logicgen.errors import LogicgenError, reason_of
    from logicgen.extras import missing_extra

    if isinstance(error, ModuleNotFoundError):
        error = missing_extra(error) or error
    match error:
        case LogicgenError():
            return str(error)
        case OSError():
            place = f"{error.filename}: " if error.filename else "input or output failed: "
            return place + reason_of(error)
        case MemoryError():
            return "not enough memory; ask for less at a time, or use fewer workers"
        case RecursionError():
            return "the input is nested too deeply"
    lines = str(error).strip().splitlines() or [""]
    last = lines[-1] if "worker" in lines[0] else lines[0]
    return (
        f"an error that should not happen: {type(error).__name__}: {last}; please report it with"
        " what LOGICGEN_TRACEBACK=1 shows"
    )


if __name__ == "__main__":
    main()
