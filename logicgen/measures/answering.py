"""Answering of problems by a model or a control, with a solver that judges each answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from textwrap import shorten
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import numpy as np

from logicgen.errors import FormatError, LogicgenError
from logicgen.extras import use_one_thread
from logicgen.measures.verified import Outcome, VerifiedSearch, different, draw_until_accepted
from logicgen.measures.verifier import Verifier
from logicgen.processes.engines import cluster
from logicgen.processes.pool import Failure, Pool
from logicgen.solvers import Status, Verdict
from logicgen.syntax.answers import Trace
from logicgen.tasks import Task, fitting_solver, load_task
from logicgen.tasks.controls import load_control
from logicgen.tasks.judge import Item
from logicgen.tasks.lines import EARLIER, fields_of, text_of, unread
from logicgen.tasks.task import rename
from logicgen.tokens import symbol_name

if TYPE_CHECKING:
    from logicgen.model.model import Answerer

Row = dict[str, Any]
Found = TypeVar("Found")

REFUSED = Outcome("", str(Verdict.INVALID), 1)
"""The outcome of a problem that a program cannot read."""

# The most texts that are answered together, and their most characters.
CHUNK, CHARACTERS = 128, 2**20

# Instead of the most tokens of an answer (`Task.answer_room`), the next larger power of two is the
# limit, and at least ROOM. So most problems have the same limit, and are answered together.
ROOM = 64

# A problem may have FEWEST tokens, or eight times the tokens of the longest training problem. Long
# problems take minutes: above MOST tokens, the limit is the length of that training problem.
FEWEST, MOST = 256, 1024


class Question(NamedTuple):
    """A problem in the user's symbols, and in the model's operators and symbols."""

    problem: str  # in the user's symbols, prefix notation
    asked: str  # in the model's operators and symbols, prefix notation
    names: dict[str, str]  # the user's symbol for each symbol of the model
    warning: str = ""  # how the problem differs from the problems that the model was trained on


class Respondent(ABC):
    """A program that answers problems, and the solver that judges its answers.

    Use as a context manager.

    draws: most answers to try for each problem.
    workers: number of processes of the solver.
    seconds: the solver's time limit for each answer.
    """

    def __init__(
        self,
        task: str,
        solver: str | None = None,
        draws: int = 16,
        *,
        workers: int = 1,
        seconds: float = 10.0,
    ) -> None:
        self.task, self.draws = load_task(task), draws
        self.verifier = Verifier(self.task, fitting_solver(task, solver), workers, seconds)

    def __enter__(self) -> Self:
        self.verifier.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.verifier.__exit__()

    def question(self, text: str) -> Question:
        """Parse a problem in infix or prefix notation.

        Raises LogicgenError if the text does not parse, or if the program cannot answer it.
        """
        problem = self.task.encode(self.task.read_problem(text))
        return Question(problem, problem, {})

    @abstractmethod
    def answers(self, questions: list[Question]) -> list[Outcome]:
        """Return the outcome of each question: the first answer that the solver accepts.

        Answers contain the user's symbols. If the solver accepts no answer, the outcome contains
        the first answer and its verdict.
        """

    def _judge(self, questions: list[Question], answers: list[str]) -> list[str]:
        """Return the verdict on an answer to each question."""
        pairs = zip(questions, answers, strict=True)
        items = [Item(question.problem, answer, answer) for question, answer in pairs]
        return self.verifier.verdicts(items)

    def shown(self, problems: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield two texts for each problem: a readable answer, and the number of answers tried.

        If no answer was accepted, the first text begins with `unknown:`, and the second text
        contains no number. A warning about the problem is at the end of the second text.
        """
        task = self.task
        questions = [self.question(problem) for problem in problems]
        for question, outcome in zip(questions, self.answers(questions), strict=True):
            row = solved(task, outcome)
            said = self.warning(question, outcome)
            warning = f"warning: {said}" if said else ""
            if row["status"] == "unknown":
                yield f"unknown: {row['reason']}", warning
            else:
                answer = task.decode_answer(outcome.prediction)
                text = "unsatisfiable" if row["status"] == "unsat" else task.drawn(answer)
                tried = f"verified, {outcome.draws} of {self.draws} draws used"
                yield text, "; ".join(filter(None, (tried, warning)))

    def answer_lines(self, lines: Iterable[str]) -> list[Row]:
        """Return a result for each line: the problem with `status`, `witness` and `draws`.

        A line contains a problem, or a JSON object with the key `problem`. The status is `sat` with
        a verified witness, or `unsat` if the solver confirms it. It is `unknown` if no answer was
        right, and `invalid` if the model cannot read the problem. In these two cases the result
        contains a `reason`. It contains a `warning` if the problem, or the number of positions of
        its answer, is larger than in the model's training.
        """
        rows: list[Row] = []
        questions: dict[int, Question] = {}
        for place, line in enumerate(lines):
            row = unread(line)
            try:
                row = fields_of(line, drop=EARLIER)
                questions[place] = self.question(text_of(row, "problem"))
            except LogicgenError as error:
                reason = str(error).splitlines()[0]
                row |= {"status": str(Status.INVALID), "witness": None, "reason": reason}
            rows.append(row)
        outcomes = self.answers(list(questions.values()))
        for place, outcome in zip(questions, outcomes, strict=True):
            rows[place] |= solved(self.task, outcome)
            if warning := self.warning(questions[place], outcome):
                rows[place]["warning"] = warning
        return rows

    def outcomes(self, problems: Iterable[str]) -> list[Outcome]:
        """Return the outcomes of problems; `REFUSED` for a problem that `question` rejects."""
        found, questions = list[Outcome](), dict[int, Question]()
        for place, problem in enumerate(problems):
            found.append(REFUSED)
            with suppress(LogicgenError):
                questions[place] = self.question(problem)
        answers = self.answers(list(questions.values()))
        for place, outcome in zip(questions, answers, strict=True):
            found[place] = outcome
        return found

    def warning(self, question: Question, outcome: Outcome) -> str:
        """Return a warning about a problem and its answer, or an empty text."""
        return question.warning


