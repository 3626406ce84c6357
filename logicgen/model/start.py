"""Use the weights of a trained model as the start of a new model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from logicgen.errors import LogicgenError
from logicgen.model.recipe import ModelRecipe


def check_same_keys(trained: object, new: object, keys: Sequence[str], name: str) -> None:
    """Raise LogicgenError if two networks differ in keys that do not change the weights' sizes.

    trained, new: the `[network]` tables.
    name: the trained model's name in messages.
    """
    for key in keys:
        theirs, ours = (getattr(table, key, None) for table in (trained, new))
        if theirs != ours:
            raise LogicgenError(
                f"{name}: was trained with {key} {theirs}, and this recipe has {ours}: give both"
                " the same"
            )


def check_encoder_decoder(trained: ModelRecipe, new: ModelRecipe, name: str) -> None:
    """Raise LogicgenError if a recipe's network would compute something else with trained weights.

    The keys `most_symbols` and `most_tokens` may get other numbers, but the new recipe has to give
    them if the trained recipe does.
    """
    theirs, ours = trained.network, new.network
    keys = (
        *("heads", "encoder_positions", "decoder_positions", "rotary_cross_attention"),
        *("encoder_loops", "fused_view", "position_range", "shared_positions"),
    )
    check_same_keys(theirs, ours, keys, name)
    if theirs.kind == ours.kind:  # otherwise a `learned` model is converted
        check_same_keys(theirs, ours, ("cross_attention",), name)
        check_same_keys(trained.embedding, new.embedding, ("normalize_rows",), name)
    for key in ("most_symbols", "most_tokens"):
        number = getattr(theirs, key, None)
        if number is not None and getattr(ours, key, number) is None:
            raise LogicgenError(
                f"{name}: has network.{key} = {number}, and this recipe does not give it: add"
                f" network.{key} = {number}, or another number"
            )


@torch.no_grad()
def load_start(
    model: nn.Module, weights: dict[str, Tensor], name: str, without: Sequence[str] = ()
) -> None:
    """Load weights into a new model, after a check of their names and sizes.

    without: names of weights that are not loaded.

    Raises LogicgenError, with the name of a weight, if names or sizes differ.
    """
    weights = {key: value for key, value in weights.items() if key not in without}
    wanted = {key: value for key, value in model.state_dict().items() if key not in without}
    for key in sorted(weights.keys() ^ wanted.keys()):
        raise LogicgenError(
            f"{name}: {'lacks' if key in wanted else 'has'} {key}, so its recipe is another kind of"
            " model: start from a model with the same embedding, positions and layers"
        )
    for key, value in wanted.items():
        if weights[key].shape != value.shape:
            raise LogicgenError(
                f"{name}: {key} is {_size(weights[key])}, and this recipe wants {_size(value)}:"
                " give both the same sizes"
            )
    model.load_state_dict(weights, strict=False)


def _size(tensor: Tensor) -> str:
    return " x ".join(map(str, tensor.shape))


def deeper(weights: dict[str, Tensor], own: Mapping[str, Tensor], stack: str) -> dict[str, Tensor]:
    """Return trained weights with additional layers, if a new model has more layers in a stack.

    The trained layers are spread evenly. The outputs of each new layer begin with weights of zero,
    so before any training the deeper model gives the same answers (Chen et al., "Net2Net", ICLR
    2016).

    own: the weights of the new model.
    stack: the beginning of the names of the stack's weights.
    """
    trained, wanted = (
        len({key[len(stack) :].partition(".")[0] for key in names if key.startswith(stack)})
        for names in (weights, own)
    )
    if not 0 < trained < wanted:
        return weights
    place = {str(i): str((i + 1) * wanted // trained - 1) for i in range(trained)}
    found = {}
    for key, value in own.items():
        number, _, part = key.removeprefix(stack).partition(".")
        if key.startswith(stack) and number not in place.values():
            silent = ".output." in key or ".feed_forward.2." in key
            found[key] = torch.zeros_like(value) if silent else value
    for key, value in weights.items():
        number, _, part = key.removeprefix(stack).partition(".")
        moved = f"{stack}{place[number]}.{part}" if key.startswith(stack) else key
        found[moved] = value
    return found
