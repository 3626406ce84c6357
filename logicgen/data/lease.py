"""A lease: that one process alone puts data into a folder of an object store.

It is a file there, put only where there is none, and renewed while it is held. Who finds one that
was not renewed for long, and sees that nobody renews it, takes it over.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from contextlib import suppress
from typing import Any, Self

from logicgen.data.store import Store
from logicgen.errors import LogicgenError

FILE = ".lease.json"

# Seconds between renewals, after which a lease looks left behind, for which it is then watched (its
# holder's clock may be another), and until what was taken over at once by two is one's.
RENEWED, EXPIRES, WATCHED, SETTLED = 30.0, 300.0, 90.0, 2.0


class Lease:
    """The lease of a folder. Use as a context manager.

    Raises LogicgenError where another process holds it, or the store can hold none.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._own = {"id": uuid.uuid4().hex, "host": socket.gethostname(), "process": os.getpid()}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, daemon=True)

    def __enter__(self) -> Self:
        try:
            self._take()
            if self._created():  # although it is there: what was put is lost
                raise LogicgenError(
                    f"{self._store.url}: this store puts files where there are some already, so"
                    " that no lease can be held: generate into a local folder, then copy it there,"
                    " the description last"
                )
        except BaseException:
            self._give_back()
            raise
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._give_back()

    def _give_back(self) -> None:
        with suppress(LogicgenError):  # it expires
            if self._mine(self._held()):
                self._store.remove(FILE)

    def check(self) -> None:
        """Raise LogicgenError where another process has taken it over."""
        held = self._held()
        if not self._mine(held):
            raise self._refusal(held)

    def _take(self) -> None:
        taken_over = False
        while not self._created():
            held = self._held()
            if self._mine(held):  # it was put, but the store's answer was lost
                break
            if held is None:  # given back since
                continue
            if _age(held) < EXPIRES or self._renewed(held):
                raise self._refusal(held)
            self._store.remove(FILE)
            taken_over = True
        if taken_over:
            time.sleep(SETTLED)
            self.check()

    def _created(self) -> bool:
        try:
            self._store.create(FILE, self._content())
        except FileExistsError:
            return False
        return True

    def _renewed(self, held: dict[str, Any]) -> bool:
        """Watch a lease; return whether it changes."""
        end = time.monotonic() + WATCHED
        while time.monotonic() < end:
            time.sleep(min(5.0, WATCHED))
            if self._held() != held:
                return True
        return False

    def _renew(self) -> None:
        while not self._ended.wait(RENEWED):
            with suppress(LogicgenError):  # it is tried again, long before it expires
                if not self._mine(self._held()):
                    return
                self._store.write(FILE, self._content())

    def _held(self) -> dict[str, Any] | None:
        """Return what the lease says; None if there is none."""
        content = self._store.read(FILE)
        if content is None:
            return None
        try:
            found = json.loads(content)
        except ValueError:  # not written to its end
            found = None
        return found if isinstance(found, dict) else {}

    def _mine(self, held: dict[str, Any] | None) -> bool:
        return held is not None and held.get("id") == self._own["id"]

    def _content(self) -> bytes:
        return json.dumps({**self._own, "renewed": time.time()}).encode()

    def _refusal(self, held: dict[str, Any] | None) -> LogicgenError:
        process, host = ((held or {}).get(key, "?") for key in ("process", "host"))
        return LogicgenError(
            f"{self._store.url}: process {process} on {host} is writing there: wait for it; if it"
            f" is gone, the folder is free {EXPIRES:.0f} seconds after it went"
        )


def _age(held: dict[str, Any]) -> float:
    """Return the seconds since a lease was renewed, by its holder's clock."""
    renewed = held.get("renewed")
    return time.time() - renewed if isinstance(renewed, int | float) else EXPIRES
