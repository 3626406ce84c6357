"""`logicgen study`."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from logicgen.cli.options import DEVICE, engine_options, integer_option, out_option
from logicgen.cli.terminal import put, say

if TYPE_CHECKING:
    from logicgen.study.plan import Plan
    from logicgen.study.records import Record
    from logicgen.study.trial import Trial


@click.command("study")
@click.argument("name")
@out_option("Folder; runs/studies/NAME if not given.")
@integer_option("--workers", help="Trials at a time; one per GPU, or else per core, if not given.")
@click.option(
    "--set",
    "changes",
    metavar="KEY=VALUE",
    multiple=True,
    help="Change a key of the study, such as lesson.steps=300; may be repeated.",
)
@DEVICE
@engine_options
def command(
    name: str, out: Path | None, workers: int | None, changes: tuple[str, ...], device: str
) -> None:
    """Compute the trials of study NAME, a shipped name or the path of a TOML file.

    A trial trains and scores a model, or computes a part of a published experiment. Leaves a
    record of each in OUT/trials.jsonl.gz, and a table and figures made from the records alone. A
    trial that has its record is not computed again. So the same command continues after an
    interruption, and tries failed trials again.
    """
    from logicgen.errors import at
    from logicgen.extras import need
    from logicgen.recipes import parse_change

    need("train")
    from logicgen.study.plan import open_study

    with at("--set"):
        parsed = dict(map(parse_change, changes))
    planned = open_study(name, parsed)
    planned.command += "".join(f" --set {quote(each)}" for each in changes)
    run_study(planned, out or Path("runs") / "studies" / planned.name, workers, device)


def run_study(plan: Plan, folder: Path, workers: int | None, device: str) -> None:
    """Compute what is missing behind progress bars, write the report, and print its tables.

    Raises LogicgenError where trials failed, after saying why each did.
    """
    from logicgen.data.folder import alone
    from logicgen.errors import LogicgenError
    from logicgen.files import prepare_folder
    from logicgen.report.tables import REPORT
    from logicgen.study.records import read_records

    prepare_folder(folder)
    with alone(folder, "study"):
        failed = dict(plan.impossible)
        _say(failed)
        records = read_records(plan.trials, folder)
        todo = [trial for name, trial in plan.trials.items() if name not in records]
        if todo:
            device = "cpu" if plan.cpu else device
            failed |= _compute(plan, todo, records, folder, workers, device)
        if not (failed and plan.whole):
            put(plan.write(records, folder))
            say(f"with figures: {folder / REPORT}")
        if failed:
            total = len(plan.trials) + len(plan.impossible)
            raise LogicgenError(
                f"{len(failed):,} of {total:,} trials failed, as said above; the same command"
                " tries them again"
            )


def _compute(
    plan: Plan,
    todo: list[Trial],
    records: dict[str, Record],
    folder: Path,
    workers: int | None,
    device: str,
) -> dict[str, str]:
    """Compute trials and add their records; return why some failed, by name."""
    from logicgen.cli.terminal import progress_bars, stage_bars
    from logicgen.study.engine import compute, default_workers

    count = workers or default_workers(device)
    with stage_bars("examples") as progress:
        failed = plan.prepare(todo, folder, workers=count, progress=progress)
    _say(failed)
    ready = [trial for trial in todo if trial.name not in failed]
    with progress_bars("trials") as bars:
        total = len(plan.trials)
        bar = bars.add_task(plan.name, total=total, completed=total - len(ready))
        best: list[float] = []

        def settled(name: str, outcome: Record | str) -> None:
            bars.advance(bar)
            if isinstance(outcome, str):
                failed[name] = outcome
                # Above the bar, as it is: not wrapped, and [embedding] is no markup.
                said = f"{name} failed: {outcome}"
                bars.console.print(said, soft_wrap=True, markup=False, highlight=False)
            elif (score := plan.score(outcome)) is not None:
                last, less_is_better = score
                best[:] = [(min if less_is_better else max)([last, *best])]
                text = f"{plan.name}, best {best[0]:.3f}, last {last:.3f}"
                bars.update(bar, description=text)

        compute(plan, ready, records, folder, workers=count, device=device, settled=settled)
    return failed


def _say(failed: dict[str, str]) -> None:
    for name, reason in failed.items():
        say(f"{name} failed: {reason}")
