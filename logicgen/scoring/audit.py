"""Audit a verifier: give it completions with known verdicts, and report its wrong rewards.

A verifier pays a completion if the reward is high enough. A fault is a wrong completion that the
verifier pays. A class is a kind of wrong completion (`CLASSES`). A dress is a form in which a
completion gives its answer, such as `tags` (`DRESSES`).
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any

from logicgen.errors import LogicgenError, nearest, shortened, shown
from logicgen.scoring.attacks import (
    CLASSES,
    DRESSES,
    Case,
    case_of,
    completions,
    dressed,
    families,
    joined,
)
from logicgen.scoring.completions import Mode, check_mode
from logicgen.scoring.scorer import judge
from logicgen.tasks import load_task
from logicgen.tasks.problem_samples import ProblemSamples
from logicgen.tasks.task import Task


@dataclass(frozen=True)
class Fault:
    """A completion, its problem, the reward of the audited function, and why that is wrong."""

    problem: str
    completion: str
    reward: float | None
    why: str


@dataclass(frozen=True)
class Audit:
    """The result of an audit: how many completions of each class a verifier paid.

    Attributes:
        tried: the number of completions by class. For the class `raised` (completions that raised
            an exception) it is the number of all calls.
        paid: the number of faults by class.
        faults: the shortest fault by class.
        right: the number of right answers tried, by form (`dresses`).
        missed: the number of right answers that were not paid, by form. They are not faults: a
            verifier need not accept every form and every spelling.
        misses: the shortest right answer that was not paid, by form.
    """

    tried: Counter[str] = field(default_factory=Counter)
    paid: Counter[str] = field(default_factory=Counter)
    faults: dict[str, Fault] = field(default_factory=dict)
    right: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    misses: dict[str, Fault] = field(default_factory=dict)

    @property
    def clean(self) -> bool:
        """Return whether no wrong completion was paid and no exception was raised."""
        return not self.faults

    def as_dict(self) -> dict[str, Any]:
        """Return all attributes as values that JSON can hold."""
        counts = {name: {**getattr(self, name)} for name in ("tried", "paid", "right", "missed")}
        examples = {
            name: {kind: asdict(each) for kind, each in getattr(self, name).items()}
            for name in ("faults", "misses")
        }
        return {"clean": self.clean, **counts, **examples}

    @property
    def text(self) -> str:
        """Return a table of the classes, with examples and the share of right answers paid."""
        lines = [f"{'class':<16} {'tried':>6} {'paid':>6}  example"]
        for kind in (kind for kind in CLASSES if self.tried[kind]):
            lines.append(f"{kind:<16} {self.tried[kind]:>6,} {self.paid[kind]:>6,}")
            if (fault := self.faults.get(kind)) is not None:
                lines[-1] += f"  {_quoted(fault.completion)} to {_quoted(fault.problem)}"
                lines[-1] += f": {fault.why}"
        paid = [f"{d} {n - self.missed[d]:,} of {n:,}" for d, n in self.right.items()]
        lines.append(f"right answers paid: {', '.join(paid)}")
        if self.missed == self.right:
            lines.append(
                "warning: no right answer was paid, so this table shows little; check which"
                " notation the function reads, and which reward counts as paid"
            )
        return "\n".join(lines)


def audit(
    function: Callable[[str, str], Any],
    task: str = "propositional",
    *,
    problems: Iterable[str] | None = None,
    count: int = 20,
    seed: int = 0,
    paid: float = 1.0,
    dresses: Collection[str] = tuple(DRESSES),
    only: Collection[str] = tuple(CLASSES),
) -> Audit:
    """Test whether a verifier pays wrong completions; count these and keep the shortest examples.

    Args:
        function: the verifier. It takes a problem and a completion. It returns a number (the
            reward), or None if it cannot judge the completion.
        problems: texts; random problems of the task if not given.
        count: the number of random problems. If the task is a logic, a fifth of the formulas are
            unsatisfiable and a fifth are tautologies.
        paid: the least reward that counts as paid.
        dresses: the forms in which the function reads answers: any of `bare`, `tags`, `boxed` and
            `sentence`. All completions have one of these forms.
        only: the classes to try. An exception of the function is always reported.

    Raises LogicgenError for an unknown task, form or class. It is also raised if the function
    takes other arguments, or returns a value other than a number or None.
    """
    _check_names(dresses, DRESSES)
    _check_names(only, CLASSES)
    if count < 0:
        raise LogicgenError(f"audit: count: {count}; it has to be at least 0")
    chosen, trial = load_task(task), _Calls(function, paid)
    if problems is None:
        drawn = _drawn(chosen, count, seed)
    else:
        drawn = [chosen.read_problem(text) for text in problems]
    groups = families(chosen, drawn)
    cases = [case_of(chosen, problem) for problem in drawn] + [case for g in groups for case in g]
    # Texts of the class `odd text` can take a verifier seconds. Try them with a few problems only.
    few = [group[0] for group in groups if group]
    for case in filter(None, cases):
        trial.run_case(case, dresses, {*only} - ({"odd text"} if case not in few else set()))
    if "exclusion" in only:
        for completion, excluding in (pair for group in groups for pair in joined(group, dresses)):
            trial.run_excluding([case.problem for case in excluding], completion)
    return trial.audit


def _check_names(names: Collection[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise LogicgenError(f"audit: there is no {name!r}: {nearest(name, [*known])}")


def own_verifier(task: str, mode: Mode) -> Callable[[str, str], float | None]:
    """Return logicgen's own scorer as a function, without limits of time and memory."""
    check_mode(mode)
    chosen = load_task(task)
    read = lru_cache(chosen.read_problem)
    return lambda problem, text: judge(chosen, read(problem), text, mode, reasons=False).reward


