"""Losses: cross-entropy, and AdaCos for models with cosines as logits.

Both losses are called as `loss(logits, targets)` with logits (B, T, V) and targets (B, T): B
answers, T tokens of an answer, V tokens of the vocabulary. They return the mean over all targets
that are not padding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn


class CrossEntropy(nn.Module):
    """Cross-entropy of the targets that are not padding."""

    scale = 1.0  # multiplies the logits before the softmax
    never: Sequence[int] = ()  # ids that the softmax excludes

    def __init__(self, pad: int = 0) -> None:
        super().__init__()
        self.pad = pad

    def log_probabilities(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the log-probability of each target (B, T), 0 for padding."""
        return -F.cross_entropy(
            logits.flatten(0, 1), targets.flatten(), ignore_index=self.pad, reduction="none"
        ).view_as(targets)

    def any_of(self, logits: Tensor, right: Tensor) -> Tensor:
        """Return the mean over positions of -log p; p is the total probability of right tokens.

        right: bool (B, T, V), whether each token is right at each position; False for padding.
        """
        real = right.any(-1)
        probability = logits.log_softmax(-1).masked_fill(~right, -math.inf)
        each = probability[real].logsumexp(-1)
        return -each.sum() / max(len(each), 1)

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the mean loss in nats, 0 for a batch of padding alone."""
        total = F.cross_entropy(
            logits.flatten(0, 1), targets.flatten(), ignore_index=self.pad, reduction="sum"
        )
        return total / (targets != self.pad).sum().clamp(min=1)


class AdaCos(nn.Module):
    """Cross-entropy of scaled cosines, with a scale that adapts during training.

    Source: Zhang et al., "AdaCos: Adaptively Scaling Cosine Logits" (CVPR 2019), adapted to
    sequences as in Işık, Cinbiş, Aydın Göl (ICML 2025). There are N targets that are not padding, C
    rows of the embedding matrix, and cosines cos_ik between the features of target i and row k:

        s_0 = sqrt(2) log(C - 1)
        B_t = 1/N  sum_i sum_{k != target_i} exp(s_{t-1} cos_ik)
        s_t = log(B_t) / cos(min(pi/4, median_i theta_i))

    Here s_t is the scale after step t, and theta_i is the angle between the features of target i
    and its row. The scale is clipped to the range from `least` to 100. The scale is a buffer: it is
    saved with the model, and changes only in training.

    never: ids of rows that are never targets, such as padding. They are excluded from the softmax,
        from the sum B_t and from C, as in the code of Işık, Cinbiş, Aydın Göl.
    several_devices: whether several processes train the model, each on a part of the batch. Then
        all processes have the same scale. This requires a process group of PyTorch.
    least: lower bound of the scale. With few rows the scale may settle near 3. Then even a target
        with cosine 1 has a probability near one half.
    """

    scale: Tensor

    # For very few rows, the formulas give a scale near 0 (log 1 = 0). But with a scale below 1, the
    # softmax is nearly uniform.
    lowest, highest = 1.0, 100.0

    several_devices = False

    def __init__(
        self, rows: int, pad: int = 0, never: Sequence[int] = (), least: float = lowest
    ) -> None:
        super().__init__()
        self.pad, self.never, self.least = pad, list(never), least
        initial = math.sqrt(2) * math.log(max(rows - len(self.never) - 1, 1))
        self.register_buffer("scale", torch.tensor(min(max(initial, least), self.highest)))
        self.cross_entropy = CrossEntropy(pad)

    def log_probabilities(self, cosines: Tensor, targets: Tensor) -> Tensor:
        """Return the log-probability of each target (B, T), 0 for padding.

        The cosines are multiplied by the present scale, which does not change, even in training.
        """
        scaled = self.scale.clone() * self._possible(cosines)
        return self.cross_entropy.log_probabilities(scaled, targets)

    def any_of(self, cosines: Tensor, right: Tensor) -> Tensor:
        """Return the loss of `CrossEntropy.any_of`. In training, adapt the scale first.

        The scale is adapted as if the likeliest right token were the only right token, and other
        right tokens did not exist.

        right: bool (B, T, V), whether each token is right at each position; False for padding.
        """
        cosines = self._possible(cosines)
        if self.training:
            seen = cosines.detach()
            best = seen.masked_fill(~right, -math.inf).argmax(-1, keepdim=True)
            others = right.scatter(-1, best, False)
            targets = best[..., 0].masked_fill(~right.any(-1), self.pad)
            seen = seen.masked_fill(others, -math.inf)
            self._adapt(seen.flatten(0, 1), targets.flatten())
        return self.cross_entropy.any_of(self.scale.clone() * cosines, right)

    def _possible(self, cosines: Tensor) -> Tensor:
        """Return the cosines, with -inf for rows that are never targets."""
        if not self.never:
            return cosines
        column = torch.arange(cosines.shape[-1], device=cosines.device)
        never = sum((column == each for each in self.never), start=column < 0)
        return cosines.masked_fill(never, -math.inf)

    def forward(self, cosines: Tensor, targets: Tensor) -> Tensor:
        """Return the mean loss in nats. In training, adapt the scale first."""
        cosines = self._possible(cosines)
        if self.training:
            self._adapt(cosines.detach().flatten(0, 1), targets.flatten())
        # Copy the scale, because the next step changes it in place and a backward pass may need it.
        loss: Tensor = self.cross_entropy(self.scale.clone() * cosines, targets)
        return loss

    @torch.no_grad()
    def _adapt(self, cosines: Tensor, targets: Tensor) -> None:
        """Update the scale from the cosines (N, C) of N targets and C rows, without a GPU sync.

        targets: (N,), the number of each target's row; padding is ignored.
        """
        real = targets != self.pad  # (targets,)
        hit = cosines.gather(1, targets[:, None])  # (targets, 1)
        others = (self.scale * cosines).scatter(1, targets[:, None], -math.inf)
        others = others.masked_fill(~real[:, None], -math.inf)
        # Compute the median by sorting, with padding last, because nanmedian() waits for a GPU.
        theta = hit.squeeze(1).clamp(-1, 1).acos().masked_fill(~real, math.inf)  # (targets,)
        sums = others.flatten().logsumexp(0)[None]
        if self.several_devices:
            sums, theta = _of_all_devices(sums), _of_all_devices(theta)
        real = theta.isfinite()
        log_b = sums.logsumexp(0) - real.sum().log()
        middle = (real.sum() - 1).clamp(min=0) // 2
        median = theta.sort().values.gather(0, middle[None])  # (1,)
        scale = (log_b / median.clamp(max=math.pi / 4).cos()).squeeze()
        scale = scale.clamp(self.least, self.highest)
        # For a batch of padding alone, the new scale is not finite.
        self.scale.copy_(torch.where(scale.isfinite(), scale, self.scale))


def _of_all_devices(values: Tensor) -> Tensor:
    """Return the values of all devices that train a model; each device has a vector of N values."""
    found = [torch.empty_like(values) for _ in range(dist.get_world_size())]
    dist.all_gather(found, values)
    return torch.cat(found)