def ask(
    method: Callable[[Respondent, list[str]], list[Found]],
    respondent: Respondent,
    opened: Callable[[], Respondent | None],
    texts: Iterable[str],
    workers: int = 1,
) -> Generator[list[Found]]:
    """Yield the results of a method of `Respondent` for chunks of texts, in their order.

    respondent: answers all chunks if there is one worker.
    opened: a function that can be pickled. It returns such a respondent; each of several workers
        calls it once.
    workers: number of processes.

    Raises LogicgenError if a worker dies twice at one chunk.
    """
    if workers == 1 or cluster() is not None:
        with respondent:
            yield from (method(respondent, chunk) for chunk in _chunks(texts))
        return
    with Pool(_asked, (method, opened), count=workers) as pool:
        for found in pool.map(_chunks(texts)):
            if isinstance(found, Failure):
                raise LogicgenError(
                    f"a process that answers problems: {found.reason}: use fewer --workers"
                )
            yield found


def _chunks(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield the texts in lists of up to `CHUNK` texts and about `CHARACTERS` characters."""
    chunk: list[str] = []
    for text in texts:
        chunk.append(text)
        if len(chunk) == CHUNK or sum(map(len, chunk)) > CHARACTERS:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _asked(
    method: Callable[[Respondent, list[str]], list[Found]], opened: Callable[[], Respondent | None]
) -> Callable[[list[str]], list[Found]]:
    """Return the function with which a worker of `ask` answers chunks."""
    use_one_thread()
    respondent = opened()
    assert respondent is not None
    return partial(method, respondent)


class ControlRespondent(Respondent):
    """A control (`tasks/controls.py`) that answers problems. Options: see `Respondent`."""

    def __init__(self, task: str, control: str, *options: Any, **further: Any) -> None:
        super().__init__(task, *options, **further)
        self._control = load_control(self.task, control)

    def answers(self, questions: list[Question]) -> list[Outcome]:
        draws = self.draws
        found = [self._control.answers(each.problem, draws) or [""] for each in questions]
        first = [each[0] for each in found]
        return draw_until_accepted(
            first,
            self._judge(questions, first),
            draws,
            lambda left: [found[place][1:] for place in left],
            lambda left, answers: self._judge([questions[place] for place in left], answers),
        )


class SolverRespondent(Respondent):
    """A solver that gives up after a number of steps. Options: see `Respondent`."""

    def __init__(self, task: str, effort: int, *options: Any, **further: Any) -> None:
        super().__init__(task, *options, **further)
        self._limited = self.task.limited(effort)

    def answers(self, questions: list[Question]) -> list[Outcome]:
        found = []
        for question in questions:
            solution = self._limited.solve(self.task.decode_problem(question.problem))
            refuted = solution.status is Status.UNSAT
            witness = self.task.refutation if refuted else solution.witness
            found.append("" if witness is None else self.task.encode(witness))
        verdicts = self._judge(questions, found)
        return [Outcome(*each, 1) for each in zip(found, verdicts, strict=True)]


class Answering(Respondent):
    """A model that answers problems. Options: see `Respondent`."""

    def __init__(self, model: Answerer, *options: Any, **further: Any) -> None:
        from logicgen.nn.samples import Sampling

        super().__init__(model.task_name, *options, **further)
        self.model, self.search = model, VerifiedSearch(self.draws, Sampling(seed=1))

    def question(self, text: str) -> Question:
        """Parse a problem in infix or prefix notation, and translate it for the model.

        Raises LogicgenError if the text does not parse, or if the problem is too long or has too
        many symbols for the model. It is also raised if the operators of the training data cannot
        express the problem.
        """
        task = self.task
        problem = task.read_problem(text)
        tokens = self.model.region.tokens
        try:
            within = task.encode(task.within(problem, tokens) if tokens else problem)
        except LogicgenError as error:
            raise LogicgenError(f"the model was trained on {' '.join(tokens)}: {error}") from None
        length, longest = len(within.split()), self.model.largest[1]
        if length > (most := max(FEWEST, min(8 * longest, MOST), longest)):
            raise LogicgenError(
                f"a problem of {length} tokens; the model was trained on up to"
                f" {longest} and takes up to {most}: leave --model out for a solver"
            )
        fixed = self.model.vocabulary.fixed
        symbols = [token for token in dict.fromkeys(within.split()) if token not in fixed]
        self.model.check(len(symbols), tokens=length)
        names = {symbol_name(number): name for number, name in enumerate(symbols)}
        theirs = {name: own for own, name in names.items()}
        asked = rename(within, theirs)
        return Question(task.encode(problem), asked, names, self._warning(length, len(symbols)))

    def _warning(self, length: int, symbols: int) -> str:
        """Return a warning if a problem is larger than all training problems, or an empty text."""
        if not self.model.trained_on_task:
            return ""
        most_symbols, most_tokens = self.model.largest
        parts = []
        if length > most_tokens:
            operators = " ".join(self.model.region.tokens)
            written = f" when written with {operators}" if operators else ""
            parts.append(f"{length} tokens{written}, after training on up to {most_tokens}")
        if symbols > most_symbols:
            parts.append(f"{symbols} symbols, after training on up to {most_symbols}")
        return "; ".join(parts)

    def warning(self, question: Question, outcome: Outcome) -> str:
        most, parts = max(self.model.region.positions, default=None), [question.warning]
        if most is not None and Verdict(outcome.verdict).is_right:
            answer = self.task.decode_answer(outcome.prediction)
            if isinstance(answer, Trace) and (found := len(answer.positions)) > most:
                parts.append(
                    f"an answer of {found} positions, after stored answers of up to {most}"
                )
        return "; ".join(filter(None, parts))

    def answers(self, questions: list[Question]) -> list[Outcome]:
        """Return the outcome of each question: see `Respondent.answers`.

        An answer does not depend on the other questions, because all questions of a batch have the
        same alphabet and the same limit of tokens.
        """
        ids = [self.model.vocabulary.encode(question.asked) for question in questions]
        budgets = [
            max(ROOM, 1 << self.task.answer_room(len(each), len(question.names)).bit_length())
            for each, question in zip(ids, questions, strict=True)
        ]
        symbols = [max(self.model.alphabet, len(question.names)) for question in questions]
        outcomes: dict[int, Outcome] = {}
        for longest, count in sorted({*zip(budgets, symbols, strict=True)}):
            kind = longest, count
            rows = [row for row in range(len(ids)) if (budgets[row], symbols[row]) == kind]
            chosen = [questions[row] for row in rows], [ids[row] for row in rows]
            outcomes.update(zip(rows, self._together(*chosen, longest, count), strict=True))
        return [outcomes[row] for row in range(len(ids))]

    def _together(
        self, questions: list[Question], ids: list[list[int]], longest: int, symbols: int
    ) -> list[Outcome]:
        from logicgen.model.answer_form import grammar_mask
        from logicgen.model.model import Request

        request = Request(ids, symbols, 0, longest, grammar_mask(self.task, longest))

        def text(row: int, answer: list[int]) -> str:
            return rename(self.model.vocabulary.decode(answer), questions[row].names)

        likeliest = self.model.predict(request)
        first = [text(row, answers[0].ids) for row, answers in enumerate(likeliest)]

        def others(rows: np.ndarray) -> list[list[str]]:
            left = [ids[row] for row in rows]
            sampling = self.search.candidates(self.task)
            orders = self.search.orders(self.model, self.task)
            asked = replace(request, problems=left, decoding=sampling, orders=orders)
            found = self.model.predict(asked)
            return [
                different(
                    ((text(row, answer.ids), answer.score) for answer in answers),
                    self.task.meaning,
                    first[row],
                )
                for row, answers in zip(rows, found, strict=True)
            ]

        def judge(rows: np.ndarray, answers: list[str]) -> list[str]:
            return self._judge([questions[row] for row in rows], answers)

        verdicts = self._judge(questions, first)
        return draw_until_accepted(first, verdicts, self.draws, others, judge)


def solved(task: Task, outcome: Outcome) -> Row:
    """Return an outcome as the fields of a result: `status`, `witness`, `draws`, `reason`."""
    answer, draws = outcome.prediction, outcome.draws
    if Verdict(outcome.verdict).is_right:
        witness = task.decode_answer(answer)
        if witness == task.refutation:
            return {"status": str(Status.UNSAT), "witness": None, "draws": draws}
        return {"status": str(Status.SAT), "witness": task.show(witness), "draws": draws}
    with suppress(FormatError):
        answer = task.show(task.decode_answer(answer))
    likeliest = shorten(answer, 120, placeholder=" ...")
    reason = f"none of {draws} answers was accepted; the likeliest was {likeliest!r}"
    if outcome.verdict == Verdict.UNKNOWN:
        reason = f"the solver reached a limit before it judged the likeliest answer, {likeliest!r}"
    elif draws == 1:
        reason = f"the only answer was not right: {likeliest!r}"
    return {"status": str(Status.UNKNOWN), "witness": None, "draws": draws, "reason": reason}
