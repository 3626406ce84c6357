"""Run a study: compute the trials that are not done yet, in worker processes.

A trial is usually the training and scoring of one model. Its record contains the results.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import groupby
from pathlib import Path
from queue import SimpleQueue

from logicgen.callbacks import Bars, Say
from logicgen.data.folder import alone
from logicgen.errors import LogicgenError
from logicgen.experiments import Json
from logicgen.files import commit, prepare_folder, write_text
from logicgen.processes.engines import cluster, shared
from logicgen.processes.signals import StopOnSignal, interruption
from logicgen.report.tables import REPORT
from logicgen.study.plan import Plan
from logicgen.study.records import Record, in_order, read_records, versions, write_records
from logicgen.study.trial import RUNS, Trial, make_data
from logicgen.study.worker import ClusterWorker, TrialWorker

GOES_ON = "stopped: the same command goes on from there"

TrialCallback = Callable[[str, "Record | str"], None]
"""A function that is called with the name of a finished trial, and its record. If the trial failed,
a line with the reason replaces the record."""


def compute(
    plan: Plan,
    trials: list[Trial],
    records: dict[str, Record],
    folder: Path,
    *,
    workers: int,
    device: str,
    settled: TrialCallback,
) -> None:
    """Compute trials in `workers` processes, and write the record of each trial when it is done.

    Records are added to `records` and written to `folder`. A trial that starts from another trial's
    weights is computed after that trial. If a trial fails or its process dies, `settled` gets the
    reason, and the remaining trials are computed. After Ctrl-C or SIGTERM, each process saves a
    checkpoint and ends, and KeyboardInterrupt is raised. Raises LogicgenError if a file cannot be
    written.
    """
    # Make Git ignore data sets, weights and predictions, since recipes can make them again.
    write_text(folder / RUNS / ".gitignore", "*\n")
    about = {"commit": commit(), "versions": versions()}
    folder = shared(folder)
    started = handles(min(workers, len(trials)), folder, device)

    def stop() -> None:
        for worker in started:
            worker.stop()

    try:
        with StopOnSignal(then=stop) as signals:
            for wave in _waves(plan, trials):
                jobs = [(trial, plan.context(trial, folder, device)) for trial in wave]
                for trial, answer in _answers(started, jobs):
                    if "error" not in answer:
                        content = {"point": trial.name, "arguments": trial.arguments}
                        record = Record.model_validate({**content, **answer, **about})
                        records[trial.name] = record
                        write_records(in_order(plan.trials, records), folder)
                        settled(trial.name, record)
                    elif signals.received is None:
                        settled(trial.name, answer["error"])
                if signals.received is not None:
                    raise interruption(signals.received, GOES_ON)
    finally:
        stop()
        for worker in started:
            worker.wait()


def _waves(plan: Plan, trials: list[Trial]) -> list[list[Trial]]:
    """Group trials. Each trial is in a later group than the trial that trains its initial weights.

    `Trial.after` is the name of the trial that trains these weights.
    """

    def depth(trial: Trial) -> int:
        return 0 if trial.after is None else 1 + depth(plan.trials[trial.after])

    return [list(wave) for _, wave in groupby(sorted(trials, key=depth), key=depth)]


def _answers(
    workers: Sequence[TrialWorker], jobs: list[tuple[Trial, Json]]
) -> Iterator[tuple[Trial, Json]]:
    """Compute trials in parallel; yield each trial with its result as soon as the trial is done.

    jobs: trials with the additional arguments of their functions (`Plan.context`).

    The result is the dictionary that `TrialWorker.run` returns.
    """
    waiting: SimpleQueue[tuple[Trial, Json] | None] = SimpleQueue()
    answers: SimpleQueue[tuple[Trial, Json]] = SimpleQueue()
    for job in [*jobs, *[None] * len(workers)]:
        waiting.put(job)

    def serve(worker: TrialWorker) -> None:
        while (job := waiting.get()) is not None:
            answers.put((job[0], worker.run(*job)))

    for each in workers:
        threading.Thread(target=serve, args=[each], daemon=True).start()
    for _ in jobs:
        yield answers.get()


def handles(count: int, folder: Path, device: str) -> list[TrialWorker]:
    """Return `count` handles of worker processes, on this machine or on the current cluster.

    folder: the folder of the study's results, for the logs of the processes.
    """
    logs = [folder / RUNS / f"worker-{number}.log" for number in range(count)]
    if (there := cluster()) is not None:
        one_thread = environments(1, "cpu")[0]
        return [ClusterWorker(one_thread, log, device, there) for log in logs]
    some = environments(count, device)
    return [TrialWorker(*each, device) for each in zip(some, logs, strict=True)]


def environments(count: int, device: str) -> list[dict[str, str]]:
    """Return environment variables for each of `count` processes.

    On a CPU, a process uses one thread. On GPUs, each process uses one GPU, in turn.
    """
    if device == "cpu" or not (cards := _cards()):
        return [{"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"} for _ in range(count)]
    return [{"CUDA_VISIBLE_DEVICES": cards[i % len(cards)]} for i in range(count)]


def default_workers(device: str) -> int:
    """Return the number of GPUs of this machine or of the current cluster.

    Without GPUs, or if `device` is the CPU, return the number of processors.
    """
    if (there := cluster()) is not None:
        return max(1, there.count(gpus=device == "cuda"))
    cards = [] if device == "cpu" else _cards()
    return len(cards) or os.cpu_count() or 1


def _cards() -> list[str]:
    """Return the GPUs that this process may use, by their names for CUDA_VISIBLE_DEVICES."""
    import torch

    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible:
        return visible.split(",")[: torch.cuda.device_count()]
    return [str(number) for number in range(torch.cuda.device_count())]


def run_study(
    plan: Plan,
    folder: Path,
    workers: int | None,
    device: str,
    *,
    bars: Bars,
    trial_bar: Callable[..., AbstractContextManager[tuple[Callable[..., None], Say]]],
    put: Say,
    say: Say,
) -> None:
    """Compute the trials that have no record yet, write the report, and print its tables.

    bars: makes the progress bars of data sets.
    trial_bar: makes the progress bar of the trials from a name, the total number of trials and the
        number of finished trials. The context of the bar is a pair of functions: one advances the
        bar, and one prints a line above it.
    put: prints the tables.
    say: prints the folder of the figures, and the reasons of failed trials.

    Raises LogicgenError if trials failed.
    """
    prepare_folder(folder)
    with alone(folder, "study"):
        records = read_records(plan.trials, folder)
        todo = [trial for name, trial in plan.trials.items() if name not in records]
        count = workers or default_workers(device)
        failed = plan.impossible | _make_data(todo, folder, count, bars)
        for name, reason in failed.items():
            say(f"{name} failed: {reason}")
        ready = [trial for trial in todo if trial.name not in failed]
        total = len(plan.trials)
        if todo:
            with trial_bar(plan.name, total, total - len(ready)) as shown:
                settled = _outcomes_on(plan, failed, *shown)
                device = "cpu" if plan.cpu else device
                compute(plan, ready, records, folder, workers=count, device=device, settled=settled)
        if not (failed and plan.whole):
            put(plan.write(records, folder))
            say(f"with figures: {folder / REPORT}")
    if failed:
        total = len(plan.trials) + len(plan.impossible)
        raise LogicgenError(
            f"{len(failed):,} of {total:,} trials failed, as said above; the same command"
            " tries them again"
        )


def _make_data(trials: list[Trial], folder: Path, workers: int, bars: Bars) -> dict[str, str]:
    """Make the data sets of trials.

    If a data set cannot be made, its trials are in the result: a dict from their names to reasons.
    """
    if not trials:
        return {}
    trainings = [trial.training for trial in trials if trial.training is not None]
    with bars("examples") as progress:
        return make_data(trainings, folder, workers=workers, progress=progress)


def _outcomes_on(
    plan: Plan, failed: dict[str, str], advance: Callable[..., None], above: Say
) -> TrialCallback:
    """Return a function that shows the outcome of a trial on a progress bar.

    failed: a dict to which the function adds the name of each failed trial, with the reason.
    advance: advances the bar by a trial, and may change the text of the bar.
    above: prints a line above the bar.
    """
    scores: list[float] = []

    def show(name: str, outcome: Record | str) -> None:
        if isinstance(outcome, str):
            failed[name] = outcome
            advance()
            above(f"{name} failed: {outcome}")
        elif plan.trials[name].training is None:
            advance()
        else:
            last, less_is_better = outcome.score
            scores.append(last)
            best = min(scores) if less_is_better else max(scores)
            advance(f"{plan.name}, best {best:.3f}, last {last:.3f}")

    return show
