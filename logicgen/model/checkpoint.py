"""Files of a run: weights as safetensors, all other data as JSON. Loading them executes no code.

    RUN/run.json                       identity of the training: recipe, vocabulary, task, data
    RUN/checkpoint/last.safetensors    for --resume: weights and optimizer, with JSON metadata
    RUN/model.safetensors, model.json  the trained model; written when a training ends
    RUN/logs/                          TensorBoard

Every file is first written under a temporary name and then renamed, so that it is never incomplete.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from importlib.metadata import version
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import torch
from pydantic import Field, model_validator
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from logicgen import recipes
from logicgen.data.ranges import Lengths, Symbols
from logicgen.data.schemas import Checksum, Count
from logicgen.errors import LogicgenError, reading
from logicgen.files import (
    check_depth,
    damaged,
    json_sha256,
    read_json,
    sha256,
    write_atomically,
    write_text,
)
from logicgen.model.encoder_decoder import EncoderDecoder
from logicgen.model.kinds import model_of_card
from logicgen.model.language_model import LanguageModel
from logicgen.model.model import Model, find_device
from logicgen.model.recipe import ModelRecipe
from logicgen.nn.allowance import Allowance
from logicgen.recipes import Table, validate
from logicgen.tokens import MOST_SYMBOLS, TokensTable

RUN, WEIGHTS, CARD = "run.json", "model.safetensors", "model.json"
LAST = Path("checkpoint", "last.safetensors")
REMEDY = "restore the file or train again"


def save_tree(tree: Any, path: Path) -> None:
    """Write a nested state (dicts, lists, tuples, tensors, numbers, text) as one safetensors file.

    A tensor's name is the path of keys to it in the nested state. The rest of the state is JSON in
    the metadata of the same file, so that tensors and JSON always agree.
    """
    tensors: dict[str, Tensor] = {}
    skeleton = json.dumps(_pack(tree, "", tensors))
    metadata = {"tree": skeleton, "sha256": _digest(tensors)}
    write_atomically(path, lambda part: part.write_bytes(save(tensors, metadata=metadata)))


def load_tree(path: Path) -> Any:
    """Return the state that `save_tree` wrote, with tensors on the CPU.

    Raises LogicgenError if the file is damaged.
    """
    try:
        with safe_open(path, "pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            if _digest(tensors) != file.metadata()["sha256"]:
                raise ValueError("checksum")
            tree = json.loads(file.metadata()["tree"])
            check_depth(tree)
            return _unpack(tree, tensors.__getitem__)
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, RuntimeError):
        raise LogicgenError(
            f"{path}: not a whole checkpoint: remove the file, or the run, and train again"
        ) from None


def steps_done(path: Path) -> int:
    """Return the number of training steps before a checkpoint was written.

    Raises LogicgenError if the file is not a checkpoint.
    """
    tree = load_tree(path)
    steps = tree.get("global_step") if isinstance(tree, dict) else None
    if type(steps) is not int or steps < 0:
        raise LogicgenError(f"{path}: not a checkpoint of a training: remove it and train again")
    return steps


def has_model(out: Path, steps: int) -> bool:
    """Return whether a run folder holds the checkpoint and the model of this number of steps."""
    if not ((out / LAST).is_file() and (out / CARD).is_file()):
        return False
    return steps_done(out / LAST) == steps == load_json(out / CARD).get("steps")


def _pack(tree: Any, place: str, tensors: dict[str, Tensor]) -> Any:
    """Return the state as JSON. A type that JSON lacks becomes a dict with one key like $tuple.

    place: the path of keys to this part of the state. Its tensors are added to `tensors`.
    """
    if isinstance(tree, Tensor):
        tensors[place] = tree.detach().cpu().contiguous().clone()
        return {"$tensor": place}
    if isinstance(tree, dict):
        items = [(key, _pack(value, f"{place}/{key}", tensors)) for key, value in tree.items()]
        if all(isinstance(key, str) and not key.startswith("$") for key in tree):
            return dict(items)
        return {"$dict": items}  # the optimizer's state has numbers for keys
    if isinstance(tree, (list, tuple)):
        parts = [_pack(part, f"{place}/{number}", tensors) for number, part in enumerate(tree)]
        return {"$tuple": parts} if isinstance(tree, tuple) else parts
    if tree is None or type(tree) in (bool, int, float, str):
        return tree
    raise TypeError(f"{place}: a checkpoint cannot hold a {type(tree).__name__}")


def _unpack(tree: Any, tensor: Any) -> Any:
    if isinstance(tree, list):
        return [_unpack(part, tensor) for part in tree]
    if isinstance(tree, dict):
        if "$tensor" in tree:
            return tensor(tree["$tensor"])
        if "$dict" in tree:
            return {key: _unpack(value, tensor) for key, value in tree["$dict"]}
        if "$tuple" in tree:
            return tuple(_unpack(part, tensor) for part in tree["$tuple"])
        return {key: _unpack(value, tensor) for key, value in tree.items()}
    return tree


def save_json(content: dict[str, Any], path: Path) -> None:
    """Write a JSON object."""
    write_text(path, json.dumps(content, indent=2) + "\n")


def load_json(path: Path) -> dict[str, Any]:
    """Return a JSON object. Raises LogicgenError for a damaged file."""
    return read_json(path, REMEDY)


def _digest(tensors: dict[str, Tensor]) -> str:
    """Return the SHA-256 of the bytes of all tensors, by name."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def save_model(
    model: Model, run: Path, *, steps: int, fingerprint: str, half: bool = False
) -> None:
    """Write a trained model into its run folder.

    The card (`model.json`) is written last, and contains the checksum of the weights.

    half: store weights in half precision. After loading, computation is in single precision.
    """
    if not _are_numbers(model):
        raise LogicgenError(
            f"{run}: the weights are no numbers any more: the training has diverged; train again in"
            " another folder, with a lower training.learning_rate"
        )
    (run / CARD).unlink(missing_ok=True)
    state = {name: value.detach().cpu().contiguous() for name, value in model.state_dict().items()}
    if half:
        state = {name: value.half() for name, value in state.items()}
    weights = save(state)
    write_atomically(run / WEIGHTS, lambda part: part.write_bytes(weights))
    card = {
        **model.card(),
        "data": fingerprint,
        "steps": steps,
        **({"precision": model.precision} if model.precision else {}),
        "versions": {"logicgen": version("logicgen"), "torch": torch.__version__},
        "sha256": hashlib.sha256(weights).hexdigest(),
    }
    save_json({**card, "card_sha256": _card_digest(card)}, run / CARD)


