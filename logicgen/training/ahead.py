"""Prepare batches in a thread ahead of the training steps."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from queue import Empty, Full, Queue
from threading import Event, Thread, current_thread
from typing import Any

from torch import Tensor

from logicgen.model.batches import with_tensors

# Number of prepared batches that may wait in the queue.
AHEAD = 4


def made_ahead(batches: Iterator[Any], pinned: bool = False) -> Generator[Any]:
    """Yield batches in order while a thread makes the next batches.

    pinned: whether to put tensors into pinned memory, which a GPU reads while it computes.

    An exception raised by `batches` is raised here, after the batches before it. The thread ends
    with the iterator.
    """
    made: Queue[tuple[bool, Any]] = Queue(AHEAD)
    left = Event()

    def put(good: bool, value: Any) -> bool:
        while not left.is_set():
            try:
                made.put((good, value), timeout=0.1)
            except Full:
                continue
            return True
        return False

    def make() -> None:
        try:
            for batch in batches:
                if not put(True, with_tensors(batch, Tensor.pin_memory) if pinned else batch):
                    return
            put(False, None)
        except BaseException as error:  # is raised again in the thread of the consumer
            put(False, error)

    thread = Thread(target=make, name="batches", daemon=True)
    thread.start()
    try:
        while True:
            try:
                good, value = made.get(timeout=0.1)  # a timeout lets Ctrl-C through
            except Empty:
                continue
            if good:
                yield value
            elif value is None:
                return
            else:
                raise value
    finally:
        left.set()
        # Garbage collection may end this generator in the thread. A thread cannot join itself.
        if current_thread() is not thread:
            thread.join()
