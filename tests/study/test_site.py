"""The HTML of the documentation site, as the hook of MkDocs and the style sheet change it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.report.conftest import browser
from tests.study.made_results import ROOT, on_page_content

__all__ = ["browser"]

STYLE = (ROOT / "docs" / "site.css").read_text(encoding="utf-8")


def changed(html, source="results.md"):
    return on_page_content(html, page=SimpleNamespace(file=SimpleNamespace(src_path=source)))


def test_a_picture_is_a_link_to_its_file():
    picture = '<img alt="Scores." src="results/ltl-35/curves.png" />'
    assert changed(f"<p>{picture}</p>") == (
        f'<p><a href="results/ltl-35/curves.png">{picture}</a></p>'
    )


def test_examples_of_commands_are_code():
    examples = "<p>logicgen report RUN/grid\nlogicgen report DATA</p>"
    code = "<pre><code>logicgen report RUN/grid\nlogicgen report DATA</code></pre>"
    assert changed(examples, "commands.md") == code
    assert changed(examples) == examples
    prose = "<p>logicgen evaluate writes\nthis folder.</p>"
    assert changed(prose, "commands.md") == prose


def test_each_argument_of_a_docstring_begins_a_line():
    box = (
        '<details class="held-out" open>\n  <summary>data sets whose splits</summary>\n'
        "  <p>are excluded.</p>\n</details>"
    )
    after = "<p>learn: a word.\nbeams: a number.</p>"
    whole = "<p>held_out: data sets whose splits\nare excluded.</p>"
    assert changed(f"{box}{after}", "api/logicgen.md") == (
        f"{whole}<p>learn: a word.<br>\nbeams: a number.</p>"
    )
    assert changed(box) == box


LINES = """
([selector, begin, end]) => {
  const range = document.createRange();
  const text = document.querySelector(selector).firstChild;
  range.setStart(text, begin);
  range.setEnd(text, end);
  return range.getClientRects().length;
}
"""


@pytest.mark.parametrize(
    ("cell", "parts"),
    [
        ("97.7% ± 0.6 [95.8, 98.8]", ["97.7% ± 0.6", "[95.8, 98.8]"]),
        ("1,374 [1,299, 1,875]", ["[1,299, 1,875]"]),
        ("-4.8% [-5.4%, -4.1%]", ["[-5.4%, -4.1%]"]),
    ],
)
def test_a_narrow_table_breaks_no_interval_and_no_name(browser, cell, parts):
    name = "lexinvariant_language_model"
    table = changed(f"<table><tr><td>{cell}</td><td><code>{name}</code></td></tr></table>")
    page = browser.new_page(viewport={"width": 100, "height": 300})
    # The theme breaks long names of inline code.
    style = f"code {{ word-break: break-word }} {STYLE}"
    page.set_content(f"<style>{style}</style><div class='md-typeset'>{table}</div>")
    for part in parts:
        begin = cell.index(part)
        assert page.evaluate(LINES, ["td", begin, begin + len(part)]) == 1
    assert page.evaluate(LINES, ["code", 0, len(name)]) == 1
    page.close()


def test_an_empty_header_takes_no_place(browser):
    page = browser.new_page()
    tables = "".join(
        f"<table><thead><tr><th>{head}</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>"
        for head in ("", "points")
    )
    page.set_content(f"<style>{STYLE}</style><div class='md-typeset'>{tables}</div>")
    assert [head.is_visible() for head in page.locator("thead").all()] == [False, True]
    page.close()
