"""Limit the size of new networks, so that a forged size in a file cannot use up the memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

# Functions that make tensors. They take the size as positional arguments or as keyword `size`.
_MAKERS = {torch.empty, torch.zeros, torch.ones, torch.rand, torch.randn}


class Allowance(TorchFunctionMode):
    """A context in which all new tensors together may have at most `most` elements.

    Raises ValueError instead of making a tensor that exceeds this limit.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most, self.left = most, most

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        given = dict(kwargs or {})
        if function in _MAKERS:
            size = {"size": given["size"]} if "size" in given else {}
            self.left -= torch.empty(*args, **size, device="meta").numel()
            if self.left < 0:
                raise ValueError(f"a network of more than {self.most:,} numbers")
        return function(*args, **given)
