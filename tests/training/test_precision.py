"""The precision of a training: the choice of `auto`, its record, and the choice after a pause."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from logicgen.measures.export import export
from logicgen.model.checkpoint import load_model
from logicgen.model.training_data import TrainingData
from logicgen.nn import linear
from logicgen.training.fit import fit
from tests.training.conftest import recipe_with

ROUNDED = linear._product


@pytest.fixture
def cpu(monkeypatch: pytest.MonkeyPatch):
    """Return a function that gives this CPU instructions and a measurement; and a list of calls."""
    products: list[None] = []

    def product(*matrices: torch.Tensor | None) -> torch.Tensor:
        products.append(None)
        return ROUNDED(*matrices)

    def give(share: float | None, **instructions: bool) -> list[None]:
        monkeypatch.setattr(linear, "_capabilities", lambda: instructions)
        monkeypatch.setattr(linear, "_share_of_time", lambda: share)
        products.clear()
        return products

    monkeypatch.setattr(linear, "_product", product)
    monkeypatch.setattr(linear, "_has_amx", lambda: False)
    return give


def train(data: TrainingData, run: Path, precision: str, steps: int) -> str:
    """Train up to some steps, or go on, and return the precision that the run records."""
    recipe = recipe_with(training={"precision": precision, "checkpoint_every": 1})
    fit(recipe, data, run, steps=steps, device="cpu", resume=True, quiet=True)
    used = [
        json.loads((run / name).read_text())["precision"] for name in ("run.json", "model.json")
    ]
    assert used[0] == used[1] == load_model(run, "cpu").precision
    return str(used[0])


def test_auto_is_float32_without_instructions_for_bfloat16(cpu, data, tmp_path) -> None:
    products = cpu(None)
    assert train(data, tmp_path / "run", "auto", 2) == "fp32"
    assert not products


def test_auto_is_bfloat16_where_it_is_faster(cpu, data, tmp_path) -> None:
    products = cpu(0.5, avx512_bf16=True)
    assert train(data, tmp_path / "run", "auto", 2) == "bf16"
    assert products
    export(tmp_path / "run", tmp_path / "exported", "some")
    assert load_model(tmp_path / "exported", "cpu").precision == "bf16"


def test_bfloat16_that_is_emulated_works_and_warns_once(cpu, data, tmp_path) -> None:
    products = cpu(None)
    with pytest.warns(UserWarning, match='bf16.*emulate.*"auto"') as caught:
        assert train(data, tmp_path / "run", "bf16", 2) == "bf16"
    assert len(caught) == 1
    assert products


def test_a_run_goes_on_in_its_own_precision_where_it_can(cpu, data, tmp_path) -> None:
    cpu(0.95, avx512_bf16=True)
    assert train(data, tmp_path / "a", "auto", 1) == "fp32"
    cpu(0.5, avx512_bf16=True)
    assert train(data, tmp_path / "a", "auto", 2) == "fp32", "whatever is measured later"
    assert train(data, tmp_path / "b", "auto", 1) == "bf16"
    cpu(0.95, avx512_bf16=True)
    assert train(data, tmp_path / "b", "auto", 2) == "bf16"
    cpu(None)
    assert train(data, tmp_path / "b", "auto", 3) == "fp32 and bf16"
