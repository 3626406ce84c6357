"""Asking a model in one line."""

from __future__ import annotations

from typing import Any

from logicgen.model.model import Answer, Answerer, Request


def answers_of(model: Answerer, *request: Any, **settings: Any) -> list[list[Answer]]:
    """The answers to a request, which is given as `Request` takes it."""
    return model.predict(Request(*request, **settings))


def likeliest(model: Answerer, *request: Any, **settings: Any) -> list[list[int]]:
    """The ids of the first answer to each problem."""
    return [answers[0].ids for answers in answers_of(model, *request, **settings)]


def only(answers: list[list[int]]) -> list[list[Answer]]:
    """What a model says that gives one answer to each problem."""
    return [[Answer(ids, 0.0)] for ids in answers]
