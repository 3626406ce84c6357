"""Tasks of other packages: a broken one disturbs no other, and none replaces a shipped task."""

from __future__ import annotations

import pytest

from logicgen.errors import LogicgenError
from logicgen.tasks import load_task, task_names, task_plugins
from logicgen.tasks.copying import Copying
from tests.cli.test_commands import run


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package with three tasks, seen from this process and from those that it starts."""
    source = (
        "from logicgen.tasks.copying import Copying\n\nclass Fine(Copying):\n    name = 'fine'\n"
    )
    (tmp_path / "other_tasks.py").write_text(source)
    info = tmp_path / "other_tasks-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other_tasks\nVersion: 1.0\n")
    points = "fine = other_tasks:Fine\nbroken = nowhere:Task\ncopying = other_tasks:Fine\n"
    (info / "entry_points.txt").write_text(f"[logicgen.tasks]\n{points}")
    monkeypatch.syspath_prepend(str(tmp_path))
    for function in (task_plugins, load_task):
        function.cache_clear()
    yield
    for function in (task_plugins, load_task):
        function.cache_clear()


def test_the_task_of_a_plugin_is_found(installed):
    assert load_task("fine").name == "fine"
    assert {"fine", "broken", "copying"} <= set(task_names())
    assert type(load_task("copying")) is Copying
    with pytest.raises(LogicgenError, match="did you mean fine"):
        load_task("finee")


def test_a_broken_plugin_is_named_and_the_others_are_listed(installed):
    with pytest.raises(LogicgenError, match=r"plugin broken \(nowhere:Task\) cannot be loaded"):
        load_task("broken")
    result = run("list", "tasks")
    assert result.returncode == 0, result.stderr
    text = " ".join(result.stdout.split())
    assert "plugin broken (nowhere:Task) cannot be loaded: ModuleNotFoundError" in text
    assert "fine a string of symbols" in text
    assert "propositional a formula" in text
