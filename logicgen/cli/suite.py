"""The commands `logicgen suite ...`: fixed problems to compare programs with."""

from __future__ import annotations

from os.path import isfile
from pathlib import Path
from typing import Any

import click

from logicgen import library
from logicgen.cli import options as opt
from logicgen.cli.terminal import put, say, stage_bars
from logicgen.errors import LogicgenError
from logicgen.extras import use_one_thread
from logicgen.library.suites import SUITE

_COMMON = opt.together(
    click.option("--suite", default=SUITE, show_default=True, help="Name or TOML file."),
    click.option(
        "--problems",
        type=opt.PATH,
        help="Folder of the problems; runs/suites/SUITE if not given.",
    ),
    opt.WORKERS,
)


def _open(suite: str, problems: Path | None, workers: int) -> Any:
    return library.open_suite(suite, problems, workers=workers, bars=stage_bars)


@click.command("make")
@_COMMON
def make(**common: Any) -> None:
    """Make the problems of a suite, and compare their fingerprints with the file of the suite.

    The suite that ships takes two minutes on one core.
    """
    for line in library.suite_lines(_open(**common)):
        put(line)


@click.command("run")
@click.argument("system", metavar="MODEL|REPLIES|control:NAME|solver:STEPS")
@_COMMON
@click.option(
    "-o",
    "--out",
    type=opt.PATH,
    metavar="FILE.json",
    help="The result; runs/suites/SUITE/results/SYSTEM.json if not given.",
)
@click.option("--part", "parts", multiple=True, help="Only this part. May be repeated.")
@opt.integer_option("--draws", 16, help="Try at most N answers to a problem.", metavar="N")
@opt.MODE
def run(system: str, out: Path | None, mode: Any, **options: Any) -> None:
    """Ask a system every problem of a suite and its two rewrites, and verify the answers.

    The system is a trained model, a control, or a solver that gives up after STEPS steps. It may
    also be a file of replies to `logicgen suite prompts`. A part whose task the system does not
    know is left out.

    Prints the percentage of right answers in each part, and the best control. The column "verified"
    counts a problem as right if one of up to N answers is right. Consistency is the share of
    problems whose three forms are all answered right or all wrong. Writes all answers as JSON, and
    a page. After an interruption the same command continues, except for replies.
    """
    if out is not None and not out.name.endswith((".json", ".json.gz")):
        raise LogicgenError(f"{out}: give a name that ends in .json or .json.gz")
    common = {name: options.pop(name) for name in ("suite", "problems")}
    suite = _open(**common, workers=options["workers"])
    options |= {"mode": mode or "strict", "bars": stage_bars}
    use_one_thread()
    try:
        lines, path = library.run_suite(suite, system, out, **options)
    except KeyboardInterrupt as stopped:
        again = "repeat" if isfile(system) else "continue"
        raise type(stopped)(f"stopped: run the same command to {again}") from None
    for line in lines:
        put(line)
    say(f"all answers: {path}, and as a page beside it")


@click.command("prompts")
@click.argument("file", type=opt.PATH)
@_COMMON
def prompts(file: Path, **common: Any) -> None:
    """Write the problems and their rewrites as prompts into FILE, JSON lines.

    Add the key `completion` with the model's text to each line. Then run `logicgen suite run FILE`.
    """
    if file.exists():
        raise LogicgenError(f"{file}: exists, and may contain replies: give another name")
    count = library.write_suite_prompts(_open(**common), file)
    say(f"{file}: {count:,} prompts")


@click.command("check")
@click.argument("results", nargs=-1, required=True, type=opt.PATH)
@_COMMON
def check(results: tuple[Path, ...], **common: Any) -> int:
    """Verify all answers of RESULTS again. Exit status: 1 if a verdict differs."""
    suite = _open(**common)
    found = False
    workers = common["workers"]
    for path, count, wrong in library.check_results(
        suite, results, workers=workers, bars=stage_bars
    ):
        for line in wrong:
            put(f"{path}: {line}")
        put(f"{path}: {count:,} verdicts, {len(wrong):,} differ")
        found |= bool(wrong)
    return int(found)


@click.command("leaderboard")
@click.argument("results", nargs=-1, required=True, type=opt.PATH)
@click.option(
    "-o", "--out", required=True, type=opt.PATH, metavar="FILE.md", help="The page, in Markdown."
)
@click.option("--ratings", type=opt.PATH, help="Also write the ratings of all problems.")
@_COMMON
def leaderboard(results: tuple[Path, ...], out: Path, ratings: Path | None, **common: Any) -> None:
    """Write the leaderboard of RESULTS, controls on top.

    The rating of a problem is the share of the systems that are wrong on it. This command does not
    verify the verdicts: run `logicgen suite check` first.
    """
    count = library.write_leaderboard(_open(**common), results, out, ratings)
    say(f"{out}: {count} systems")
