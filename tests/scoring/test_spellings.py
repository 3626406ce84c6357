"""Honest answers in the spellings that people and models use are read as what they say."""

from __future__ import annotations

import json
import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.errors import FormatError
from logicgen.scoring.completions import read_place
from logicgen.scoring.scorer import judge
from logicgen.solvers import Verdict
from logicgen.syntax.answers import Assignment, Trace, assignment_language
from logicgen.tasks import load_task
from logicgen.tasks.task import Cell
from tests.scoring.test_fooling import PROBLEMS

EQUATIONS = [
    lambda literals: ", ".join(f"{name}={int(value)}" for name, value in literals),
    lambda literals: ", ".join(f"{name} = {value}" for name, value in literals),
    lambda literals: "; ".join(f"{name}: {str(value).lower()}" for name, value in literals),
    lambda literals: "\n".join(f"- {name} = {int(value)}" for name, value in literals),
    lambda literals: " ".join(f"{name}={int(value)}" for name, value in literals),
    lambda literals: " and ".join(f"{name} is {str(value).lower()}" for name, value in literals),
    lambda literals: json.dumps(dict(literals)),
    lambda literals: str(dict(literals)),
    lambda literals: "{" + ", ".join(f"{name}: {value}" for name, value in literals) + "}",
    lambda literals: ", ".join(f"{name} := {'T' if value else 'F'}" for name, value in literals),
    lambda literals: ", ".join(f"{name} ↦ {'⊤' if value else '⊥'}" for name, value in literals),
    lambda literals: "$" + ", ".join(f"{n} = \\text{{{v}}}" for n, v in literals) + "$",
    lambda literals: "**" + ", ".join(f"{n}={int(v)}" for n, v in literals) + "**",
]
LITERALS = [
    lambda literals: ", ".join(name if value else f"not {name}" for name, value in literals),
    lambda literals: ", ".join(name if value else f"!{name}" for name, value in literals),
    lambda literals: " & ".join(name if value else f"!{name}" for name, value in literals),
    lambda literals: " and ".join(name if value else f"not {name}" for name, value in literals),
    lambda literals: " ∧ ".join(name if value else f"¬{name}" for name, value in literals),
    lambda literals: " \\land ".join(n if v else f"\\lnot {n}" for n, v in literals),
    lambda literals: " \\wedge ".join(n if v else f"\\neg {n}" for n, v in literals),
    lambda literals: " && ".join(name if value else f"~{name}" for name, value in literals),
]
FORMULAS = [
    lambda text: text,
    lambda text: text.replace("&", "∧").replace("|", "∨").replace("!", "¬"),
    lambda text: text.replace("&", "&&").replace("|", "||").replace("!", "~"),
    lambda text: text.replace("&", " and ").replace("|", " or ").replace("!", " not "),
    lambda text: text.replace("{", "cycle{"),
    lambda text: text.replace("{", "\\{").replace("}", "\\}").replace("&", "\\land "),
    lambda text: f"${text}$",
    lambda text: f"`{text}`",
]
SYMBOLS = [
    " ".join,
    ", ".join,
    lambda symbols: json.dumps(list(symbols)),
    lambda symbols: "(" + ", ".join(symbols) + ")",
    lambda symbols: " ".join(f"'{symbol}'" for symbol in symbols),
]
# Where an answer may stand in tolerant mode, beside the tags of strict mode.
PLACES = [
    "<answer>{}</answer>",
    "<think>First I try <answer>x=1</answer>.</think>So:\n<answer>\n{}\n</answer>",
    "\\boxed{{{}}}",
    "The answer is {}",
    "Sure!\n\n**Answer:** {}",
    "Final answer: {}.",
    "Therefore:\n```\n{}\n```",
    "{}",
    "{}<|im_end|>",
]


def spelt(task, answer, rng):
    """A right answer in some spelling."""
    if isinstance(answer, Assignment):
        ways = EQUATIONS + LITERALS if answer.literals else [lambda literals: "1"]
        return rng.choice(ways)(answer.literals)
    if isinstance(answer, Trace):
        return rng.choice(FORMULAS)(answer.infix)
    return rng.choice(SYMBOLS)(answer)


def answered(name, count):
    """Problems that a recipe would hold, with their answers."""
    task, rng = load_task(name), Random(name)
    source = task.source(task.Settings(), (1, 6))
    lengths = {"lookup": [8, 11, 14], "permutation": [20, 28]}.get(name, range(11, 20))
    found = 0
    while found < count:
        draw = source.sample(rng, Cell(rng.randint(3, 6), rng.choice(lengths)))
        if draw is None:
            continue
        solution = task.solve(draw.problem)
        if solution.witness is not None:
            found += 1
            yield draw.problem, solution.witness


@pytest.mark.parametrize("name", PROBLEMS)
def test_honest_answers_are_read(name):
    task, rng = load_task(name), Random(1)
    read = {"strict": 0, "tolerant": 0}
    for problem, answer in answered(name, 1_000):
        text = spelt(task, answer, rng)
        for mode, place in (("strict", rng.choice(PLACES[:2])), ("tolerant", rng.choice(PLACES))):
            if text.startswith("- ") and not re.search(r"(^|\n|>)\{\}", place):
                place = PLACES[0]  # a list begins a line
            found = judge(task, problem, place.format(text), mode)
            read[mode] += found.verdict is Verdict.CORRECT
    assert read["strict"] == 1_000
    assert read["tolerant"] >= 990


@pytest.mark.parametrize(
    ("task", "text", "said"),
    [
        ("propositional", "a=1,", "a=1"),
        ("propositional", "{}", "1"),
        ("propositional", "", "1"),
        ("propositional", "a, and not b", "a=1, b=0"),
        ("propositional", "x_{1} = 1", "x_1=1"),
        ("propositional", "t=1, f=0", "t=1, f=0"),
        ("propositional", '{"a": true, "a": false}', "a=1, a=0"),
        ("ltl", "a; {b}.", "a ; {b}"),
        ("ltl", "\\{\\top\\}", "{1}"),
        ("copying", "", ""),
    ],
)
def test_readings(task, text, said):
    chosen = load_task(task)
    assert chosen.show(read_place(chosen, text)) == said


@pytest.mark.parametrize(
    ("task", "text"),
    [
        ("propositional", "a=1, b"),
        ("propositional", "a=1 | b=0"),
        ("propositional", "a or b"),
        ("propositional", "a=t"),
        ("propositional", "(a, b"),
        ("ltl", "{a, b}"),
        ("ltl", "{a} ; b"),
        ("lookup", "b or c ->"),
    ],
)
def test_what_may_mean_two_things_is_not_read(task, text):
    with pytest.raises(FormatError):
        read_place(load_task(task), text)


@given(st.text("ab01=, \t&!xtrue_", max_size=12))
def test_assignments_are_read_as_their_grammar_says(text):
    """The fast reader accepts nothing else, and reads it alike."""
    for notation, read in (("infix", Assignment.read), ("prefix", Assignment.read_prefix)):
        try:
            expected = assignment_language().read(text, notation)
        except FormatError as error:
            with pytest.raises(FormatError, match=f"^{re.escape(str(error))}$"):
                read(text)
        else:
            assert read(text) == expected
