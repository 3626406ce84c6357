"""Training n-grams: everything is counted once."""

from __future__ import annotations

from pathlib import Path

import torch
from rich.console import Console
from rich.progress import track

from logicgen.model import checkpoint
from logicgen.model.language_model import Language, LanguageData
from logicgen.model.language_recipe import LanguageRecipe
from logicgen.model.ngram import NGram
from logicgen.train.run_folder import open_run

# What is counted together; n-grams that cross from one such window into the next are not.
WINDOWS, CONTEXT = 64, 4096


def count_ngrams(
    recipe: LanguageRecipe,
    data: LanguageData,
    out: Path,
    *,
    resume: bool = False,
    quiet: bool = False,
) -> Path:
    """Count into the run folder `out`, as `fit` trains, and return that folder."""
    model = Language(recipe, data.tokens, data.task_name, data.region)
    assert isinstance(model.network, NGram)
    identity = {**model.identity(), "data": data.fingerprint, "start": None}
    open_run(out, identity, 1, resume=resume)
    if (out / checkpoint.CARD).is_file():
        return out
    pieces = data.train.once(WINDOWS, CONTEXT)
    shown = track(pieces, "counting", console=Console(stderr=True), disable=quiet)
    for tokens in shown:
        model.network.count(torch.from_numpy(tokens))
    checkpoint.save_model(model, out, steps=1, fingerprint=data.fingerprint)
    return out
