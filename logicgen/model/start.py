"""Starting a training from the weights of a trained model."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from logicgen.errors import LogicgenError


def check_same_keys(trained: object, new: object, keys: Sequence[str], name: str) -> None:
    """Raise LogicgenError where two networks differ in keys that no weight shows.

    trained, new: the `[network]` tables. name: what the trained model is called.
    """
    for key in keys:
        theirs, ours = (getattr(table, key, None) for table in (trained, new))
        if theirs != ours:
            raise LogicgenError(
                f"{name}: was trained with {key} {theirs}, and this recipe has {ours}: give both"
                " the same"
            )


@torch.no_grad()
def load_start(
    model: nn.Module, weights: dict[str, Tensor], name: str, without: Sequence[str] = ()
) -> None:
    """Load weights into a new model, once their names and sizes are those of its own.

    without: names that are not taken over.
    Raises LogicgenError, naming a weight, where they differ.
    """
    weights = {key: value for key, value in weights.items() if key not in without}
    wanted = {key: value for key, value in model.state_dict().items() if key not in without}
    for key in sorted(weights.keys() ^ wanted.keys()):
        raise LogicgenError(
            f"{name}: {'lacks' if key in wanted else 'has'} {key}, so its recipe is another kind of"
            " model: start from one with the same embedding, positions and layers"
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
