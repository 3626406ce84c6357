"""What a page draws of an example, in a real browser."""

from __future__ import annotations

from logicgen.solvers import Verdict
from logicgen.tasks import load_task
from tests.report.pages import LTL_TRIPLES, keys


def test_a_wrong_trace_shows_the_word_that_falsifies(reports, visit):
    page = visit(reports["ltl"], "#example=2")
    assert "it allows" in page.inner_text("#example .reason")
    assert "falsifies the formula" in page.inner_text("#example .says >> nth=1")
    whole = page.locator(".timeline tr.whole td")
    assert whole.first.inner_text() == "0"
    tree = page.locator("#example svg g")
    assert tree.count() == 7
    assert tree.first.get_attribute("class") == "f"
    titles = [each.text_content() for each in tree.locator("title").all()]
    assert titles[0].endswith(": false")


def test_the_tree_shows_the_position_that_is_pressed(reports, visit):
    page = visit(reports["ltl"], "#example=5")  # X X c & a, answered by a trace without c
    columns = page.locator(".timeline thead button").count()
    task = load_task("ltl")
    problem, _, guess = LTL_TRIPLES[5]
    parsed = task.read_problem(problem)
    found = task.explain(parsed, task.decode_answer(guess), Verdict.INCORRECT)
    assert columns == len(found.letters)
    for position in range(columns):
        page.locator(".timeline thead button").nth(position).click()
        shown = [each.get_attribute("class") for each in page.locator("#example svg g").all()]
        # The tree is drawn in another order than prefix notation: compare how many are true.
        assert shown.count("t") == sum(truth[position] == "1" for truth in found.truth)


def test_an_assignment_shows_values_and_what_is_left_open(reports, visit):
    page = visit(reports["propositional"], "#example=0")
    assert "True symbols: a, c, d" in page.inner_text("#example .drawings")
    page = visit(reports["propositional"], "#example=1")  # a=1, b=1 for a & b | c
    kinds = [each.get_attribute("class") for each in page.locator("#example svg g").all()]
    assert sorted(kinds) == ["", "t", "t", "t", "t"]
    page = visit(reports["propositional"], "#example=2")
    assert page.locator("#example svg g").first.get_attribute("class") == "f"


def test_strings_show_the_difference_and_what_decides(reports, visit):
    page = visit(reports["copying"], "#example=0")
    tokens = page.locator("#example dd.tokens >> nth=2").locator(".token")
    assert [t.get_attribute("class") for t in tokens.all()] == [
        "token same", "token other", "token same", "token same",
    ]  # fmt: skip
    page = visit(reports["lookup"], "#example=0")
    marked = "token => token.classList.contains('deciding')"
    problem = page.locator("#example dd.tokens").first.locator(".token")
    places = [i for i, token in enumerate(problem.all()) if token.evaluate(marked)]
    assert places == [0, 2, 6, 8, 10]  # of the second key, whose value is wrong
    page.locator("#example button.token").first.click()
    places = [i for i, token in enumerate(problem.all()) if token.evaluate(marked)]
    assert places == [3, 5, 9]


def test_a_comparison_says_who_is_right(reports, visit):
    page = visit(reports["comparison"])
    assert page.locator("figure").count() == 3  # two maps and their difference
    page.click(".facet.choices button:text-matches('^only another model')")
    assert keys(page) == ["5"]
    page.click("#table tbody tr")
    verdicts = page.locator("#example dl.answers .verdict").all_inner_texts()
    assert verdicts == ["incorrect", "exact"]


def test_a_data_set_is_found_by_split(reports, visit):
    page = visit(reports["data set"])
    page.click(".facet.choices button:text-matches('^grid ')")
    assert all(key.isdigit() for key in keys(page))
    assert page.locator("#table tbody tr td:nth-child(2)").first.inner_text() == "grid"
    held = "figure:has-text('test: examples') .map td button:not([aria-label*=', 0 examples'])"
    cell = page.locator(held).first
    cell.click()
    assert "split=test" in page.url
    assert page.locator("#table tbody tr td:nth-child(2)").first.inner_text() == "test"
    assert "SHA-256" in page.inner_text("main")
