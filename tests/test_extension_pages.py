"""The pages on extensions are short, and run from top to bottom as they are written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from logicgen import tasks
from tests import page_program
from tests.page_program import BLOCK
from tests.tasks import test_tasks as promises

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("adding-a-task", "adding-a-solver", "adding-an-embedding", "adding-a-measure")
MOST_WORDS = 400


def docs(page: str) -> Path:
    return ROOT / "docs" / f"{page}.md"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_at_most_400_words(page):
    assert len(BLOCK.sub("", docs(page).read_text()).split()) <= MOST_WORDS


@pytest.mark.parametrize(
    "page",
    [
        pytest.param("adding-a-solver", marks=pytest.mark.needs("torch")),
        pytest.param(
            "adding-a-task",
            marks=[pytest.mark.needs("torch", "trl", "reasoning_gym"), pytest.mark.trainer],
        ),
        *(
            pytest.param(page, marks=[pytest.mark.needs("torch"), pytest.mark.slow])
            for page in ("adding-an-embedding", "adding-a-measure")
        ),
    ],
)
def test_a_page_runs_from_top_to_bottom(page, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "OMP_NUM_THREADS": "1"}
    program = [sys.executable, "-P", page_program.__file__, str(docs(page))]
    done = subprocess.run(
        program, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_the_task_of_the_page_keeps_every_promise(tmp_path, monkeypatch):
    files = {title: block for _, title, block in BLOCK.findall(docs("adding-a-task").read_text())}
    (tmp_path / "sorting.py").write_text(files["sorting.py"])
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(tasks.TASKS, "sorting", "sorting:Sorting")
    checks = [getattr(promises, name) for name in vars(promises) if name.startswith("test_")]
    for_all_tasks = [check for check in checks if check.__code__.co_varnames[:1] == ("name",)]
    assert len(for_all_tasks) >= 5
    try:
        for check in for_all_tasks:
            check("sorting")
    finally:
        tasks.load_task.cache_clear()
