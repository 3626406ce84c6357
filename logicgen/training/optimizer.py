"""The optimizers of training recipes.

    adamw        Loshchilov and Hutter (2019)
    adafactor    Shazeer and Stern (2018), as in Huang et al. (2023)
    muon         Jordan et al. (2024): each update of a matrix is made orthogonal (`muon.py`)

A model without stable embeddings has to learn, in every layer, matrices that hand on any vector,
close to multiples of orthogonal ones. Muon, whose updates are just these, took fewer steps than
AdamW in our trials. It is for the network's matrices only; AdamW does the rest, at the same rate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from logicgen.errors import LogicgenError
from logicgen.model.recipe import TrainingTable


def make_optimizer(model: nn.Module, table: TrainingTable) -> torch.optim.Optimizer:
    """Return the optimizer of a recipe for all weights of a model."""
    rate, decay = table.learning_rate, table.weight_decay
    if table.optimizer == "adafactor":
        weights = [each for each in model.parameters() if each.numel()]  # it divides by it
        return torch.optim.Adafactor(weights, lr=rate, weight_decay=decay)
    if table.optimizer == "muon":
        return Muon(model, rate, decay, table.betas)
    return torch.optim.AdamW(
        model.parameters(), lr=rate, betas=table.betas, weight_decay=decay, fused=True
    )


class Muon(torch.optim.Optimizer):
    """Muon for the weights of linear layers, AdamW for all others, as one optimizer.

    Raises LogicgenError where this PyTorch has no Muon.
    """

    def __init__(
        self, model: nn.Module, rate: float, decay: float, betas: tuple[float, float]
    ) -> None:
        if not hasattr(torch.optim, "Muon"):
            raise LogicgenError(
                f"training.optimizer: 'muon' needs PyTorch 2.9, and this is {torch.__version__}:"
                " install a newer one, or use 'adamw'"
            )
        from logicgen.training.muon import BatchedMuon

        layers = [each for each in model.modules() if isinstance(each, nn.Linear)]
        matrices = [each.weight for each in layers]
        known = {id(each) for each in matrices}
        others = [each for each in model.parameters() if id(each) not in known and each.numel()]
        # At the scale of AdamW's updates, so that one rate serves both.
        self.parts: tuple[torch.optim.Optimizer, ...] = (
            BatchedMuon(matrices, lr=rate, weight_decay=decay, adjust_lr_fn="match_rms_adamw"),
            torch.optim.AdamW(others, lr=rate, betas=betas, weight_decay=decay, fused=True),
        )
        super().__init__([*matrices, *others], {"lr": rate})
        # What schedules change are the groups of the two.
        self.param_groups = [group for part in self.parts for group in part.param_groups]

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make one step of both optimizers."""
        loss = None if closure is None else torch.enable_grad()(closure)()
        for part in self.parts:
            part.step()
        return loss

    def state_dict(self) -> dict[str, Any]:
        """Return the state of both optimizers."""
        return {"parts": [part.state_dict() for part in self.parts]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what `state_dict` returned."""
        for part, state in zip(self.parts, state_dict["parts"], strict=True):
            part.load_state_dict(state)
        self.param_groups = [group for part in self.parts for group in part.param_groups]
