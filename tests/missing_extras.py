"""A plugin of pytest: skip a test whose packages are not installed, and name the extra.

It is no conftest.py, since pytest calls the hooks of a conftest.py only after it has imported the
conftest.py of the folder that it collects.
"""

from __future__ import annotations

from collections.abc import Generator
from importlib.util import find_spec
from typing import NoReturn

import pytest

from logicgen.extras import EXTRAS

EXTRA_OF = {
    **EXTRAS,
    **dict.fromkeys(("axe_playwright_python", "boto3", "moto", "playwright"), "test-all"),
    "lm_eval": "lm-eval",
    "pandas": "test",
    "stormpy": "storm",
    "transformers": "trl",
    "trl": "trl",
}
"""The extra that installs each optional package that the package or its tests import."""


def _reason(package: str) -> str:
    return f"needs {package}: pip install 'logicgen[{EXTRA_OF[package]}]'"


def _installed(package: str) -> bool:
    """Return whether a package is installed; a folder without code of its name is no package."""
    found = find_spec(package)
    return found is not None and found.origin is not None


def _missing(error: BaseException | None) -> str | None:
    """Return the reason for a skip if the error comes from a package that is not installed."""
    while error is not None:
        package = str(getattr(error, "name", None) or "").partition(".")[0]
        if isinstance(error, ImportError) and package in EXTRA_OF and not _installed(package):
            return _reason(package)
        error = error.__cause__
    return None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skip a module, or a folder with its conftest.py, that imports a missing package."""
    report = yield
    call = getattr(report, "call", None)
    reason = _missing(call.excinfo.value) if report.failed and call is not None else None
    if reason is not None:
        report.outcome = "skipped"
        report.longrepr = (str(collector.path), 0, f"Skipped: {reason}")
        del report.call  # its exception would be reported, too
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    """Skip a test that names a missing extra, `@pytest.mark.needs("torch")`, or its fixtures do."""
    for marker in item.iter_markers("needs"):
        for package in marker.args:
            if not _installed(package):
                pytest.skip(_reason(package))
    try:
        return (yield)
    except Exception as error:
        _skip_or_raise(error)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Generator[None, object, object]:
    """Skip a test that imports a missing package."""
    try:
        return (yield)
    except Exception as error:
        _skip_or_raise(error)


def _skip_or_raise(error: Exception) -> NoReturn:
    if (reason := _missing(error)) is None:
        raise error
    pytest.skip(reason)
