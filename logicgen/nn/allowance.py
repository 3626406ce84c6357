"""How many numbers new networks may have: sizes that somebody made up take no memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

# What makes tensors of a given size, which is their first arguments or `size`.
_MAKERS = {torch.empty, torch.zeros, torch.ones, torch.rand, torch.randn}


class Allowance(TorchFunctionMode):
    """A context in which new tensors have `most` numbers in all, or ValueError is raised.

    A tensor is counted before it is made.
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
