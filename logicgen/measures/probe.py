"""A probe of a language model: trained to say what the characters of ciphers stand for.

The model stays as it is. The probe sees the model's hidden state behind each character, which has
read that character and all before it, and is asked which character of the plain text it was. Every
row has a key of its own, and of a lexinvariant model every row at every step has embeddings of its
own: what the probe can use is only what a hidden state says of the text, in the same directions
whatever the characters are written as. It can say less than the model knows: hidden states of the
last layer foretell the next token in the rows of the moment. So every layer has a probe, and all
are trained side by side: the model is read once for all of them.

Source: Huang et al., Lexinvariant Language Models (NeurIPS 2023), section on ciphers.

    OUT/probe.safetensors   the weights of the probes
    OUT/probe.json          of which model, how it was trained; there once the training has ended
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

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
        steps: of training.
        hidden: width of its inner layer.
        layer: of the model, the only one that is probed; every layer if None.
        last: positions at the end of each row, from whose hidden states the probe learns; all if
            None.
        seed: of the probe's first weights, the rows of ciphers and of the embedding.
        batch_size: rows of a step.
        learning_rate: at the beginning; it falls to 0 as a cosine does.
    """

    steps: int = 2000
    hidden: int = 256
    layer: int | None = None
    last: int | None = None
    seed: int = 0
    batch_size: int = 16
    learning_rate: float = 2e-3


def check_fits(model: LanguageModel, corpus: Corpus, called: str, layer: int | None = None) -> None:
    """Raise LogicgenError where the model has no hidden states, no such layer or other tokens."""
    model.check_hidden(None, called)
    model.check_same_tokens(corpus, called)
    model.check_hidden(layer, called)


class Probe(nn.Module):
    """Two layers over normalised features, initialised from torch's global generator.

    They have an output matrix of their own, whose rows mean the same in every sequence.
    """

    def __init__(self, width: int, hidden: int, tokens: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, tokens)
        )

    def forward(self, features: Tensor) -> Tensor:
        """Return logits (..., V) for features (..., width)."""
        logits: Tensor = self.layers(features)
        return logits


Probes = dict[int, Probe]
"""Probes by layer of the model, from 1."""


class ProbeLearner(Learner):
    """Probes with the ciphers that they learn from, as the training loop wants them.

    Every step follows from the settings and its number. `<end>` and `<other>` are not asked for.

    Attributes:
        losses: of all steps, mean cross-entropy in nats of each probe.
    """

    module: nn.ModuleDict

    def __init__(
        self,
        model: LanguageModel,
        ciphers: Ciphers,
        settings: ProbeSettings,
        context: int,
        progress: Callable[[int, int], None],
    ) -> None:
        self.model, self.ciphers, self.settings, self.context = model, ciphers, settings, context
        self.progress = progress
        self.probes = new_probes(model, settings)
        self.module = _together(self.probes).train()
        self.schedule = Schedule(settings.steps, settings.learning_rate)
        self.seed, self.log_every = settings.seed, settings.steps
        self.losses: list[Tensor] = []

    def optimizer(self) -> torch.optim.Optimizer:
        """Return a new optimizer of the weights."""
        return torch.optim.AdamW(
            self.module.parameters(), lr=self.settings.learning_rate, weight_decay=0.01
        )

    def batches(self, step: int) -> Iterator[tuple[list[Tensor], Tensor]]:
        """Yield each probe's hidden states (B, T, width), and plain characters (B, T)."""
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
        """Return the sum of the probes' mean cross-entropies in nats. They share no weight."""
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
    """Return a probe of each layer that is to be probed, with the first weights of its seed."""
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
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[Probes, dict[int, float]]:
    """Return trained probes, and their mean losses in nats over the last tenth of the steps."""
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
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[Probes, dict[str, Any]]:
    """Return the probes in `folder`, trained on the corpus if there are none, and their card.

    digest: what identifies the model. called: the same for people.
    context: tokens of a row that are read.

    Raises LogicgenError where the folder has a probe of another model, other data or settings.
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
    save_json(card, folder / CARD)  # it vouches for the weights
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
