"""Make an encoder-decoder's embedding from its recipe, and list the arities of its tokens."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from logicgen.errors import LogicgenError
from logicgen.extras import load_plugin, plugins
from logicgen.model.network_tables import EncoderDecoderTable
from logicgen.model.recipe_tables import EmbeddingTable, RandomRowsTable
from logicgen.nn.embedding import (
    AlphaRenaming,
    Embedding,
    Interchangeable,
    Learned,
    SymbolInvariant,
)
from logicgen.nn.token_rows import SequenceRows
from logicgen.tasks import Task
from logicgen.tokens import Vocabulary

EMBEDDINGS: dict[str, Callable[..., Embedding]] = {
    "learned": Learned,
    "alpha-renaming": AlphaRenaming,
    "interchangeable": Interchangeable,
    "symbol-invariant": SymbolInvariant,
}


def new_embedding(rows: EmbeddingTable, fixed: int, width: int, alphabet: int) -> Embedding:
    """Return the embedding of the table `[embedding]`, with new weights.

    fixed: number of fixed tokens. alphabet: number of symbols in the training data.
    """
    method = rows.method
    if isinstance(rows, RandomRowsTable):
        options = rows.model_dump(exclude_none=True)
        return SequenceRows(fixed, width, symbols=alphabet, **options)
    options = rows.model_dump(exclude={"method", "resample"}, exclude_none=True)
    made = EMBEDDINGS.get(method) or load_plugin(plugins("logicgen.embeddings")[method])
    embedding: Embedding = made(fixed, width, **options)
    return embedding


def arities_of(task: Task, vocabulary: Vocabulary, network: EncoderDecoderTable) -> Tensor:
    """Return the number of operands of each fixed token, then of a symbol; int64 (F + 1,).

    Raises LogicgenError if problems of the task are not formulas.
    """
    arities = task.problem_arities
    if arities is None:
        raise LogicgenError(
            f"network.encoder_positions: {network.encoder_positions!r} needs problems that are"
            f" formulas; problems of {task.name} have no tree: choose 'sinusoidal', 'randomized',"
            " 'rotary', 'relative' or 'none'"
        )
    return torch.tensor([*(arities.get(token, 0) for token in vocabulary.fixed), 0])
