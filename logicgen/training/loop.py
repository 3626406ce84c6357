"""The training loop.

The batch, the rows of the embedding, dropout and the learning rate of step `t` are pure functions
of (seed, t). With several devices, dropout also depends on the device. A resumed training therefore
needs only weights, optimizer state and `t` to continue exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from logicgen.errors import LogicgenError
from logicgen.model import checkpoint
from logicgen.model.batches import moved
from logicgen.nn.linear import bfloat16_products
from logicgen.nn.loss import AdaCos
from logicgen.processes.signals import StopOnSignal, interruption
from logicgen.training.ahead import made_ahead
from logicgen.training.devices import ALONE, Member
from logicgen.training.learner import Learner
from logicgen.training.run_folder import open_log

CPU = torch.device("cpu")

Watcher = Callable[[int, Tensor], bool]
"""A function that is called after each step with the number of steps done and the loss.

If it returns True, training ends.
"""

GO_ON = (
    "stopped after step {} of {}, which is saved: run the same command with --resume to continue"
)

# Errors of the device, which do not mean that a checkpoint is damaged.
DEVICE_ERRORS = (
    torch.OutOfMemoryError,
    getattr(torch, "AcceleratorError", torch.OutOfMemoryError),
)


def run_steps(
    learner: Learner,
    watchers: Sequence[Watcher] = (),
    *,
    device: torch.device = CPU,
    bf16: bool = False,
    validate_every: int | None = None,
    checkpoint_every: int | None = None,
    folder: Path | None = None,
    first_step: int = 0,
    member: Member = ALONE,
) -> int:
    """Train until the last step, or until a watcher ends the training; return the steps done.

    bf16: use bfloat16, on a GPU for all products, on a CPU for linear layers (`nn/linear.py`).
    validate_every: steps between two validations; without it no validation is done.
    folder: folder for logs and checkpoints; without it no file is written. A checkpoint is saved
        every `checkpoint_every` steps and after the last step.
    first_step: number of steps already done; if it is not 0, the folder's checkpoint is loaded.
    member: this process, if several processes train together. Only the first process writes.

    Raises KeyboardInterrupt (`Terminated`) after Ctrl-C or SIGTERM once the step is saved.
    """
    total = learner.schedule.steps
    with ExitStack() as stack:
        stop = stack.enter_context(StopOnSignal(heeded=member.first))
        stack.enter_context(bfloat16_products(bf16))
        steps = Steps(learner, device, bf16, first_step, member)
        if folder is not None and first_step:
            steps.restore(folder / checkpoint.LAST)
        written = folder if member.first else None
        log = stack.enter_context(open_log(written))
        batches = stack.enter_context(closing(steps.batches()))
        stopping = False
        while steps.done < total and not stopping:
            loss, measures = steps.step(next(batches))
            # A list calls every watcher, even if an earlier watcher has returned True.
            ends = [stop.received is not None, *(see(steps.done, loss) for see in watchers)]
            stopping = member.any(any(ends), device)
            if written is None:
                continue
            if stopping or steps.done == total or _is_due(steps.done, checkpoint_every):
                steps.save(written / checkpoint.LAST)
            log(measures, steps.done - 1)
            if _is_due(steps.done, validate_every):
                log(steps.validate(), steps.done - 1)
    complete = folder is not None and steps.done == total
    if stop.received is not None and not complete:
        raise interruption(stop.received, GO_ON.format(steps.done, total) * (folder is not None))
    return steps.done


def _is_due(done: int, every: int | None) -> bool:
    """Return whether `done` is a multiple of `every`; False if `every` is None."""
    return every is not None and done % every == 0


class Steps:
    """The state of a training: weights, optimizer, and the number of steps done."""

    def __init__(
        self,
        learner: Learner,
        device: torch.device = CPU,
        bf16: bool = False,
        first_step: int = 0,
        member: Member = ALONE,
    ) -> None:
        self.learner, self.member, self.device = learner, member, member.device(device)
        self.mixed = bf16 and device.type == "cuda"
        self.done = first_step
        self.module = learner.module.to(self.device)
        self.optimizer = learner.optimizer()
        self.loss: nn.Module = LearnerLoss(learner)
        if member.several:
            for part in self.module.modules():
                if isinstance(part, AdaCos):
                    part.several_devices = True
            # DistributedDataParallel waits for every gradient. Empty weights may have no gradient.
            for weight in self.module.parameters():
                if not weight.numel():
                    weight.requires_grad_(False)
            ids = [self.device] if self.device.type == "cuda" else None
            self.loss = DistributedDataParallel(self.loss, device_ids=ids)

    def step(self, batch: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """Make one step; return the loss, and on every `log_every`-th step the logged measures.

        Raises LogicgenError if the loss of a step with logged measures is not finite.
        """
        learner, member = self.learner, self.member
        rate = learner.schedule.set_rate(self.optimizer, self.done)
        rows_seed, dropout_seed = step_seeds(learner.seed, self.done)
        # Each device has its own dropout; all devices have the same rows of the embedding.
        _seed(dropout_seed + member.rank.number, self.device)
        generator = torch.Generator().manual_seed(rows_seed)
        measured = (self.done + 1) % learner.log_every == 0
        with self._autocast():
            loss, measures = self.loss(moved(batch, self.device), generator, measured)
        if member.several:
            weight = batch.share.weight
            loss = loss * weight
            measures = {name: member.mean(value * weight) for name, value in measures.items()}
        if measured and not torch.isfinite(measures.get("loss", loss)):
            raise LogicgenError(
                f"the loss of step {self.done + 1} is not finite: the training has diverged; start"
                " again with a lower training.learning_rate or training.gradient_clip"
            )
        self.optimizer.zero_grad()
        loss.backward()
        if learner.gradient_clip is not None:
            nn.utils.clip_grad_norm_(self.module.parameters(), learner.gradient_clip)
        self.optimizer.step()
        self.done += 1
        return loss.detach(), {**measures, "learning_rate": torch.tensor(rate)} if measures else {}

    @torch.inference_mode()
    def validate(self) -> dict[str, Tensor]:
        """Return the mean measures of the held-out batches, weighted by number of examples."""
        training = [part for part in self.module.modules() if part.training]
        self.module.eval()
        sums: dict[str, Tensor] = {}
        examples = 0
        for batch in self.learner.validation_batches():
            with self._autocast():
                measures = self.learner.validate(moved(batch, self.device))
            count = len(batch[1])
            examples += count
            for name, value in measures.items():
                sums[name] = sums.get(name, 0.0) + value.float() * count
        for part in training:
            part.training = True
        return {name: value / examples for name, value in sums.items()}

    def batches(self) -> Generator[Any]:
        """Return the batches from the next step on, or this device's share of them."""
        batches = self.learner.batches(self.done)
        if self.member.several:
            batches = map(partial(self.learner.shared, rank=self.member.rank), batches)
        if self.learner.ahead:
            return made_ahead(batches, pinned=self.device.type == "cuda")
        return (batch for batch in batches)

    def save(self, path: Path) -> None:
        """Write a checkpoint. Raises LogicgenError if the file cannot be written."""
        tree = {
            "global_step": self.done,
            "weights": self.module.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }
        try:
            checkpoint.save_tree(tree, path)
        except OSError as error:
            raise LogicgenError(
                f"{path}: cannot be written: {error.strerror}: make room, then --resume"
            ) from None

    def restore(self, path: Path) -> None:
        """Load a checkpoint. Raises LogicgenError if it belongs to another training."""
        tree = checkpoint.load_tree(path)
        try:
            self.module.load_state_dict(tree["weights"])
            self.optimizer.load_state_dict(tree["optimizer"])
        except DEVICE_ERRORS:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, RuntimeError) as error:
            raise LogicgenError(
                f"{path}: not a checkpoint of this training: remove it and train again"
            ) from error

    def _autocast(self) -> AbstractContextManager[Any]:
        return torch.autocast("cuda", torch.bfloat16) if self.mixed else nullcontext()


