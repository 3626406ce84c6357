"""Commands that are disturbed leave nothing behind, and go on as if they had not been.

Three signals at one random moment each; `make fuzz` tries twenty of each, and all sizes of a full
disk.
"""

from __future__ import annotations

from random import SystemRandom

import pytest

from tests.reliability.disturbance import (
    LIMITS,
    ROOMS,
    SIGNALS,
    full,
    full_disk,
    killed,
    mounted,
    read_only,
)
from tests.reliability.scene import SCENES

RNG = SystemRandom()

# A study and a data set have tests of their own; what trains or asks a model starts slowly;
# `verify` works as `solve` does.
SLOW = ("data-set", "train", "evaluate", "verify")
scenes = pytest.mark.parametrize(
    "name",
    [
        pytest.param(scene.name, marks=[pytest.mark.slow] if scene.name in SLOW else [])
        for scene in SCENES
        if not scene.slow
    ],
)


@scenes
def test_a_killed_command_goes_on_to_the_same_bytes(stage, name):
    place = stage(name)
    signals = [*SIGNALS, *SIGNALS] if place.seconds < 1 else [*SIGNALS]
    RNG.shuffle(signals)
    assert not killed(place, signals, RNG)


@scenes
def test_a_full_disk_and_a_folder_that_is_read_only_are_said_in_one_line(stage, name):
    place = stage(name)
    assert not full_disk(place, RNG.choice(LIMITS), finish=False)
    assert not read_only(place)


def test_a_disk_that_is_really_full_is_said_in_one_line():
    (scene,) = (scene for scene in SCENES if scene.name == "corpus")
    with mounted() as disk:
        if disk is None:
            pytest.skip("no disk can be mounted here")
        assert not full(scene, disk, ROOMS[:2])
