"""What happens around the steps of a training: checkpoints, stopping, the progress bar."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from logicgen.errors import LogicgenError
from logicgen.model import checkpoint


class Stop(pl.Callback):
    """Saves checkpoints, and stops between two steps: out of time, or asked to by Ctrl-C."""

    def __init__(self, step: int, save_every: int, deadline: float) -> None:
        self.step = step  # steps done
        self.save_every = save_every  # steps
        self.deadline = deadline  # on the monotonic clock
        self.interrupted = False

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: Any
    ) -> None:
        self.step = trainer.global_step
        trainer.should_stop = self.interrupted or time.monotonic() >= self.deadline
        last = trainer.should_stop or self.step >= trainer.max_steps
        if last or self.step % self.save_every == 0:
            path = Path(trainer.default_root_dir) / checkpoint.LAST
            try:
                trainer.save_checkpoint(path)
            except OSError as error:
                raise LogicgenError(
                    f"{path}: cannot be written: {error.strerror}: make room, then --resume"
                ) from None


class Signals:
    """While it lasts, SIGINT and SIGTERM ask for a stop; a second one stops at once."""

    def __init__(self, stop: Stop) -> None:
        self.stop = stop
        self.before: dict[int, Any] = {}

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self.before[number] = signal.signal(number, self.received)

    def received(self, number: int, frame: Any) -> None:
        self.stop.interrupted = True
        signal.signal(number, self.before[number])

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)


class Bar(pl.Callback):
    """Progress on standard error."""

    def __init__(self) -> None:
        self.progress = Progress(
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("loss {task.fields[loss]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.task = self.progress.add_task("", total=trainer.max_steps, loss="")
        self.progress.start()
        self.progress.update(self.task, completed=trainer.global_step)

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, *_: Any
    ) -> None:
        if trainer.global_step % 10 == 0 or trainer.global_step >= trainer.max_steps:
            loss = f"{float(outputs['loss']):.4f}"
            self.progress.update(self.task, completed=trainer.global_step, loss=loss)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.progress.stop()

    def on_exception(self, *_: Any) -> None:
        self.progress.stop()
