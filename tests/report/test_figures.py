"""What the pictures of an evaluation show, read from their pixels and from their text."""

from __future__ import annotations

from dataclasses import replace

import matplotlib.image
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from logicgen.measures.answers_figures import (
    ACCURACY,
    COLOURS,
    DIFFERENCE,
    draw_differences,
    draw_heatmaps,
    draw_lengths,
    draw_symbols,
)
from logicgen.measures.scores import Scores
from logicgen.report.figure_style import save
from tests.measures.predicted import ABOUT, predicted


def picture(folder, name):
    return matplotlib.image.imread(folder / f"{name}.png")[:, :, :3]


def share(image, colour):
    """How much of a picture has that colour."""
    return np.mean(np.abs(image - np.array(colour[:3])).max(axis=-1) < 0.006)


def text(folder, name):
    """The picture as SVG, where each text stands in a comment."""
    return (folder / f"{name}.svg").read_text()


def cells(counts, verdict="exact", about=ABOUT):
    """All examples of each cell have the same verdict."""
    verdicts = {place: [verdict] * count for place, count in counts.items()}
    return Scores.of(predicted(verdicts, about), about).by_cell()


def drawn(folder, counts, name="map", verdict="exact"):
    save(draw_heatmaps([("some", cells(counts, verdict), ABOUT)], "title"), folder, name)
    return picture(folder, name)


def test_a_few_fuller_cells_change_nothing_about_the_others(tmp_path):
    usual = {(s, n): 2 for s in range(1, 4) for n in range(1, 6)}
    drawn(tmp_path, usual, "usual")
    drawn(tmp_path, {**usual, (1, 1): 500}, "fuller")
    assert (tmp_path / "usual.png").read_bytes() == (tmp_path / "fuller.png").read_bytes()


def test_a_cell_with_few_examples_is_smaller_but_has_its_colour(tmp_path):
    usual = {(s, n): 20 for s in range(1, 4) for n in range(1, 6)}
    full = share(drawn(tmp_path, usual), ACCURACY(1.0))
    half = share(drawn(tmp_path, {**usual, (2, 3): 10}), ACCURACY(1.0))
    quarter = share(drawn(tmp_path, {**usual, (2, 3): 5}), ACCURACY(1.0))
    none = share(drawn(tmp_path, {k: n for k, n in usual.items() if k != (2, 3)}), ACCURACY(1.0))
    assert full > 0.5
    # The legend of the third picture takes a little room.
    assert half == full
    assert (quarter - none) / (full - none) == pytest.approx(0.5, abs=0.1)
    assert "smaller: fewer examples" not in text(tmp_path, "map")
    drawn(tmp_path, {**usual, (2, 3): 5})
    assert "smaller: fewer examples" in text(tmp_path, "map")


def test_maps_side_by_side_have_one_scale_and_a_region_each(tmp_path):
    counts = {(s, n): 2 for s in range(1, 4) for n in range(1, 6)}
    runs = [
        ("right", cells(counts), ABOUT),
        ("wrong", cells(counts, "incorrect"), ABOUT),
        ("half", cells(counts, "incorrect"), ABOUT),
    ]
    mixed = {place: ["correct", "invalid"] for place in counts}
    runs[2] = ("half", Scores.of(predicted(mixed), ABOUT).by_cell(), ABOUT)
    save(draw_heatmaps(runs, "title"), tmp_path, "maps")
    image = picture(tmp_path, "maps")
    shares = [share(image, ACCURACY(value)) for value in (0.0, 0.5, 1.0)]
    assert min(shares) > 0.15
    assert max(shares) < 1.2 * min(shares)
    said = text(tmp_path, "maps")
    assert said.count("<!-- training region -->") == 1  # in the legend
    for label in ("right", "wrong", "half", "length (tokens)", "symbols"):
        assert f"<!-- {label} -->" in said


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 7])
def test_any_number_of_maps_fits(tmp_path, count):
    some = cells({(1, 1): 1, (2, 3): 1})
    save(
        draw_heatmaps([(f"run {i}", some, ABOUT) for i in range(count)], "title"), tmp_path, "maps"
    )
    said = text(tmp_path, "maps")
    assert all(f"<!-- run {i} -->" in said for i in range(count)) == (count > 1)


def test_differences_are_centred_on_zero_and_have_the_right_sign(tmp_path):
    counts = {(s, n): 2 for s in range(1, 4) for n in range(1, 6)}
    right, wrong = cells(counts), cells(counts, "incorrect")
    save(draw_differences(wrong, [("better", right, ABOUT)], "title"), tmp_path, "better")
    save(draw_differences(right, [("worse", wrong, ABOUT)], "title"), tmp_path, "worse")
    save(draw_differences(right, [("equal", right, ABOUT)], "title"), tmp_path, "equal")
    for name, value in (("worse", 0.0), ("equal", 0.5), ("better", 1.0)):
        assert share(picture(tmp_path, name), DIFFERENCE(value)) > 0.4, name
    save(
        draw_differences(right, [("worse", wrong, ABOUT), ("equal", right, ABOUT)], "title"),
        tmp_path,
        "both",
    )
    image = picture(tmp_path, "both")
    assert share(image, DIFFERENCE(0.0)) == pytest.approx(share(image, DIFFERENCE(0.5)), rel=0.1)


