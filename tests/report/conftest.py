"""The small data sets of the evaluation tests, and a browser for pages."""

from __future__ import annotations

import shutil

import pytest

from logicgen.data.opening import load_dataset
from logicgen.measures.comparison import compare
from logicgen.measures.evaluation import write_evaluation_page, write_figures
from logicgen.report.dataset_page import write_dataset_page
from tests.conftest import save_no_pictures
from tests.data.data_sets import make
from tests.measures.conftest import about, data
from tests.measures.test_perplexity import strings
from tests.report.pages import ASSIGNMENTS, LTL_TRIPLES, STRINGS, evaluated

__all__ = ["about", "browser", "data", "reports", "strings", "visit"]

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync")


@pytest.fixture(scope="module")
def browser():
    """Chromium. Its loop must end with this module: others of the same process start their own."""
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("no Chromium: apt-get install chromium, which .ci/run does")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=OPTIONS)
        yield started
        started.close()


@pytest.fixture
def visit(browser):
    """Open a page of a report; what it complains of or asks of the network is a failure."""
    said = []
    context = browser.new_context()
    # What is copied, as a page from disk may not read the clipboard.
    context.add_init_script(
        "Object.defineProperty(navigator, 'clipboard', {value:"
        " {writeText: async (text) => { globalThis.copied = text; }}})"
    )

    def go(path, view="", width=1300):
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 900})
        page.on(
            "console", lambda m: said.append(m.text) if m.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda r: said.append(r.url) if not r.url.startswith("file:") else None)
        page.goto(path.as_uri() + view)
        page.wait_for_selector("html[data-complete]")
        return page

    yield go
    context.close()
    assert said == []


@pytest.fixture(scope="session")
def reports(tmp_path_factory):
    """Write one report of each kind, without pictures."""
    top = tmp_path_factory.mktemp("reports")
    with pytest.MonkeyPatch.context() as patch:
        save_no_pictures(patch)
        return _reports(top)


def _reports(top):
    found = {}
    for task, triples in {"ltl": LTL_TRIPLES, "propositional": ASSIGNMENTS, **STRINGS}.items():
        write_figures(evaluated(top / task, task, triples))
        found[task] = write_evaluation_page(top / task)
    other = [(p, a, a) if i % 2 else (p, a, g) for i, (p, a, g) in enumerate(LTL_TRIPLES)]
    evaluated(top / "other", "ltl", other, model="another model")
    compare([top / "ltl", top / "other"], top / "compared")
    found["comparison"] = top / "compared" / "report.html"
    make(top / "data")
    found["data set"] = write_dataset_page(load_dataset(top / "data"), top / "data.html")
    return found
