"""Callbacks of Lightning's Trainer: stopping in time or on a signal, checkpoints, a progress bar.

Those that stop a training come before `Checkpoints`, which saves the last step.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from logicgen.errors import LogicgenError
from logicgen.model import checkpoint


class Deadline(pl.Callback):
    """Stops after the first step that ends at a time of the monotonic clock, or later."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        """Stop if it is time."""
        if time.monotonic() >= self.deadline:
            trainer.should_stop = True


class StopOnSignal(pl.Callback):
    """Stops after the current step at SIGINT or SIGTERM; a second signal acts at once.

    Attributes:
        heeded: if not, signals are ignored: another process tells this one to stop.
        received: the signal, if there was one.
    """

    def __init__(self, heeded: bool = True) -> None:
        self.heeded = heeded
        self.received: int | None = None
        self.before: dict[int, Any] = {}

    def __enter__(self) -> StopOnSignal:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self.before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def _receive(self, number: int, frame: Any) -> None:
        if self.heeded:
            self.received = number
            signal.signal(number, self.before[number])

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        """Stop if there was a signal."""
        if self.received is not None:
            trainer.should_stop = True


class Patience(pl.Callback):
    """Stops when a measure has not fallen for a while.

    Attributes:
        measure: what is measured; less is better.
        every: steps between two measurements.
        patience: steps without a new least value after which the training stops.
        least: the least value, measured after step `at`.
    """

    def __init__(self, measure: Callable[[], float], every: int, patience: int) -> None:
        self.measure, self.every, self.patience = measure, every, patience
        self.least, self.at = math.inf, 0

    def on_train_start(self, trainer: pl.Trainer, *_: Any) -> None:
        """Measure before the first step."""
        self._look(trainer)

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        """Measure if it is time."""
        if trainer.global_step % self.every == 0:
            self._look(trainer)

    def _look(self, trainer: pl.Trainer) -> None:
        value = self.measure()
        if value < self.least:
            self.least, self.at = value, trainer.global_step
        elif trainer.global_step - self.at >= self.patience:
            trainer.should_stop = True


class Checkpoints(pl.Callback):
    """Saves a checkpoint every so many steps, and after the last one.

    Attributes:
        step: steps done.
    """

    def __init__(self, every: int, step: int = 0) -> None:
        self.every, self.step = every, step

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        """Save if it is time. Raises LogicgenError where the file cannot be written."""
        self.step = trainer.global_step
        last = trainer.should_stop or self.step >= trainer.max_steps
        if not last and self.step % self.every:
            return
        path = Path(trainer.default_root_dir) / checkpoint.LAST
        try:
            trainer.save_checkpoint(path)
        except OSError as error:
            raise LogicgenError(
                f"{path}: cannot be written: {error.strerror}: make room, then --resume"
            ) from None


class ProgressBar(pl.Callback):
    """Steps, loss and time left, on standard error."""

    def __init__(self) -> None:
        self.progress = Progress(
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("loss {task.fields[loss]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )

    def on_train_start(self, trainer: pl.Trainer, *_: Any) -> None:
        """Show the bar."""
        self.task = self.progress.add_task("", total=trainer.max_steps, loss="")
        self.progress.start()
        self.progress.update(self.task, completed=trainer.global_step)

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, *_: Any
    ) -> None:
        """Move the bar every ten steps."""
        if trainer.global_step % 10 == 0 or trainer.global_step >= trainer.max_steps:
            loss = f"{float(outputs['loss']):.4f}"
            self.progress.update(self.task, completed=trainer.global_step, loss=loss)

    def on_train_end(self, *_: Any) -> None:
        """Leave the bar as it is."""
        self.progress.stop()

    def on_exception(self, *_: Any) -> None:
        """Leave the bar as it is."""
        self.progress.stop()
