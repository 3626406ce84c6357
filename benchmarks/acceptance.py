"""Rounds of learning from verdicts: answers drawn and judged a second. Part of `make bench`.

The shipped models draw eight different answers to each problem, at the lengths of their training.
Drawing takes nearly all the time of a round; one judge works meanwhile. The benchmark also times
the judge alone on all answers of a round. Figures are medians of three rounds. Run on a quiet
machine, and compare only figures of the same run.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from statistics import median

from logicgen.data.opening import load_dataset, make
from logicgen.data.recipe import DataRecipe
from logicgen.model.checkpoint import as_encoder_decoder, load_model
from logicgen.model.recipe_tables import RewardTable
from logicgen.tasks.judge import Item
from logicgen.training.rounds import SECONDS, Round, Rounds

ROUNDS = 3
CASES = {"ltl": "ltl-35-right", "propositional": "propositional-35"}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, data in CASES.items():
            made = Path(folder, name)
            recipe = DataRecipe.read(data).resized(2_000, data)
            make(recipe, made, name=data, workers=os.cpu_count() or 1)
            table = RewardTable(problems=512, draws=8)
            model = as_encoder_decoder(load_model(name, "cpu"), name)
            rounds = Rounds(model, table, [load_dataset(made)], made / "run")
            found = [rounds.round(number) for number in range(ROUNDS)]
            judged = [_judged(rounds, each) for each in found]
            rounds.close()
            _say(f"{name}: answers drawn and judged", median(map(_drawn, found)))
            _say(f"{name}: answers judged, the judge alone", median(judged))
            waited = median(each.seconds[1] / each.seconds[0] for each in found)
            print(f"{f'{name}: time spent waiting for verdicts':<66} {waited:>8.1%}", flush=True)


def _drawn(found: Round) -> float:
    """Return the answers a second of a round."""
    return sum(len(each.attempts) for each in found.asked) / found.seconds[0]


def _judged(rounds: Rounds, found: Round) -> float:
    """Return the verdicts a second of a round's answers, once the judges are there."""
    items = [Item(each.problem, one.answer) for each in found.asked for one in each.attempts]
    start = time.perf_counter()
    rounds.judges.submit_all(items, SECONDS).result()
    return len(items) / (time.perf_counter() - start)


def _say(what: str, rate: float) -> None:
    print(f"{what:<66} {rate:>8,.0f} /s", flush=True)


if __name__ == "__main__":
    main()
