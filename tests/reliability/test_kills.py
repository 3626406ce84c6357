"""Commands that are killed at random moments leave nothing behind, and go on as if they were not.

`make fuzz` does the same at more moments.
"""

from __future__ import annotations

import os
from random import SystemRandom

import pytest

from tests.reliability.disturbance import SIGNALS, duration, full_disk, killed, read_only
from tests.reliability.scene import SCENES

RNG = SystemRandom()
NAMES = [scene.name for scene in SCENES]
FAST = [scene.name for scene in SCENES if not scene.slow]


@pytest.mark.parametrize("name", NAMES)
def test_a_killed_command_goes_on_to_the_same_bytes(stage, name):
    place = stage(name)
    # A study takes long to start: one signal, another one each time.
    numbers = [RNG.choice(SIGNALS)] if place.scene.slow else [*SIGNALS, *SIGNALS]
    RNG.shuffle(numbers)
    assert not killed(place, numbers, duration(place), RNG)


@pytest.mark.parametrize("name", FAST)
def test_a_full_disk_is_said_in_one_line(stage, name):
    # In turn: nothing fits but an empty file, a description fits but no data, some data fit.
    assert not full_disk(stage(name), RNG.choice([0, 500, 4000]))


@pytest.mark.parametrize("name", FAST)
def test_a_folder_that_is_read_only_is_said_in_one_line(stage, name):
    if os.getuid() and os.access(stage(name).folder, os.W_OK) is False:
        pytest.skip("this user cannot write here at all")
    assert not read_only(stage(name))
