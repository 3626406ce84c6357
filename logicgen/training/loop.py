"""The one training loop: gradient steps by Lightning's Trainer on whatever can be learnt so.

Everything random in step `t` is a pure function of (seed, t): the batch, the rows of the embedding,
dropout (of several devices also of the device), the learning rate. A resumed training therefore
needs only weights, optimizer and `t` to go on exactly as if it had never stopped.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import numpy as np
import torch
from lightning.fabric.plugins import CheckpointIO
from lightning.pytorch.loggers import TensorBoardLogger
from torch import Tensor
from torch.utils.data import DataLoader

from logicgen.errors import LogicgenError
from logicgen.model import checkpoint
from logicgen.model.share import Rank
from logicgen.nn.linear import bfloat16_products
from logicgen.nn.loss import AdaCos
from logicgen.processes.signals import interruption
from logicgen.training.ahead import made_ahead
from logicgen.training.callbacks import StopOnSignal
from logicgen.training.devices import Member
from logicgen.training.learner import Learner
from logicgen.training.schedule import ScheduledRate

# What no checkpoint is to blame for.
DEVICE_ERRORS = tuple(
    kind
    for kind in (
        torch.OutOfMemoryError,
        getattr(torch, "AcceleratorError", None),
        getattr(torch.distributed, "DistError", None),
    )
    if kind is not None
)


class Steps(pl.LightningModule):
    """Gradient steps of a learner, as Lightning wants them."""

    def __init__(self, learner: Learner, first_step: int = 0, rank: Rank | None = None) -> None:
        super().__init__()
        self.rank = rank  # among several devices
        self.model = learner.module
        self.learner = learner
        self.first_step = first_step
        self.restoring = False  # whether what is done now takes over a checkpoint
        self._ahead: list[Generator[Any]] = []
        if rank is not None:
            for part in learner.module.modules():
                if isinstance(part, AdaCos):
                    part.several_devices = True

    def configure_optimizers(self) -> Any:
        """Return the optimizer and the schedule of its learning rate, by step."""
        optimizer = self.learner.optimizer()
        scheduler = ScheduledRate(optimizer, self.learner.schedule)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": scheduler, "interval": "step"},
        }

    def configure_gradient_clipping(
        self,
        optimizer: torch.optim.Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clip gradients: Lightning's own refuses a fused optimizer in bf16, because of fp16."""
        if self.learner.gradient_clip is not None:
            torch.nn.utils.clip_grad_norm_(self.parameters(), self.learner.gradient_clip)

    def train_dataloader(self) -> Batches:
        """Return the training batches from the first step on, or this device's share of them."""
        return Batches(self._batches)

    def _batches(self) -> Iterator[Any]:
        batches = self.learner.batches(self.first_step)
        if self.rank is not None:
            batches = map(partial(self.learner.shared, rank=self.rank), batches)
        if not self.learner.ahead:
            return batches
        cuda = self.trainer.strategy.root_device.type == "cuda"
        self._ahead.append(made_ahead(batches, pinned=cuda))
        return self._ahead[-1]

    def close(self) -> None:
        """End the threads that make batches."""
        for batches in self._ahead:
            batches.close()

    def val_dataloader(self) -> DataLoader[Any]:
        """Return the held-out batches, always the same."""
        return DataLoader(self.learner.validation_batches(), batch_size=None)  # type: ignore[arg-type]

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        """Return the loss of a batch."""
        step = self.step
        rows_seed, dropout_seed = step_seeds(self.learner.seed, step)
        # Each device drops what it likes; the rows of the embedding are those of all.
        _seed(dropout_seed + (0 if self.rank is None else self.rank.number), self.device)
        generator = torch.Generator().manual_seed(rows_seed)
        measured = (step + 1) % self.learner.log_every == 0
        loss, measures = self.learner.loss(batch, generator, measured)
        if self.rank is not None:
            loss = loss * batch.share.weight
            measures = {
                name: self.trainer.strategy.reduce(value * batch.share.weight, reduce_op="mean")
                for name, value in measures.items()
            }
        if measured and not torch.isfinite(measures.get("loss", loss)):
            raise LogicgenError(
                f"the loss of step {step + 1} is not finite: the training has diverged; start again"
                " with a lower training.learning_rate or training.gradient_clip"
            )
        if measured and self._trainer is not None:
            rate = self.learner.schedule.learning_rate(step)
            self.log_dict({**measures, "learning_rate": rate})
        return loss

    @property
    def step(self) -> int:
        """Return the number of steps done."""
        return self.first_step if self._trainer is None else self.trainer.global_step

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        """Log what a held-out batch shows."""
        self.log_dict(self.learner.validate(batch), batch_size=len(batch[1]))

    def on_train_start(self) -> None:
        """Note that whatever a checkpoint holds has been taken over."""
        self.restoring = False

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Take over a checkpoint of a version that had no scheduler and named weights twice."""
        state = checkpoint["state_dict"]
        own = [name for name in state if name.startswith("model.")]
        checkpoint["state_dict"] = {name: state[name] for name in own}
        if not checkpoint["lr_schedulers"]:
            checkpoint["lr_schedulers"] = [{"last_epoch": checkpoint["global_step"]}]


class Batches:
    """Batches as the iterable without length that Lightning calls a loader."""

    def __init__(self, iterate: Callable[[], Iterator[Any]]) -> None:
        self.iterate = iterate

    def __iter__(self) -> Iterator[Any]:
        return self.iterate()


class SafetensorsIO(CheckpointIO):
    """Lightning's checkpoints of steps, as safetensors + JSON, never as pickle."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps

    def save_checkpoint(self, checkpoint_tree: Any, path: Any, storage_options: Any = None) -> None:
        """Write a checkpoint."""
        checkpoint.save_tree(checkpoint_tree, Path(path))

    def load_checkpoint(self, path: Any, *_: Any, **__: Any) -> Any:
        """Return a checkpoint."""
        self.steps.restoring = True
        return checkpoint.load_tree(Path(path))

    def remove_checkpoint(self, path: Any) -> None:
        """Delete a checkpoint."""
        Path(path).unlink(missing_ok=True)


