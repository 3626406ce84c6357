"""The form in which a model writes an answer.

A trace may be written as stored, last position first, or after a plan:

    plain      a ; & b c ; { ! a }
    backward   { ! a } ; & b c ; a            the last position of stem and period first
    planned    1 ; 1 ; { 1 } a ; & b c ; { ! a }      first the trace with `1` at each position

A model writes from left to right, and an early position may depend on a later position. Data sets,
verifiers and measures use plain answers only. The model translates them to its form and back.

A model may have to write `complete` assignments, with a value for every symbol of the problem. A
right assignment stays right if it gets more symbols, and a model cannot end too early. This is a
rule of decoding in the grammar: training, and decoding without a grammar, do not change.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from logicgen.errors import LogicgenError
from logicgen.model.model import Answer
from logicgen.model.recipe_tables import Form
from logicgen.nn.decoding import GrammarMask
from logicgen.tasks import Task


def grammar_mask(task: Task, longest: int, form: Form | None = None) -> GrammarMask:
    """Return a mask that allows only answers of up to `longest` tokens that the task can parse.

    form: a form that the answers of the task have; plain if not given.
    """
    automaton = task.answer_automaton(longest, form or "prefix")
    tables = torch.from_numpy(automaton.transition), torch.from_numpy(automaton.distance)
    return GrammarMask(*tables, once=task.symbols_once)


def check_complete(task: Task) -> None:
    """Raise LogicgenError if answers of a task are not assignments."""
    if not task.symbols_once:
        raise LogicgenError(
            f"answer_form: 'complete' is for assignments, not for answers of {task.name}: leave it"
            " out"
        )


class AnswerForm:
    """The translation between plain answers and answers as a model writes them, as token ids.

    Raises LogicgenError if the answers of the task are not traces.
    """

    def __init__(self, form: Form, task: Task) -> None:
        self.form = form
        if form not in task.answer_language.starts:
            raise LogicgenError(
                f"answer_form: {form!r} is for traces, not for answers of {task.name}: leave it out"
            )
        self.between, self.begin, self.end, self.true = task.vocabulary.encode("; { } 1")

    def most(self, longest: int) -> int:
        """Return the most tokens of an answer that has up to `longest` tokens if it is plain."""
        return longest if self.form == "backward" else 2 * longest

    def written(self, answer: Sequence[int]) -> list[int]:
        """Translate a plain answer."""
        if self.begin not in answer:  # there is no trace
            return list(answer)
        if self.form == "planned":
            marks = (self.between, self.begin, self.end)
            plan: list[int] = []
            for token in answer:
                # A position of several tokens becomes `1`.
                if token in marks:
                    plan.append(token)
                elif not plan or plan[-1] != self.true:
                    plan.append(self.true)
            return [*plan, *answer]
        place = answer.index(self.begin)
        stem = self._positions(answer[:place])
        period = self._positions(answer[place + 1 : -1])
        found = [self.begin, *self._joined(period[::-1]), self.end]
        for position in stem[::-1]:
            found += [self.between, *position]
        return found

    def read(self, answer: Sequence[int]) -> list[int]:
        """Translate an answer back; an answer of another form is returned unchanged."""
        if self.end not in answer:
            return list(answer)
        place = answer.index(self.end)
        if self.form == "planned":
            trace = list(answer[place + 1 :])
            return trace if self.end in trace else list(answer)
        if answer[0] != self.begin:
            return list(answer)
        period = self._positions(answer[1:place])
        found = list[int]()
        for position in self._positions(answer[place + 1 :])[::-1]:
            found += [*position, self.between]
        return [*found, self.begin, *self._joined(period[::-1]), self.end]

    def different(self, answers: Sequence[Answer]) -> list[Answer]:
        """Translate answers back; leave out repetitions, such as a trace after two plans."""
        found: dict[tuple[int, ...], Answer] = {}
        for each in answers:
            plain = self.read(each.ids)
            found.setdefault(tuple(plain), Answer(plain, each.score))
        return list(found.values())

    def _positions(self, tokens: Sequence[int]) -> list[list[int]]:
        """Return the positions of a part of a trace, without the marks between them."""
        found: list[list[int]] = [[]]
        for token in tokens:
            if token == self.between:
                found.append([])
            else:
                found[-1].append(token)
        return [position for position in found if position]

    def _joined(self, positions: Sequence[Sequence[int]]) -> list[int]:
        tokens = [token for position in positions for token in (self.between, *position)]
        return tokens[1:]
