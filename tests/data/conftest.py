"""The small data set, made once."""

from __future__ import annotations

import pytest

from tests.data.data_sets import make


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "some"
    make(folder)
    return folder
