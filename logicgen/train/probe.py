"""A probe of a language model: trained to say what the characters of ciphers stand for.

The model stays as it is. The probe sees the model's hidden state behind each character, which has
read that character and all before it, and is asked which character of the plain text it was. Every
row has a key of its own, and of a lexinvariant model every row at every step has embeddings of its
own: what the probe can use is only what a hidden state says of the text, in the same directions
whatever the characters are written as. It can say less than the model knows: hidden states of the
last layer foretell the next token in the rows of the moment. Those of another layer may say more.

Source: Huang et al., Lexinvariant Language Models (NeurIPS 2023), section on ciphers.

    OUT/probe.safetensors   the probe's weights
    OUT/probe.json          of which model, how it was trained; there once the training has ended
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from logicgen.data.ciphers import Ciphers
from logicgen.data.corpus import Corpus
from logicgen.errors import LogicgenError
from logicgen.model.checkpoint import load_json, load_tree, save_json, save_tree
from logicgen.model.language_model import Language
from logicgen.model.language_recipe import TransformerTable
from logicgen.model.ngram import NGram
from logicgen.nn.probe import Probe
from logicgen.tasks.cipher import STAYING
from logicgen.tokens import NOTHING

WEIGHTS, CARD = "probe.safetensors", "probe.json"


@dataclass(frozen=True)
class ProbeSettings:
    """How a probe is made.

    Attributes:
        steps: of training.
        hidden: width of its inner layer.
        layer: of the model, after which hidden states are taken; its last if None.
        seed: of the probe's first weights, the rows of ciphers and of the embedding.
        batch_size: rows of a step.
        learning_rate: at the beginning; it falls to 0 as a cosine does.
    """

    steps: int = 2000
    hidden: int = 256
    layer: int | None = None
    seed: int = 0
    batch_size: int = 16
    learning_rate: float = 2e-3


def check_fits(model: Language, corpus: Corpus, called: str, layer: int | None = None) -> None:
    """Raise LogicgenError where the model has no hidden states, no such layer or other tokens."""
    if isinstance(model.network, NGram):
        raise LogicgenError(
            f"{called} is an n-gram, which has no hidden states to probe: give a Transformer or a"
            " recurrent network"
        )
    if model.tokens != corpus.tokens:
        raise LogicgenError(
            f"{called} was trained with {len(model.tokens)} tokens of {model.task_name}, and"
            f" {corpus.folder} has {len(corpus.tokens)} others: make the cipher of the text it was"
            " trained on ([corpus.text] with the same source and vocabulary)"
        )
    if layer is None:
        return
    table = model.recipe.network
    if not isinstance(table, TransformerTable):
        raise LogicgenError(f"layer {layer}: {called} is recurrent: leave it out, the last is used")
    if layer not in range(1, table.layers + 1):
        raise LogicgenError(f"layer {layer}: {called} has layers 1 to {table.layers}")


@torch.no_grad()
def hidden_states(
    model: Language, tokens: np.ndarray, seeds: Sequence[int], layer: int | None
) -> Tensor:
    """Behind each of (B, T) tokens: (B, T, width), of rows of the embedding by these seeds."""
    network: Any = model.network
    ids = torch.from_numpy(tokens).to(model.device)
    states: Tensor = network.features(network.rows.seeded(seeds), ids, layers=layer)
    return states


def train_probe(
    model: Language,
    ciphers: Ciphers,
    settings: ProbeSettings,
    context: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[Probe, float]:
    """A new probe, and its mean cross-entropy in nats over the last tenth of the steps.

    Every step follows from the settings and its number. `<end>` and `<other>` are not asked for.
    """
    network: Any = model.network
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        probe = Probe(len(network.scale), settings.hidden, len(model.tokens))
    probe = probe.to(model.device).train()
    optimizer = torch.optim.AdamW(probe.parameters(), weight_decay=0.01)
    losses = []
    for step in range(settings.steps):
        rng = np.random.default_rng((settings.seed, step))
        numbers = rng.integers(len(ciphers), size=settings.batch_size)
        tokens, meant = ciphers.rows(numbers, context)
        seeds = rng.integers(2**62, size=len(numbers)).tolist()
        plain = np.take_along_axis(meant, tokens, axis=1)
        targets = torch.from_numpy(np.where(plain < STAYING, NOTHING, plain)).to(model.device)
        states = hidden_states(model, tokens, seeds, settings.layer)
        loss = F.cross_entropy(
            probe(states).flatten(0, 1), targets.flatten(), ignore_index=NOTHING, reduction="sum"
        )
        loss = loss / (targets != NOTHING).sum().clamp(min=1)
        for group in optimizer.param_groups:
            share = (1 + math.cos(math.pi * step / settings.steps)) / 2
            group["lr"] = settings.learning_rate * share
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        progress(step + 1, settings.steps)
    last = torch.stack(losses[-max(1, len(losses) // 10) :]).mean()
    return probe.eval(), float(last)


def probe_of(
    model: Language,
    digest: str,
    called: str,
    corpus: Corpus,
    folder: Path,
    settings: ProbeSettings,
    context: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[Probe, dict[str, Any]]:
    """The probe in `folder`, trained on the corpus if there is none; with its card.

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
    if (folder / CARD).is_file():
        card = load_json(folder / CARD)
        _check_same(card, asked, folder)
        return _load(model, folder, settings), card
    probe, loss = train_probe(model, Ciphers(corpus, "train"), settings, context, progress)
    card = {**asked, "loss": loss}
    save_tree(dict(probe.state_dict()), folder / WEIGHTS)
    save_json(card, folder / CARD)  # it vouches for the weights
    return probe, card


def _check_same(card: dict[str, Any], asked: dict[str, Any], folder: Path) -> None:
    path, remedy = folder / CARD, "choose another folder with -o, or delete it"
    if card.get("model") != asked["model"]:
        ours, theirs = (
            f"{each.get('called')} ({str(each.get('model'))[:12]})" for each in (asked, card)
        )
        raise LogicgenError(f"{path}: a probe of {theirs}, not of {ours}: {remedy}")
    for name in asked:
        if name != "called" and card.get(name) != asked[name]:
            raise LogicgenError(
                f"{path}: a probe of this model with {name} {card.get(name)}, not"
                f" {asked[name]}: {remedy}"
            )


def _load(model: Language, folder: Path, settings: ProbeSettings) -> Probe:
    network: Any = model.network
    probe = Probe(len(network.scale), settings.hidden, len(model.tokens))
    try:
        probe.load_state_dict(load_tree(folder / WEIGHTS))
    except (LogicgenError, RuntimeError, TypeError, AttributeError):
        raise LogicgenError(
            f"{folder / WEIGHTS}: missing or damaged: delete {folder / CARD} to train it again"
        ) from None
    return probe.to(model.device).eval()
