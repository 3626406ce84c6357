"""Scores per cell and overall, from predictions alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from logicgen.evaluate.score import About
from logicgen.solvers import Verdict

VERDICTS = [str(verdict) for verdict in Verdict]


@dataclass(frozen=True)
class Score:
    """The score of a set of examples, with mean and standard deviation over embedding seeds.

    Attributes:
        examples: number of examples, each counted once.
        counts: answers by verdict, over all embedding seeds.
        accuracy: share of answers that are right (exact or correct).
        exact: share of answers that equal the stored one.
        edit_distance: mean in tokens; None where the task has none.
        verified_accuracy: share of problems of which verified decoding found a right answer, and
        draws: how many answers it drew for one; None where it was not asked for.
    """

    examples: int
    counts: dict[str, int]
    accuracy: tuple[float, float]
    exact: tuple[float, float]
    edit_distance: tuple[float, float] | None
    verified_accuracy: tuple[float, float] | None
    draws: tuple[float, float] | None

    def flat(self) -> dict[str, Any]:
        """As the columns of a table."""
        row: dict[str, Any] = {"examples": self.examples, **self.counts}
        for name in ("accuracy", "exact", "edit_distance", "verified_accuracy", "draws"):
            value = getattr(self, name)
            name = "exact_match" if name == "exact" else name
            if value is not None:
                row[name], row[f"{name}_std"] = value
        return row


class Scores:
    """Answers with their verdicts, as columns: to be scored as a whole, by cell, or by region."""

    def __init__(self, columns: dict[str, np.ndarray], seeds: int, about: About) -> None:
        self._columns = columns
        self.seeds = seeds
        self.about = about

    @staticmethod
    def of(table: pa.Table, about: About) -> Scores:
        """From a table of predictions."""
        verdicts = table["verdict"].combine_chunks().dictionary_encode()
        codes = [VERDICTS.index(name) for name in verdicts.dictionary.to_pylist()]
        columns = {name: table[name].to_numpy() for name in ("symbols", "length", "embedding_seed")}
        columns["verdict"] = np.array(codes, dtype=np.int64)[verdicts.indices.to_numpy()]
        for name in ("edit_distance", "draws"):
            if name in table.column_names and not table[name].null_count:
                columns[name] = table[name].to_numpy()
        if "draws" in columns:
            verdicts = [Verdict(name) for name in table["verified_verdict"].to_pylist()]
            columns["accepted"] = np.array([verdict.is_right for verdict in verdicts])
        return Scores(columns, int(columns["embedding_seed"].max(initial=0)) + 1, about)

    def __len__(self) -> int:
        return len(self._columns["verdict"])

    def select(self, rows: np.ndarray) -> Scores:
        """Some of the answers, by a mask or by number."""
        columns = {name: column[rows] for name, column in self._columns.items()}
        return Scores(columns, self.seeds, self.about)

    def parts(self) -> dict[str, np.ndarray]:
        """Masks of the answers by where their problems are, seen from the training region."""
        known_symbols, known_length = (
            (getattr(self.about, name)[0] <= self._columns[name])
            & (self._columns[name] <= getattr(self.about, name)[1])
            for name in ("symbols", "length")
        )
        return {
            "inside_training_region": known_symbols & known_length,
            "beyond_training_region": ~(known_symbols & known_length),
            "beyond_in_symbols_only": ~known_symbols & known_length,
            "beyond_in_length_only": known_symbols & ~known_length,
        }

    def score(self) -> Score:
        """The score of all answers together."""
        verdict = self._columns["verdict"]
        counts = np.bincount(verdict, minlength=len(VERDICTS))
        exact = verdict == VERDICTS.index("exact")
        optional = {
            name: self._over_seeds(self._columns[name]) if name in self._columns else None
            for name in ("edit_distance", "accepted", "draws")
        }
        return Score(
            examples=int(np.count_nonzero(self._columns["embedding_seed"] == 0)),
            counts={name: int(count) for name, count in zip(VERDICTS, counts, strict=True)},
            accuracy=self._over_seeds(exact | (verdict == VERDICTS.index("correct"))),
            exact=self._over_seeds(exact),
            edit_distance=optional["edit_distance"],
            verified_accuracy=optional["accepted"],
            draws=optional["draws"],
        )

    def _over_seeds(self, values: np.ndarray) -> tuple[float, float]:
        """Mean and (population) standard deviation over embedding seeds of the mean value."""
        seed = self._columns["embedding_seed"]
        sizes = np.bincount(seed, minlength=self.seeds)
        sums = np.bincount(seed, weights=values, minlength=self.seeds)
        means = sums / sizes  # every seed answered the same examples
        return float(means.mean()), float(means.std())

    def by_cell(self) -> dict[tuple[int, int], Score]:
        """The score of every cell, by (symbols, length)."""
        places = np.stack([self._columns["symbols"], self._columns["length"]], axis=1)
        found, member = np.unique(places, axis=0, return_inverse=True)
        member = member.ravel()
        order = np.argsort(member, kind="stable")
        bounds = np.searchsorted(member[order], np.arange(len(found) + 1))
        return {
            (int(symbols), int(length)): self.select(order[bounds[i] : bounds[i + 1]]).score()
            for i, (symbols, length) in enumerate(found)
        }