# Simulated colour vision, from linear RGB: Machado, Oliveira, Fernandes, IEEE TVCG 15 (2009).
VISION = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
}


def lab(colours, vision):
    """CIE Lab of sRGB colours (n, 3) as such eyes see them."""
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.array(vision).T, 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = seen @ np.array(to_xyz).T / [0.9505, 1, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    x, y, z = f.T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


@pytest.mark.parametrize("vision", VISION)
def test_colours_stay_apart_for_the_colour_blind(vision):
    values = np.linspace(0, 1, 21)
    apart = np.abs(values[:, None] - values) >= 0.25
    for colours in (ACCURACY, DIFFERENCE):
        seen = lab(colours(values)[:, :3], VISION[vision])
        assert np.linalg.norm(seen[:, None] - seen, axis=-1)[apart].min() > 12
    seen = lab(np.array([to_rgb(colour) for colour in COLOURS.values()]), VISION[vision])
    assert np.linalg.norm(seen[:, None] - seen, axis=-1)[~np.eye(5, dtype=bool)].min() > 12


def test_bars_show_the_share_of_each_verdict(tmp_path):
    verdicts = {
        (1, 2): ["exact", "exact", "correct", "incorrect"],
        (1, 3): ["invalid", "invalid", "unknown", "unknown"],
    }
    save(draw_lengths(Scores.of(predicted(verdicts), ABOUT), "title"), tmp_path, "lengths")
    image = picture(tmp_path, "lengths")
    unit = share(image, to_rgb(COLOURS["correct"]))
    assert unit > 0.05
    expected = {"exact": 2, "correct": 1, "incorrect": 1, "invalid": 2, "unknown": 2}
    for verdict, quarters in expected.items():
        # The legend, and the box of the training region, cover or add a little.
        found = share(image, to_rgb(COLOURS[verdict]))
        assert found / unit == pytest.approx(quarters, rel=0.15), verdict
    left, right = np.array_split(image, 2, axis=1)
    assert share(left, to_rgb(COLOURS["exact"])) > 10 * share(right, to_rgb(COLOURS["exact"]))
    said = text(tmp_path, "lengths")
    assert "<!-- training region -->" in said
    assert "<!-- other numbers of symbols -->" not in said


def test_bars_of_more_symbols_stand_apart(tmp_path):
    verdicts = {(1, 2): ["exact"], (3, 2): ["incorrect"]}
    save(draw_lengths(Scores.of(predicted(verdicts), ABOUT), "title"), tmp_path, "lengths")
    above, below = np.array_split(picture(tmp_path, "lengths"), 2)
    assert share(above, to_rgb(COLOURS["exact"])) > 0.3
    assert share(below, to_rgb(COLOURS["incorrect"])) > 0.3


def test_accuracy_by_symbols(tmp_path):
    verdicts = {(s, n): ["exact", "incorrect"] for s in (1, 2, 3, 4) for n in (2, 5)}
    scores = Scores.of(predicted(verdicts), ABOUT)
    save(draw_symbols([("one", scores), ("two", scores)], "title"), tmp_path, "symbols")
    said = text(tmp_path, "symbols")
    for label in ("one", "two", "as in training", "lengths as in training", "other lengths"):
        assert f"<!-- {label} -->" in said
    assert "<!-- unseen symbols -->" in said
    assert "edit distance" not in said


@pytest.mark.parametrize("largest", [5, 60])
def test_the_axis_of_symbols_ends_with_the_problems(largest, tmp_path):
    """A training region of many more symbols does not shrink the line."""
    about = replace(ABOUT, symbols=(1, 60))
    scores = Scores.of(predicted({(s, 2): ["exact"] for s in (1, largest)}), about)
    figure = draw_symbols([("one", scores)], "title")
    assert figure.axes[0].get_xlim()[1] == pytest.approx(largest, rel=0.2)
    save(figure, tmp_path, "symbols")
    assert "<!-- unseen symbols -->" not in text(tmp_path, "symbols")


def test_edit_distance_by_symbols_where_the_task_has_it(tmp_path):
    verdicts = {(s, 2): ["exact"] for s in (1, 2)}
    table = predicted(verdicts, distances={(1, 2): 0, (2, 2): 0})
    save(draw_symbols([("one", Scores.of(table, ABOUT))], "title"), tmp_path, "symbols")
    said = text(tmp_path, "symbols")
    assert "<!-- mean edit distance (tokens) -->" in said
    assert "<!-- unseen symbols -->" not in said  # there are none
    assert "<!-- other lengths -->" not in said


@pytest.mark.parametrize("place", [(0, 0), (1, 2), (160, 7)])
def test_a_single_example_anywhere_can_be_drawn(tmp_path, place):
    scores = Scores.of(predicted({place: ["correct"]}), ABOUT)
    save(draw_heatmaps([("some", scores.by_cell(), ABOUT)], "title"), tmp_path, "heatmap")
    save(draw_symbols([("some", scores)], "title"), tmp_path, "symbols")
    save(draw_lengths(scores, "title"), tmp_path, "lengths")
    for name in ("heatmap", "symbols", "lengths"):
        assert (tmp_path / f"{name}.png").stat().st_size > 1000
