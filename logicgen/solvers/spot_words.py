"""Spot's words, each found in a process that has solved nothing before.

Which word Spot finds depends a little on what the process did earlier: of 2,400 random formulas in
another order, some 16 get another word. So a helper process that has only set Spot up forks for
every formula. The helper ends, and its child with it, when the process that asks does.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import subprocess
import sys
from contextlib import suppress
from select import select
from threading import Lock

from logicgen.processes.helper import start_helper

# The first word of an answer; the accepting word or a reason follows.
WORD, UNSAT, REFUSED = "word", "unsat", "refused"


class SpotWords:
    """A client of the helper, which is started at the first question and again if it has died."""

    def __init__(self) -> None:
        self._helper: subprocess.Popen[str] | None = None
        self._owner = 0  # a forked copy of this process needs its own helper
        self._lock = Lock()
        atexit.register(self.close)

    def word(self, formula: str) -> str | None:
        """Return a simplified accepting word in Spot's form, or None where there is none.

        Raises RuntimeError with one line where Spot refuses or dies.
        """
        with self._lock:
            helper = self._running()
            assert helper.stdin
            assert helper.stdout
            try:
                helper.stdin.write(formula + "\n")
                helper.stdin.flush()
                kind, _, text = helper.stdout.readline().rstrip("\n").partition(" ")
            except BrokenPipeError:
                kind = text = ""
            except BaseException:  # Ctrl-C: the answer on its way must not meet the next question
                self.close()
                raise
            if not kind:
                self.close()
                raise RuntimeError("its process died")
        if kind == REFUSED:
            raise RuntimeError(text)
        return text if kind == WORD else None

    def close(self) -> None:
        """End the helper, which ends its child."""
        helper, self._helper = self._helper, None
        if helper is None or self._owner != os.getpid():
            return
        assert helper.stdin
        assert helper.stdout
        with suppress(BrokenPipeError):
            helper.stdin.close()
        helper.wait()
        helper.stdout.close()

    def _running(self) -> subprocess.Popen[str]:
        if self._helper is None or self._owner != os.getpid():
            self._owner = os.getpid()
            self._helper = start_helper(
                "logicgen.solvers.spot_words:serve",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
            )
        return self._helper


def serve() -> None:
    """Run the helper: read a line with a formula, write a line with the answer, and so on."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is for the process that asks
    _answer("p0 U p1")  # Spot is set up, always in the same way
    gc.freeze()
    for line in sys.stdin:
        print(_from_child(line), flush=True)


def _from_child(formula: str) -> str:
    """Return the answer of a forked process, or an empty one if that dies."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(0)
            os.close(1)
            with open(writer, "w", encoding="utf-8") as file:
                file.write(_answer(formula))
        finally:
            os._exit(0)
    os.close(writer)
    parts: list[bytes] = []
    while True:
        ready, _, _ = select([reader, 0], [], [])
        if 0 in ready:  # nobody asks before the answer is there, so whoever asked is gone
            os.kill(child, signal.SIGKILL)
            sys.exit()
        parts.append(os.read(reader, 1 << 16))
        if not parts[-1]:
            break
    os.close(reader)
    os.waitpid(child, 0)
    return b"".join(parts).decode()


def _answer(formula: str) -> str:
    import spot

    try:
        automaton = spot.translate(spot.formula(formula), dict=spot.make_bdd_dict())
        word = automaton.accepting_word()
    except RuntimeError as error:
        return f"{REFUSED} {str(error).splitlines()[0]}"
    if not word:
        return UNSAT
    word.simplify()
    return f"{WORD} {word}"
