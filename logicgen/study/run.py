"""Running trials: their data sets first, then trainings side by side."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from logicgen.atomic import write_text
from logicgen.data.generate import Progress, generate
from logicgen.errors import LogicgenError
from logicgen.study.plan import Trial
from logicgen.study.trial import RUNS, data_folder, run_folder
from logicgen.study.worker import Worker

Settled = Callable[[Trial, dict[str, Any]], None]
"""Called with a trial and the answer of its worker (`worker.Worker.run`)."""


def make_data(
    trials: list[Trial], folder: Path, *, workers: int, progress: Progress
) -> dict[str, str]:
    """Make the data sets of trials, each once; why some trials cannot have theirs, by name."""
    # Data sets, weights and predictions are made from recipes: nothing for a repository.
    write_text(folder / RUNS / ".gitignore", "*\n")
    sets = {data.folder: data for trial in trials for data in (trial.trained, trial.evaluated)}
    reasons: dict[str, str] = {}
    for name, data in sets.items():
        try:
            generate(
                data.recipe,
                data_folder(data, folder),
                name=data.name,
                workers=workers,
                progress=lambda split, done, total, name=name: progress(  # type: ignore[misc]
                    f"{name} {split}", done, total
                ),
            )
        except LogicgenError as error:
            reasons[name] = str(error)
    return {
        trial.name: reasons[data.folder]
        for trial in trials
        for data in (trial.trained, trial.evaluated)
        if data.folder in reasons
    }


def run_trials(
    trials: list[Trial],
    folder: Path,
    *,
    workers: int,
    device: str,
    settled: Settled,
) -> None:
    """Run trials whose data sets are there, so many at a time.

    Those that start from the weights of another run come after all others. A trial that fails is
    one `settled` with an error, and the others go on.

    Ctrl-C stops all processes, of which each saves what it has, and raises KeyboardInterrupt.
    Raises LogicgenError where a file cannot be written.
    """
    for later in (False, True):
        chosen = [trial for trial in trials if (trial.start is not None) == later]
        if chosen:
            _side_by_side(chosen, folder, min(workers, len(chosen)), device, settled)


def _side_by_side(
    trials: list[Trial], folder: Path, count: int, device: str, settled: Settled
) -> None:
    """Run trials that do not need one another: Optuna deals them out to `count` threads."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    log = run_folder("worker", folder)
    idle: SimpleQueue[Worker] = SimpleQueue()
    pool = [
        Worker(environment, log.with_name(f"worker-{number}.log"))
        for number, environment in enumerate(environments(count, device))
    ]
    for worker in pool:
        idle.put(worker)
    by_name = {trial.name: trial for trial in trials}
    stopping, saying = threading.Event(), threading.Lock()

    def objective(running: optuna.Trial) -> float:
        if stopping.is_set():
            running.study.stop()
            raise optuna.TrialPruned
        trial = by_name[running.user_attrs["trial"]]
        worker = idle.get()
        job = {"trial": trial.model_dump_json(), "folder": str(folder), "device": device}
        answer = worker.run(job)
        idle.put(worker)
        if stopping.is_set() and "error" in answer:
            raise optuna.TrialPruned
        with saying:
            settled(trial, answer)
        if "error" in answer:
            raise optuna.TrialPruned
        return float(answer["score"])

    search = optuna.create_study(sampler=optuna.samplers.RandomSampler(0))
    for name in by_name:
        search.enqueue_trial({}, user_attrs={"trial": name})

    def interrupted(number: int, frame: Any) -> None:
        signal.signal(number, before[number])  # a second one does not wait
        stopping.set()
        for worker in pool:
            worker.stop()

    before: dict[int, Any] = {
        number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        for number in before:
            signal.signal(number, interrupted)
        search.optimize(objective, n_trials=len(by_name), n_jobs=count)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for worker in pool:
            worker.stop()
        for worker in pool:
            worker.wait()
    if stopping.is_set():
        raise KeyboardInterrupt("stopped: the same command goes on from there")


def environments(count: int, device: str) -> list[dict[str, str]]:
    """Of so many processes: one thread each on a CPU; the cards, one each and in turn."""
    if device == "cpu" or not (cards := _cards()):
        return [{"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"} for _ in range(count)]
    return [{"CUDA_VISIBLE_DEVICES": cards[i % len(cards)]} for i in range(count)]


def default_workers(device: str) -> int:
    """As many as there are cards, or else processors."""
    cards = [] if device == "cpu" else _cards()
    return len(cards) or os.cpu_count() or 1


def _cards() -> list[str]:
    """What CUDA_VISIBLE_DEVICES calls the cards that this process may use."""
    import torch

    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible:
        return visible.split(",")[: torch.cuda.device_count()]
    return [str(number) for number in range(torch.cuda.device_count())]
