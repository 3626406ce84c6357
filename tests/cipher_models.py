"""Ciphers, and models of their characters: untrained, and one that knows the keys."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import torch
from torch import nn

from logicgen.data.corpus import Ciphers, Corpus, make_corpus
from logicgen.data.recipe import CorpusRecipe
from logicgen.model.checkpoint import save_model
from logicgen.model.recipe import ModelRecipe
from tests.languages import language_model

TEXT = {"source": "python-topics", "vocabulary": 60}
LENGTH, TRAIN, TEST = 60, 80, 30


def made(folder, **keys):
    """Make ciphers, with further keys of `[corpus]`."""
    content = {"length": LENGTH, "train": TRAIN, "test": TEST, "text": TEXT, **keys}
    make_corpus(CorpusRecipe(task="cipher", corpus=content), folder, name=folder.name)
    return Corpus(folder)


def small(network=None, method="lexinvariant"):
    """Return a recipe of a small language model."""
    table = {"kind": "language-model", "width": 16, "heads": 2, "layers": 2, "feed_forward": 16}
    training = {"steps": 1, "batch_size": 1, "context": 60, "learning_rate": 1e-3}
    training |= {"warmup_steps": 0, "schedule": "constant"}
    tables = {"embedding": {"method": method}, "training": training}
    if network and network["kind"] == "n-gram":
        tables = {}
    return ModelRecipe.model_validate({"network": network or table, **tables})


def saved(run, corpus, seed=0):
    """Save a model that was never trained as a run; return it."""
    torch.manual_seed(seed)
    model = language_model(small(), corpus.tokens, "text").eval()
    save_model(model, run, steps=0, fingerprint="0" * 16)
    return model


class Knowing(nn.Module):
    """Stands in for a network: knows what stands behind the first rows, but not by its embedding.

    Features are a direction for each plain symbol, and noise by the seeds of the embedding.
    """

    def __init__(self, corpus, noise, width=32):
        super().__init__()
        self.plain, self.noise = {}, noise
        for split, rows in (("train", TRAIN), ("test", TEST)):
            tokens, plain = Ciphers(corpus, split).rows(np.arange(rows), LENGTH)
            self.plain |= dict(zip(map(tuple, tokens.tolist()), plain, strict=True))
        generator = torch.Generator().manual_seed(0)
        self.directions = torch.randn(len(corpus.tokens), width, generator=generator)
        self.scale = torch.ones(width)
        self.rows = SimpleNamespace(seeded=lambda seeds: seeds)

    def each_layer(self, seeds, tokens):
        plain = np.stack([self.plain[tuple(row)] for row in tokens.tolist()])
        shape = (LENGTH, self.directions.shape[1])
        noise = [torch.randn(shape, generator=torch.Generator().manual_seed(s)) for s in seeds]
        known = self.directions[torch.from_numpy(plain)] + self.noise * torch.stack(noise)
        return [torch.zeros_like(known), known]


def knowing(corpus, noise):
    model = language_model(small(), corpus.tokens, "text").eval()
    model.network = Knowing(corpus, noise)
    model.register_buffer("place", torch.zeros(1))
    return model