class LearnerLoss(nn.Module):
    """The loss of a learner as the module that `DistributedDataParallel` wraps."""

    def __init__(self, learner: Learner) -> None:
        super().__init__()
        self.module, self.forward = learner.module, learner.loss


@contextmanager
def progress_bar(total: int, done: int) -> Iterator[Watcher]:
    """Yield a watcher that shows steps, loss and time left on standard error, every ten steps.

    total: number of steps of the training.
    done: number of steps that an earlier run has done.
    """
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("loss {task.fields[loss]}"))
    with Progress(
        TextColumn("training"), *columns, TimeRemainingColumn(), console=Console(stderr=True)
    ) as bar:
        task = bar.add_task("", total=total, completed=done, loss="")

        def show(done: int, loss: Tensor) -> bool:
            if done % 10 == 0 or done >= total:
                bar.update(task, completed=done, loss=f"{float(loss):.4f}")
            return False

        yield show


def _seed(seed: int, device: torch.device) -> None:
    """Seed PyTorch's random numbers of a device."""
    # `torch.manual_seed` also formats the call stack, in case a GPU is initialized later. This
    # would slow down the steps of small models.
    if device.type == "cpu":
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)


def step_seeds(seed: int, step: int) -> tuple[int, int]:
    """Return two independent seeds for a step: for the rows of the embedding, and for dropout."""
    rows, dropout = np.random.SeedSequence((seed, step)).generate_state(2, np.uint64) >> 1
    return int(rows), int(dropout)
