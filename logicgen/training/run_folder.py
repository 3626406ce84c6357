"""A run folder: created for a new training, checked before a training is resumed."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from logicgen.errors import LogicgenError
from logicgen.files import is_part, prepare_folder
from logicgen.model import checkpoint
from logicgen.nn.linear import faster_in_bfloat16, has_bfloat16

EMULATED = (
    'training.precision is "bf16", for which this device has no instructions: it emulates them, and'
    ' a step takes several times as long as in fp32. Set training.precision = "auto"; a training'
    " that has begun can change to it with --resume"
)


def open_run(out: Path, identity: dict[str, Any], steps: int, *, resume: bool) -> int:
    """Create or check the run folder, and return the number of steps of its checkpoint, or 0.

    identity: model and data, which must not change when a run is resumed.
    steps: number of steps of the whole training.
    """
    path = out / checkpoint.RUN
    prepare_folder(out)
    try:
        empty = all(is_part(file) for file in out.iterdir())
    except OSError as error:
        raise LogicgenError(f"{out}: cannot be used as a run folder: {error.strerror}") from None
    if not empty and not path.is_file():
        raise LogicgenError(f"{out}: not empty and not a run: choose another folder with -o")
    if not empty and not resume:
        raise LogicgenError(
            f"{out}: holds a run already: continue it with --resume, or choose another folder"
            " with -o"
        )
    precision = None
    if not empty:
        before = checkpoint.load_json(path)
        for key, now in json.loads(json.dumps(identity)).items():
            if _compared(before.get(key)) != _compared(now):
                raise LogicgenError(
                    f"{out}: this run has another {key}: resume it with its own {key}, or choose"
                    " another folder with -o"
                )
    done = 0
    if (out / checkpoint.LAST).is_file():
        done = checkpoint.steps_done(out / checkpoint.LAST)
    if done > steps:
        raise LogicgenError(f"{out}: has {done:,} steps already: give --steps {done} or more")
    if checkpoint.has_model(out, steps):
        return done
    if done:
        precision = checkpoint.precision_of(before)
    # The model of an earlier training stays until this training ends.
    checkpoint.save_json({**identity, **({"precision": precision} if precision else {})}, path)
    return done


def choose_precision(out: Path, wanted: str, device: torch.device) -> tuple[str, str]:
    """Choose the precision of the next steps and record it in `run.json`.

    wanted: the recipe's `precision`. `auto` keeps the precision of earlier steps if the device has
        bfloat16. Warns if the device only emulates bfloat16.
    return: the precision of the next steps, and the precision of the whole training, which is
        "fp32 and bf16" if it changed between two runs.
    """
    content = checkpoint.load_json(out / checkpoint.RUN)
    before = content.get("precision")
    if wanted == "auto" and before == "bf16":
        chosen = "bf16" if has_bfloat16(device) else "fp32"
    elif wanted == "auto":
        chosen = "bf16" if before != "fp32" and faster_in_bfloat16(device) else "fp32"
    else:
        chosen = wanted
    if chosen == "bf16" and not has_bfloat16(device):
        warnings.warn(EMULATED, stacklevel=3)
    used = chosen if before in (None, chosen) else "fp32 and bf16"
    checkpoint.save_json({**content, "precision": used}, out / checkpoint.RUN)
    return chosen, used


@contextmanager
def open_log(out: Path | None) -> Iterator[Callable[[dict[str, Tensor], int], None]]:
    """Yield a function that logs a step's measures for TensorBoard.

    If `out` is None, the function does nothing.
    """
    if out is None:
        yield lambda measures, step: None
        return
    from torch.utils.tensorboard import SummaryWriter

    def log(measures: dict[str, Tensor], step: int) -> None:
        for name, value in measures.items():
            writer.add_scalar(name, value.item(), step)

    writer = SummaryWriter(str(out / "logs"))
    try:
        yield log
    finally:
        writer.close()


def validation_curves(out: Path) -> dict[str, list[tuple[int, float]]]:
    """Return the logged measures of held-out data: pairs of a step and a value, by name.

    If a step was repeated after an interruption, its last value counts. Models that are not
    trained in steps have no curves.
    """
    events = _logged(out)
    if events is None:
        return {}
    names = [name for name in events.Tags()["scalars"] if name.startswith("validation_")]
    curves = {}
    for name in sorted(names):
        values = {scalar.step + 1: float(scalar.value) for scalar in events.Scalars(name)}
        curves[name.removeprefix("validation_")] = sorted(values.items())
    return curves


def training_minutes(out: Path) -> float | None:
    """Return the minutes of a training without pauses, from its logs; None if it has no logs.

    Each call has a file of its own. A call lasts from the first to the last entry of its file.
    """
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    seconds = []
    for file in (out / "logs").glob("events.out.tfevents.*"):
        times = [event.wall_time for event in EventFileLoader(str(file)).Load()]
        seconds.append(max(times, default=0) - min(times, default=0))
    return sum(seconds) / 60 if seconds else None


def _logged(out: Path) -> Any:
    """Return TensorBoard's reader of the logs of a run; None if it has no logs."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    if not (out / "logs").is_dir():
        return None
    # By default the reader keeps a random sample of 10,000 values of each curve.
    events = EventAccumulator(str(out / "logs"), size_guidance={"scalars": 0})
    events.Reload()
    return events


def _compared(value: Any) -> Any:
    """Return a value of `run.json` without the parts that may change when a run is resumed.

    These are the description of a recipe, its steps and its precision. Other values are returned
    unchanged.
    """
    if not isinstance(value, dict) or not isinstance(value.get("training"), dict):
        return value
    changing = "steps", "precision"
    training = {key: part for key, part in value["training"].items() if key not in changing}
    return {**value, "description": "", "training": training}
