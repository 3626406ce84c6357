"""Completions made of pieces that mean something, and what holds of a judgement on any of them."""

from __future__ import annotations

import time
from collections import Counter
from random import Random
from typing import Any

from logicgen.scoring import Judgement, Scorer
from logicgen.solvers import Verdict
from logicgen.tasks import load_task

# Of each task one problem and a right answer.
PROBLEMS = {
    "propositional": ("(a -> b) & !b", "a=0, b=0"),
    "ltl": ("a U c & F b", "b & c ; {1}"),
    "copying": ("b a a c", "b a a c"),
    "lookup": ("a -> b c -> d c ->", "d"),
    "permutation": ("a b c > c a b ; d e f > f d e ; g h i >", "i g h"),
}
PIECES = [
    *"abcdefghi01;{}()[]&|!^=,.:'\"`$*\\<>/-_ \n\t\0\u202e∧¬é",
    *("<answer>", "</answer>", "<think>", "</think>", "\\boxed{", "answer is ", "Answer: "),
    *("```", "a=1", "b=0", "unsat", "cycle{", " U ", "->", "<->", "true", "not ", "\\land ", "}"),
]
MODES = ("strict", "tolerant")
BATCH = 500


def fuzzed_completion(task: str, rng: Random) -> str:
    """Return a text of random pieces, mostly put into the right answer at a random place."""
    text = "".join(rng.choices(PIECES, k=rng.randrange(30)))
    if rng.random() < 0.7:
        right = f"So.\n<answer>{PROBLEMS[task][1]}</answer>"
        cut = rng.randrange(len(right))
        text = right[:cut] + text + right[cut + rng.randrange(3) :]
    return text


def check_judgement(task: str, found: Judgement) -> None:
    """Check that the verdict is known and that an answer called right is right when read again."""
    assert found.verdict in (Verdict.CORRECT, Verdict.INCORRECT, Verdict.INVALID)
    if found.verdict is Verdict.CORRECT:
        chosen = load_task(task)
        problem, answer = chosen.read_problem(PROBLEMS[task][0]), chosen.read_answer(found.answer)
        assert chosen.check(problem, answer) is Verdict.CORRECT


def through_scorers(seconds: float, most: int, seed: int) -> dict[str, Any]:
    """Judge completions in both modes, by task and mode in turn, until either limit."""
    rng, tried = Random(seed), 0
    verdicts: Counter[str] = Counter()
    failures: dict[str, str] = {}
    scorers = {(task, mode): Scorer(task, mode) for task in PROBLEMS for mode in MODES}
    ends = time.monotonic() + seconds
    while tried < most and time.monotonic() < ends:
        for (task, mode), scorer in scorers.items():
            texts = [fuzzed_completion(task, rng) for _ in range(BATCH)]
            try:
                judged = scorer.score_batch([PROBLEMS[task][0]] * BATCH, texts)
            except Exception as error:
                failures[f"{task}, {mode}: {error!r}"] = repr(texts)
                continue
            for text, found in zip(texts, judged, strict=True):
                verdicts[str(found.verdict)] += 1
                try:
                    check_judgement(task, found)
                except AssertionError as error:
                    failures[f"{task}, {mode}: {found} {error}"] = repr(text)
            tried += BATCH
    for scorer in scorers.values():
        scorer.close()
    return {"inputs": tried, "verdicts": dict(verdicts), "failures": failures}
