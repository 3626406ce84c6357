"""Recipes of earlier versions, as this version writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from logicgen.errors import nearest

KINDS = (
    "encoder-decoder",
    "symbol-invariant",
    "language-model",
    "inductive",
    "n-gram",
    "text-n-gram",
)


def upgraded(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return a recipe's tables as this version writes them, from those of any version.

    Earlier versions had `[model]` and `[streams]` for models that answer problems, and the kinds
    `transformer` and `elman` of `[network]`. Raises ValueError for a recipe with both, or a kind
    that is unknown.
    """
    new = dict(tables)
    embedding = new.get("embedding")
    network = new.get("network")
    if "model" in new or "streams" in new:
        if network is not None:
            old = "model" if "model" in new else "streams"
            raise ValueError(
                f"both [{old}], which earlier versions had, and [network]: move the keys of [{old}]"
                " to [network]"
            )
        model, streams = new.pop("model", None), new.pop("streams", None)
        method = embedding.get("method") if isinstance(embedding, Mapping) else None
        kind = "symbol-invariant" if method == "symbol-invariant" else "encoder-decoder"
        if isinstance(model, Mapping) and isinstance(streams, Mapping | None):
            network = {"kind": kind, **model, **(streams or {})}
        new["network"] = network if network is not None else model
    if not isinstance(network, Mapping):
        return new
    kind = network.get("kind", "")
    if kind in ("transformer", "elman"):
        network = {**network, "kind": "language-model", "architecture": kind}
    elif isinstance(kind, str) and kind not in KINDS:
        raise ValueError(f"network.kind: {kind!r} is unknown; {nearest(kind, list(KINDS))}")
    new["network"] = network
    if kind == "symbol-invariant" and isinstance(embedding, Mapping):
        new["embedding"] = {"method": "symbol-invariant", **embedding}
    training = new.get("training")
    if network["kind"] in ("language-model", "inductive") and isinstance(training, Mapping):
        new["training"] = {"learn": "answers", **training}
    return new
