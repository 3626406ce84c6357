"""A process that computes the trials of a study one after another, and the handle of this process.

If a training crashes or runs out of memory, only this process ends, and only this trial fails. The
process computes many trials, because importing PyTorch takes longer than training a small model.

The process reads each job as a line of JSON from its standard input. It writes each answer as a
line of JSON to its standard output. The input ends if the parent stops the process or has died.
Then the current training saves a checkpoint, and the process ends.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from pkgutil import resolve_name
from queue import SimpleQueue
from typing import TYPE_CHECKING

from logicgen.errors import LogicgenError
from logicgen.experiments import Json
from logicgen.processes.helper import start_helper
from logicgen.processes.pool import Failure
from logicgen.study.records import machine
from logicgen.study.trial import Trial

if TYPE_CHECKING:
    from logicgen.processes.ray_pool import RayCall, RayCluster

STOPPED: Json = {"error": "its process was stopped"}


class TrialWorker:
    """The handle of a process, which starts with the first trial. If it dies, it starts again."""

    def __init__(self, environment: dict[str, str], log: Path, device: str) -> None:
        self.environment = environment  # variables to add to the environment of this process
        self.log = log  # file for the output of trainings, and for tracebacks
        self.device = device  # device of the trials, for their records
        self.process: subprocess.Popen[str] | None = None
        self.stopped = False

    def run(self, trial: Trial, context: Json) -> Json:
        """Compute a trial. Return `{"found": result, "machine": name}`, or `{"error": a line}`.

        context: arguments of the trial's function that its record does not contain.
        """
        if self.stopped:
            return STOPPED
        if self.process is None:
            try:
                self.process = self._start()
            except OSError as error:
                return {"error": f"its process cannot be started: {error.strerror or error}"}
        if self.stopped:  # `stop` was called before the process started
            self.stop()
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        job = {
            "function": f"{trial.function.__module__}:{trial.function.__name__}",
            "arguments": {**trial.arguments, **context},
            "device": self.device,
        }
        try:
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
            answer: Json = json.loads(process.stdout.readline())
            return answer
        except (BrokenPipeError, ValueError):  # the process has ended or was stopped
            pass
        status = process.wait()
        self.process = None
        how = f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        return {"error": f"its process died ({how}; short of memory?): see {self.log}"}

    def _start(self) -> subprocess.Popen[str]:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("a", encoding="utf-8") as log:
            return start_helper(
                "logicgen.study.worker:main",
                environment=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def stop(self) -> None:
        """Stop the process for good. A call of `run` in another thread then returns."""
        self.stopped = True
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()

    def wait(self) -> None:
        """Wait until a stopped process has ended."""
        if self.process is not None:
            self.process.wait()


class ClusterWorker(TrialWorker):
    """The handle of processes on a Ray cluster. Ray starts a new process for each trial."""

    def __init__(
        self, environment: dict[str, str], log: Path, device: str, cluster: RayCluster
    ) -> None:
        super().__init__(environment, log, device)
        self._cluster = cluster
        self._call: RayCall | None = None

    def run(self, trial: Trial, context: Json) -> Json:
        if self.stopped:
            return STOPPED
        how = (self.environment, self.log, self.device, trial, context)
        self._call = self._cluster.call(_run_there, *how, gpu=self.device == "cuda")
        if self.stopped:
            self.stop()
        found: Json | Failure = self._call.result()
        if isinstance(found, Failure):
            return STOPPED if self.stopped else {"error": found.reason}
        return found

    def stop(self) -> None:
        self.stopped = True
        if self._call is not None:
            self._call.stop()

    def wait(self) -> None:
        if self._call is not None:
            self._call.result()


def _run_there(
    environment: dict[str, str], log: Path, device: str, trial: Trial, context: Json
) -> Json:
    """Compute a trial in a new process on the machine of the cluster that runs this function."""
    worker, found = TrialWorker(environment, log, device), list[Json]()
    waiting = threading.Thread(target=lambda: found.append(worker.run(trial, context)), daemon=True)
    waiting.start()
    try:
        while waiting.is_alive():
            waiting.join(0.2)  # KeyboardInterrupt cannot interrupt a join without a time limit
        return found[0]
    finally:  # also after KeyboardInterrupt
        worker.stop()
        worker.wait()


def main() -> None:
    """Run the process: answer jobs until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # libraries that print cannot disturb the answers
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    jobs: SimpleQueue[Json | None] = SimpleQueue()
    threading.Thread(target=_read, args=(jobs,), daemon=True).start()
    with suppress(KeyboardInterrupt):
        while (job := jobs.get()) is not None:
            print(json.dumps(_answer(job)), file=answers, flush=True)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _read(jobs: SimpleQueue[Json | None]) -> None:
    """Pass on all jobs, then end this process: None ends a wait, and SIGTERM ends a trial."""
    for line in sys.stdin:
        jobs.put(json.loads(line))
    # A signal that arrives just before a wait does not end the wait.
    jobs.put(None)
    os.kill(os.getpid(), signal.SIGTERM)


def _answer(job: Json) -> Json:
    try:
        found = resolve_name(job["function"])(**job["arguments"])
        return {"found": found, "machine": machine(job["device"])}
    except LogicgenError as error:
        return {"error": str(error)}
    except Exception as error:
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
