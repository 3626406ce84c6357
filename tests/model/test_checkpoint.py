import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from logicgen.errors import LogicgenError
from logicgen.files import json_sha256
from logicgen.model.checkpoint import load_model, load_tree, save_model, save_tree
from logicgen.model.encoder_decoder import EncoderDecoder
from logicgen.tasks import load_task
from logicgen.tokens import Vocabulary
from tests.asking import likeliest
from tests.training.conftest import REGION, recipe_with

VOCABULARY = Vocabulary(["0", "1"])


def new_model() -> EncoderDecoder:
    torch.manual_seed(0)
    return EncoderDecoder(recipe_with(), VOCABULARY, 5, "propositional", REGION).eval()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    save_model(new_model(), tmp_path / "run", steps=3, fingerprint="x")
    return tmp_path / "run"


def test_a_tree_comes_back_as_it_was(tmp_path: Path) -> None:
    tree = {
        "state": {0: {"step": torch.tensor(3.0), "avg": torch.randn(2, 3)}, 1: {}},
        "groups": [{"betas": (0.9, 0.98), "lr": 0.1 + 0.2, "params": [0, 1], "fused": None}],
        "flags": [True, math.inf, "text", -(2**60)],
        "$odd": {"a": torch.arange(3, dtype=torch.int64), "b": torch.ones(2, dtype=torch.bfloat16)},
        "empty": [(), {}, []],
    }
    save_tree(tree, tmp_path / "t.safetensors")
    again = load_tree(tmp_path / "t.safetensors")
    assert repr(again) == repr(tree)
    assert torch.equal(again["state"][0]["avg"], tree["state"][0]["avg"])
    with pytest.raises(TypeError, match="/x: a checkpoint cannot hold a set"):
        save_tree({"x": {1}}, tmp_path / "t.safetensors")
    assert repr(load_tree(tmp_path / "t.safetensors")) == repr(tree)


def test_a_model_comes_back_and_predicts_the_same(run: Path) -> None:
    model, problems = new_model(), [[5, 6, 7], [], [300, 3]]
    again = load_model(str(run), "cpu")
    one = likeliest(model, problems, 1000, embedding_seed=1, max_length=5)
    assert one == likeliest(again, problems, 1000, embedding_seed=1, max_length=5, batch_size=2)
    assert [likeliest(again, [p], 1000, 1, 5)[0] for p in problems] == one
    assert likeliest(again, [], 10, 0, 5) == []
    with pytest.raises(LogicgenError, match="need 296 symbol rows, but only 10"):
        likeliest(again, problems, 10, 0, 5)


def test_a_model_with_tree_positions_comes_back(tmp_path: Path) -> None:
    task = load_task("ltl")
    tree = recipe_with(network={"encoder_positions": "tree", "input_scale": "learned"})
    torch.manual_seed(0)
    model = EncoderDecoder(tree, task.vocabulary, 5, "ltl", REGION).eval()
    save_model(model, tmp_path / "run", steps=3, fingerprint="x")
    again = load_model(tmp_path / "run", "cpu")
    texts = ["U a & X b ! c", "X X a", "a"]
    problems = [task.vocabulary.encode(text) for text in texts]
    one = likeliest(model, problems, 5, embedding_seed=1, max_length=5)
    assert one == likeliest(again, problems, 5, embedding_seed=1, max_length=5)
    arities = again.transformer.arities
    for token, arity in {"U": 2, "X": 1, "0": 0, "<end>": 0, "<pad>": 0, ";": 0}.items():
        assert arities[task.vocabulary.id(token)] == arity
    assert len(arities) == len(task.vocabulary) + 1
    assert arities[-1] == 0
    # Where an operand hangs is all that differs: & X a b and & a X b mean other places for a.
    for name, same in (("tree", False), ("none", True)):
        net = EncoderDecoder(
            recipe_with(network={"encoder_positions": name}), task.vocabulary, 5, "ltl", REGION
        ).eval()
        net.load_state_dict(
            {key: value for key, value in model.state_dict().items() if key in net.state_dict()},
            strict=name == "none",
        )
        ids = torch.tensor([task.vocabulary.encode(text) for text in ("& X a b", "& a X b")])
        first, second = net.transformer.encode(net.inference_matrix(5, 0), ids).problems[0][0]
        order = [0, 2, 1, 3]
        assert torch.allclose(first, second[:, order], atol=1e-5) == same


