from pathlib import Path

import pytest

from logicgen import recipes
from logicgen.errors import LogicgenError
from logicgen.model.recipe import ModelRecipe, is_trained_in_steps, read_model_recipe
from tests.training.conftest import TABLES


@pytest.mark.parametrize("name", recipes.names("models", ".toml"))
def test_shipped_recipes_are_valid(name: str) -> None:
    recipe = read_model_recipe(name)
    assert is_trained_in_steps(name) == (recipe.training is not None)
    if recipe.training is None:  # n-grams
        assert recipe.embedding is None
        return
    if recipe.embedding is None:
        assert recipe.network.kind in name
        return
    learned = "language-elman", "language-neural-trigram"  # say it by another word
    assert recipe.embedding.method in name or name in learned
    assert recipe.with_steps(7).training.steps == 7
    logic = name.startswith(("propositional-", "ltl-")) and not name.endswith("-adamw")
    auto = logic or name.endswith("-published") or name == "language-lexinvariant-names"
    assert recipe.training.precision == ("auto" if auto else "fp32")


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
    assert read_model_recipe(written(tmp_path / "m.toml")).network.width == 32


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"training": {"stepz": 3}}, "training.stepz.*did you mean steps"),
        ({"training": {"steps": 0}}, "training.steps.*greater than or equal to 1"),
        ({"training": {"steps": None}}, "training.steps.*missing"),
        ({"network": {"heads": "4"}}, "network.heads.*valid integer, not '4'"),
        ({"network": {"heads": 3}}, "network.heads: 3 does not divide network.width, 32"),
        ({"network": {"dropout": 1.0}}, "network.dropout.*less than 1"),
        ({"network": {"encoder_positions": "trees"}}, "'tree-relative', 'tree-symbols'"),
        ({"network": {"decoder_positions": "tree"}}, "'alibi', 'fire' or 'none'"),
        ({"network": {"position_range": 9}}, "network.position_range: goes with 'randomized'"),
        ({"network": {"encoder_positions": "randomized"}}, "network.position_range: goes with"),
        ({"network": {"shared_positions": True}}, "network.shared_positions: needs"),
        ({"loss": {"least_scale": 0.5}}, "loss.least_scale.*greater than or equal to 1"),
        ({"training": {"betas": [0.9, 1.0]}}, "training.betas.*less than 1"),
        ({"network": {"input_scale": 11.3}}, "'sqrt-width' or 'learned'"),
        (
            {"network": {"heads": 32, "decoder_positions": "none", "rotary_cross_attention": True}},
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
            "unknown key 'embedding.resample'.*; embedding.method is 'learned'",
        ),
        ({"network": {"heads": 32}}, "even width per head, not 32/32"),
        ({"network": {"normalize_features": False}}, "adacos.*normalize_features"),
        ({"loss": {"method": "cross-entropy"}}, "cross-entropy.*adacos"),
        ({"embedding": {"method": "random"}}, "'interchangeable', .* or 'partial-names'"),
        (
            {"embedding": {"method": "learned"}},
            "unknown key.*max_symbols.*embedding.method is 'learned'",
        ),
        (
            {"embedding": {"random_width": None}},
            "'embedding.random_width' is missing; embedding.method is 'inter",
        ),
        ({"embedding": {"random_width": 32}}, "random_width: 32 leaves nothing.*1 to 31"),
        ({"embedding": {"normalize_rows": 1}}, "embedding.normalize_rows.*boolean"),
    ],
)
def test_a_wrong_key_is_named_in_one_line(tmp_path: Path, changes: dict, message: str) -> None:
    path = written(tmp_path / "m.toml", **changes)
    with pytest.raises(LogicgenError, match=message) as caught:
        read_model_recipe(path)
    assert path in str(caught.value)
    assert "\n" not in str(caught.value)


def test_not_toml_and_not_there(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text("[training\n", encoding="utf-8")
    with pytest.raises(LogicgenError, match=r"not TOML.*line 1"):
        read_model_recipe(str(tmp_path / "m.toml"))
    with pytest.raises(LogicgenError, match="did you mean copying-learned"):
        read_model_recipe("copying-lerned")


def test_defaults_that_depend_on_the_kind() -> None:
    training = {**TABLES["training"], "context": 12}
    for architecture in ("transformer", "elman"):
        network = {"kind": "language-model", "architecture": architecture, "width": 16, "layers": 1}
        network |= {"heads": 2, "feed_forward": 16} if architecture == "transformer" else {}
        recipe = ModelRecipe.model_validate(
            {"network": network, "embedding": {"method": "learned"}, "training": training}
        )
        assert recipe.training.learn == "answers"
    network = {**TABLES["network"], "kind": "symbol-invariant"}
    recipe = ModelRecipe.model_validate(
        {**TABLES, "network": network, "embedding": {"normalize_rows": True}}
    )
    assert recipe.embedding.method == "symbol-invariant"
    assert ModelRecipe.model_validate(recipe.model_dump(exclude_none=True)) == recipe


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[model]\nwidth = 8\n[network]\nkind = 'inductive'", "unknown key 'model'"),
        (
            "[network]\nkind = 'encoder-decodr'",
            "'encoder-decodr' is unknown; did you mean encoder-",
        ),
        ("[network]\nkind = 7", "network"),
        ("[network]\nwidth = 7", "network.*kind"),
        ("network = 3", "network"),
        ("model = 3", "network"),
        ("description = 'nothing'", "key 'network' is missing"),
        ("[network]\nkind = 'symbol-invariant'\nwidth = 8", "keys 'network.heads', .* are missing"),
        ("[network]\nkind = 'n-gram'\norder = 2\n[loss]\nmethod = 'adacos'", r"\[loss\] is of no"),
        ("canonical = true\n[network]\nkind = 'n-gram'\norder = 2", "canonical: for models that"),
    ],
)
def test_what_is_wrong_with_a_network_is_said_in_one_line(
    text: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "m.toml"
    path.write_text(text)
    with pytest.raises(LogicgenError, match=message) as caught:
        read_model_recipe(str(path))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_what_a_kind_has_no_use_for_is_refused() -> None:
    with pytest.raises(LogicgenError, match=r"training.context: for models that read sequences"):
        read_model_recipe("ltl-learned", {"training.context": 5})
    with pytest.raises(LogicgenError, match=r"'training.context' is missing"):
        read_model_recipe("language-learned", {"training.context": None})
    with pytest.raises(LogicgenError, match=r"network.dropout: is between the layers of a recur"):
        read_model_recipe("language-elman", {"network.dropout": 0.1})
    with pytest.raises(LogicgenError, match=r"unknown key 'network.heads' for 'elman'"):
        read_model_recipe("language-elman", {"network.heads": 2})
