"""Record the attention of a language model while it answers a few examples.

Beside every head stands the simplest control, a head that attends to all tokens alike: what a head
attends to the tokens that decide an answer says something only where it is more than that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from logicgen.data.dataset import Dataset
from logicgen.measures.predictions import alphabets
from logicgen.solvers import Verdict

if TYPE_CHECKING:
    from logicgen.model.model import Answerer

# Examples that are looked at; half of them answered wrongly, if there are so many.
EXAMPLES = 16

# Weights below it, in percent, are left out.
LEAST = 1


@dataclass(frozen=True)
class Looks:
    """Hold the attention weights of all heads in one example.

    Attributes:
        row: of the example.
        tokens: of the problem and the predicted answer, as the model reads them.
        places: by token of the problem as it is read, the place of the problem's own token that it
            writes; None where it only separates others.
        heads: by name, and by token of the answer: place and weight in percent of what the head
            attends to, one after the other, as far as it is at least 1%.
    """

    row: int
    tokens: list[str]
    places: list[int | None]
    heads: dict[str, list[list[int]]]


@dataclass(frozen=True)
class Head:
    """What a head attends to the tokens that decide an answer, over tokens of answers.

    share: the mean; `alike`, that of a head that attends to all tokens alike. Both 0 to 1.
    """

    name: str
    share: float
    alike: float
    tokens: int


def looks(model: Answerer, data: Dataset, predictions: pa.Table) -> list[Looks]:
    """Return where a model looks in some of its answers, in order; of the first embedding seed.

    Half of them are wrong and half right, as far as there are any; nothing of a model that cannot
    say where it looks. Answers that are no strings of symbols are left out.
    """
    found: list[Looks] = []
    for row in _chosen(predictions):
        problem, answer = (data.vocabulary.encode(row[name]) for name in ("problem", "prediction"))
        [symbols] = alphabets(model, data, np.array([row["symbols"]]))
        attended = model.attended(problem, answer, int(symbols), 0)
        if attended is None:
            return []
        heads = {name: [_packed(each) for each in of] for name, of in attended.weights.items()}
        found.append(Looks(row["row"], attended.tokens, attended.places, heads))
    return found


def _chosen(predictions: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of predictions that are looked at, in order."""
    seeds, verdicts = (predictions[name].to_pylist() for name in ("embedding_seed", "verdict"))
    first = [place for place, seed in enumerate(seeds) if seed == 0]
    right = [place for place in first if Verdict(verdicts[place]).is_right]
    wrong = [place for place in first if verdicts[place] == Verdict.INCORRECT]
    few = EXAMPLES // 2
    chosen = wrong[: max(few, EXAMPLES - len(right))]
    chosen += right[: EXAMPLES - len(chosen)]
    rows: list[dict[str, Any]] = predictions.take(pa.array(sorted(chosen), pa.int64())).to_pylist()
    return rows


def _packed(weights: np.ndarray) -> list[int]:
    """Return the places of weights that are not left out, each followed by its percent."""
    percent = np.rint(100 * weights).astype(int)
    [there] = np.nonzero(percent >= LEAST)
    return [int(number) for pair in zip(there, percent[there], strict=True) for number in pair]


def heads_of(found: Sequence[Looks], deciding: Mapping[int, Sequence[Sequence[int]]]) -> list[Head]:
    """Return what each head attends to the tokens that decide an answer, the most first.

    deciding: by row, and by token of the right answer, the places in the problem.
    """
    shares: dict[str, list[float]] = {}
    alike: list[float] = []
    for each in found:
        written = len(each.tokens) - len(each.places)
        for token, places in enumerate(deciding.get(each.row, ())[:written]):
            decides = {i for i, place in enumerate(each.places) if place in places}
            alike.append(len(decides) / (len(each.places) + token))
            for name, by_token in each.heads.items():
                pairs = by_token[token]
                percent = sum(
                    weight
                    for i, weight in zip(pairs[::2], pairs[1::2], strict=True)
                    if i in decides
                )
                shares.setdefault(name, []).append(percent / 100)
    heads = [
        Head(name, float(np.mean(each)), float(np.mean(alike)), len(each))
        for name, each in shares.items()
    ]
    return sorted(heads, key=lambda head: -head.share)
