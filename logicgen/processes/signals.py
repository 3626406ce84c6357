"""Ctrl-C and SIGTERM: both end a command in the same way, with different exit statuses."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


class Terminated(KeyboardInterrupt):
    """The exception of SIGTERM, which schedulers and `kill` send to end a process."""


def interruption(number: int, message: str = "") -> KeyboardInterrupt:
    """Return the exception of a signal: `Terminated` for SIGTERM, else KeyboardInterrupt."""
    kind = Terminated if number == signal.SIGTERM else KeyboardInterrupt
    return kind(message) if message else kind()


def status_of(error: BaseException | None) -> int:
    """Return the exit status of an interrupted command: 128 plus the signal's number."""
    return 128 + (signal.SIGTERM if isinstance(error, Terminated) else signal.SIGINT)


def raise_interruptions() -> list[KeyboardInterrupt]:
    """Let SIGTERM raise `Terminated` in this process, and SIGINT KeyboardInterrupt.

    Return a list of the raised exceptions, because libraries may replace them by other exceptions.
    Call this function in the main thread.

    Python drops an exception that is raised in a finalizer or in the callback of a weak reference.
    An interruption that Python drops is raised again 0.01 s later.
    """
    raised: list[KeyboardInterrupt] = []

    def receive(number: int, frame: FrameType | None) -> None:
        raised.append(interruption(number))
        raise raised[-1]

    def again(number: int, frame: FrameType | None) -> None:
        raise raised[-1]

    dropped = sys.unraisablehook

    def notice(unraisable: Any) -> None:
        if isinstance(unraisable.exc_value, KeyboardInterrupt) and raised:
            signal.signal(signal.SIGALRM, again)
            signal.setitimer(signal.ITIMER_REAL, 0.01)
        else:
            dropped(unraisable)

    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores signals
            signal.signal(number, receive)
    sys.unraisablehook = notice
    return raised


class StopOnSignal:
    """A context that records SIGINT or SIGTERM. A second signal acts at once.

    Attributes:
        heeded: whether to record signals. Otherwise they are ignored, as in a process that
            another process stops.
        then: function to call when a signal is recorded.
        received: number of the recorded signal, or None.
    """

    def __init__(self, heeded: bool = True, then: Callable[[], object] = lambda: None) -> None:
        self.heeded, self.then = heeded, then
        self.received: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> StopOnSignal:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self.heeded:
            self.received = number
            signal.signal(number, self._before[number])
            self.then()
