from pathlib import Path

import pytest

from logicgen import shipped
from logicgen.errors import LogicgenError
from logicgen.model.language_recipe import read_any_recipe
from logicgen.model.model_recipe import read_recipe
from tests.train.conftest import TABLES


@pytest.mark.parametrize("name", shipped.names("models", ".toml"))
def test_shipped_recipes_are_valid(name: str) -> None:
    recipe = read_any_recipe(name)
    if recipe.training is None:  # n-grams
        assert recipe.embedding is None
        return
    if recipe.embedding is None:
        assert recipe.network.kind in name
        return
    assert recipe.embedding.method in name or name == "language-elman"
    assert recipe.with_steps(7).training.steps == 7
    assert recipe.training.precision == ("bf16" if name.endswith("-full") else "fp32")


def written(path: Path, **changes: dict[str, object]) -> str:
    """The test recipe as a file, with keys changed (None: left out)."""
    lines = []
    for name, table in TABLES.items():
        lines.append(f"[{name}]")
        for key, value in {**table, **changes.get(name, {})}.items():
            if value is not None:
                text = str(value).lower() if isinstance(value, bool) else repr(value)
                lines.append(f"{key} = {text}")
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def test_a_recipe_from_a_path(tmp_path: Path) -> None:
    assert read_recipe(written(tmp_path / "m.toml")).model.width == 32


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"training": {"stepz": 3}}, "training.stepz.*did you mean steps"),
        ({"training": {"steps": 0}}, "training.steps.*greater than or equal to 1"),
        ({"training": {"steps": None}}, "training.steps.*missing"),
        ({"model": {"heads": "4"}}, "model.heads.*valid integer, not '4'"),
        ({"model": {"heads": 3}}, "model.heads: 3 does not divide model.width, 32"),
        ({"model": {"dropout": 1.0}}, "model.dropout.*less than 1"),
        ({"model": {"encoder_positions": "trees"}}, "'sinusoidal', 'tree', 'rotary', 'relative'"),
        ({"model": {"decoder_positions": "tree"}}, "'sinusoidal', 'rotary', 'relative' or 'none'"),
        ({"model": {"input_scale": 11.3}}, "'sqrt-width' or 'learned'"),
        (
            {"model": {"heads": 32, "decoder_positions": "none", "rotary_cross_attention": True}},
            "even width per head, not 32/32",
        ),
        ({"embedding": {"resample": "token"}}, "'batch' or 'sequence'"),
        (
            {
                "embedding": {
                    "method": "learned",
                    "max_symbols": 5,
                    "random_part": None,
                    "random_width": None,
                    "normalize_parts": None,
                    "resample": "sequence",
                }
            },
            "'resample' is unknown for method 'learned'",
        ),
        ({"model": {"heads": 32}}, "even width per head, not 32/32"),
        ({"model": {"normalize_features": False}}, "adacos.*normalize_features"),
        ({"loss": {"method": "cross-entropy"}}, "cross-entropy.*adacos"),
        ({"embedding": {"method": "random"}}, "'interchangeable' or 'symbol-invariant'"),
        ({"embedding": {"method": "learned"}}, "unknown for method 'learned'; its keys: .*max_"),
        ({"embedding": {"random_width": None}}, "'random_width' is missing for method"),
        ({"embedding": {"random_width": 32}}, "random_width: 32 leaves nothing.*1 to 31"),
        ({"embedding": {"normalize_rows": 1}}, "embedding.normalize_rows.*boolean"),
    ],
)
def test_a_wrong_key_is_named_in_one_line(tmp_path: Path, changes: dict, message: str) -> None:
    path = written(tmp_path / "m.toml", **changes)
    with pytest.raises(LogicgenError, match=message) as caught:
        read_recipe(path)
    assert path in str(caught.value)
    assert "\n" not in str(caught.value)


def test_not_toml_and_not_there(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text("[training\n", encoding="utf-8")
    with pytest.raises(LogicgenError, match=r"not TOML.*line 1"):
        read_recipe(str(tmp_path / "m.toml"))
    with pytest.raises(LogicgenError, match="did you mean copying-learned"):
        read_recipe("copying-lerned")
