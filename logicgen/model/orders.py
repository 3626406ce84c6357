"""Answers to several orders of a problem's operands.

The operands of `&`, `|`, `^` and `<->` may have any order, but a model's answers depend on it.
So a model is asked several orders of a problem, and an answer is as likely as the sum of its
probabilities. All orders have the same answers, so nothing is translated back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from logicgen.model.model import Answer, Request
from logicgen.nn.decoding import BeamSearch, Decoding
from logicgen.syntax.formula import Formula
from logicgen.tasks import Task
from logicgen.tasks.meanings import by_meaning
from logicgen.tasks.rewrites import reordered
from logicgen.tokens import Vocabulary


def orders_of(
    problem: Sequence[int], task: Task, vocabulary: Vocabulary, most: int
) -> list[list[int]]:
    """Return different orders of a problem, given by its ids; at most `most`, the problem first.

    The orders do not depend on names: renaming the problem renames each of them.
    """
    value = task.decode_problem(vocabulary.decode(problem))
    if not isinstance(value, Formula):
        return [list(problem)]
    others = (reordered(value, Random(seed)).prefix for seed in range(1, most))
    return [vocabulary.encode(text) for text in dict.fromkeys([value.prefix, *others])]


def answers_in_orders(
    request: Request,
    task: Task,
    vocabulary: Vocabulary,
    answer: Callable[[Request], list[list[Answer]]],
) -> list[list[Answer]]:
    """Return the likeliest answers to at most `request.orders` orders of each problem.

    Each order gets its share of the random answers. There is one answer of each meaning, with the
    log of the meaning's total probability as its score, likeliest first.

    answer: a function that returns the answers to each problem of a request.
    """
    orders = [orders_of(each, task, vocabulary, request.orders) for each in request.problems]
    found: list[list[Answer]] = [[] for _ in orders]
    for count in sorted({*map(len, orders)}):
        rows = [row for row, each in enumerate(orders) if len(each) == count]
        problems = [problem for row in rows for problem in orders[row]]
        decoding, wanted = request.decoding, request.decoding.answers
        if not isinstance(decoding, BeamSearch):
            decoding = replace(decoding, answers=-(-wanted // count))
        asked = replace(request, problems=problems, decoding=decoding, orders=1)
        answers = answer(asked)
        for place, row in enumerate(rows):
            several = answers[place * count : (place + 1) * count]
            drawn = [
                each._replace(score=_log_probability(each, decoding))
                for some in several
                for each in some
            ]
            found[row] = _by_meaning(drawn, task, vocabulary)[:wanted]
    return found


def _log_probability(answer: Answer, decoding: Decoding) -> float:
    """Return the log-probability of an answer from its score, which may be length-normalized."""
    if not isinstance(decoding, BeamSearch):
        return answer.score
    return answer.score * decoding.penalty(len(answer.ids) + 1)


def _by_meaning(answers: Sequence[Answer], task: Task, vocabulary: Vocabulary) -> list[Answer]:
    """Return one answer of each meaning, with its log-probability, likeliest first."""
    found = by_meaning(answers, lambda ids: task.meaning(vocabulary.decode(ids)))
    return [Answer(ids, score) for ids, score in found.values()]
