"""Turn Ctrl-C (SIGINT) and SIGTERM into exceptions that end a command, and into exit statuses."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


class Terminated(KeyboardInterrupt):
    """The exception that SIGTERM raises. Schedulers and `kill` send SIGTERM to end a process."""


def interruption(number: int, message: str = "") -> KeyboardInterrupt:
    """Return the exception for a signal: `Terminated` for SIGTERM, else KeyboardInterrupt."""
    kind = Terminated if number == signal.SIGTERM else KeyboardInterrupt
    return kind(message) if message else kind()


def status_of(error: BaseException | None) -> int:
    """Return the exit status of a command that an exception ended: 128 plus the signal's number.

    The signal is SIGTERM if the exception is `Terminated`, else SIGINT.
    """
    return 128 + (signal.SIGTERM if isinstance(error, Terminated) else signal.SIGINT)


def raise_interruptions() -> list[KeyboardInterrupt]:
    """Make SIGTERM raise `Terminated` in this process, and SIGINT raise KeyboardInterrupt.

    Return a list that grows with each raised exception. A library may replace such an exception by
    another exception, so the caller looks for it in this list. Call this function only in the main
    thread.

    Python drops exceptions in finalizers and in callbacks of weak references. An interruption that
    Python drops is raised again 0.01 s later.
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
        # A signal that this process ignores from its start, as below `nohup`, remains ignored.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, receive)
    sys.unraisablehook = notice
    return raised


class StopOnSignal:
    """A context manager that records the first SIGINT or SIGTERM instead of raising an exception.

    A second signal has its usual effect.

    Attributes:
        heeded: whether to record signals. If False, signals are ignored. This is for a process
            that another process stops.
        then: function to call when a signal is recorded.
        received: number of the recorded signal; None if no signal was recorded.
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
