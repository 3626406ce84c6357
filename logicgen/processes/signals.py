"""Ctrl-C and SIGTERM: both end a command alike, and its exit status says which it was."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
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


def raise_interruptions() -> list[KeyboardInterrupt]:
    """Let SIGTERM raise `Terminated` in this process, and SIGINT KeyboardInterrupt.

    Returns a list to which each is added when it is raised, because libraries turn some into
    exceptions of their own. Call it in the main thread.

    Python drops an exception that is raised in a finalizer or a weak reference's callback; an
    interruption that met with one is raised again a little later.
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
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, receive)
    sys.unraisablehook = notice
    return raised


class StopOnSignal:
    """Notes SIGINT or SIGTERM while it is entered; a second signal acts at once.

    Attributes:
        heeded: if not, signals are ignored: another process tells this one to stop.
        then: is called when a signal is noted.
        received: the signal, if there was one.
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
