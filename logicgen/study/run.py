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
from logicgen.data.folder import Progress
from logicgen.errors import LogicgenError
from logicgen.study.plan import Trial
from logicgen.study.summary import path_of
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
    sets = {data.folder: data for trial in trials for data in trial.data_sets}
    reasons: dict[str, str] = {}
    for name, data in sets.items():

        def said(split: str, done: int, total: int, name: str = name) -> None:
            progress(f"{name} {split}", done, total)

        try:
            where = data_folder(data, folder)
            data.recipe.make(where, name=data.name, workers=workers, progress=said)
        except LogicgenError as error:
            reasons[name] = str(error)
    return {
        trial.name: reasons[data.folder]
        for trial in trials
        for data in trial.data_sets
        if data.folder in reasons
    }


def run_trials(
    trials: list[Trial],
    folder: Path,
    *,
    planned: dict[str, Trial],
    workers: int,
    device: str,
    settled: Settled,
) -> None:
    """Run trials whose data sets are there, so many at a time.

    planned: all trials by name, among them those whose weights others start from.
    Those that start from the weights of another run come after all others. A trial that fails is
    one `settled` with an error, and the others go on.

    Ctrl-C stops all processes, of which each saves what it has, and raises KeyboardInterrupt.
    Raises LogicgenError where a file cannot be written.
    """
    from logicgen.model.checkpoint import CARD

    for later in (False, True):
        chosen = [trial for trial in trials if (trial.start is not None) == later]
        jobs: dict[str, dict[str, Any]] = {}
        for trial in chosen:
            start = None
            if trial.start is not None:
                start = run_folder(planned[trial.start], folder)
                if not (start / CARD).is_file():
                    reason = (
                        f"starts from {trial.start}, whose weights are not in {start}: delete"
                        f" {path_of(trial.start, folder)} to train it again"
                    )
                    settled(trial, {"error": reason})
                    continue
            jobs[trial.name] = {
                "trial": trial.model_dump_json(),
                "folder": str(folder),
                "device": device,
                "start": None if start is None else str(start),
            }
        if jobs:
            some = environments(min(workers, len(jobs)), device)
            logs = [folder / RUNS / f"worker-{number}.log" for number in range(len(some))]
            pool = [Worker(*each) for each in zip(some, logs, strict=True)]
            _side_by_side(jobs, pool, lambda name, answer: settled(planned[name], answer))


def _side_by_side(
    jobs: dict[str, dict[str, Any]],
    pool: list[Worker],
    settled: Callable[[str, dict[str, Any]], None],
) -> None:
    """Do jobs that do not need one another: Optuna deals them out to a thread per worker."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    idle: SimpleQueue[Worker] = SimpleQueue()
    for worker in pool:
        idle.put(worker)
    stopping, saying = threading.Event(), threading.Lock()

    def objective(running: optuna.Trial) -> float:
        if stopping.is_set():
            running.study.stop()
            raise optuna.TrialPruned
        name = running.user_attrs["trial"]
        worker = idle.get()
        answer = worker.run(jobs[name])
        idle.put(worker)
        if stopping.is_set() and "error" in answer:
            raise optuna.TrialPruned
        with saying:
            settled(name, answer)
        if "error" in answer:
            raise optuna.TrialPruned
        return float(answer["score"])

    search = optuna.create_study(sampler=optuna.samplers.RandomSampler(0))
    for name in jobs:
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
        search.optimize(objective, n_trials=len(jobs), n_jobs=len(pool))
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
