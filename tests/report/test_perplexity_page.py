"""The page of a language model on a corpus, in a real browser."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from logicgen.errors import LogicgenError
from logicgen.measures.curves import read_readings, write_curve
from logicgen.measures.perplexity import Reading, measure_perplexity
from logicgen.measures.perplexity_figures import write_perplexity_page
from tests.languages import untrained


@pytest.fixture(scope="module")
def curve(strings):
    return measure_perplexity(
        untrained(strings.tokens), strings, "some", limit=8, context=6, beyond=3
    )


def test_readings_are_what_the_means_are_made_of(curve, strings):
    assert all(set(reading.tokens) <= set(strings.tokens.texts) for reading in curve.readings)
    for reading in curve.readings:
        assert all(len(each) == len(reading.tokens) for each in reading.measured.values())
        assert reading.measured["bits"][0] is None
    assert len(curve.readings) == curve.about.sequences == 8
    for position in range(1, 6):
        there = [each.measured["bits"] for each in curve.readings if len(each.tokens) > position]
        mean = np.mean([bits[position] for bits in there])
        assert mean == pytest.approx(curve.means["bits"][position], abs=1e-3)


def test_readings_are_read_again(curve, tmp_path):
    write_curve(curve, tmp_path)
    assert list(read_readings(tmp_path).readings) == list(curve.readings)
    (tmp_path / "readings.json").write_text("[{}]")
    with pytest.raises(LogicgenError, match=r"readings\.json: damaged; run logicgen"):
        read_readings(tmp_path)
    (tmp_path / "readings.json").unlink()
    with pytest.raises(LogicgenError, match=r"readings\.json: damaged; run logicgen"):
        read_readings(tmp_path)


def test_lines_and_text_coloured_by_surprise(curve, tmp_path, visit):
    from axe_playwright_python.sync_playwright import Axe

    write_curve(curve, tmp_path)
    page = visit(tmp_path / "report.html")
    names = [
        "the model",
        "the best counter of the text",
        "the ideal lexinvariant model",
        "the truth",
    ]
    shown = page.locator("#readings button[aria-pressed]").all_inner_texts()
    assert shown == names
    assert page.locator(".chart polyline").count() == len(names)
    page.focus(".chart svg")
    page.keyboard.press("End")
    said = page.inner_text(".chart [role=status]")
    last = int(np.flatnonzero(curve.tokens)[-1])
    assert said.startswith(f"Position {last}: the model ")
    page.click("figure button:has-text('Copy as CSV')")
    table = list(csv.DictReader(io.StringIO(page.evaluate("globalThis.copied"))))
    assert [int(row["position"]) for row in table] == np.flatnonzero(curve.tokens).tolist()
    tokens = page.locator(".reading span")
    assert [each.strip() for each in tokens.all_inner_texts()] == curve.readings[0].tokens
    tokens.nth(1).hover()
    bits = curve.readings[0].measured["bits"][1]
    assert f"the model: {bits:.2f} bits" in page.inner_text("#tip")
    page.click("#readings button:has-text('Next')")
    page.click("#readings button:has-text('the truth')")
    assert page.url.endswith("#sequence=1&of=true_bits")
    again = visit(tmp_path / "report.html", "#sequence=1&of=true_bits")
    assert again.inner_text("#readings h3") == page.inner_text("#readings h3")
    for _ in range(2):
        found = Axe().run(page).response["violations"]
        assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []
        page.click("#theme")


def test_hostile_tokens_and_numbers_that_are_none(curve, tmp_path, visit):
    tokens = ["<script>globalThis.hacked = 1</script>", "\u202e", "\n", "</script>"]
    measured = {name: [None, 1.0, None, 12.5] for name in curve.readings[0].measured}
    means = {name: np.where(values > 1e9, 0, np.inf) for name, values in curve.means.items()}
    path = tmp_path / "report.html"
    odd = replace(curve, readings=[Reading(tokens, measured)], means=means)
    page = visit(write_perplexity_page(odd, path))
    assert "<script>globalThis.hacked = 1</script>" in page.inner_text(".reading")
    assert page.evaluate("typeof globalThis.hacked") == "undefined"
    page.goto(write_perplexity_page(replace(curve, readings=()), path).as_uri())
    assert page.locator("#readings").is_hidden()
