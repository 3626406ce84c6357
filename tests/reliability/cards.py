"""Folders of trained models, with cards or weights changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import cache
from typing import Any

from hypothesis import strategies as st

from logicgen import recipes
from logicgen.files import json_sha256
from logicgen.model.checkpoint import CARD, WEIGHTS, load_model
from logicgen.model.model import Model
from tests.reliability.folders import Files, laid
from tests.reliability.mutation import json_bytes, mutated_bytes, mutated_json
from tests.reliability.target import Target, value_or_refusal


@cache
def shipped_model(name: str) -> Files:
    """Return card and weights of a shipped model."""
    folder = recipes.folder("models") / "weights" / name
    return Files({file: (folder / file).read_bytes() for file in (CARD, WEIGHTS)})


@st.composite
def models(draw: Callable[..., Any]) -> Files:
    """Return a model whose card or weights differ; now and then with digests that fit."""
    files = Files(shipped_model(draw(st.sampled_from(sorted(recipes.trained())))))
    if draw(st.integers(0, 3)) == 0:
        files[WEIGHTS] = draw(mutated_bytes(files[WEIGHTS]))
    choice = draw(st.integers(0, 4))
    if choice == 0:
        files[CARD] = draw(mutated_bytes(files[CARD]))
    elif choice > 1:
        files[CARD] = json_bytes(draw(mutated_json(json.loads(files[CARD]))))
    if draw(st.integers(0, 9)) == 0:
        del files[draw(st.sampled_from(sorted(files)))]
    elif choice and draw(st.booleans()):
        try:
            card = json.loads(files[CARD])
        except ValueError:
            return files
        if isinstance(card, dict):
            card["sha256"] = hashlib.sha256(files[WEIGHTS]).hexdigest()
            card["card_sha256"] = json_sha256(card, without="card_sha256")
            files[CARD] = json_bytes(card)
    return files


def check_model(files: Files) -> None:
    """A model is refused, or its card can be written again."""
    with laid(files) as folder:
        model: Model | None = value_or_refusal(lambda: load_model(folder, "cpu"))
    if model is not None:
        json.dumps(model.card())


TARGETS = [Target("models", models(), check_model)]
