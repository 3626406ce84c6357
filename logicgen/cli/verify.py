"""`logicgen verify`."""

from __future__ import annotations

from functools import partial

import click

from logicgen.cli.bulk import run_bulk
from logicgen.cli.options import POSITIVE, TARGET_AND_SOLVER, TASK, WORKERS, engine_options
from logicgen.cli.terminal import put, say
from logicgen.errors import LogicgenError


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
def command(
    task: str | None,
    problem: str | None,
    answer: str | None,
    source: str | None,
    target: str | None,
    solver: str | None,
    workers: int,
    timeout: float | None,
) -> int:
    """Check one ANSWER to a PROBLEM, or those of a file.

    Exit status: 0 if the answer is correct, 1 if it is not, 2 for bad input. With --in it is 2 if
    some line cannot be checked, because it is no JSON or its problem does not parse, else 0.

    A PROBLEM that ends in .cnf is a DIMACS file; its ANSWER is a file with a solver's v lines (- is
    stdin), or their text.

    \b
    logicgen verify --task propositional "a | b" "a=1"
    logicgen verify --task propositional --in answers.jsonl --out verdicts.jsonl
    logicgen verify problem.cnf answer.sol
    """
    from logicgen.cli.dimacs_files import check_options, is_dimacs, verify_file
    from logicgen.processes.pool import MEMORY, Limits
    from logicgen.tasks.lines import ERROR, verify_lines

    if (source is None) == (problem is None):
        raise click.UsageError("give either PROBLEM and ANSWER or --in FILE")
    if is_dimacs(problem):
        check_options(task, solver)
        task = "propositional"
    elif task is None:
        raise click.UsageError("Missing option '--task'.")
    if source is not None:
        limits = Limits(timeout or 10.0, MEMORY)
        work = partial(verify_lines, task, solver=solver, workers=workers, limits=limits)
        if errors := run_bulk(work, source, target, "verdict")[ERROR]:
            place = "standard input" if source == "-" else source
            raise LogicgenError(
                f"{place}: lines that cannot be checked: {errors:,}. They are no JSON with a"
                " problem and an answer, or their problem does not parse: see the reason in each"
                f" row with the verdict {ERROR!r}"
            )
        return 0
    if answer is None:
        raise click.UsageError("the ANSWER is missing (an empty one is written '')")
    if target is not None:
        raise click.UsageError("--out goes with --in FILE")
    reason = ""
    if is_dimacs(problem):
        verdict = verify_file(str(problem), answer)
    else:
        from logicgen.tasks import judge

        found, reason = judge.verify(str(task), str(problem), answer, solver, timeout)
        verdict = str(found)
    if reason and verdict == "invalid":
        put(verdict)
        say(f"the answer does not parse: {reason}")
    else:
        put(f"{verdict}: {reason}" if reason else verdict)
    return 0 if verdict == "correct" else 1
