"""Settings of all tests."""

from __future__ import annotations

import os

# Tests run in as many processes as there are cores: more threads only wait for each other.
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import sys  # noqa: E402
from pathlib import Path  # noqa: E402

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

from logicgen.processes import helper  # noqa: E402
from tests import forked  # noqa: E402

if sys.platform == "linux":  # before anything imports it by its name
    helper.start_helper = forked.start_helper

pytest_plugins = ["tests.missing_extras"]

# How long an example takes depends on the load of the machine, so no profile has a deadline.
# LOGICGEN_HYPOTHESIS=fuzz tries forty times as many examples, and takes hours.
settings.register_profile("ci", deadline=None, max_examples=50)
settings.register_profile("fuzz", deadline=None, max_examples=2000, print_blob=True)
settings.load_profile(os.environ.get("LOGICGEN_HYPOTHESIS", "ci"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that open pages in a browser."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")


def save_no_pictures(patch: pytest.MonkeyPatch) -> None:
    """Save an empty file in place of each picture, since drawing takes seconds."""
    from matplotlib.figure import Figure

    patch.setattr(Figure, "savefig", lambda self, path, **_: Path(path).touch())


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Save no pictures in this test."""
    save_no_pictures(monkeypatch)


@pytest.fixture
def new_helpers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start helpers as the library does, in new processes."""
    monkeypatch.setattr(forked, "forking", False)
