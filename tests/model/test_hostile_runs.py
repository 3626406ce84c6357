"""Runs that somebody made up: one line each, before memory or time is taken.

Checksums are no help: whoever changes a file can write its checksum, too.
"""

from __future__ import annotations

import json
import resource
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from logicgen import recipes
from logicgen.errors import LogicgenError
from logicgen.files import json_sha256, sha256
from logicgen.model.checkpoint import _digest, load_model, load_tree, save_tree, steps_done
from logicgen.nn.allowance import Allowance
from logicgen.training.run_folder import open_run

RUNS = Path(__file__).parent / "tiny_runs"
DEEP = "[" * 100_000 + "]" * 100_000


@pytest.fixture(params=["inter", "streams", "lex", "elman", "bigram", "ind"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return shutil.copytree(RUNS / request.param, tmp_path / "run")


@pytest.fixture
def answering(tmp_path: Path) -> Path:
    return shutil.copytree(RUNS / "inter", tmp_path / "answering")


def change(run: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    """Let `edit` change the card of a run; its digest is made to fit."""
    card = json.loads((run / "model.json").read_text())
    edit(card)
    card["card_sha256"] = json_sha256(card, without="card_sha256")
    (run / "model.json").write_text(json.dumps(card))


def refused(use: Callable[[], Any], words: str) -> None:
    """Check that hostile files are refused in one line with these words, and soon."""
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with pytest.raises(LogicgenError, match=words) as caught:
        use()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # KiB
    assert time.process_time() - began < 20  # of computing, however busy the machine


def network(card: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = card["recipe"]["network"]
    return found


SIZES = {
    "width": (10**9, 65_536, 8192),
    "layers": (10**6, 1024),
    "encoder_layers": (10**6, 1024),
    "decoder_layers": (10**6, 1024),
    "feed_forward": (10**9, 2**18),
    "starts": (10**9, 65_536),
    "perceptron": (10**9, 2**18),
    "dimension": (10**9, 65_536),
    "order": (10**9, 20, 8),
    "heads": (10**9,),
    "reserved": (10**9,),
}


def test_networks_larger_than_their_weights(run: Path) -> None:
    whole = (run / "model.json").read_text()
    own = network(json.loads(whole))
    for key, sizes in SIZES.items():
        for size in sizes if key in own else ():
            (run / "model.json").write_text(whole)
            change(run, lambda card, key=key, size=size: network(card).update({key: size}))
            refused(lambda: load_model(run, "cpu"), r"model.json: damaged; or from another")
    (run / "model.json").write_text(whole)
    load_model(run, "cpu")


def test_an_embedding_larger_than_its_weights(answering: Path) -> None:
    def learned(rows: int) -> Callable[[dict[str, Any]], None]:
        table = {"method": "learned", "normalize_rows": True, "max_symbols": rows}
        return lambda card: card["recipe"].update(embedding=table)

    for rows in (10**12, 10**6):
        change(answering, learned(rows))
        refused(lambda: load_model(answering, "cpu"), r"model.json: damaged")


@pytest.mark.parametrize(
    "edit",
    [
        lambda card: card.pop("steps"),
        lambda card: card.update(extra=1),
        lambda card: card.update(alphabet=10**14),
        lambda card: card.update(alphabet="5"),
        lambda card: card.update(vocabulary=["x", "x"]),
        lambda card: card.update(vocabulary={"x": 1}),
        lambda card: card.update(region={"symbols": [1, 10**14], "length": [1, 2]}),
        lambda card: card.update(region={"symbols": 5}),
        lambda card: card.update(region=None),
        lambda card: card.update(recipe=[]),
        lambda card: card.update(task=7),
        lambda card: card.update(tokens={"kind": "names", "texts": ["<end>"] * 2}),
        lambda card: card["recipe"].update(model=[[[[[]]]]]),
        lambda card: card["recipe"].update(network={"kind": "else"}),
    ],
)
def test_cards_that_follow_no_schema(edit: Callable[[Any], Any], answering: Path) -> None:
    change(answering, edit)
    refused(lambda: load_model(answering, "cpu"), r"model.json: damaged; or from another")


@pytest.mark.parametrize(
    "content", [DEEP, f'{{"recipe": {DEEP}}}', "[" * 70 + "]" * 70, "9" * 5000]
)
@pytest.mark.parametrize("file", ["model.json", "run.json"])
def test_files_that_are_no_sane_json(content: str, file: str, answering: Path) -> None:
    (answering / file).write_text(content)
    words = f"{file}: damaged; restore the file or train again"
    if file == "model.json":
        refused(lambda: load_model(answering, "cpu"), words)
    else:
        refused(lambda: open_run(answering, {"task": "x"}, 3, resume=True), words)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00" * 8,
        (2**62).to_bytes(8, "little") + b"{}",
        (2**31).to_bytes(8, "little") + b"{" * 100,
        (200_002).to_bytes(8, "little") + b'{"' + DEEP.encode(),
    ],
    ids=["empty", "zeros", "huge", "large", "deep"],
)
def test_weights_with_hostile_headers(content: bytes, answering: Path) -> None:
    path = answering / "model.safetensors"
    path.write_bytes(content)
    change(answering, lambda card: card.update(sha256=sha256(path)))
    refused(lambda: load_model(answering, "cpu"), r"model.json: damaged; or from another")
    refused(lambda: load_tree(path), "not a whole checkpoint")


@pytest.mark.parametrize("names", [1, 5_000])
def test_weights_of_another_network(names: int, answering: Path) -> None:
    path = answering / "model.safetensors"
    weights = load_file(path)
    save_file({**weights, **{f"x{n}": torch.zeros(1) for n in range(names)}}, path)
    change(answering, lambda card: card.update(sha256=sha256(path)))
    refused(lambda: load_model(answering, "cpu"), r"model.json: damaged; or from another")


@pytest.mark.parametrize(
    "tree",
    [
        DEEP,
        f'{{"global_step": {DEEP}}}',
        "[" * 900 + "]" * 900,
        "9" * 5000,
        '{"$tensor": "x"}',
        '{"$tensor": ["x"]}',
        '{"$dict": 5}',
        '{"$dict": [[1]]}',
        '{"$dict": [[[], 2]]}',
        '{"$tuple": 5}',
        "{",
    ],
)
def test_checkpoints_with_hostile_trees(tree: str, tmp_path: Path) -> None:
    path = tmp_path / "last.safetensors"
    save_file({}, path, metadata={"tree": tree, "sha256": _digest({})})
    refused(lambda: load_tree(path), "not a whole checkpoint: remove the file")


@pytest.mark.parametrize("tree", [[], {}, {"global_step": "3"}, {"global_step": -1}, 7])
def test_checkpoints_of_no_training(tree: Any, tmp_path: Path) -> None:
    path = tmp_path / "last.safetensors"
    save_tree(tree, path)
    refused(lambda: steps_done(path), "not a checkpoint of a training: remove it")


@pytest.mark.parametrize("name", recipes.trained())
def test_shipped_models_follow_the_schema(name: str) -> None:
    load_model(name, "cpu")


def test_an_allowance_counts_before_it_makes() -> None:
    with Allowance(100):
        torch.nn.Linear(9, 9)
        for make in (
            lambda: torch.zeros(10**6, 10**6),
            lambda: torch.randn((10**6, 10**6)),
            lambda: torch.empty(size=(10**6, 10**6), dtype=torch.int8),
            lambda: torch.nn.Linear(10**6, 10**6),
        ):
            with pytest.raises(ValueError, match="more than 100 numbers"):
                make()
