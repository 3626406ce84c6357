"""The commands `logicgen solve` and `logicgen verify`."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from logicgen import library
from logicgen.cli.options import (
    POSITIVE,
    TARGET_AND_SOLVER,
    TASK,
    WORKERS,
    engine_options,
    integer_option,
)
from logicgen.cli.terminal import is_standard_output, progress_bars, put, say
from logicgen.errors import LogicgenError, printable
from logicgen.extras import use_one_thread

Row = dict[str, Any]

FILE_SECONDS = 10.0
"""The time limit for solving a DIMACS file if --timeout is not given."""


@click.command("solve")
@TASK
@click.argument("problems", nargs=-1, metavar="[PROBLEM ...]")
@click.option(
    "--in",
    "source",
    metavar="FILE",
    help="File with one problem a line, or JSON lines. Blank lines are skipped; - is stdin.",
)
@TARGET_AND_SOLVER
@click.option(
    "--model",
    metavar="RUN",
    help="Answer with the model in RUN or a shipped model; verify answers.",
)
@integer_option("--draws", help="With --model: try at most N different answers. [16]", metavar="N")
@WORKERS
@click.option(
    "--timeout",
    type=POSITIVE,
    help="Seconds per problem; 10 with --in and for .cnf files if not given. With --model: seconds"
    " to verify an answer, 10 if not given.",
)
@click.option("--dimacs", is_flag=True, help="Read the --in file as DIMACS, with any suffix.")
@engine_options
def solve(
    task: str | None,
    problems: tuple[str, ...],
    source: str | None,
    target: str | None,
    dimacs: bool,
    **options: Any,
) -> None:
    """Print the answer to each PROBLEM, or answer the problems of a file as JSON lines.

    A problem that ends in .cnf is a DIMACS file. Its answer is in the format of SAT competitions.
    With --in, the exit status is 2 if a problem does not parse.

    \b
    logicgen solve --task propositional "a & !b | c"
    logicgen solve --task propositional --in formulas.txt --out answers.jsonl
    logicgen solve problem.cnf
    logicgen solve --task ltl --model ltl "G(a -> F b)"
    """
    if bool(problems) == (source is not None):
        raise click.UsageError("give either PROBLEMs or --in FILE")
    if options["draws"] is not None and options["model"] is None:
        raise click.UsageError("--draws goes with --model")
    if files := _dimacs_files(problems, source, dimacs):
        _check_dimacs_options(task, **options)
        _solve_dimacs(files, target, options["workers"], options["timeout"] or FILE_SECONDS)
        return
    if dimacs:
        raise click.UsageError("--dimacs goes with --in FILE")
    if task is None:
        raise click.UsageError("Missing option '--task'.")
    if source is None and target is not None:
        raise click.UsageError("--out goes with --in FILE")
    options["draws"] = options["draws"] or 16
    if options["model"] is not None:
        use_one_thread()
    if source is not None:
        rows = library.solve_lines(task, source, **options)
        _check_lines(source, run_bulk(rows, target, "status", "solving")["invalid"], "answered")
        return
    for text, note in library.shown_answers(task, problems, **options):
        put(text)
        if note:
            say(note)


@click.command("verify")
@TASK
@click.argument("problem", required=False)
@click.argument("answer", required=False)
@click.option(
    "--in", "source", metavar="FILE.jsonl", help="Lines with problem and answer; - is stdin."
)
@TARGET_AND_SOLVER
@WORKERS
@click.option("--timeout", type=POSITIVE, help="Seconds per problem; with --in, 10 if not given.")
@engine_options
def verify(
    task: str | None,
    problem: str | None,
    answer: str | None,
    source: str | None,
    target: str | None,
    **options: Any,
) -> int:
    """Check an ANSWER to a PROBLEM, or all answers in a file.

    Exit status: 0 if the answer is correct, 1 if it is not, 2 for bad input. With --in it is 0, or
    2 if a line is not JSON or its problem does not parse.

    A PROBLEM that ends in .cnf is a DIMACS file. Its ANSWER is a file with a solver's v lines (- is
    stdin), or the text of these lines.

    \b
    logicgen verify --task propositional "a | b" "a=1"
    logicgen verify --task propositional --in answers.jsonl --out verdicts.jsonl
    logicgen verify problem.cnf answer.sol
    """
    if (source is None) == (problem is None):
        raise click.UsageError("give either PROBLEM and ANSWER or --in FILE")
    if problem is not None and is_dimacs(problem):
        _check_dimacs_options(task, **options)
        if options["timeout"] is not None:
            raise click.UsageError("--timeout is not for answers to DIMACS files: leave it out")
    elif task is None:
        raise click.UsageError("Missing option '--task'.")
    if source is not None:
        rows = library.verify_lines(str(task), source, **options)
        _check_lines(source, run_bulk(rows, target, "verdict", "verifying")["error"], "checked")
        return 0
    if answer is None:
        raise click.UsageError("the ANSWER is missing (write an empty answer as '')")
    if target is not None:
        raise click.UsageError("--out goes with --in FILE")
    return _verify_one(str(task), str(problem), answer, **options)


def _check_lines(source: str, wrong: int, done: str) -> None:
    """Raise LogicgenError if lines of a file were wrong. All results are written by then.

    source: the file, or - for standard input.
    wrong: the number of wrong lines.
    done: `answered` or `checked`.
    """
    if wrong:
        place = "standard input" if source == "-" else source
        lines = "1 line" if wrong == 1 else f"{wrong:,} lines"
        raise LogicgenError(f"{place}: {lines} cannot be {done}: see the key 'reason' in the rows")


def _verify_one(
    task: str, problem: str, answer: str, *, solver: str | None, timeout: float | None, **_: Any
) -> int:
    """Print the verdict on one answer; return the exit status: 0 if it is correct, else 1."""
    if is_dimacs(problem):
        verdict, reason = library.verify_dimacs(problem, answer), ""
    else:
        settings: dict[str, Any] = {"solver": solver, "timeout": timeout}
        found, reason = library.verdict_and_reason(task, problem, answer, **settings)
        verdict = str(found)
        if note := library.reading_note(task, problem):
            say(note)
    if reason and verdict == "invalid":
        put(verdict)
        say(f"the answer is invalid: {reason}")
    else:
        put(f"{verdict}: {reason}" if reason else verdict)
    return 0 if verdict == "correct" else 1


def is_dimacs(name: str) -> bool:
    """Return whether an argument is a DIMACS file: a name that ends in .cnf is not a formula."""
    return name.endswith(".cnf")


def _dimacs_files(problems: tuple[str, ...], source: str | None, dimacs: bool) -> list[str]:
    """Return the DIMACS files to solve; the list is empty if the problems are formulas.

    source: the file of the option --in.
    dimacs: whether to read this file as DIMACS, although it has another suffix.

    Raises UsageError if both formulas and DIMACS files are given.
    """
    if source is not None:
        return [source] if dimacs or is_dimacs(source) else []
    files = [name for name in problems if is_dimacs(name)]
    if files and len(files) < len(problems):
        raise click.UsageError("give either formulas or .cnf files")
    return files


def _solve_dimacs(files: list[str], target: str | None, workers: int, seconds: float) -> None:
    """Solve DIMACS files, and write the answers to `target`, or to standard output.

    On a terminal, a progress bar shows the current file. If a file has been read and the work takes
    more than a second, the time limit is printed.

    seconds: the time limit for each file.
    """
    limit = f"limit: {seconds:g} s for each file (--timeout SECONDS for another)"
    report = threading.Timer(1.0, say, [limit])
    report.daemon = True
    answers = library.solve_dimacs(files, workers, seconds, report.start)
    try:
        _write(_with_waiting(answers, files) if sys.stderr.isatty() else answers, target)
    finally:
        report.cancel()


def _with_waiting(answers: Iterator[str], files: list[str]) -> Iterator[str]:
    """Yield the answers to the files. A progress bar shows the file that is being solved."""
    for done, file in enumerate(files):
        with progress_bars("files", transient=True) as bars:
            bars.add_task(f"solving {printable(file)}", completed=done, total=len(files))
            answer = next(answers)
        yield answer


def _check_dimacs_options(
    task: str | None, *, solver: str | None, model: str | None = None, **_: Any
) -> None:
    """Raise LogicgenError or UsageError if an option is given that DIMACS files do not allow."""
    if task not in (None, "propositional"):
        raise LogicgenError(f"a DIMACS file is a propositional problem; leave out --task {task}")
    if solver not in (None, "pysat"):
        raise LogicgenError("DIMACS files are decided by pysat; leave out --solver")
    if model is not None:
        raise click.UsageError("--model answers formulas, not DIMACS files")


def run_bulk(rows: Iterator[Row], target: str | None, key: str, doing: str) -> Counter[str]:
    """Write rows as JSON lines to `target`, and print their number and the speed.

    If `target` is a file, it appears under its name only when it is complete.

    key: a key of the rows, such as `verdict`.
    doing: the label of the progress bar.

    Returns how often each value of `key` occurs in the rows.
    """
    start = time.perf_counter()
    counts: Counter[str] = Counter()
    on_terminal = is_standard_output(target) and sys.stdout.isatty()
    if sys.stderr.isatty() and not on_terminal:
        rows = _with_bar(rows, doing)

    def lines() -> Iterator[str]:
        for row in rows:
            counts[row[key]] += 1
            yield json.dumps(row) + "\n"

    if is_standard_output(target):
        sys.stdout.writelines(lines())
        sys.stdout.flush()  # before the summary is printed
    else:
        _write(lines(), target)
    seconds = time.perf_counter() - start
    total = sum(counts.values())
    parts = ", ".join(f"{count:,} {name}" for name, count in counts.most_common())
    speed = f"{total:,} in {seconds:.2f} s, {total / seconds:,.0f} a second"
    say(f"{speed}: {parts}" if parts else speed)
    return counts


def _write(texts: Iterable[str], target: str | None) -> None:
    """Write texts to standard output, or to a file that appears only when it is complete."""
    if is_standard_output(target):
        for text in texts:
            put(text, nl=False)
    else:
        library.write_texts(Path(str(target)), texts)


def _with_bar(rows: Iterator[Row], name: str) -> Iterator[Row]:
    """Yield the rows, and count them in a progress bar with the label `name`."""
    with progress_bars("problems") as bars:
        bar = bars.add_task(name, total=None)
        for row in rows:
            yield row
            bars.advance(bar)