def precision_of(content: dict[str, Any]) -> str | None:
    """Return the precision of a training, from the content of its `run.json` or `model.json`.

    If the content has no precision, return the precision of the recipe in it. Return None if the
    precision is `auto`. N-gram models count tokens and have no precision: return None for them.
    """
    training = (content.get("recipe") or {}).get("training") or {}
    known = content.get("precision") or training.get("precision")
    return None if known == "auto" else known


def _are_numbers(model: Model) -> bool:
    """Return whether no weight is `nan`. Infinite weights (logarithms of 0) are allowed."""
    return not any(bool(torch.isnan(value).any()) for value in model.state_dict().values())


def _card_digest(card: dict[str, Any]) -> str:
    """Return the SHA-256 of all keys of a card except `card_sha256`."""
    return json_sha256(card, without="card_sha256")


def as_encoder_decoder(model: Model, called: str | Path) -> EncoderDecoder:
    """Return the model if it is an encoder-decoder. Raises LogicgenError for another model."""
    if isinstance(model, EncoderDecoder):
        return model
    raise LogicgenError(
        f"{called}: a language model; give a model with network.kind = 'encoder-decoder' or"
        " 'symbol-invariant'"
    )


def as_language_model(model: Model, called: str | Path) -> LanguageModel:
    """Return the model if it is a language model. Raises LogicgenError for another model."""
    if isinstance(model, LanguageModel):
        return model
    raise LogicgenError(
        f"{called}: not a language model: it answers problems of {model.task_name}; give"
        " it problems with logicgen solve --model, or give another run"
    )


def load_model(run: str | Path, device: str = "auto") -> Model:
    """Load the model of a run, of any kind, and verify its checksums.

    run: folder of a run, or the name of a shipped model.

    Raises LogicgenError if the folder has no finished model, or if a file is damaged.
    """
    run = find_run(run)
    if not (run / CARD).is_file():
        raise LogicgenError(
            f"{run}: this training was interrupted before it ended: finish it with"
            f" `logicgen train ... -o {run} --resume`"
        )
    card = load_json(run / CARD)
    with reading(run / WEIGHTS):
        whole = (run / WEIGHTS).is_file() and sha256(run / WEIGHTS) == card.get("sha256")
    if not whole:
        raise LogicgenError(
            f"{run / WEIGHTS}: missing or altered (its sha256 is not the one in {CARD}): {REMEDY}"
        )
    if card.get("card_sha256") != _card_digest(card):
        raise LogicgenError(f"{run / CARD}: altered (its digest is another): {REMEDY}")
    try:
        validate(ModelCard, card, "")
        model = _weighted(card, run / WEIGHTS)
    except (
        LogicgenError,
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        RuntimeError,
        SafetensorError,
    ) as error:
        remedy = f"or from another version of logicgen: {REMEDY}"
        raise damaged(run / CARD, remedy, str(error).removeprefix(": ")) from None
    model.precision = precision_of(card)
    return model.to(find_device(device)).eval()


