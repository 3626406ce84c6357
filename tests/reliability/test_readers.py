"""Every reader gives a value or refuses, whatever it is given; `make fuzz` looks for longer."""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests.reliability import dimacs, folders, lines, problems, recipes
from tests.reliability.target import SHORT

TARGETS = [
    target for kind in (problems, lines, dimacs, recipes, folders) for target in kind.TARGETS
]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_a_value_or_a_refusal(target):
    settings.get_profile(SHORT)(target.property())()
