"""`logicgen study`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from logicgen.study.plan import Plan, Trial


@click.command("study")
@click.argument("name")
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), help="Folder; runs/studies/NAME if not given."
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Trainings at a time; one per GPU, or else per core, if not given.",
)
@click.option(
    "--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True
)
def command(name: str, out: Path | None, workers: int | None, device: str) -> None:
    """Train and score the models of study NAME, a shipped name or the path of a TOML file.

    Leaves a small file per trial in OUT/trials, and a table and figures made from these alone. A
    trial that has its file is not run again, so the same command goes on after an interruption, and
    tries again what failed.
    """
    from logicgen.atomic import prepare_folder
    from logicgen.errors import LogicgenError
    from logicgen.study.plan import plan
    from logicgen.study.results import REPORT, write_results
    from logicgen.study.study_recipe import read_study
    from logicgen.study.summary import read_results

    planned = plan(read_study(name))
    folder = out or Path("runs") / "studies" / planned.study.name
    prepare_folder(folder)
    failed = dict(planned.impossible)
    for trial, reason in failed.items():
        _say_failed(trial, reason)
    done = read_results(planned, folder)
    todo = [trial for trial in planned.trials.values() if trial.name not in done]
    if todo:
        failed |= _run(planned, todo, folder, workers, device)
        done = read_results(planned, folder)
    click.echo(write_results(planned, list(done.values()), folder))
    click.echo(f"with figures: {folder / REPORT}", err=True)
    if failed:
        total = len(planned.trials) + len(planned.impossible)
        raise LogicgenError(
            f"{len(failed):,} of {total:,} trials failed, as said above; the same command tries"
            " them again"
        )


def _run(
    planned: Plan, todo: list[Trial], folder: Path, workers: int | None, device: str
) -> dict[str, str]:
    """Run trials behind bars; why some failed, by name."""
    from logicgen.cli.progress import progress_bars, stage_bars
    from logicgen.study.run import default_workers, make_data, run_trials

    count = workers or default_workers(device)
    with stage_bars("examples") as progress:
        failed = make_data(todo, folder, workers=count, progress=progress)
    for trial, reason in failed.items():
        _say_failed(trial, reason)
    ready = [trial for trial in todo if trial.name not in failed]
    with progress_bars("trials") as bars:
        study, total = planned.study.name, len(planned.trials)
        bar = bars.add_task(study, total=total, completed=total - len(ready))
        best: list[float] = []

        def settled(trial: Trial, answer: dict[str, Any]) -> None:
            bars.advance(bar)
            if "error" in answer:
                failed[trial.name] = answer["error"]
                # Above the bar, as it is: not wrapped, and [embedding] is no markup.
                said = f"{trial.name} failed: {answer['error']}"
                bars.console.print(said, soft_wrap=True, markup=False, highlight=False)
                return
            last, choose = answer["score"], min if answer["less_is_better"] else max
            best[:] = [choose([last, *best])]
            bars.update(bar, description=f"{study}, best {best[0]:.3f}, last {last:.3f}")

        run_trials(
            ready,
            folder,
            planned=planned.trials,
            workers=count,
            device=device,
            settled=settled,
        )
    return failed


def _say_failed(trial: str, reason: str) -> None:
    click.echo(f"{trial} failed: {reason}", err=True)
