"""The engine of all studies: trials that are not done yet, computed in worker processes."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from logicgen.experiments import Json
from logicgen.files import write_text
from logicgen.processes.engines import cluster, shared
from logicgen.processes.signals import interruption
from logicgen.study.plan import Plan
from logicgen.study.records import Record, commit, in_order, versions, write_records
from logicgen.study.trial import RUNS, Trial
from logicgen.study.worker import ClusterWorker, Worker

Settled = Callable[[str, "Record | str"], None]
"""Called with the name of a trial and its record, or why it failed, in one line."""


def compute(
    plan: Plan,
    trials: list[Trial],
    records: dict[str, Record],
    folder: Path,
    *,
    workers: int,
    device: str,
    settled: Settled,
) -> None:
    """Compute trials, so many at a time; add each to `records` and write these at once.

    Trials that come `after` others are computed when all that come after fewer are. One that fails,
    or whose process dies, is `settled` with the reason, and the others go on.
    Ctrl-C or SIGTERM stops all processes, of which each saves a checkpoint, and raises
    KeyboardInterrupt. Raises LogicgenError where a file cannot be written.
    """
    # Data sets, weights and predictions are made from recipes: nothing for a repository.
    write_text(folder / RUNS / ".gitignore", "*\n")
    about = {"commit": commit(), "versions": versions()}
    folder = shared(folder)
    pool = Pool(handles(min(workers, len(trials)), folder, device))

    def answered(trial: Trial, answer: Json) -> None:
        if "error" in answer:
            settled(trial.name, answer["error"])
            return
        content = {"point": trial.name, "arguments": trial.arguments, **answer, **about}
        record = Record.model_validate(content)
        records[trial.name] = record
        write_records(in_order(plan.trials, records), folder)
        settled(trial.name, record)

    waves: dict[int, list[Trial]] = {}
    for trial in trials:
        waves.setdefault(_depth(plan, trial), []).append(trial)
    with pool:
        for _, wave in sorted(waves.items()):
            pool.map([(trial, plan.context(trial, folder, device)) for trial in wave], answered)


def _depth(plan: Plan, trial: Trial) -> int:
    """Return how many trials have to be done before this one, each after the one before."""
    return 0 if trial.after is None else 1 + _depth(plan, plan.trials[trial.after])


class Pool:
    """Worker processes that share trials out among themselves; used as a context manager.

    While it is entered, Ctrl-C and SIGTERM stop the processes instead of this one.
    """

    def __init__(self, workers: Sequence[Worker | ClusterWorker]) -> None:
        self.workers = workers
        self.stopping: int | None = None  # the signal that stops the processes
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Pool:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._interrupted)
        return self

    def _interrupted(self, number: int, frame: Any) -> None:
        signal.signal(number, self._before[number])  # a second one does not wait
        self.stopping = number
        self._stop()

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._stop()
        for worker in self.workers:
            worker.wait()

    def _stop(self) -> None:
        for worker in self.workers:
            worker.stop()

    def map(self, jobs: list[tuple[Trial, Json]], answered: Callable[[Trial, Json], None]) -> None:
        """Compute trials, each with its context; call `answered` with each as soon as it is done.

        Raises KeyboardInterrupt once all processes have stopped after a signal.
        """
        waiting: SimpleQueue[tuple[Trial, Json] | None] = SimpleQueue()
        answers: SimpleQueue[tuple[Trial, Json]] = SimpleQueue()
        for job in [*jobs, *[None] * len(self.workers)]:
            waiting.put(job)

        def serve(worker: Worker | ClusterWorker) -> None:
            while (job := waiting.get()) is not None:
                trial, context = job
                stopped = {"error": "stopped"}
                ending = self.stopping is not None
                answers.put((trial, stopped if ending else worker.run(trial, context)))

        for each in self.workers:
            threading.Thread(target=serve, args=[each], daemon=True).start()
        for _ in jobs:
            trial, answer = answers.get()
            if self.stopping is None or "error" not in answer:
                answered(trial, answer)
        if self.stopping is not None:
            raise interruption(self.stopping, "stopped: the same command goes on from there")


def handles(count: int, folder: Path, device: str) -> list[Worker | ClusterWorker]:
    """Return so many handles, on processes of this machine or of the cluster in use."""
    logs = [folder / RUNS / f"worker-{number}.log" for number in range(count)]
    if (there := cluster()) is not None:
        one_thread = environments(1, "cpu")[0]
        return [ClusterWorker(there, one_thread, log, device) for log in logs]
    some = environments(count, device)
    return [Worker(*each, device) for each in zip(some, logs, strict=True)]


def environments(count: int, device: str) -> list[dict[str, str]]:
    """Return variables for so many processes: on a CPU one thread each, else one GPU, in turn."""
    if device == "cpu" or not (cards := _cards()):
        return [{"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"} for _ in range(count)]
    return [{"CUDA_VISIBLE_DEVICES": cards[i % len(cards)]} for i in range(count)]


def default_workers(device: str) -> int:
    """Return how many GPUs there are, or else processors; those of the cluster in use."""
    if (there := cluster()) is not None:
        return max(1, there.count(gpus=device == "cuda"))
    cards = [] if device == "cpu" else _cards()
    return len(cards) or os.cpu_count() or 1


def _cards() -> list[str]:
    """Return what CUDA_VISIBLE_DEVICES calls the GPUs that this process may use."""
    import torch

    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible:
        return visible.split(",")[: torch.cuda.device_count()]
    return [str(number) for number in range(torch.cuda.device_count())]
