"""Tables as CSV and Markdown, and shares in percent."""

from __future__ import annotations

from logicgen.report.tables import markdown_table, percent, write_csv


def test_a_table_has_the_columns_of_all_its_rows(tmp_path):
    write_csv([{"a": 1, "b": 2}, {"a": 3, "c": 4}], tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "a,b,c\n1,2,\n3,,4\n"


def test_a_bar_in_a_cell_is_no_border():
    assert markdown_table(["a", "b"], [("x | y", "")]).splitlines() == [
        "| a | b |",
        "| --- | --- |",
        "| x \\| y |  |",
    ]


def test_percent_says_the_interval_and_the_deviation_over_seeds():
    score = {"accuracy": 0.973, "accuracy_std": 0.0, "accuracy_low": 0.968, "accuracy_high": 0.977}
    assert percent(score) == "97.3% [96.8, 97.7]"
    assert percent({**score, "accuracy_std": 0.004}) == "97.3% ± 0.4 [96.8, 97.7]"
