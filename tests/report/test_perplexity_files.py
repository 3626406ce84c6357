"""The files of an evaluation on a corpus, and figures of several."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from logicgen.errors import LogicgenError
from logicgen.evaluate.perplexity import measure_perplexity
from logicgen.report.figure_style import save
from logicgen.report.perplexity_figure import draw_curves
from logicgen.report.perplexity_files import (
    compare_curves,
    read_curve,
    summary_lines,
    write_curve,
)
from tests.languages import untrained


def test_files_and_back(strings, tmp_path):
    curve = measure_perplexity(untrained(strings.tokens), strings, "some", context=6, beyond=3)
    summary = write_curve(curve, tmp_path)
    assert json.loads((tmp_path / "summary.json").read_text()) == summary
    assert (tmp_path / "perplexity.png").read_bytes().startswith(b"\x89PNG")
    back = read_curve(tmp_path)
    assert (back.about, back.parts) == (curve.about, curve.parts)
    assert back.tokens.tolist() == curve.tokens.tolist()
    for name, values in curve.means.items():
        np.testing.assert_allclose(back.means[name], values)
    lines = summary_lines(summary)
    assert lines[0].startswith("overall")
    assert any("from position 3 on" in line for line in lines)
    assert any("(KL)" in line for line in lines)
    (tmp_path / "positions.csv").write_text("position\n")
    with pytest.raises(LogicgenError, match="damaged, or of another version"):
        read_curve(tmp_path)
    with pytest.raises(LogicgenError, match="run logicgen evaluate first"):
        read_curve(tmp_path / "nowhere")


def test_comparisons(strings, tmp_path):
    curve = measure_perplexity(untrained(strings.tokens), strings, "one", context=6, beyond=3)
    folders = {}
    for name, change in {
        "same": {"model": "two"},
        "data": {"data": "other"},
        "split": {"split": "train"},
        "sequences": {"sequences": 5},
    }.items():
        folders[name] = tmp_path / name
        folders[name].mkdir()
        write_curve(replace(curve, about=replace(curve.about, **change)), folders[name])
    first = tmp_path / "first"
    first.mkdir()
    write_curve(curve, first)
    found = compare_curves([first, folders["same"]], tmp_path / "out")
    assert [label for label, _ in found] == ["one", "two"]
    assert found[0][1] == curve.parts
    assert (tmp_path / "out" / "perplexity.png").is_file()
    for name in ("data", "split", "sequences"):
        with pytest.raises(LogicgenError, match=f"compare evaluations of the same {name}"):
            compare_curves([first, folders[name]], tmp_path / "out")
    with pytest.raises(LogicgenError, match="two evaluations or more"):
        compare_curves([first], tmp_path / "out")
    with pytest.raises(LogicgenError, match="is one of the evaluations"):
        compare_curves([first, folders["same"]], first)


def test_groups_are_columns_of_one_figure(strings, tmp_path):
    curve = measure_perplexity(untrained(strings.tokens), strings, "one", context=6, beyond=3)
    alone = {"first": [("a", curve), ("b", curve)]}
    both = {**alone, "second": [("c", curve)]}
    for name, groups in (("alone", alone), ("both", both)):
        save(draw_curves(groups, "title"), tmp_path, name, kinds=("svg",))
    said = {name: (tmp_path / f"{name}.svg").read_text() for name in ("alone", "both")}
    for label in ("first", "second", "c"):
        assert f"<!-- {label} -->" in said["both"]
        assert f"<!-- {label} -->" not in said["alone"]
    for name, columns in (("alone", 1), ("both", 2)):
        assert said[name].count("<!-- title -->") == 1
        assert said[name].count("<!-- perplexity -->") == columns
    assert [path.name for path in tmp_path.glob("both.*")] == ["both.svg"]