def _weighted(card: dict[str, Any], weights: Path) -> Model:
    """Make the model that a card describes, and load its weights from a file.

    Raises ValueError, before memory is allocated, if the described network is much larger than the
    weights in the file.
    """
    with safe_open(weights, "pt") as file:
        names = list(file.keys())
        numbers = sum(prod(file.get_slice(name).get_shape()) for name in names)
        # A model also makes tensors that are not in the file, such as some buffers. They are small.
        with Allowance(2 * numbers + 10_000):
            model = model_of_card(card)
        model.load_state_dict({name: file.get_tensor(name) for name in names})
    if not _are_numbers(model):
        raise ValueError("weights that are no numbers")
    return model


def find_run(name: str | Path) -> Path:
    """Return the folder of a run or of a shipped model.

    Raises LogicgenError if `name` is neither the folder of a run nor the name of a shipped model.
    """
    path = Path(name)
    with suppress(OSError):  # raised for a name that is too long
        if (path / CARD).is_file() or (path / RUN).is_file():
            return path
    if str(name) in recipes.trained():
        return recipes.folder("models") / "weights" / str(name)
    raise LogicgenError(
        f"{name}: no trained model here (no {CARD}), and no shipped model of this name:"
        f" {', '.join(recipes.trained()) or 'no model ships'}"
    )


def scores_folder(name: str | Path, split: str) -> Path:
    """Return the folder of a model's scores: in its run folder, or in `runs/` if it is shipped."""
    run = find_run(name)
    return (run if run == Path(name) else Path("runs") / run.name) / split


def card_digest(run: Path) -> str:
    """Return the SHA-256 of a trained model's card, which contains the SHA-256 of the weights."""
    return str(load_json(find_run(run) / CARD).get("card_sha256"))


def weights_digest(run: Path) -> str:
    """Return the SHA-256 of a trained model's weights."""
    return str(load_json(find_run(run) / CARD).get("sha256"))


class RegionTable(Table):
    """The problems that a model was trained on.

    Attributes:
        symbols, length: inclusive ranges.
        tokens: the fixed tokens that occur; empty if they are unknown.
        positions: fewest and most positions of a stored trace; empty for tasks without traces.
    """

    symbols: Symbols
    length: Lengths
    tokens: list[str] = Field(default=[])
    positions: list[Count] = Field(default=[], max_length=2)


class ModelCard(Table):
    """A trained model, in its `model.json`.

    Attributes:
        task: the task of the training data.
        region: the training problems; null if the model was not trained on problems.
        vocabulary: for models that answer problems, the fixed tokens.
        alphabet: for models that answer problems, the number of symbols of the training data.
        grown: for a model of `reward.grow`, the most symbols and tokens of new problems.
        tokens: for language models, all tokens.
        data: digest of the bytes of the data.
        steps: number of training steps.
        precision: precision of matrix products in training, if the recipe does not fix it.
        versions: versions of the packages that trained the model, by name.
        sha256: checksum of the weights.
        card_sha256: checksum of the other keys.
    """

    recipe: ModelRecipe
    task: str
    region: RegionTable | None = None
    vocabulary: list[str] | None = None
    alphabet: Annotated[int, Field(ge=0, le=MOST_SYMBOLS)] | None = None
    grown: Annotated[tuple[Count, Count], Field(strict=False)] | None = None
    tokens: TokensTable | None = None
    data: str
    steps: Count
    precision: Literal["fp32", "bf16", "fp32 and bf16"] | None = None
    versions: dict[str, str]
    sha256: Checksum
    card_sha256: Checksum

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        problems = {"vocabulary", "alphabet", "region"}
        needed = {"tokens"} if self.recipe.network.reads_sequences else problems
        for key in sorted(needed):
            if getattr(self, key) is None:
                raise ValueError(f"key {key!r} is missing, for network.kind {self.recipe.kind!r}")
        return self
