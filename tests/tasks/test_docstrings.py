"""Docstrings of packages as English: what is taken, what is left out, what is refused."""

from __future__ import annotations

import sys

import pytest

from logicgen.errors import LogicgenError
from logicgen.tasks.text import docstrings, topics, versions

SOURCE = '''"""Say what a module is for."""

class Box:
    """Hold things.

    >>> Box()
    <Box>

    It is never full.
    """

    def open(self):
        """Hold things."""

    async def close(self):
        """   """
'''


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Write a package `boxes` that fails where it is imported."""
    root = tmp_path / "boxes"
    (root / "tests").mkdir(parents=True)
    (root / "__init__.py").write_text(SOURCE + "\nraise RuntimeError\n")
    (root / "again.py").write_text('"""Say what a module is for."""\n')
    (root / "future.py").write_text('"""Not for this Python."""\nmatch match match\n')
    (root / "strange.py").write_text('"""Half \\ud800 a pair."""\n')
    (root / "tests" / "test_it.py").write_text('"""Test boxes."""\n')
    (tmp_path / "single.py").write_text('"""A module alone."""\n')
    monkeypatch.syspath_prepend(tmp_path)
    return root


def test_each_docstring_once_without_examples_and_without_importing(package):
    found = docstrings(["boxes"])
    assert found == {
        "boxes/__init__.py": b"Say what a module is for.\n\nHold things.\n\n"
        b"\nIt is never full.\n\nHold things.\n",
        "boxes/strange.py": b"Half ? a pair.\n",
    }
    assert "boxes" not in sys.modules


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "box",
            "packages: 'box' is not installed, or not the name that it is imported by: install",
        ),
        ("boxes.tests", "packages: 'boxes.tests' is not installed"),
        ("", "packages: '' is not installed"),
        ("scikit-learn", "'scikit-learn' is not installed, or not the name that it is imported by"),
        ("__main__", "packages: '__main__' is"),
        ("single", "packages: 'single' is no folder of sources"),
        ("sys", "packages: 'sys' is no folder of sources"),
    ],
)
def test_what_is_no_package_is_refused(package, name, said):
    with pytest.raises(LogicgenError, match=said):
        docstrings([name])


def test_versions_are_those_of_distributions(package):
    import numpy

    assert versions(["numpy", "boxes"]) == {"numpy": numpy.__version__}


def test_topics_are_pythons_own_and_in_order():
    found = topics()
    assert list(found) == sorted(found)
    assert b"assert" in found["assert"]
