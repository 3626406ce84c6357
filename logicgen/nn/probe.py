"""A probe: a small network trained to predict something from the features of a frozen network.

Source: Huang et al., "Lexinvariant Language Models" (NeurIPS 2023): two layers with their own
output matrix, whose rows mean the same in every sequence.
"""

from __future__ import annotations

from torch import Tensor, nn


class Probe(nn.Module):
    """Two layers over normalised features, initialised from torch's global generator."""

    def __init__(self, width: int, hidden: int, tokens: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, tokens)
        )

    def forward(self, features: Tensor) -> Tensor:
        """Return logits (..., V) for features (..., width)."""
        logits: Tensor = self.layers(features)
        return logits
