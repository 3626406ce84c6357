"""What holds of every completion, whatever it is: checks without and with another reader."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import permutations, product
from random import Random
from typing import Any

from logicgen.scoring.scorer import answer_of, judge
from logicgen.tasks import load_task
from logicgen.tasks.problem_samples import ProblemSamples
from tests.scoring.derivations import TRAPS, Derivations, changed
from tests.scoring.independent_reader import read

MODES = ("strict", "tolerant")


def assignments(symbols: str) -> list[str]:
    """Return all full assignments as conjunctions."""
    return [
        " & ".join(
            name if value else f"!{name}" for name, value in zip(symbols, values, strict=True)
        )
        for values in product((True, False), repeat=len(symbols))
    ]


# Problems of which no two have a right answer in common.
EXCLUDING = {
    "propositional": [*assignments("ab"), "a & !a"],
    "ltl": [*(f"G({each})" for each in assignments("ab")), "G a & F !a"],
    "lookup": [f"a -> {value} c -> d a ->" for value in "abcdef"],
    "permutation": [f"a b c > {' '.join(order)} ; d e f >" for order in permutations("abc")],
    "copying": [" ".join(each) for n in (1, 2) for each in product("ab", repeat=n)],
}
SYMBOLS = {
    "propositional": "ab",
    "ltl": "ab",
    "lookup": "abcdef",
    "permutation": "abcdef",
    "copying": "ab",
}
RULES = {"propositional": "assignment", "ltl": "trace"}


@cache
def derivations(task: str, mode: str) -> Derivations:
    """Return the derivations of what a completion may be, or of what tags may hold."""
    rule = RULES.get(task, "symbols")
    return Derivations(rule if mode == "strict" else f"told_{rule}", SYMBOLS[task])


def completions(task: str, mode: str, rng: Random) -> Iterator[str]:
    """Yield completions without end: derived ones and right answers, most of them changed."""
    chosen = load_task(task)
    right = [
        chosen.show(witness)
        for text in EXCLUDING[task]
        if (witness := chosen.solve(chosen.read_problem(text)).witness) is not None
    ]
    dresses = (
        ["@"] if mode == "strict" else ["@", "The answer is @.", "**Answer:** @", "\\boxed{@}"]
    )
    while True:
        if rng.random() < 0.5:
            text = derivations(task, mode).text(rng)
        else:
            text = rng.choice(dresses).replace("@", rng.choice(right))
        text = changed(text, rng)
        if mode == "strict":
            text = f"{rng.choice(['', 'So: '])}<answer>{text}</answer>"
        yield text


def paid(task: str, problem: str, completion: str, mode: str) -> bool:
    """Return whether our scorer pays."""
    chosen = load_task(task)
    return judge(chosen, _problem(task, problem), completion, mode, reasons=False).reward == 1.0


@cache
def _problem(task: str, text: str) -> Any:
    return load_task(task).read_problem(text)


def exclusion(task: str, mode: str, rng: Random, most: int, seconds: float = 1e9) -> dict[str, Any]:
    """Judge completions for problems that exclude each other: at most one is paid."""
    ends, failures, tried, some = time.monotonic() + seconds, {}, 0, 0
    for completion in completions(task, mode, rng):
        if tried == most or time.monotonic() > ends:
            break
        paying = [each for each in EXCLUDING[task] if paid(task, each, completion, mode)]
        tried += 1
        some += bool(paying)
        if len(paying) > 1:
            failures[repr(completion)] = f"{task}, {mode}: paid for {paying}"
    return {"inputs": tried, "paid": some, "failures": failures}


def readings(task: str, mode: str, rng: Random, most: int, seconds: float = 1e9) -> dict[str, Any]:
    """Compare what our reader and an independent one read."""
    chosen = load_task(task)
    ends, failures, tried, some = time.monotonic() + seconds, {}, 0, 0
    for completion in completions(task, mode, rng):
        if tried == most or time.monotonic() > ends:
            break
        ours, theirs = answer_of(chosen, completion, mode), read(task, completion, mode)
        tried += 1
        some += ours is not None
        same = ours is None if theirs is None else ours is not None and chosen.same(ours, theirs)
        if not same:
            failures[repr(completion)] = f"{task}, {mode}: {ours!s} and {theirs!s}"
    return {"inputs": tried, "read": some, "failures": failures}


def climb(task: str, mode: str, rng: Random, seconds: float, most: int = 10**9) -> dict[str, Any]:
    """Climb to texts that are paid for as many problems as possible, without their answers.

    What is paid must be read alike by the independent reader, and be right by its reading.
    """
    chosen = load_task(task)
    sizes = {"lookup": ((3, 4), (5, 11)), "permutation": ((3, 4), (12, 20))}
    symbols, length = sizes.get(task, ((1, 3), (2, 7)))
    ends, failures, tried, steps = time.monotonic() + seconds, {}, 0, 0
    verdicts: Counter[str] = Counter()
    while time.monotonic() < ends and steps < most:
        samples = ProblemSamples(chosen, symbols, length, rng.getrandbits(32), satisfiable=None)
        problems = [samples[0], samples[1]]
        problems += [_problem(task, text) for text in rng.sample(EXCLUDING[task], 3)]
        text, best = "", -1.0
        new = next(completions(task, mode, rng))
        for _ in range(40):  # then begin anew: most texts lead nowhere
            if time.monotonic() > ends or steps == most:
                break
            steps += 1
            total = 0.0
            for problem in problems:
                tried += 1
                found = judge(chosen, problem, new, mode, reasons=False)
                verdicts[str(found.verdict)] += 1
                total += found.reward or 0.0
                if found.reward == 1.0 and not _is_right(chosen, problem, new, mode):
                    failures[repr(new)] = f"{task}, {mode}: paid for {chosen.show_problem(problem)}"
            if total >= best and len(new) < 400:
                text, best = new, total
            new = changed(text, rng) if rng.random() < 0.7 else text + rng.choice(TRAPS)
    return {"inputs": tried, "verdicts": dict(verdicts), "failures": failures}


def _is_right(chosen: Any, problem: Any, completion: str, mode: str) -> bool:
    """Return whether the independent reader reads a right answer."""
    answer = read(chosen.name, completion, mode)
    solver = "truth-table" if chosen.name == "propositional" else None
    return answer is not None and chosen.check(problem, answer, solver).is_right


NEGATIONS = ["!", "\\!", "~", "- ", "not ", "¬", "\\lnot ", "\\neg "]
DENIALS = [
    *("The answer is not:\n@", "none of these:\n@", "Wrong answer: @", "I doubt that @"),
    *("It is false that the answer is @", "@\nor maybe not", "@ No wait, I take that back."),
]


def contradictions(pays: Callable[[str, str, str], bool]) -> list[str]:
    """Return pairs of contradictory texts that a scorer pays both, and paid texts without answer.

    pays: takes mode, problem and completion, of propositional logic.
    """
    found = []
    for mode in MODES:
        dress = "<answer>{}</answer>" if mode == "strict" else "{}"
        for text, joint in (("a & @b", " & "), ("a, @b", ", ")):
            positive = dress.format(text.replace("@", ""))
            for sign in NEGATIONS:
                negative = dress.format(text.replace("@", sign))
                if pays(mode, "a & b", positive) and pays(mode, "a & b", negative):
                    found.append(f"{mode}: {positive!r} and {negative!r} to a & b ({joint!r})")
        for mark in ("@", "@.", "(@)", "[@]", "@,", "- @", "\\text{@}", "not @"):
            none = dress.format(mark.replace("@", "unsat"))
            if pays(mode, "a | !a", dress.format("a=1")) and pays(mode, "a | !a", none):
                found.append(f"{mode}: a=1 and {none!r} to a | !a")
    for answer in ("a=1, b=0", "The answer is a=1, b=0", "\\boxed{a=1, b=0}"):
        for denial in DENIALS:
            denied = denial.replace("@", answer)
            if pays("tolerant", "a & !b", answer) and pays("tolerant", "a & !b", denied):
                found.append(f"tolerant: {answer!r} and {denied!r} to a & !b")
    for empty in ("", "<think>x</think>", "```\n```", "\\boxed{}"):
        if pays("tolerant", "a | !a", empty):
            found.append(f"tolerant: {empty!r} to a | !a")
    return found
