"""Pages of hostile data, in a real browser: nothing of them becomes part of the page."""

from __future__ import annotations

import json
import re

import pytest

from logicgen.measures.comparison import write_comparison_page
from logicgen.measures.evaluation import read_predictions, write_evaluation_page
from tests.report.pages import evaluated, held_by, keys

HOSTILE = [
    "<script>globalThis.hacked = 1</script>",
    "</script><img src=x onerror='globalThis.hacked = 2'>",
    "--><iframe src='javascript:parent.hacked = 3'></iframe>",
    "]]>{{ 7 * 7 }}{% raw %}",
    "abc\u202edcba\u2066",
    "\x1b[31mred\x07\x00",
    '=HYPERLINK("http://example.org")',
    "' onmouseover='globalThis.hacked = 4",
    "__proto__",
    "\ud800 lone",
]


def test_nothing_from_data_becomes_part_of_the_page(tmp_path, visit):
    name = "<b>model</b><script>globalThis.hacked = 5</script>\u202e"
    triples = [("a & b", "a=1", guess.encode("utf-8", "replace").decode()) for guess in HOSTILE]
    folder = evaluated(tmp_path / "hostile", "propositional", triples, model=name, data="</title>")
    path = write_evaluation_page(folder, tmp_path / "<i>.html")
    text = path.read_text()
    assert text.count("<script") == 3
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", text)
    page = visit(path)
    assert "<b>model</b>" in page.inner_text("h1")
    assert "\\u202e" in page.inner_text("h1")
    for key in keys(page):
        page.evaluate(f"location.hash = 'example={key}'")
        page.locator(f"#example h3:text-is('Example {key}')").wait_for()
    table = page.inner_text("#table")
    assert "<script>globalThis.hacked = 1</script>" in table
    assert "\\x1b[31mred\\x07\\x00" in table
    assert page.evaluate("typeof globalThis.hacked") == "undefined"
    assert page.locator("img, iframe, object, embed, form[action]").count() == 0
    page.click("#csv")
    copied = page.evaluate("globalThis.copied")
    assert "'=HYPERLINK" in copied


@pytest.mark.slow
def test_no_page_holds_characters_that_command_a_screen(reports, tmp_path):
    for name in ("one\u202eeno", "two \udcff"):
        triples = [("a & b", "a=1", guess.encode("utf-8", "replace").decode()) for guess in HOSTILE]
        evaluated(tmp_path / name.encode("ascii", "replace").decode(), "propositional", triples)
    folders = sorted(path for path in tmp_path.iterdir())
    runs = [
        (name, *read_predictions(folder))
        for name, folder in zip(("one\u202eeno", "two \udcff"), folders, strict=True)
    ]
    write_comparison_page(runs, tmp_path)
    for path in (*reports.values(), tmp_path / "report.html"):
        text = json.dumps(held_by(path), ensure_ascii=False)
        assert not re.search("[\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\x7f-\x9f]", text)
        assert not re.search(r"\\u00[01](?!a|9)", text)


def test_the_page_allows_no_network(reports):
    for path in reports.values():
        text = path.read_text()
        (policy,) = re.findall('Content-Security-Policy" content="([^"]*)"', text)
        assert policy.startswith("default-src 'none'; script-src 'sha256-")
        assert "unsafe" not in policy
        assert not re.search(r"(src|href)=[\"']?(https?:)?//", text)
        assert " style=" not in text
