"""Judged completions a second, and the cost of a time limit: part of `make bench`.

The public scorer judges batches of 2,000 completions in strict form with one worker. Right answers
are the solver's answers. Wrong answers belong to the next problem; the scorer also finds the reason
why they are wrong. Figures are medians of five runs. Run on a quiet machine, and compare only
figures of the same run.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from random import Random
from statistics import median

from logicgen import Scorer
from logicgen.scoring.prompts import written_problem
from logicgen.tasks import load_task
from logicgen.tasks.task import Cell

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.solvers.ltl_families import arbiter

COUNT, RUNS = 2_000, 5
LENGTHS = {"propositional": (12, 35), "ltl": (10, 35)}


def main() -> None:
    for name, (shortest, longest) in LENGTHS.items():
        problems, answers = _answered(name, shortest, longest)
        right = [f"So it is.\n<answer>{answer}</answer>" for answer in answers]
        wrong = right[1:] + right[:1]
        for what, completions, reasons in (
            ("right answers", right, True),
            ("answers to the next problem", wrong, True),
            ("the same without reasons", wrong, False),
        ):
            with Scorer(name, reasons=reasons) as scorer:
                found = scorer.score_batch(problems, completions)
                share = sum(bool(each.reward) for each in found) / COUNT
                rate = _rate(scorer, problems, completions)
            said = f"score {name}, {shortest} to {longest} tokens, {what} ({share:.0%} right)"
            print(f"{said:<82} {rate:>8,.0f} /s", flush=True)
    _limit()


def _answered(name: str, shortest: int, longest: int) -> tuple[list[str], list[str]]:
    """Return problems over 5 symbols in people's notation, and their canonical answers."""
    task, rng = load_task(name), Random(0)
    source = task.source(task.Settings(), (1, 5))
    problems, answers = [], []
    while len(problems) < COUNT:
        draw = source.sample(rng, Cell(None, rng.randint(shortest, longest)))
        assert draw is not None
        witness = task.solve(draw.problem).witness
        if witness is not None:
            problems.append(written_problem(task, draw.problem))
            answers.append(task.show(witness))
    return problems, answers


def _rate(scorer: Scorer, problems: list[str], completions: list[str]) -> float:
    rates = []
    for _ in range(RUNS + 1):
        start = time.perf_counter()
        scorer.score_batch(problems, completions)
        rates.append(COUNT / (time.perf_counter() - start))
    return median(rates[1:])


def _limit() -> None:
    """Time an unsatisfiable arbiter with the answer `0`, and the next score after it."""
    hard = f"{arbiter(9)} & FG!g0"
    with Scorer("ltl", timeout=1.0) as scorer:
        scorer.score("a", "<answer>{a}</answer>")
        for problem, answer in ((hard, "0"), ("a", "{a}")):
            start = time.perf_counter()
            found = scorer.score(problem, f"<answer>{answer}</answer>")
            seconds = time.perf_counter() - start
            shown = problem if len(problem) < 20 else "a 9-client arbiter"
            print(f"{shown} answered by {answer}, limit 1 s: {found.verdict} after {seconds:.3f} s")


if __name__ == "__main__":
    main()
