"""Small evaluations whose pages are tested, and what a page shows."""

from __future__ import annotations

import base64
import gzip
import json
import re

from logicgen.measures.evaluation import write_predictions
from logicgen.measures.predictions import SCHEMA, About, described
from logicgen.tasks import load_task
from tests.verdicts import verdict


def evaluated(folder, task, triples, **about):
    """An evaluation of (problem, stored answer, prediction), with verdicts of the solver."""
    task = load_task(task)
    rows = []
    for row, (problem, answer, prediction) in enumerate(triples):
        problem = task.encode(task.read_problem(problem))
        symbols = len({*problem.split()} & set("abcdefghij"))
        values = {
            "row": row,
            "embedding_seed": 0,
            "symbols": symbols,
            "length": len(problem.split()),
            "problem": problem,
            "answer": answer,
            "prediction": prediction,
            "verdict": str(verdict(task, problem, prediction, answer)),
        }
        rows.append(values)
    said = {"model": "a model", "data": "some data", "split": "grid", **about}
    known = About(task=task.name, symbols=(1, 2), length=(1, 6), **said)
    folder.mkdir(parents=True, exist_ok=True)
    write_predictions(described(rows, SCHEMA, known), folder)
    return folder


def prefix(task, text):
    task = load_task(task)
    return task.encode(task.read_answer(text))


def traces(*examples):
    return [(p, prefix("ltl", answer), prefix("ltl", guess)) for p, answer, guess in examples]


LTL_TRIPLES = traces(
    ("a U (b & X !b)", "b ; {!b}", "b ; {1}"),
    ("F a & G (b -> X c)", "{a & !b}", "{a & !b}"),
    ("G F a & F G b", "{a & b}", "{a}"),
    ("a & X a", "a ; a ; {1}", "{a}"),
    ("G (a | X b) & F c", "{a & c}", "{a}"),
    ("X X c & a", "a ; 1 ; c ; {1}", "a ; 1 ; {!c}"),
)
ASSIGNMENTS = [
    (p, prefix("propositional", a), prefix("propositional", g))
    for p, a, g in [
        ("(a | b) & (c ^ d)", "a=1, c=1, d=0", "a=1, c=1"),
        ("a & b | c", "c=1", "a=1, b=1"),
        ("a", "a=1", "a=0"),
    ]
]
STRINGS = {
    "copying": [("a b c d", "a b c d", "a c c d"), ("a b", "a b", "a b b")],
    "lookup": [("a -> b c -> d a -> b c a ->", "d b", "d d")],
    "permutation": [("a b c > c a ; d e f >", "f d", "f d")],
}


def keys(page):
    return page.eval_on_selector_all(
        "#table tbody tr td:first-child", "cells => cells.map(cell => cell.textContent)"
    )


def held_by(path):
    """The data of a page."""
    data, later = (
        json.loads(gzip.decompress(base64.b64decode(block)))
        for block in re.findall('type="application/octet-stream">([^<]*)<', path.read_text())
    )
    data.get("rows", {}).update(later)
    return data


def barriers(page):
    """What keeps some people from using a page, in either theme."""
    from axe_playwright_python.sync_playwright import Axe

    found = []
    for theme in ("light", "dark"):
        if page.get_attribute("html", "data-theme") != theme:
            page.click("#theme")
        assert page.get_attribute("html", "data-theme") == theme
        found += Axe().run(page).response["violations"]
    return [each["id"] for each in found if each["impact"] in ("serious", "critical")]
