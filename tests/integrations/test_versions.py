"""An older package than was tested is refused in one line; none is no error."""

from __future__ import annotations

import runpy

import pytest

from logicgen.errors import LogicgenError
from logicgen.integrations import openrlhf, trl, verl, versions
from logicgen.integrations.versions import at_least


@pytest.fixture
def installed(monkeypatch):
    return lambda found: monkeypatch.setattr(versions, "version", lambda package: found)


@pytest.mark.parametrize(
    "found", ["1.16", "1.16.0", "1.16.0.dev0", "1.16.2", "1.100", "2.0", "2", "1.16.0+cu12"]
)
def test_the_tested_version_and_later_ones_pass(installed, found):
    installed(found)
    at_least("some", "1.16")
    at_least("some", "1.16.0")


@pytest.mark.parametrize("found", ["1.15", "1.15.9", "1.9", "0.99.1", "1", "1.15.0rc1", "0", "odd"])
def test_an_older_version_is_refused(installed, found):
    installed(found)
    with pytest.raises(LogicgenError) as raised:
        at_least("some", "1.16")
    assert str(raised.value) == (
        f"some {found} is installed, and logicgen needs 1.16 or later: pip install 'some>=1.16'"
    )


def test_a_package_that_is_not_installed_passes():
    at_least("no-such-package", "1.0")


@pytest.mark.parametrize(("adapter", "needed"), [(trl, "1.16"), (verl, "0.9"), (openrlhf, "0.11")])
def test_no_adapter_is_imported_beside_an_older_package(installed, adapter, needed):
    installed("0.0.9")
    package = adapter.__name__.rpartition(".")[2]
    with pytest.raises(LogicgenError, match=f"{package} 0.0.9 .* needs {needed} or later"):
        runpy.run_path(adapter.__file__)
