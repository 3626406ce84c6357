"""Solve problems, verify answers and score completions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

from logicgen.errors import LogicgenError
from logicgen.extras import extras_named
from logicgen.library.models import load_model
from logicgen.tasks.controls import PREFIX

if TYPE_CHECKING:
    from logicgen.measures.answering import Respondent
    from logicgen.scoring import Judgement
    from logicgen.scoring.audit import Audit
    from logicgen.scoring.completions import Mode
    from logicgen.solvers import Solution, Verdict
    from logicgen.tasks.public_task import PublicTask


def task(name: str) -> PublicTask:
    """Return the task with this name: `propositional`, `ltl`, `copying`, `lookup`, `permutation`.

    Raises LogicgenError for an unknown name.
    """
    from logicgen.tasks.public_task import PublicTask

    return PublicTask(name)


def solve(
    task: str, problem: str, *, solver: str | None = None, timeout: float | None = None
) -> Solution:
    """Return the canonical answer to a problem.

    The `status` of the solution is `sat`, `unsat` or `unknown`. For `sat` it has a `witness`, and
    for `unknown` a `reason`.

    problem: text in infix or prefix notation.
    solver: name of a solver; the default solver of the task if not given.
    timeout: time limit in seconds to parse and solve the problem, in a separate process.

    Raises LogicgenError for an unknown task or solver. Raises FormatError, with line and column, if
    the problem does not parse.
    """
    from logicgen.tasks import judge

    return judge.solve(task, problem, solver, timeout)


def verify(
    task: str,
    problem: str,
    answer: str,
    *,
    solver: str | None = None,
    timeout: float | None = None,
) -> Verdict:
    """Return the verdict on an answer: `correct`, `incorrect`, or `invalid`.

    An answer that is contradictory or does not parse is invalid.

    timeout: time limit in seconds. If it is reached, the verdict is `unknown`.

    Raises LogicgenError and FormatError as `solve` does.
    """
    return verdict_and_reason(task, problem, answer, solver=solver, timeout=timeout)[0]


def verdict_and_reason(
    task: str,
    problem: str,
    answer: str,
    *,
    solver: str | None = None,
    timeout: float | None = None,
) -> tuple[Verdict, str]:
    """Return the verdict of `verify`, and the reason for it if it is `invalid` or `unknown`."""
    from logicgen.tasks import judge

    return judge.verify(task, problem, answer, solver, timeout)


def reading_note(task: str, problem: str) -> str:
    """Return warnings about words of an LTL problem such as `Fab`, parsed as `F(ab)`."""
    from logicgen.syntax.formula_language import split_words

    words = split_words(problem) if task == "ltl" else []
    return "; ".join(f"warning: {word} is read as {word[0]}({word[1:]})" for word in words)


def shown_answers(
    task: str,
    problems: Sequence[str],
    *,
    solver: str | None = None,
    timeout: float | None = None,
    workers: int = 1,
    model: str | None = None,
    draws: int = 16,
) -> Iterator[tuple[str, str]]:
    """Yield two texts for each problem: the answer, and a note for the reader, perhaps empty.

    model: folder or name of a trained model that answers instead of the solver, or `control:NAME`.
        It tries at most `draws` different answers, which the solver verifies in `workers`
        processes.

    Raises LogicgenError and FormatError as `solve` does.
    """
    if model is not None:
        with _answering(task, model, solver, timeout, draws, workers) as respondent:
            yield from respondent.shown(problems)
        return
    from logicgen.solvers import Status
    from logicgen.tasks import load_task

    for problem in problems:
        note = reading_note(task, problem)
        solution = solve(task, problem, solver=solver, timeout=timeout)
        if solution.status is Status.UNKNOWN:
            yield f"unknown: {solution.reason}", note
        elif solution.status is Status.UNSAT:
            yield solution.reason or "unsatisfiable", note
        elif solution.witness is None:
            yield f"satisfiable: {solution.reason}", note
        else:
            yield load_task(task).drawn(solution.witness), note


def solve_lines(
    task: str,
    source: str,
    *,
    solver: str | None = None,
    timeout: float | None = None,
    workers: int = 1,
    model: str | None = None,
    draws: int = 16,
) -> Iterator[dict[str, Any]]:
    """Yield for each problem of a file a dict with its answer in `status` and `witness`.

    source: path of a file; `-` is standard input.
    timeout: time limit in seconds for each problem, 10 if not given.
    model: folder or name of a trained model that answers instead of the solver. It tries at most
        `draws` different answers, which the solver verifies. Each of the `workers` processes has
        a model and a solver of its own.
    """
    from logicgen.processes.pool import MEMORY, Limits
    from logicgen.tasks import lines

    if model is None:
        limits = Limits(timeout or 10.0, MEMORY)
        return lines.solve_lines(task, lines.read_lines(source), solver, workers, limits)
    opened = partial(_answering, task, model, solver, timeout, draws)
    return _answered(opened(), opened, lines.read_lines(source), workers)


def _answered(
    respondent: Respondent, opened: Callable[[], Respondent], lines: Iterator[str], workers: int
) -> Iterator[dict[str, Any]]:
    from logicgen.measures.answering import Respondent, ask

    there = (line for line in lines if line.strip())
    with closing(ask(Respondent.answer_lines, respondent, opened, there, workers)) as found:
        for rows in found:
            yield from rows


def _answering(
    task: str,
    model: str,
    solver: str | None,
    timeout: float | None,
    draws: int,
    workers: int = 1,
) -> Respondent:
    from logicgen.tasks import load_task

    opened = load_task(task)
    with extras_named():
        from logicgen.measures.answering import Answering, ControlRespondent
    options: dict[str, Any] = {"workers": workers, "seconds": timeout or 10.0}
    if model.startswith(PREFIX):
        return ControlRespondent(task, model.removeprefix(PREFIX), solver, draws, **options)
    trained = load_model(model)
    if trained.task_name != task:
        raise LogicgenError(f"{model}: was trained for task {trained.task_name}, not {task}")
    return Answering(trained.answerer(opened, model), solver, draws, **options)


def verify_lines(
    task: str,
    source: str,
    *,
    solver: str | None = None,
    timeout: float | None = None,
    workers: int = 1,
) -> Iterator[dict[str, Any]]:
    """Yield the object of each JSON line of a file, with the added key `verdict`.

    Each object has to contain `problem` and `answer`. The verdict on a line that cannot be read is
    `error`.

    timeout: time limit in seconds for each line, 10 if not given.
    """
    from logicgen.processes.pool import MEMORY, Limits
    from logicgen.tasks import lines

    limits = Limits(timeout or 10.0, MEMORY)
    return lines.verify_lines(task, lines.read_lines(source), solver, workers, limits)


def solve_dimacs(
    sources: Sequence[str],
    workers: int,
    timeout: float | None,
    begun: Callable[[], None] = lambda: None,
) -> Iterator[str]:
    """Solve DIMACS files. Yield the `s` line (status) and `v` lines (assignment) of each file.

    sources: paths of files; `-` is standard input.
    begun: a function that is called when the first file has been read without an error.
    """
    from logicgen.solvers.dimacs import solve_files

    return solve_files(sources, workers, timeout, begun)


def verify_dimacs(source: str, answer: str) -> str:
    """Return `correct`, `incorrect` or `invalid` for an answer to a DIMACS file.

    source: path of the DIMACS file.
    answer: path of a file with `v` lines, or the text of these lines.
    """
    from logicgen.solvers.dimacs import verify_file

    return verify_file(source, answer)


def score(
    task: str, problems: Sequence[str], completions: Sequence[object], **settings: Any
) -> list[Judgement]:
    """Judge a language model's completions of problems. Return a judgement for each completion.

    Each call starts new workers. For many calls, create one `Scorer`, which keeps its workers.

    settings: settings of `Scorer`, such as `mode`, `timeout` and `workers`.

    Raises LogicgenError as `Scorer` does.
    """
    from logicgen.scoring import Scorer

    with Scorer(task, **settings) as scorer:
        return scorer.score_batch(problems, completions)


def audit(
    function: Callable[[str, str], Any] | Mode, task: str = "propositional", **settings: Any
) -> Audit:
    """Report which wrong completions a verifier rewards, with an example of each kind of fault.

    function: the verifier. It takes a problem and a completion, and returns a reward: a number, or
        None if it cannot judge the completion. The texts `strict` and `tolerant` mean
        logicgen's own scorer in this mode.
    settings: `problems`, `count`, `seed`, `paid`, `dresses` and `only`, as in
        `logicgen.scoring.audit.audit`.

    Raises LogicgenError as `logicgen.scoring.audit.audit` does.
    """
    from logicgen.scoring.audit import audit, own_verifier

    verifier = own_verifier(task, function) if isinstance(function, str) else function
    return audit(verifier, task, **settings)
