"""Starting from a trained model: its weights go on, or become those of a symbol-invariant one."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from logicgen.errors import LogicgenError
from logicgen.model.encoder_decoder import Model
from logicgen.model.language_model import Language
from logicgen.nn.symbol_invariant import StreamDecoderLayer, StreamEncoderLayer


@torch.no_grad()
def start_from(model: Model, trained: Model, name: str) -> None:
    """Give a new model the weights of a trained one.

    A `learned` model becomes a symbol-invariant one: two of its symbol rows turn into "this one"
    and "some other one", and its attentions into those within streams (Işık, Li, ICML 2026). The
    attention to the fused view, which it lacks, begins without effect. So on a problem of one
    symbol the new model does what the old one does, before any training.

    Raises LogicgenError, naming a key or a weight, where the two do not fit together; `name` is
    what the trained model is called there.
    """
    if trained.vocabulary != model.vocabulary:
        raise LogicgenError(
            f"{name}: was trained for {trained.task_name} with another vocabulary: start from a"
            f" model of task {model.task_name}"
        )
    for key in ("heads", "encoder_positions", "decoder_positions", "rotary_cross_attention"):
        theirs, ours = (getattr(made.recipe.model, key) for made in (trained, model))
        if theirs != ours:  # no weight shows these, but all weights were trained with them
            raise LogicgenError(
                f"{name}: was trained with {key} {theirs}, and this recipe has {ours}: give both"
                " the same"
            )
    weights = dict(trained.state_dict())
    own = model.state_dict()
    if _becomes_symbol_invariant(model, trained):
        rows = weights.pop("embedding.symbols")
        if len(rows) < 2:
            raise LogicgenError(f"{name}: has only one symbol row, and two are needed")
        weights["embedding.this"], weights["embedding.other"] = rows[:1], rows[1:2]
        weights.update(_idle_fused_attention(model))
    # The scale of AdaCos starts anew: it depends on the number of rows.
    weights.pop("loss.scale", None)
    _load(model, weights, {key: value for key, value in own.items() if key != "loss.scale"}, name)


def start_language_from(model: Language, trained: Language, name: str) -> None:
    """Give a new language model the weights of a trained one.

    Raises LogicgenError where the two do not fit together. Random rows fit any tokens.
    """
    if not model.random and trained.tokens != model.tokens:
        raise LogicgenError(
            f"{name}: was trained with other tokens, for which it has rows: start from a model of"
            " the same tokens, or a lexinvariant one"
        )
    for key in ("heads", "positions"):
        theirs, ours = (getattr(made.recipe.network, key, None) for made in (trained, model))
        if theirs != ours:  # no weight shows these
            raise LogicgenError(
                f"{name}: was trained with {key} {theirs}, and this recipe has {ours}: give both"
                " the same"
            )
    _load(model, dict(trained.state_dict()), dict(model.state_dict()), name)


def _load(
    model: torch.nn.Module, weights: dict[str, Tensor], wanted: dict[str, Tensor], name: str
) -> None:
    """Load weights, once their names and sizes are those that are wanted."""
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


def _becomes_symbol_invariant(model: Model, trained: Model) -> bool:
    methods = trained.recipe.embedding.method, model.recipe.embedding.method
    return methods == ("learned", "symbol-invariant")


def _idle_fused_attention(model: Model) -> Iterator[tuple[str, Tensor]]:
    """All weights of attention to the fused view as they are, but its outputs zero."""
    for key, module in model.named_modules():
        if isinstance(module, (StreamEncoderLayer, StreamDecoderLayer)):
            for part, value in module.state_dict().items():
                if "fused" in part:
                    silent = part.startswith("fused_attention.output")
                    yield f"{key}.{part}", torch.zeros_like(value) if silent else value


def _size(tensor: Tensor) -> str:
    return " x ".join(map(str, tensor.shape))