def _drawn(task: Task, count: int, seed: int) -> list[Any]:
    """Return `count` random problems. In a logic, some are unsatisfiable and some tautologies."""

    def some(number: int, satisfiable: bool) -> list[Any]:
        few, short = task.difficulty.few, task.difficulty.short
        samples = ProblemSamples(task, few, short, seed, satisfiable=satisfiable)
        return list(islice(samples, number))

    without = some(2 * (count // 5), False) if task.logic else []
    tautologies = [~problem for problem in without[1::2]]
    return [*some(count - len(without), True), *without[::2], *tautologies]


class _Calls:
    """Calls a verifier with problems and completions, and counts the results in an `Audit`.

    Raises LogicgenError if the verifier cannot be called with a problem and a completion.
    """

    def __init__(self, function: Any, least: float) -> None:
        remedy = "give a function (problem, completion) -> reward"
        if not callable(function):
            raise LogicgenError(f"{shown(function)} is not a function: {remedy}")
        try:
            inspect.signature(function).bind("", "")
        except TypeError as error:
            name = getattr(function, "__name__", shown(function))
            raise LogicgenError(f"{name}: two arguments do not fit: {error}: {remedy}") from None
        except ValueError:  # a function written in C need not have a signature
            pass
        self._function, self._least = function, least
        self.audit = Audit()

    def run_case(self, case: Case, dresses: Collection[str], only: Collection[str]) -> None:
        """Try the right answers to a problem, and the completions of the given classes."""
        found = self.audit
        for dress in dresses:
            for completion in dict.fromkeys(dressed(answer, dress) for answer in case.right):
                found.right[dress] += 1
                if not self._pays(case.problem, completion):
                    found.missed[dress] += 1
                    self._keep(found.misses, dress, case.problem, completion, "not paid")
        for kind, completion in dict.fromkeys(completions(case, dresses)):
            if kind in only:
                found.tried[kind] += 1
                if self._pays(case.problem, completion):
                    self._fault(kind, case.problem, completion, CLASSES[kind])

    def run_excluding(self, problems: Sequence[str], completion: str) -> None:
        """Try a completion on several problems. It is right for at most one problem."""
        self.audit.tried["exclusion"] += 1
        paying = [problem for problem in problems if self._pays(problem, completion)][:2]
        if len(paying) == 2:
            if "exclusion" not in self.audit.faults:
                completion = _least(completion, lambda t: all(self._pays(p, t) for p in paying))
            why = f"also paid for {_quoted(paying[1])}; {CLASSES['exclusion']}"
            self._pays(paying[0], completion)  # records the reward for the shortened completion
            self._fault("exclusion", paying[0], completion, why)

    def _pays(self, problem: str, completion: str) -> bool:
        """Return whether the function pays a completion. Record an exception as a fault."""
        self.audit.tried["raised"] += 1
        self._reward = None
        try:
            reward = self._function(problem, completion)
        except (Exception, SystemExit) as error:
            said = str(error).encode("utf-8", "backslashreplace").decode()
            why = f"{type(error).__name__}: {shortened(said, 80)}"
            self._fault("raised", problem, completion, why)
            return False
        try:
            self._reward = None if reward is None else float(reward)
        except (TypeError, ValueError, OverflowError):
            said = f"the function returned {shown(reward)}"
            raise LogicgenError(f"{said}: return a number, or None if it cannot judge") from None
        return self._reward is not None and self._reward >= self._least

    def _fault(self, kind: str, problem: str, completion: str, why: str) -> None:
        self.audit.paid[kind] += 1
        self._keep(self.audit.faults, kind, problem, completion, why)

    def _keep(
        self, kept: dict[str, Fault], kind: str, problem: str, completion: str, why: str
    ) -> None:
        """Keep an example of a class in `kept` if it is the shortest; prefer a text in ASCII."""
        new = Fault(problem, completion, self._reward, why)
        kept[kind] = min(kept.get(kind, new), new, key=_size)


def _size(example: Fault) -> tuple[bool, int, int]:
    return not example.completion.isascii(), len(example.completion), len(example.problem)


def _least(text: str, fails: Callable[[str], bool]) -> str:
    """Delete pieces of a text while `fails` stays true for the rest; return the shortened text."""
    size = len(text) // 2
    while size:
        start = 0
        while start < len(text):
            shorter = text[:start] + text[start + size :]
            if fails(shorter):
                text = shorter
            else:
                start += size
        size //= 2
    return text


def _quoted(text: str) -> str:
    """Return a text between backticks, in one line and shortened."""
    line = text if text.isprintable() else text.encode("unicode_escape").decode()
    return f"`{shortened(line, 60)}`"
