"""`logicgen solve`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from logicgen.cli.bulk import run_bulk
from logicgen.cli.options import (
    POSITIVE,
    TARGET_AND_SOLVER,
    TASK,
    WORKERS,
    engine_options,
    integer_option,
)
from logicgen.cli.terminal import put, say

if TYPE_CHECKING:
    from logicgen.measures.answering import Answering
    from logicgen.model.encoder_decoder import EncoderDecoder
    from logicgen.tasks import Task


@click.command("solve")
@TASK
@click.argument("problems", nargs=-1, metavar="[PROBLEM ...]")
@click.option(
    "--in",
    "source",
    metavar="FILE",
    help="One problem a line, or JSON lines; blank lines are skipped; - is stdin.",
)
@TARGET_AND_SOLVER
@click.option(
    "--model", metavar="RUN", help="Answer with the model of RUN, or a shipped one, verified."
)
@integer_option("--draws", help="With --model: at most so many different answers. [16]")
@WORKERS
@click.option(
    "--timeout",
    type=POSITIVE,
    help="Seconds per problem; with --in, 10 if not given. With --model: per answer checked, 10.",
)
@click.option("--dimacs", is_flag=True, help="Read the --in file as DIMACS, whatever its suffix.")
@engine_options
def command(
    task: str | None,
    problems: tuple[str, ...],
    source: str | None,
    target: str | None,
    solver: str | None,
    model: str | None,
    draws: int | None,
    workers: int,
    timeout: float | None,
    dimacs: bool,
) -> None:
    """Answer each PROBLEM for a person, or the problems of a file as JSON lines.

    A problem that ends in .cnf is a DIMACS file, answered as SAT competitions ask for it.

    \b
    logicgen solve --task propositional "a & !b | c"
    logicgen solve --task propositional --in formulas.txt --out answers.jsonl
    logicgen solve problem.cnf
    logicgen solve --task ltl --model ltl "G(a -> F b)"
    """
    from logicgen.cli.dimacs_files import check_options, is_dimacs, solve_files
    from logicgen.processes.pool import MEMORY, Limits
    from logicgen.tasks.lines import solve_lines

    if bool(problems) == (source is not None):
        raise click.UsageError("give either PROBLEMs or --in FILE")
    if draws is not None and model is None:
        raise click.UsageError("--draws goes with --model")
    files = [name for name in problems if is_dimacs(name)]
    if source is not None and (dimacs or is_dimacs(source)):
        files, problems = [source], (source,)
    if files:
        if len(files) < len(problems):
            raise click.UsageError("give either formulas or .cnf files")
        check_options(task, solver)
        if model is not None:
            raise click.UsageError("--model answers formulas, not DIMACS files")
        solve_files(files, target, workers, timeout)
        return
    if dimacs:
        raise click.UsageError("--dimacs goes with --in FILE")
    if task is None:
        raise click.UsageError("Missing option '--task'.")
    if source is None and target is not None:
        raise click.UsageError("--out goes with --in FILE")
    if model is not None:
        from logicgen.measures.answering import Answering, answer_lines

        trained, seconds = _load(model, task), timeout or 10.0
        with Answering.of(
            trained, solver, draws or 16, workers=workers, seconds=seconds
        ) as answering:
            if source is None:
                _answer_with(answering, problems)
            else:
                run_bulk(partial(answer_lines, answering), source, target, "status")
    elif source is not None:
        limits = Limits(timeout or 10.0, MEMORY)
        work = partial(solve_lines, task, solver=solver, workers=workers, limits=limits)
        run_bulk(work, source, target, "status")
    else:
        for problem in problems:
            put(_answer(task, problem, solver, timeout))


def _answer(task: str, problem: str, solver: str | None, timeout: float | None) -> str:
    from logicgen.solvers import Status
    from logicgen.tasks import judge, load_task

    solution = judge.solve(task, problem, solver, timeout)  # raises with the place in the text
    if solution.status is Status.UNKNOWN:
        return f"unknown: {solution.reason}"
    if solution.status is Status.UNSAT:
        return solution.reason or "unsatisfiable"
    if solution.witness is None:
        return f"satisfiable: {solution.reason}"
    return _drawn(load_task(task), solution.witness)


def _drawn(task: Task, witness: Any) -> str:
    picture = task.picture(witness)
    return f"{task.show(witness)}\n{picture}" if picture else task.show(witness)


def _load(model: str, task: str) -> EncoderDecoder:
    from logicgen.errors import LogicgenError
    from logicgen.model.checkpoint import as_encoder_decoder, load_model
    from logicgen.tasks import load_task

    load_task(task)  # complains
    trained = as_encoder_decoder(load_model(model), model)
    if trained.task_name != task:
        raise LogicgenError(f"{model}: was trained for task {trained.task_name}, not {task}")
    return trained


def _answer_with(answering: Answering, problems: tuple[str, ...]) -> None:
    from logicgen.measures.answering import solved
    from logicgen.tasks import load_task

    task = load_task(answering.model.task_name)
    questions = [answering.question(problem) for problem in problems]
    for outcome in answering.answers(questions):
        row = solved(task, outcome)
        if row["status"] == "unknown":
            put(f"unknown: {row['reason']}")
        else:
            answer = task.decode_answer(outcome.prediction)
            put("unsatisfiable" if row["status"] == "unsat" else _drawn(task, answer))
            say(f"verified, {outcome.draws} of {answering.verified.draws} draws used")
