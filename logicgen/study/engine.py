"""The engine of all studies: trials that are not done yet, computed in worker processes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from queue import SimpleQueue

from logicgen.experiments import Json
from logicgen.files import write_text
from logicgen.processes.engines import cluster, shared
from logicgen.processes.signals import StopOnSignal, interruption
from logicgen.study.plan import Plan
from logicgen.study.records import Record, commit, in_order, versions, write_records
from logicgen.study.trial import RUNS, Trial
from logicgen.study.worker import ClusterWorker, Worker

GOES_ON = "stopped: the same command goes on from there"

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
    """Compute trials in `workers` processes; add each to `records` and write the file at once.

    Trials that come `after` others are computed when all that come after fewer are. One that fails,
    or whose process dies, is `settled` with the reason, and the others go on.
    Ctrl-C or SIGTERM stops all processes. Each saves a checkpoint, then KeyboardInterrupt is
    raised. Raises LogicgenError if a file cannot be written.
    """
    # Data sets, weights and predictions are made from recipes: nothing for a repository.
    write_text(folder / RUNS / ".gitignore", "*\n")
    about = {"commit": commit(), "versions": versions()}
    folder = shared(folder)
    there = handles(min(workers, len(trials)), folder, device)

    def stop() -> None:
        for worker in there:
            worker.stop()

    def answered(trial: Trial, answer: Json) -> None:
        if "error" in answer:
            settled(trial.name, answer["error"])
            return
        content = {"point": trial.name, "arguments": trial.arguments, **answer, **about}
        record = Record.model_validate(content)
        records[trial.name] = record
        write_records(in_order(plan.trials, records), folder)
        settled(trial.name, record)

    try:
        with StopOnSignal(then=stop) as signals:
            for wave in _waves(plan, trials):
                jobs = [(trial, plan.context(trial, folder, device)) for trial in wave]
                for trial, answer in _answers(there, jobs):
                    if signals.received is None or "error" not in answer:
                        answered(trial, answer)
                if signals.received is not None:
                    raise interruption(signals.received, GOES_ON)
    finally:
        stop()
        for worker in there:
            worker.wait()


def _waves(plan: Plan, trials: list[Trial]) -> list[list[Trial]]:
    """Return trials in groups; each comes in a later group than the trial that it comes after."""

    def depth(trial: Trial) -> int:
        return 0 if trial.after is None else 1 + depth(plan.trials[trial.after])

    return [list(wave) for _, wave in groupby(sorted(trials, key=depth), key=depth)]


def _answers(
    workers: Sequence[Worker | ClusterWorker], jobs: list[tuple[Trial, Json]]
) -> Iterator[tuple[Trial, Json]]:
    """Compute trials, each with its context; yield each with its answer as soon as it is done."""
    waiting: SimpleQueue[tuple[Trial, Json] | None] = SimpleQueue()
    answers: SimpleQueue[tuple[Trial, Json]] = SimpleQueue()
    for job in [*jobs, *[None] * len(workers)]:
        waiting.put(job)

    def serve(worker: Worker | ClusterWorker) -> None:
        while (job := waiting.get()) is not None:
            answers.put((job[0], worker.run(*job)))

    for each in workers:
        threading.Thread(target=serve, args=[each], daemon=True).start()
    for _ in jobs:
        yield answers.get()


def handles(count: int, folder: Path, device: str) -> list[Worker | ClusterWorker]:
    """Return handles on processes of this machine or of the cluster in use."""
    logs = [folder / RUNS / f"worker-{number}.log" for number in range(count)]
    if (there := cluster()) is not None:
        one_thread = environments(1, "cpu")[0]
        return [ClusterWorker(there, one_thread, log, device) for log in logs]
    some = environments(count, device)
    return [Worker(*each, device) for each in zip(some, logs, strict=True)]


def environments(count: int, device: str) -> list[dict[str, str]]:
    """Return the variables of each process: one thread on a CPU, else one of the GPUs in turn."""
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
