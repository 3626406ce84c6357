"""The files of an evaluation on a corpus, and figures of several."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from logicgen.errors import LogicgenError
from logicgen.measures.curves import compare_curves, read_curve, summary_lines, write_curve
from logicgen.measures.perplexity import measure_perplexity
from logicgen.measures.perplexity_figures import draw_curves
from logicgen.report.figure_style import save
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
    lines = (tmp_path / "positions.csv").read_text()
    for context in (0, 4_000_000_000):
        (tmp_path / "summary.json").write_text(json.dumps(summary | {"context": context}))
        with pytest.raises(LogicgenError, match="damaged, or of another version"):
            read_curve(tmp_path)
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    (tmp_path / "positions.csv").write_text(lines.replace("\n1,", "\n-1,"))
    with pytest.raises(LogicgenError, match="damaged, or of another version"):
        read_curve(tmp_path)
    (tmp_path / "positions.csv").write_text("position\n")
    with pytest.raises(LogicgenError, match="damaged, or of another version"):
        read_curve(tmp_path)
    with pytest.raises(LogicgenError, match="run logicgen evaluate first"):
        read_curve(tmp_path / "nowhere")


def test_comparisons(strings, undrawn, tmp_path):
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


def test_panels_show_the_way_to_the_ideal_and_the_distance_from_the_truth(strings):
    curve = measure_perplexity(untrained(strings.tokens), strings, "one", context=6, beyond=3)
    tokens = np.array([0, *[10] * 5])
    means = {
        "bits": np.array([np.nan, 2.0, 1.75, 1.5, 1.0, 2.5]),
        "counter_bits": np.array([np.nan, 2.0, 2.0, 2.0, 2.0, 2.0]),
        "ideal_bits": np.array([np.nan, 1.0, 1.0, 1.0, 1.0, 2.0]),
        "kl_true": np.full(6, 0.5),
        "l1_true": np.array([np.nan, 0.5, 0.4, 0.3, 0.2, 0.1]),
    }
    of_strings = replace(curve, tokens=tokens, means=means)
    of_text = replace(curve, tokens=tokens, means={"bits": means["bits"]})
    figure = draw_curves({"one": [("strings", of_strings), ("text", of_text)]}, "title")
    panels = {axes.get_ylabel().split("\n")[0]: axes for axes in figure.axes}
    way = panels["share of the way from"].lines[0].get_ydata()
    # Where the ideal is no better than counting there is no way.
    np.testing.assert_allclose(way, [np.nan, 0, 0.25, 0.5, 1, -np.inf])
    (distance,) = panels["distance from the truth (L1)"].lines
    np.testing.assert_allclose(distance.get_ydata(), means["l1_true"])
    only_text = draw_curves({"one": [("text", of_text)]}, "title")
    assert [axes.get_ylabel() for axes in only_text.axes] == ["perplexity"]


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
