"""The entry point of the `logicgen` program: run a command, and report an error in one line."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

INTERRUPTED = "interrupted; no half-written file is left; run the same command to start again"


def main() -> None:
    """Run the command line and exit with its status.

    If the command fails, one line with the error is printed, and the exit status is 2. After an
    interruption, the exit status is 128 plus the number of the signal. If the environment variable
    LOGICGEN_TRACEBACK is set, the traceback of an error is printed, too.
    """
    # Let the OpenMP threads of PyTorch sleep while they wait for each other. By default they wait
    # in a busy loop, which made training six times slower when another program used one of two
    # cores. Sleeping threads make training on free cores slower by a third.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # Ctrl-C during the imports below ends the process without a traceback.
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
        status = group.main(prog_name="logicgen", standalone_mode=False) or 0
        flush_output()
    except BaseException as error:
        if os.environ.get("LOGICGEN_TRACEBACK"):
            import traceback

            traceback.print_exc()
        # Libraries may turn an interruption into another exception. Report the interruption.
        ended = isinstance(error, KeyboardInterrupt | click.Abort)
        status = _explained(interruptions[-1] if interruptions and not ended else error)
        if ended and interruptions:  # Ray turns every signal into a KeyboardInterrupt
            status = status_of(interruptions[-1])
    # All output is written. A signal from here on ends the process without a message.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    sys.exit(status)


def _in_a_thread(ended: threading.ExceptHookArgs) -> None:
    """Print the error that ended a thread.

    An OSError is not printed here, since the main thread reports it.
    """
    from logicgen.cli.terminal import say

    if ended.exc_value is not None and not isinstance(ended.exc_value, OSError | SystemExit):
        say(f"logicgen: in a thread: {type(ended.exc_value).__name__}: {ended.exc_value}")


def _explained(error: BaseException) -> int:
    """Print why the command failed or was interrupted, and return the exit status."""
    import click

    from logicgen.cli.terminal import OutputClosedError, drop_output, say
    from logicgen.processes.signals import status_of

    match error:
        case SystemExit():
            return error.code if isinstance(error.code, int) else 2
        case click.exceptions.Exit():
            return error.exit_code
        case click.ClickException():
            say(f"logicgen: {_wrong_arguments(error)}")
            return error.exit_code
        case KeyboardInterrupt() | click.Abort():
            # Click turns KeyboardInterrupt into Abort, with the original exception as its cause.
            # The message of the original exception may explain how to continue.
            cause = error.__cause__ or error
            say(f"logicgen: {str(cause) or INTERRUPTED}")
            return status_of(cause)
        # The first error is raised while the command runs, the second when the output is flushed.
        case OutputClosedError() | BrokenPipeError():
            drop_output()
            return 0  # a reader such as `head` needs no more output
        case _:
            if isinstance(error, OSError):
                drop_output()
            say(f"logicgen: {_reason(error)}")
            return 2


def _wrong_arguments(error: click.ClickException) -> str:
    """Return the fault in the arguments of a command and the remedy, in one line."""
    import click

    text = " ".join(error.format_message().split()).rstrip(".")
    text = (text[:1].lower() + text[1:]).replace(". (Did", " (did")
    if isinstance(error, click.NoSuchOption) and error.option_name.startswith("->"):
        return f"{text}: put -- before a PROBLEM that begins with -"
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"{text}: see {context.command_path} --help" if context else text


def _reason(error: BaseException) -> str:
    """Return the message of an error in words for a user; explain an unexpected error."""
    from logicgen.errors import LogicgenError, reason_of
    from logicgen.extras import missing_extra

    error = missing_extra(error) or error
    match error:
        case LogicgenError():
            return str(error)
        case OSError():
            place = f"{error.filename}: " if error.filename else "input or output failed: "
            return place + reason_of(error)
        case MemoryError():
            return "not enough memory; make smaller requests, or use fewer workers"
        case RecursionError():
            return "the input is nested too deeply"
    lines = str(error).strip().splitlines() or [""]
    last = lines[-1] if "worker" in lines[0] else lines[0]
    return (
        f"an error that should not happen: {type(error).__name__}: {last}; please report it with"
        " the output of the same command under LOGICGEN_TRACEBACK=1"
    )


if __name__ == "__main__":
    main()
