"""Scores of all answers, of each cell, and of the answers inside and outside the training region.

A cell contains the problems with one number of symbols and one length, or one range of lengths. The
training region is the range of symbols and the range of lengths of the training problems.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from logicgen.measures.best_control import PLAIN, VERIFIED, ControlScore, control_score
from logicgen.measures.predictions import About
from logicgen.measures.statistics import deviation, wilson_interval
from logicgen.solvers import Verdict

# Optional columns of answers, with whole numbers. A score is the mean of a column. The token
# accuracy is the sum of `right_tokens` divided by the sum of `answer_tokens`.
SUMMED = ("edit_distance", "right_tokens", "answer_tokens", "accepted", "draws")

VERDICTS = [str(verdict) for verdict in Verdict]

# Columns of difficulty. The levels of `satisfying` are halvings: at level k, the share of right
# assignments is above 1 / 2 ** (k + 1), and at most 1 / 2 ** k.
LEVELS = ("positions", "satisfying")

UNKNOWN_LEVEL = -1


def level_label(column: str) -> str:
    """Return the name of the levels of a column of difficulty, for an axis."""
    return "k (satisfying: 1/2^k)" if column == "satisfying" else column


def level_text(column: str, level: int) -> str:
    """Return a level of difficulty as text."""
    if column == "satisfying":
        return f"satisfying up to 1/{2**level:,}" if level else "satisfying over 1/2"
    return f"{level} position{'' if level == 1 else 's'}"


def levels_of(table: pa.Table, column: str) -> np.ndarray:
    """Return the level of difficulty of each row, int64 (rows,).

    A row without a value has the level UNKNOWN_LEVEL.
    """
    values = table[column].to_numpy().astype(float)
    if column == "satisfying":
        values = np.floor(-np.log2(values, where=values > 0, out=np.full(len(values), np.nan)))
    return np.where(np.isnan(values), UNKNOWN_LEVEL, values).astype(np.int64)


@dataclass(frozen=True)
class Score:
    """The score of a set of examples.

    A pair is a mean and a standard deviation over embedding seeds. An embedding seed determines the
    random part of the embedding. All embedding seeds answer the same examples.

    An interval estimates how the score of the same model varies over other problems of the same
    distribution. The interval counts examples, not answers. It is too wide if an example is
    answered right with some embedding seeds only.

    A value is None if the task does not define it, or if verified decoding was not used.
    """

    examples: int  # an example counts once for all embedding seeds
    counts: dict[str, int]  # answers by verdict, over all embedding seeds
    accuracy: tuple[float, float]  # share of answers that are right (exact or correct)
    exact: tuple[float, float]  # share of answers that equal the stored answer
    edit_distance: tuple[float, float] | None  # in tokens
    # Share of the stored answers' tokens that the prediction has at the same position
    token_accuracy: tuple[float, float] | None
    verified_accuracy: tuple[float, float] | None  # share of verified answers that are right
    draws: tuple[float, float] | None  # answers per problem that verified decoding tried
    control: ControlScore | None = None  # comparison with the controls, each with one answer
    verified_control: ControlScore | None = None  # the same, with verified answers

    @property
    def interval(self) -> tuple[float, float]:
        """Return Wilson's 95% interval of the accuracy."""
        return wilson_interval(self.accuracy[0], self.examples)

    def flat(self) -> dict[str, Any]:
        """Return the score as a row of a table: values by column name."""
        row: dict[str, Any] = {"examples": self.examples, **self.counts}
        intervals = {
            "accuracy": self.accuracy,
            "exact_match": self.exact,
            "token_accuracy": self.token_accuracy,
            "verified_accuracy": self.verified_accuracy,
        }
        for name, value in intervals.items():
            if value is not None:
                low, high = wilson_interval(value[0], self.examples)
                row |= {name: value[0], f"{name}_std": value[1]}
                row |= {f"{name}_low": low, f"{name}_high": high}
        for name in ("edit_distance", "draws"):
            if (value := getattr(self, name)) is not None:
                row[name], row[f"{name}_std"] = value
        for before, found in (("", self.control), ("verified_", self.verified_control)):
            row |= {} if found is None else found.flat(before)
        return row


