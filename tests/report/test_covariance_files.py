"""The files of a measurement of alpha-covariance."""

from __future__ import annotations

import csv
import json
from collections import Counter
from math import perm

import pytest

from logicgen.errors import LogicgenError
from logicgen.measures.covariance import predict_renamed, write_covariance
from logicgen.tasks.task import symbols_of
from tests.measures.test_covariance import ABOUT, Fake


def test_files(renamed_data, tmp_path):
    table = predict_renamed(Fake(renamed_data, lambda problem: "a 1"), renamed_data, ABOUT)
    summary = write_covariance(table, tmp_path)
    assert json.loads((tmp_path / "covariance.json").read_text()) == json.loads(json.dumps(summary))
    rows = list(csv.DictReader((tmp_path / "covariance.csv").read_text().splitlines()))
    problems = renamed_data.table("test").to_pylist()
    counts = Counter(len(symbols_of(row["problem"])) for row in problems)
    assert counts[0] > 0
    assert summary["without_renamings"] == counts[0]
    assert summary["overall"]["problems"] == len(rows) == len(problems) - counts[0]
    for k, value in ((1, 0.5), (2, 0.6), (3, 0.6)):
        part = summary["by_symbols"][str(k)]
        assert part["problems"] == counts[k]
        assert part["most_renamings"] == perm(3, k)
        for name in ("strings", "equivalence"):
            assert part[name] == pytest.approx(
                dict.fromkeys(("mean", "median", "lower_quartile", "upper_quartile"), value)
            )
    mean = (0.5 * counts[1] + 0.6 * (counts[2] + counts[3])) / len(rows)
    assert summary["overall"]["strings"]["mean"] == pytest.approx(mean)
    assert all(
        float(row["strings"]) == pytest.approx(0.5 + 0.1 * (row["symbols"] != "1")) for row in rows
    )
    said = (tmp_path / "covariance.svg").read_text()
    for label in ("exact strings", "up to equivalence", "mean", "alpha-covariance"):
        assert f"<!-- {label} -->" in said
    write_covariance(table, tmp_path / "again")
    for file in ("covariance.json", "covariance.csv", "covariance.png", "renamings.parquet"):
        assert (tmp_path / file).read_bytes() == (tmp_path / "again" / file).read_bytes()


def test_nothing_to_measure_is_said(renamed_data, tmp_path):
    table = predict_renamed(Fake(renamed_data, lambda problem: ""), renamed_data, ABOUT)
    constant = table.filter([row["names"] == "" for row in table.to_pylist()])
    assert len(constant)
    with pytest.raises(LogicgenError, match="second renaming: alpha-covariance is not defined"):
        write_covariance(constant, tmp_path)
