"""Reports as HTML files, in a real browser: what people find, press and link to."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from logicgen.measures.evaluation import write_evaluation_page
from logicgen.tasks import load_task
from tests.report.pages import LTL_TRIPLES, STRINGS, barriers, keys

KINDS = ["ltl", "propositional", *STRINGS, "comparison", "data set"]


# -- every kind -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_opens_from_disk_and_can_be_used_by_all(reports, visit, kind):
    page = visit(reports[kind])
    page.click("#table tbody tr")
    assert page.inner_text("#example h3").startswith("Example ")
    assert barriers(page) == []


def test_the_same_predictions_give_the_same_bytes(reports, tmp_path):
    again = write_evaluation_page(reports["ltl"].parent, tmp_path / "again.html", workers=2)
    assert again.read_bytes() == reports["ltl"].read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_a_phone_shows_formulas_in_lines_and_examples_before_filters(reports, visit, kind):
    page = visit(reports[kind], width=400)
    page.click("#table tbody tr")
    letters = page.eval_on_selector_all(
        "#table .formula, #example dd .formula",
        "all => all.map(each => each.parentElement.clientWidth / 9)",  # a letter is 9 pixels wide
    )
    assert len(letters) > 2
    assert min(letters) >= 30
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    assert page.locator("#narrowing[open]").count() == 0
    page.click("#narrowed")
    assert page.locator("#narrowing[open]").count() == 1
    assert barriers(page) == []


def test_the_gallery_shows_whole_names_of_recipes(visit):
    gallery = Path(__file__).parents[2] / "docs" / "reports" / "gallery.html"
    for width in (400, 1280):
        page = visit(gallery, "#recipe=lookup-128-characters", width)
        cut = page.eval_on_selector_all(
            "#table td.choice",
            "all => all.filter(each => each.scrollWidth > each.clientWidth).length",
        )
        assert page.locator("#table td.choice:has-text('lookup-128-characters')").count() > 0
        assert cut == 0


def test_a_link_outside_the_filters_names_them(reports, visit):
    for width in (400, 1300):
        page = visit(reports["ltl"], "#symbols=2&verdict=incorrect&q=falsifies&example=3", width)
        said = page.inner_text("#example .outside")
        assert "symbols 2, verdict incorrect, “falsifies”" in said
        assert page.inner_text("#narrowed") == "Filters: symbols 2, verdict incorrect, “falsifies”"
        page.click("#example .outside button")
        assert page.inner_text("#example h3") == "Example 3"
        assert page.locator("#example .outside").count() == 0
        assert page.inner_text("#narrowed") == "Filters"
        assert len(keys(page)) == len(LTL_TRIPLES)


# -- finding --------------------------------------------------------------------------------------


def test_a_cell_leads_to_its_examples_and_back(reports, visit):
    page = visit(reports["ltl"])
    everything = keys(page)
    assert everything == [str(row) for row in range(len(LTL_TRIPLES))]
    cell = page.locator('.map td button[data-place="2 7"]')
    said = cell.get_attribute("aria-label")
    assert said.startswith("2 symbols, length 7, 0.0% [0.0, 65.8], 2 examples: incorrect 2")
    cell.hover()
    assert "2 examples: incorrect 2" in page.inner_text("#tip")
    cell.click()
    assert keys(page) == ["0", "2"]
    assert page.url.endswith("#symbols=2&length=7")
    assert cell.get_attribute("aria-pressed") == "true"
    for step, there in ((page.go_back, len(everything)), (page.go_forward, 2)):
        step()
        page.locator(f"#found:has-text('{there} examples of')").wait_for()
    cell.click()  # once more takes the choice back
    assert keys(page) == everything


def test_numbers_of_symbols_lengths_verdicts_and_words_filter_together(reports, visit):
    page = visit(reports["ltl"])
    page.click(".map tbody th button >> text=3")
    assert keys(page) == ["1", "4"]
    page.click(".facet button:has-text('incorrect')")
    assert keys(page) == ["4"]
    assert page.inner_text("#found") == "1 example of 6"
    page.click("#clear")
    page.click(".map tfoot button >> text=5")
    assert keys(page) == ["5"]
    page.click("#clear")
    page.fill("#search", "falsifies Ga")
    assert keys(page) == []
    page.fill("#search", "which falsifies FGb")  # of a reason
    assert keys(page) == ["2"]
    assert "q=which+falsifies+FGb" in page.url
    page.click("#clear")
    page.click(".facet.choices button:text-matches('^U ')")
    assert keys(page) == ["0"]


def test_any_column_sorts(reports, visit):
    page = visit(reports["ltl"])
    page.click("#table th button:has-text('length')")
    of = {
        row: len(load_task("ltl").encode(load_task("ltl").read_problem(t[0])).split())
        for row, t in enumerate(LTL_TRIPLES)
    }
    lengths = [of[int(key)] for key in keys(page)]
    assert lengths == sorted(lengths)
    page.click("#table th button:has-text('length')")
    assert [of[int(key)] for key in keys(page)] == sorted(lengths, reverse=True)
    assert page.get_attribute("#table th[aria-sort]", "aria-sort") == "descending"


def test_a_link_leads_to_the_same_example(reports, visit):
    page = visit(reports["ltl"], "#verdict=incorrect&sort=-length")
    page.click("#table tbody tr:nth-child(2)")
    shown = page.inner_text("#example")
    page.click("#example button:has-text('Copy link')")
    link = page.evaluate("globalThis.copied")
    assert "example=" in link
    again = visit(reports["ltl"], "#" + link.partition("#")[2])
    assert again.inner_text("#example").replace("Copied", "Copy link") == shown
    assert keys(again) == keys(page)
    again.click("#example button:has-text('Next')")
    assert again.inner_text("#example h3") == f"Example {keys(again)[2]}"
    again.click("#example button:has-text('Close')")
    assert again.inner_text("#example") == ""


@pytest.mark.parametrize(
    "view",
    ["#example=99", "#symbols=x&length=-", "#sort=nothing&page=-4", "#%%%", "#examples", "#page=9"],
)
def test_a_link_that_means_nothing_does_no_harm(reports, visit, view):
    page = visit(reports["ltl"], view)
    assert len(keys(page)) == len(LTL_TRIPLES)


def test_the_keyboard_goes_through_the_map(reports, visit):
    page = visit(reports["ltl"])
    place = "document.activeElement.dataset.place"
    page.locator('.map td button[data-place="2 5"]').focus()
    page.keyboard.press("ArrowRight")  # over the gap at length 6
    assert page.evaluate(place) == "2 7"
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(place) == "2 5"
    page.keyboard.press("ArrowDown")
    assert page.evaluate(place) == "2 5"  # nothing is there
    page.keyboard.press("Enter")
    assert page.url.endswith("#symbols=2&length=5")
    assert page.locator('.map td button[tabindex="0"]').count() == 1


def test_numbers_are_copied_as_csv(reports, visit):
    page = visit(reports["ltl"], "#symbols=2&length=7")
    page.click("#csv")
    table = list(csv.DictReader(io.StringIO(page.evaluate("globalThis.copied"))))
    assert [row["key"] for row in table] == ["0", "2"]
    assert table[0]["problem"] == "a U (b & X!b)"
    assert table[0]["verdict"] == "incorrect"
    page.click("figure button:has-text('Copy as CSV')")
    cells = list(csv.DictReader(io.StringIO(page.evaluate("globalThis.copied"))))
    assert {(row["symbols"], row["length"]): float(row["share"]) for row in cells}["2", "7"] == 0


def test_the_keyboard_stays_where_it_is(reports, visit):
    page = visit(reports["ltl"])
    focused = "document.activeElement.dataset.key"
    for control, key in (
        (".facet.choices button:has-text('incorrect')", "verdict=incorrect"),
        ("#table th button:has-text('length')", "sort length"),
    ):
        page.focus(control)
        page.keyboard.press("Enter")
        assert page.evaluate(focused) == key
    page.click("#table tbody tr")
    page.focus("#example button:has-text('Next')")
    page.keyboard.press("Enter")
    assert page.evaluate(focused) == "Next"
    shown = page.inner_text("#example h3").removeprefix("Example ")
    page.click("#example button:has-text('Close')")
    assert page.evaluate(focused) == f"example {shown}"


def test_who_skips_the_maps_keeps_the_view(reports, visit):
    page = visit(reports["ltl"], "#verdict=incorrect")
    page.focus(".skip")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "examples"
    assert page.url.endswith("#verdict=incorrect")


def test_a_filter_that_nothing_passes_can_be_taken_back(reports, visit):
    page = visit(reports["ltl"], "#verdict=invalid&symbols=9")
    assert keys(page) == []
    pressed = page.locator(".facet button[aria-pressed=true]")
    assert pressed.all_inner_texts() == ["9", "invalid 0"]
    pressed.nth(1).click()
    pressed.first.click()
    assert len(keys(page)) == len(LTL_TRIPLES)
    entries = page.evaluate("history.length")
    page.click("#clear")
    assert page.evaluate("history.length") == entries
