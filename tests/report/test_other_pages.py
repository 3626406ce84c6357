"""The pages of grammars and of probed ciphers, in a real browser."""

from __future__ import annotations

import numpy as np
import pytest

from logicgen.measures.keys import Keys, KeyWindow, LayerKeys, ProbedRow
from logicgen.measures.keys_figures import write_key_page
from logicgen.productions import Grammar, cut
from logicgen.report.grammar_page import write_grammar_page
from logicgen.tokens import Tokens
from tests.report.pages import barriers

GRAMMAR = Grammar(
    words=("big", "small", "cat", "<script>globalThis.hacked = 1</script>"),
    units=(("large", "little"), ("animal", "pet")),
    start=np.array([0.25, 0.75]),
    tokens=(
        np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]),
        np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.4], [0.0, 0.6]]),
    ),
    below=(np.array([[0.5, 0.2], [0.5, 0.8]]),),
)


def test_a_grammar_before_and_after_a_cut(tmp_path, visit):
    left = cut(GRAMMAR, "large", "pet")
    both = [("before", GRAMMAR), ("after", left)]
    page = visit(write_grammar_page(both, "a grammar", tmp_path / "report.html", (0, 0, 1)))
    before, after = page.locator("figure").all()
    assert before.locator(".unit").count() == after.locator(".unit").count() == 4
    # Two edges from the start, four below, of which one is cut.
    assert before.locator("line:not(.gone)").count() == 6
    assert after.locator("line:not(.gone)").count() == 5
    assert before.locator("line.gone").count() == 0
    assert after.locator("line.gone").count() == 1
    before.locator(".unit").first.click()
    assert before.locator("[role=status]").inner_text() == (
        "large: on in 25.0% of sentences; writes big 1.00; switches on animal 0.50, pet 0.50"
    )
    after.locator(".unit").nth(1).focus()
    page.keyboard.press("Enter")
    assert after.locator("[role=status]").inner_text().startswith("little: on in")
    assert "<script>globalThis.hacked" in page.inner_text("main")
    assert page.evaluate("typeof globalThis.hacked") == "undefined"
    assert barriers(page) == []


def window(number):
    return KeyWindow(number, 0, 3, 0.5, 0.2, 0.8, 0.6, 0.3, 0.9, 4, 0.5, 8)


@pytest.fixture
def keys():
    """A row that writes `b` for `a`, twice found and once not, and `c` for `b`, never found."""
    tokens = np.array([2, 3, 2, 0, 2])
    plain = np.array([1, 2, 1, 0, 1])
    guesses = [3, 1, 1, 0, 1]
    row = ProbedRow(tokens, plain, 1, np.eye(4)[guesses] * 0.7 + 0.075)
    about = {"called": "a model", "data": "ciphers", "split": "test", "rows": 1, "window": 3}
    found = {1: LayerKeys([window(1)], row, np.zeros((4, 4)))}
    return Keys(about | {"layer": 1}, found, {"a control": [window(1)]})


def test_a_key_as_it_is_found(keys, tmp_path, visit):
    tokens = Tokens("names", ["<end>", "a", "b", "c"])
    page = visit(write_key_page(keys, tokens, tmp_path / "report.html"))
    assert page.inner_text("#readings [role=status]") == (
        "5 tokens read; the key is right for 1 of 2 symbols."
    )
    assert page.locator("#readings .token").all_inner_texts() == ["b → a", "c → a (b)"]
    page.locator("#place").fill("1")
    assert "the key is right for 0 of 1 symbol." in page.inner_text("#readings")
    assert page.url.endswith("#read=1")
    again = visit(tmp_path / "report.html", "#read=3")
    # One vote each: of equally many the first token wins.
    assert again.locator("#readings .token").first.inner_text() == "b → a"
    said = again.locator(".reading").nth(1).locator("span")
    assert [each.get_attribute("class") for each in said.all()] == ["other", "other", "same"]
    said.first.hover()
    assert "b is written, a is meant" in again.inner_text("#tip")
    assert barriers(again) == []
    assert "Control: a control" in again.inner_text("main")
