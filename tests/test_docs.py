"""The documentation does what it says: its worked example runs, its links lead somewhere."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from logicgen import tasks
from logicgen.data.dataset import load_dataset
from logicgen.data.generate import generate
from logicgen.data.recipe import DataRecipe
from tests.data.in_this_process import InThisProcess
from tests.study.made_results import RESULTS, read_sums
from tests.tasks import test_tasks as promises

ROOT = Path(__file__).resolve().parent.parent
# Files that are made from records when the site is built.
MADE = {RESULTS / name for name in read_sums()}
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


@pytest.fixture
def sorting(monkeypatch):
    """The task of docs/adding-a-task.md, added as the page says."""
    module = ModuleType("sorting_of_the_docs")
    source = blocks("docs/adding-a-task.md", "python")[0]
    exec(compile(source, "docs/adding-a-task.md", "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(tasks.TASKS, "sorting", f"{module.__name__}:Sorting")
    yield "sorting"
    tasks.load_task.cache_clear()


def test_the_task_of_the_docs_keeps_every_promise(sorting):
    checks = [getattr(promises, name) for name in vars(promises) if name.startswith("test_")]
    for_all_tasks = [check for check in checks if check.__code__.co_varnames[:1] == ("name",)]
    assert len(for_all_tasks) >= 5
    for check in for_all_tasks:
        check(sorting)


def test_the_recipe_of_the_docs_makes_a_data_set(sorting, tmp_path, monkeypatch):
    recipe = DataRecipe.model_validate(
        tomllib.loads(blocks("docs/adding-a-task.md", "toml")[0])
    ).resized(300)

    # Workers are new processes, which do not know a task that only this test added.
    monkeypatch.setattr("logicgen.data.generate.open_pool", InThisProcess)
    generate(recipe, tmp_path / "d", name="sorting-mini")
    data = load_dataset(tmp_path / "d")
    rows = data.table("grid").to_pylist()
    assert rows
    assert all(list(dict.fromkeys(r["problem"].split())) == r["answer"].split() for r in rows)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        path = page.parent / target
        assert path.exists() or path in MADE, target


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_files_that_are_named_exist(page):
    names = re.findall(
        r"`((?:tests|docs|grammars|datasets|models|studies|examples|benchmarks|logicgen)/[\w./-]+)`",
        page.read_text(),
    )
    example = {
        "datasets/sorting-mini.toml",
        "studies/my-widths.toml",
        "logicgen/declarations/",
    }
    for name in set(names) - example:
        assert (ROOT / name).exists() or ROOT / name in MADE, name


def test_the_citation_names_this_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = (ROOT / "CITATION.cff").read_text().splitlines()
    assert f"version: {project['version']}" in lines
    assert f"license: {project['license']}" in lines


def test_every_change_is_linted_as_continuous_integration_does():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    for tool in ("ruff check", "ruff format --check"):
        assert f"$(BIN)/python -m {tool} ." in (ROOT / "Makefile").read_text()
        assert f"entry: .venv/bin/python -m {tool} " in hooks
    assert "\ncheck: test-all lint\n" in (ROOT / "Makefile").read_text()