class Scores:
    """Answers with their verdicts, stored as columns, and methods that score them."""

    def __init__(self, columns: dict[str, np.ndarray], seeds: int, about: About) -> None:
        self._columns = columns
        self.seeds = seeds
        self.about = about

    @staticmethod
    def of(table: pa.Table, about: About) -> Scores:
        """Return the answers in a table of predictions."""
        verdicts = table["verdict"].combine_chunks().dictionary_encode()
        codes = [VERDICTS.index(name) for name in verdicts.dictionary.to_pylist()]
        columns = {name: table[name].to_numpy() for name in ("symbols", "length", "embedding_seed")}
        columns["verdict"] = np.array(codes, dtype=np.int64)[verdicts.indices.to_numpy()]
        for name in ("edit_distance", "right_tokens", "draws"):
            if name in table.column_names and not table[name].null_count:
                columns[name] = table[name].to_numpy()
        if "right_tokens" in columns:
            lengths = [len(answer.split()) for answer in table["answer"].to_pylist()]
            columns["answer_tokens"] = np.array(lengths, dtype=np.int64)
        if "draws" in columns:
            verdicts = [Verdict(name) for name in table["verified_verdict"].to_pylist()]
            columns["accepted"] = np.array([verdict.is_right for verdict in verdicts])
        for column in (PLAIN, VERIFIED):
            if column in table.column_names and not table[column].null_count:
                right = [set(names.split()) for names in table[column].to_pylist()]
                for name in about.controls:
                    columns[f"{column}:{name}"] = np.array([name in each for each in right], bool)
        for column in LEVELS:
            if column in table.column_names and table[column].null_count < len(table):
                columns[column] = levels_of(table, column)
        return Scores(columns, int(columns["embedding_seed"].max(initial=0)) + 1, about)

    @staticmethod
    def of_tally(tally: dict[str, list[int]], about: About) -> Scores:
        """Return answers with the counts of a tally, which `Scores.tally` returns.

        The answers have the same scores as the counted answers. In the SUMMED columns, each answer
        has the mean of its row of the tally.
        """
        counts = np.array([tally.get(name, [0] * len(tally["symbols"])) for name in VERDICTS]).T
        answers = counts.sum(axis=1)  # number of answers of each row of the tally
        columns = {
            name: np.repeat(np.array(tally[name], dtype=np.int64), answers)
            for name in ("symbols", "length", "embedding_seed")
        }
        verdicts = np.tile(np.arange(len(VERDICTS)), len(counts))
        columns["verdict"] = np.repeat(verdicts, counts.ravel())
        for name in SUMMED:
            if name in tally:
                columns[name] = np.repeat(tally[name] / answers, answers)
        return Scores(columns, max(tally["embedding_seed"]) + 1, about)

    @staticmethod
    def joined(parts: list[Scores]) -> Scores:
        """Join answers of several models to the same examples, as answers of one model.

        Each embedding seed of each model becomes an embedding seed of the joint answers. The
        description is the first model's. Columns that some models lack are left out.
        """
        first = parts[0]
        columns = {
            name: np.concatenate([part._columns[name] for part in parts])
            for name in first._columns
            if all(name in part._columns for part in parts)
        }
        shifts, seeds = np.cumsum([0, *(part.seeds for part in parts)]), []
        for part, shift in zip(parts, shifts, strict=False):
            seeds.append(part._columns["embedding_seed"] + shift)
        columns["embedding_seed"] = np.concatenate(seeds)
        return Scores(columns, int(shifts[-1]), first.about)

    def __len__(self) -> int:
        return len(self._columns["verdict"])

    def partly(self) -> str:
        """Return a text such as "895 of 3,596" if only some rows of the split were answered.

        If all rows were answered, the text is empty.
        """
        rows = self.about.split_rows
        return "" if rows is None else f"{self.score().examples:,} of {rows:,}"

    def tally(self) -> dict[str, list[int]]:
        """Count the answers for each embedding seed, number of symbols and length.

        Returns the columns of a table: these three values, the number of answers with each verdict
        that occurs, and the sums of the SUMMED columns. The table is small enough for the record of
        a study.
        """
        names = ("embedding_seed", "symbols", "length")
        found, member = _groups([self._columns[name] for name in names])
        tally = dict(zip(names, found.T.tolist(), strict=True))
        for code, verdict in enumerate(VERDICTS):
            counts = np.bincount(member[self._columns["verdict"] == code], minlength=len(found))
            if counts.any():
                tally[verdict] = counts.tolist()
        for name in SUMMED:
            if name in self._columns:
                sums = np.bincount(member, weights=self._columns[name])
                tally[name] = [round(total) for total in sums.tolist()]
        return tally

    def select(self, rows: np.ndarray) -> Scores:
        """Return some of the answers.

        rows: a mask of the answers, or their indices.
        """
        columns = {name: column[rows] for name, column in self._columns.items()}
        return Scores(columns, self.seeds, self.about)

    def as_trained(self, name: str, about: About | None = None) -> np.ndarray:
        """Return a mask of answers to problems with trained numbers of symbols or trained lengths.

        name: `symbols` or `length`.
        about: description with the training region; by default the model's own.
        """
        low, high = getattr(about or self.about, name)
        return np.asarray((low <= self._columns[name]) & (self._columns[name] <= high))

    def parts(self, about: About | None = None) -> dict[str, np.ndarray]:
        """Return masks of answers to problems inside and outside the training region, by name.

        about: description with the training region; by default the model's own.
        """
        known_symbols, known_length = (self.as_trained(n, about) for n in ("symbols", "length"))
        return {
            "inside_training_region": known_symbols & known_length,
            "beyond_training_region": ~(known_symbols & known_length),
            "beyond_in_symbols_only": ~known_symbols & known_length,
            "beyond_in_length_only": known_symbols & ~known_length,
        }

    def score(self) -> Score:
        """Return the score of all answers together."""
        verdict = self._columns["verdict"]
        counts = np.bincount(verdict, minlength=len(VERDICTS))
        exact = verdict == VERDICTS.index("exact")
        right = exact | (verdict == VERDICTS.index("correct"))
        tokens = None
        if "right_tokens" in self._columns:
            same, all_ = (self._by_seed(self._columns[f"{n}_tokens"]) for n in ("right", "answer"))
            tokens = _over_seeds(same / all_)
        return Score(
            examples=int(np.count_nonzero(self._columns["embedding_seed"] == 0)),
            counts={name: int(count) for name, count in zip(VERDICTS, counts, strict=True)},
            accuracy=_over_seeds(self._by_seed(right)),
            exact=_over_seeds(self._by_seed(exact)),
            edit_distance=self._mean("edit_distance"),
            token_accuracy=tokens,
            verified_accuracy=self._mean("accepted"),
            draws=self._mean("draws"),
            control=self._control(PLAIN, right),
            verified_control=self._control(VERIFIED, self._columns.get("accepted")),
        )

    def _control(self, column: str, right: np.ndarray | None) -> ControlScore | None:
        """Compare the answers of the first embedding seed with the answers of the controls."""
        names = [name for name in self.about.controls if f"{column}:{name}" in self._columns]
        if right is None or not names:
            return None
        first = self._columns["embedding_seed"] == 0
        controls = {name: self._columns[f"{column}:{name}"][first] for name in names}
        return control_score(right[first], controls)

    def summary(self) -> dict[str, Any]:
        """Return the description, and the scores of all answers and of each part, as plain data."""
        scores = {"overall": self.score(), **self.by_part()}
        flat = {name: score.flat() for name, score in scores.items()}
        levels = [
            {"level": level, "label": level_text(self.difficulty, level), **score.flat()}
            for level, score in self.by_difficulty().items()
        ]
        more = {"difficulty": self.difficulty, "by_difficulty": levels} if levels else {}
        return {**asdict(self.about), "embedding_seeds": self.seeds, **flat, **more}

    @property
    def difficulty(self) -> str:
        """Return the name of the column of difficulty; empty if there is no such column."""
        return next((column for column in LEVELS if column in self._columns), "")

    def by_difficulty(self) -> dict[int, Score]:
        """Return the score of each level of difficulty, in order; empty without such a column."""
        return self._known_levels()._by(self.difficulty) if self.difficulty else {}

    def by_difficulty_and_length(self) -> dict[tuple[int, int], Score]:
        """Return the score by (level of difficulty, shortest length of the cell)."""
        return self._known_levels()._by(self.difficulty, "cell_length") if self.difficulty else {}

    def _known_levels(self) -> Scores:
        return self.select(self._columns[self.difficulty] != UNKNOWN_LEVEL)

    def _mean(self, name: str) -> tuple[float, float] | None:
        """Return mean and deviation over embedding seeds of a column; None if it is missing."""
        values = self._columns.get(name)
        return None if values is None else _over_seeds(self._by_seed(values))

    def _by_seed(self, values: np.ndarray) -> np.ndarray:
        """Return the mean of `values` over the answers of each embedding seed."""
        seed = self._columns["embedding_seed"]
        sizes = np.bincount(seed, minlength=self.seeds)
        return np.asarray(np.bincount(seed, weights=values, minlength=self.seeds) / sizes)

    def by_part(self, about: About | None = None) -> dict[str, Score]:
        """Return the score of each part (see `parts`) that has answers."""
        masks = self.parts(about).items()
        return {name: self.select(mask).score() for name, mask in masks if mask.any()}

    def by_cell(self) -> dict[tuple[int, int], Score]:
        """Return the score of every cell, by (symbols, shortest length of the cell)."""
        return self._by("symbols", "cell_length")

    def by_symbols(self) -> dict[int, Score]:
        """Return the score of every number of symbols, in order."""
        return self._by("symbols")

    def by_length(self) -> dict[int, Score]:
        """Return the score of each length, in order.

        If a cell contains a range of lengths, the key is the shortest length of the cell.
        """
        return self._by("cell_length")

    def _by(self, *names: str) -> dict[Any, Score]:
        columns = {**self._columns, "cell_length": self.about.cell_length(self._columns["length"])}
        found, member = _groups([columns[name] for name in names])
        order = np.argsort(member, kind="stable")
        bounds = np.searchsorted(member[order], np.arange(len(found) + 1))
        places = found.ravel().tolist() if len(names) == 1 else map(tuple, found.tolist())
        scores = [self.select(order[a:b]).score() for a, b in pairwise(bounds)]
        return dict(zip(places, scores, strict=True))


def _over_seeds(means: np.ndarray) -> tuple[float, float]:
    """Return mean and sample standard deviation of the means of embedding seeds."""
    return float(means.mean()), deviation(means)


def _groups(columns: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the different rows of a table, sorted, and for each row its index among them.

    columns: the columns of the table.
    """
    found, member = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    return found, member.ravel()