def test_problems_have_to_fit_the_range_of_randomized_positions() -> None:
    randomized = {"encoder_positions": "randomized", "decoder_positions": "randomized"}
    recipe = recipe_with(network={**randomized, "position_range": 8, "shared_positions": True})
    with pytest.raises(LogicgenError, match=r"problems of 8 tokens and their end, .* 8: raise"):
        EncoderDecoder(recipe, Vocabulary([]), 5, "copying", replace(REGION, length=(1, 8)))
    model = EncoderDecoder(recipe, Vocabulary([]), 5, "copying", replace(REGION, length=(1, 7)))
    # Longer answers end somewhere.
    assert len(likeliest(model, [[3] * 7], 5, 0, max_length=20)) == 1
    with pytest.raises(LogicgenError, match=r"problems of 9 tokens and their end"):
        likeliest(model, [[3, 4], [3] * 9], 5, 0, max_length=20)


def test_tree_positions_need_problems_that_are_trees() -> None:
    tree = recipe_with(network={"encoder_positions": "tree"})
    with pytest.raises(LogicgenError, match=r"'tree' needs .* formulas; problems of copying"):
        EncoderDecoder(tree, Vocabulary([]), 5, "copying", REGION)
    region = replace(REGION, length=(1, 18))
    with pytest.raises(LogicgenError, match=r"18 tokens, .* width 32 .* only 16 levels.*raise"):
        EncoderDecoder(tree, load_task("ltl").vocabulary, 5, "ltl", region)
    EncoderDecoder(tree, load_task("ltl").vocabulary, 5, "ltl", replace(REGION, length=(1, 17)))


def test_damaged_weights(run: Path) -> None:
    path = run / "model.safetensors"
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[:-1] + bytes([whole[-1] ^ 1]), b""):
        path.write_bytes(damaged)
        with pytest.raises(LogicgenError, match=r"model.safetensors: missing or altered") as caught:
            load_model(run)
        assert "\n" not in str(caught.value)
    path.unlink()
    with pytest.raises(LogicgenError, match="missing or altered"):
        load_model(run)


@pytest.mark.parametrize(
    "change",
    [
        {"recipe": {}},
        {"alphabet": "many"},
        {"region": None},
        {"region": {"symbols": [1, 5]}},
        {"vocabulary": ["0", "1", "&"]},
        {"vocabulary": ["0", "0"]},
        {"vocabulary": None},
        {"sha256": None},
    ],
)
def test_a_card_that_does_not_fit_its_weights(run: Path, change: dict) -> None:
    path = run / "model.json"
    card = json.loads(path.read_text())
    path.write_text(json.dumps({**card, **change}), encoding="utf-8")
    with pytest.raises(LogicgenError, match="altered"):
        load_model(run)
    # Also if somebody computes the digest of the changed card.
    changed = {**card, **change}
    changed["card_sha256"] = json_sha256(changed, without="card_sha256")
    path.write_text(json.dumps(changed), encoding="utf-8")
    with pytest.raises(LogicgenError, match=r"altered|damaged"):
        load_model(run)


def test_the_same_weights_with_another_recipe_are_another_model(run: Path) -> None:
    path = run / "model.json"
    card = json.loads(path.read_text())
    card["recipe"]["network"]["heads"] *= 2
    path.write_text(json.dumps(card), encoding="utf-8")
    with pytest.raises(LogicgenError, match=r"model.json: altered"):
        load_model(run)


def test_a_card_that_is_no_json(run: Path) -> None:
    for text in ("{", "[]", "\xff"):
        (run / "model.json").write_text(text, encoding="latin-1")
        with pytest.raises(LogicgenError, match=r"model\.json: damaged"):
            load_model(run)


def test_a_folder_without_a_model(tmp_path: Path, run: Path) -> None:
    with pytest.raises(LogicgenError, match="no trained model"):
        load_model(tmp_path / "nowhere")
    shutil.copy(run / "model.json", run / "run.json")
    (run / "model.json").unlink()
    with pytest.raises(LogicgenError, match=r"interrupted.*logicgen train .* --resume"):
        load_model(run)


def test_a_damaged_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "last.safetensors"
    save_tree({"x": torch.ones(3)}, path)
    whole = path.read_bytes()
    for damaged in (whole[:40], whole[:-2], b"\x80\x04pickle", b""):
        path.write_bytes(damaged)
        with pytest.raises(LogicgenError, match="not a whole checkpoint"):
            load_tree(path)


def test_more_training_symbols_than_rows() -> None:
    tables = recipe_with().model_dump(exclude_none=True)
    tables["embedding"] = {"method": "learned", "max_symbols": 3, "normalize_rows": True}
    recipe = recipe_with().model_validate(tables)
    with pytest.raises(LogicgenError, match=r"data have 5 symbols, .* 3 rows: raise max_symbols"):
        EncoderDecoder(recipe, VOCABULARY, 5, "propositional", REGION)
