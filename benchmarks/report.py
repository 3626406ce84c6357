"""Size of a report of 10,000 LTL answers, and the time to write, open and filter it.

Run it with `python benchmarks/report.py`; it needs Chromium. Half of the answers are wrong, because
they belong to other problems. Times of the browser are medians of eleven, from the press of a
button until the page is laid out again.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from statistics import median

from logicgen import task
from logicgen.measures.evaluation import write_evaluation_page, write_predictions
from logicgen.measures.predictions import SCHEMA, About, described
from logicgen.tasks import load_task
from logicgen.tasks.judge import Item, Wants, judge

ANSWERS, SYMBOLS, LENGTH = 10_000, (3, 10), (10, 50)
PRESS = """
(selector) => {
  const target = document.querySelector(selector);
  const begin = performance.now();
  target.click();
  document.body.offsetHeight;
  return performance.now() - begin;
}
"""
PRESSED = {
    "a cell": ".map td button",
    "a verdict": ".facet.choices button",
    "an example": "#table tbody tr",
    "all filters off": "#clear",
    "an order": "#table th:nth-child(3) button",
}


def evaluation(folder: Path) -> None:
    """Write predictions for 10,000 formulas, every second one answered as the one before it."""
    ltl, samples = load_task("ltl"), task("ltl").samples(symbols=SYMBOLS, length=LENGTH, seed=0)
    rows = []
    before = "{ 1 }"
    decide = judge("ltl", Wants(prefix=True))
    for row in range(ANSWERS):
        problem = samples[row]
        text, answer = ltl.encode(problem), ltl.encode(ltl.solve(problem).witness)
        guess = answer if row % 2 else before
        before = answer
        values = dict.fromkeys(SCHEMA.names) | {
            "row": row,
            "embedding_seed": 0,
            "symbols": len(problem.symbols),
            "length": len(text.split()),
            "problem": text,
            "answer": answer,
            "prediction": guess,
            "verdict": str(decide(Item(text, guess, answer)).verdict),
        }
        rows.append(values)
    about = About("ltl", "model", "data", "grid", (1, 5), (10, 35))
    write_predictions(described(rows, SCHEMA, about), folder)


def main() -> None:
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        evaluation(folder)
        begin = time.perf_counter()
        path = write_evaluation_page(folder, workers=1)
        print(f"written in {time.perf_counter() - begin:.1f} s, {path.stat().st_size / 1e6:.2f} MB")
        path_of = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=path_of, args=["--no-sandbox"])
        page = browser.new_page()
        opened = []
        for _ in range(11):
            page.goto(path.as_uri())
            page.wait_for_selector("html[data-ready]")
            opened.append(int(page.get_attribute("html", "data-ready") or 0))
        print(f"opened in {median(opened):.0f} ms, at most {max(opened)}")
        for called, selector in PRESSED.items():
            times = [page.evaluate(PRESS, selector) for _ in range(11)]
            print(f"{called:<16} {median(times):.0f} ms, at most {max(times):.0f}")
        begin = time.perf_counter()
        page.fill("#search", "falsifies")
        print(f"a first search   {1000 * (time.perf_counter() - begin):.0f} ms")
        browser.close()


if __name__ == "__main__":
    main()