def run_steps(
    learner: Learner,
    callbacks: Sequence[pl.Callback] = (),
    *,
    device: torch.device | None = None,
    bf16: bool = False,
    validate_every: int | None = None,
    folder: Path | None = None,
    first_step: int = 0,
    member: Member | None = None,
) -> None:
    """Train until the schedule's last step, or until a callback stops the trainer.

    device: the CPU if not given.
    bf16: on a GPU mixed precision; on a CPU products of linear layers alone (`nn/linear.py`).
    validate_every: steps between two validations; never if not given.
    folder: for logs, and with the checkpoint to go on from if the first step is not 0; without one
        nothing is written.
    member: the place of this process, where several train together; the first one alone logs.

    At Ctrl-C or SIGTERM the step is finished, callbacks see the trainer stop, and KeyboardInterrupt
    (`Terminated`) is raised.
    """
    # Its notices are about devices not used and data-loader workers not wanted.
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)
    cuda = device is not None and device.type == "cuda"
    first = member is None or member.rank.number == 0
    stop = StopOnSignal(heeded=first)
    logger = None
    if folder is not None and first:
        logger = TensorBoardLogger(folder, name="logs", version="")
    steps = Steps(learner, first_step, None if member is None else member.rank)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="lightning.*")
        trainer = pl.Trainer(
            accelerator="gpu" if cuda else "cpu",
            devices=1 if member is None else member.rank.devices,
            strategy="auto" if member is None else member.strategy(device or torch.device("cpu")),
            use_distributed_sampler=False,
            precision="bf16-mixed" if bf16 and cuda else "32-true",
            max_steps=learner.schedule.steps,
            max_epochs=-1,
            logger=logger or False,
            log_every_n_steps=learner.log_every,
            check_val_every_n_epoch=None,
            val_check_interval=validate_every,
            num_sanity_val_steps=0,
            limit_val_batches=None if validate_every else 0,
            plugins=[SafetensorsIO(steps)],
            callbacks=[stop, *callbacks],
            default_root_dir=folder,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        # At SIGTERM it would speak with other processes in the middle of a step.
        trainer._signal_connector.register_signal_handlers = lambda: None  # type: ignore[method-assign]
        resumed = str(folder / checkpoint.LAST) if folder is not None and first_step else None
        try:
            with stop, bfloat16_products(bf16):
                trainer.fit(steps, ckpt_path=resumed)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, RuntimeError) as error:
            if not steps.restoring or isinstance(error, DEVICE_ERRORS):
                raise
            raise LogicgenError(
                f"{resumed}: not a checkpoint of this training: remove it and train again"
            ) from error
        finally:
            steps.close()
    if stop.received is not None:
        raise interruption(stop.received)


def _seed(seed: int, device: torch.device) -> None:
    """Seed PyTorch's random numbers of a device."""
    # `torch.manual_seed` also formats the call stack, for a GPU that may be initialised later. That
    # would slow down the steps of small models.
    if device.type == "cpu":
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)


def step_seeds(seed: int, step: int) -> tuple[int, int]:
    """Return two unrelated seeds for a step: of the embedding's rows, and of dropout."""
    rows, dropout = np.random.SeedSequence((seed, step)).generate_state(2, np.uint64) >> 1
    return int(rows), int(dropout)
