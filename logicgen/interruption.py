"""Ctrl-C and SIGTERM: both end a command alike, and its exit status says which it was."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import Any


class Terminated(KeyboardInterrupt):
    """SIGTERM, by which schedulers and `kill` ask a process to end, as Ctrl-C does."""


def interruption(number: int, message: str = "") -> KeyboardInterrupt:
    """Return the exception of a signal: `Terminated` for SIGTERM, else KeyboardInterrupt."""
    kind = Terminated if number == signal.SIGTERM else KeyboardInterrupt
    return kind(message) if message else kind()


def status_of(error: BaseException | None) -> int:
    """Return the exit status of an interrupted command: 128 and the signal's number."""
    return 128 + (signal.SIGTERM if isinstance(error, Terminated) else signal.SIGINT)


def raise_interruptions() -> None:
    """Let SIGTERM raise `Terminated` in this process, as SIGINT raises KeyboardInterrupt.

    Call it in the main thread. Python drops an exception that is raised in a finalizer or a weak
    reference's callback; an interruption that met with one is raised again a little later.
    """

    def receive(number: int, frame: FrameType | None) -> None:
        raise interruption(number)

    dropped = sys.unraisablehook
    pending = [0]

    def again(number: int, frame: FrameType | None) -> None:
        raise interruption(pending[0])

    def notice(unraisable: Any) -> None:
        error = unraisable.exc_value
        if isinstance(error, KeyboardInterrupt) and hasattr(signal, "setitimer"):
            pending[0] = status_of(error) - 128
            signal.signal(signal.SIGALRM, again)
            signal.setitimer(signal.ITIMER_REAL, 0.01)
        else:
            dropped(unraisable)

    signal.signal(signal.SIGTERM, receive)
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.unraisablehook = notice
