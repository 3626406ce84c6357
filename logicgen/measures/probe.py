"""A probe of a language model: a small network that predicts the plain text of ciphers.

The model is frozen and reads the cipher. The probe reads the model's hidden state after each
character, and predicts the plain character at this place. Every cipher text (row) has a random key.
In a lexinvariant model, the embeddings are also random for every row and every training step. So
the probe can only use directions of hidden states that do not depend on the written characters.

The probe's accuracy is a lower bound of the model's knowledge of the key. Hidden states of the last
layer serve to predict the next token under the current random embeddings. Other layers may show
more of the key. So every layer has a probe. All probes are trained together, and the model is
evaluated once for all of them.

Source: Huang et al., Lexinvariant Language Models (NeurIPS 2023), section on ciphers.

The files in the output folder:

    probe.safetensors   the weights of the probes
    probe.json          the model and the settings; written at the end of the training
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from logicgen.callbacks import Progress, no_progress
from logicgen.data.corpus import Ciphers, Corpus
from logicgen.errors import LogicgenError
from logicgen.model.checkpoint import load_json, load_tree, save_json, save_tree
from logicgen.model.language_model import LanguageModel
from logicgen.tokens import NOTHING
from logicgen.training.learner import Learner
from logicgen.training.optimizer import Schedule

WEIGHTS, CARD = "probe.safetensors", "probe.json"


@dataclass(frozen=True)
class ProbeSettings:
    """The size and training of a probe.

    Attributes:
        steps: number of training steps.
        hidden: width of the probe's inner layer.
        layer: the layer of the model that is probed; None means every layer.
        last: number of positions at the end of each row to learn from; None means all positions.
        seed: determines the probe's first weights, the choice of ciphers, and the random rows of
            the embedding.
        batch_size: number of cipher texts in a step.
        learning_rate: learning rate of the first step. It falls to 0 along a cosine.
    """

    steps: int = 2000
    hidden: int = 256
    layer: int | None = None
    last: int | None = None
    seed: int = 0
    batch_size: int = 16
    learning_rate: float = 2e-3


def check_fits(model: LanguageModel, corpus: Corpus, called: str, layer: int | None = None) -> None:
    """Raise LogicgenError if a model has other tokens than the corpus, or no hidden states.

    The function also raises it if the model lacks the given layer.
    """
    model.check_hidden(None, called)
    model.check_same_tokens(corpus, called)
    model.check_hidden(layer, called)


class Probe(nn.Module):
    """A network of two layers over normalized hidden states.

    The global generator of PyTorch determines the first weights. The output matrix belongs to the
    probe, not to the model. So an output means the same plain character in every sequence.
    """

    def __init__(self, width: int, hidden: int, tokens: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, tokens)
        )

    def forward(self, features: Tensor) -> Tensor:
        """Return logits (..., vocabulary) for hidden states (..., width)."""
        logits: Tensor = self.layers(features)
        return logits


Probes = dict[int, Probe]
"""Probes by the number of their layer of the model. The first layer has number 1."""


class ProbeLearner(Learner):
    """The training of probes on ciphers, for the training loop.

    The settings and the number of a step determine its batch. Probes do not learn to predict
    `<end>` and `<other>`.

    Attributes:
        losses: for each step, the mean cross-entropy of each probe in nats.
    """

    module: nn.ModuleDict

    def __init__(
        self,
        model: LanguageModel,
        ciphers: Ciphers,
        settings: ProbeSettings,
        context: int,
        progress: Progress,
    ) -> None:
        self.model, self.ciphers, self.settings, self.context = model, ciphers, settings, context
        self.progress = progress
        self.probes = new_probes(model, settings)
        self.module = _together(self.probes).train()
        self.schedule = Schedule(settings.steps, settings.learning_rate)
        self.seed, self.log_every = settings.seed, settings.steps
        self.losses: list[Tensor] = []

    def optimizer(self) -> torch.optim.Optimizer:
        """Return a new optimizer of the probes' weights."""
        return torch.optim.AdamW(
            self.module.parameters(), lr=self.settings.learning_rate, weight_decay=0.01
        )

    def batches(self, step: int) -> Iterator[tuple[list[Tensor], Tensor]]:
        """Yield the batch of each step: hidden states for each probe, and the plain characters.

        The shapes are (rows, positions, width) for each probe, and (rows, positions).
        """
        while True:
            rng = np.random.default_rng((self.settings.seed, step))
            numbers = rng.integers(len(self.ciphers), size=self.settings.batch_size)
            tokens, plain = self.ciphers.rows(numbers, self.context)
            seeds = rng.integers(2**62, size=len(numbers)).tolist()
            targets = torch.from_numpy(np.where(plain < self.ciphers.staying, NOTHING, plain))
            last = slice(-(self.settings.last or 0), None)
            layers = self.model.hidden_states(tokens, seeds)
            states = [layers[number - 1][:, last] for number in self.probes]
            yield states, targets[:, last].to(self.model.device)
            step += 1

    def loss(
        self, batch: tuple[list[Tensor], Tensor], generator: torch.Generator, measured: bool
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the sum of the probes' mean cross-entropies in nats.

        Probes share no weights, so each probe is trained as if it were alone.
        """
        states, targets = batch
        how: dict[str, Any] = {"ignore_index": NOTHING, "reduction": "sum"}
        sums = [
            F.cross_entropy(probe(some).flatten(0, 1), targets.flatten(), **how)
            for probe, some in zip(self.probes.values(), states, strict=True)
        ]
        losses = torch.stack(sums) / (targets != NOTHING).sum().clamp(min=1)
        self.losses.append(losses.detach())
        self.progress(len(self.losses), self.settings.steps)
        return losses.sum(), {}


def new_probes(model: LanguageModel, settings: ProbeSettings) -> Probes:
    """Return an untrained probe for each layer that the settings select, by layer."""
    count, width = model.hidden_shape()
    layers = range(1, count + 1)
    found = {}
    for layer in layers if settings.layer is None else [settings.layer]:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            probe = Probe(width, settings.hidden, len(model.tokens))
        found[layer] = probe.to(model.device)
    return found


def train_probes(
    model: LanguageModel,
    ciphers: Ciphers,
    settings: ProbeSettings,
    context: int,
    progress: Progress = no_progress,
) -> tuple[Probes, dict[int, float]]:
    """Train probes; return the probes and the mean loss of each, by layer.

    The losses are in nats, over the last tenth of the steps.
    """
    from logicgen.training.loop import run_steps

    learner = ProbeLearner(model, ciphers, settings, context, progress)
    with torch.random.fork_rng(devices=[]):
        run_steps(learner, device=model.device)
    last = torch.stack(learner.losses[-max(1, len(learner.losses) // 10) :]).mean(0).tolist()
    probes = {layer: probe.to(model.device).eval() for layer, probe in learner.probes.items()}
    return probes, dict(zip(probes, last, strict=True))


def probes_of(
    model: LanguageModel,
    digest: str,
    called: str,
    corpus: Corpus,
    folder: Path,
    settings: ProbeSettings,
    context: int,
    progress: Progress = no_progress,
) -> tuple[Probes, dict[str, Any]]:
    """Return the probes in `folder` and their card. Train them first if they are missing.

    digest: the checksum of the model's weights.
    called: the model's name.
    context: number of tokens of a row that are read.

    The card is the content of `probe.json`: the model, the data, the settings and the losses.
    Raises LogicgenError if the folder has a probe of another model, other data or other settings.
    """
    asked = {
        "model": digest,
        "called": called,
        "data": corpus.fingerprint,
        "context": context,
        **asdict(settings),
    }
    if os.path.isfile(folder / CARD):
        card = load_json(folder / CARD)
        _check_same(card, asked, folder)
        return _load(model, folder, settings), card
    probes, losses = train_probes(model, Ciphers(corpus, "train"), settings, context, progress)
    card = {**asked, "losses": [losses[layer] for layer in probes]}
    save_tree(dict(_together(probes).state_dict()), folder / WEIGHTS)
    save_json(card, folder / CARD)  # written last: the card shows that the weights are complete
    return probes, card


def _together(probes: Probes) -> nn.ModuleDict:
    return nn.ModuleDict({f"layer-{layer}": probe for layer, probe in probes.items()})


def _check_same(card: dict[str, Any], asked: dict[str, Any], folder: Path) -> None:
    path, remedy = folder / CARD, "choose another folder with -o, or delete it"
    if "losses" not in card:
        raise LogicgenError(f"{path}: damaged: {remedy}")
    if card.get("model") != asked["model"]:
        ours, theirs = (f"{c.get('called')} ({str(c.get('model'))[:12]})" for c in (asked, card))
        raise LogicgenError(f"{path}: a probe of {theirs}, not of {ours}: {remedy}")
    for name in asked:
        if name != "called" and card.get(name) != asked[name]:
            raise LogicgenError(
                f"{path}: a probe of this model with {name} {card.get(name)}, not"
                f" {asked[name]}: {remedy}"
            )


def _load(model: LanguageModel, folder: Path, settings: ProbeSettings) -> Probes:
    probes = new_probes(model, settings)
    try:
        _together(probes).load_state_dict(load_tree(folder / WEIGHTS))
    except (LogicgenError, RuntimeError, TypeError, AttributeError):
        raise LogicgenError(
            f"{folder / WEIGHTS}: missing or damaged: delete {folder / CARD} to train it again"
        ) from None
    return {layer: probe.eval() for layer, probe in probes.items()}
