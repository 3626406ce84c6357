"""Symbol-invariant models: encoder-decoders with a stream of features for each symbol."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import torch
from torch import Tensor

from logicgen.errors import LogicgenError
from logicgen.model import capacity
from logicgen.model.batches import Batch, cut
from logicgen.model.encoder_decoder import EncoderDecoder
from logicgen.model.network_tables import SymbolInvariantTable
from logicgen.model.recipe import ModelRecipe
from logicgen.model.training_data import ProblemData
from logicgen.nn.symbol_invariant import (
    StreamDecoderLayer,
    StreamEncoderLayer,
    StreamOptions,
    SymbolInvariantTransformer,
)
from logicgen.nn.transformer import Transformer


class SymbolInvariantModel(EncoderDecoder):
    """The symbol-invariant encoder-decoder of a recipe, for one vocabulary."""

    noun = "a symbol-invariant model"
    network: SymbolInvariantTable
    transformer: SymbolInvariantTransformer

    def _transformer(self, **arguments: Any) -> Transformer:
        keys = set(StreamOptions.__dataclass_fields__)
        options = StreamOptions(**self.network.model_dump(include=keys))
        return SymbolInvariantTransformer(fixed=len(self.vocabulary), options=options, **arguments)

    @classmethod
    def new(cls, recipe: ModelRecipe, data: ProblemData) -> Self:
        """Return a model with new weights.

        Raises LogicgenError if an answer has a new symbol without a reserved stream.
        """
        model = super().new(recipe, data)
        fixed, reserved = len(data.vocabulary), model.network.reserved
        for split in (data.train, data.validation):
            for row in range(len(split) if split is not None else 0):
                assert split is not None
                answer, problem = split.answers[row], split.problems[row]
                known = set(problem.tolist())
                new = set(answer[answer >= fixed].tolist()) - known
                # Streams are reserved for the first symbols that the problem lacks.
                needed = sum(id not in known for id in range(fixed, max(new, default=0) + 1))
                if needed > reserved:
                    raise LogicgenError(
                        f"the answer to {data.vocabulary.decode(problem.tolist())!r} has symbols"
                        f" that the problem lacks, and network.reserved is {reserved}: set it to at"
                        f" least {needed}"
                    )
        return model

    def features(self, problems: Tensor) -> int:
        most = int(self.transformer.symbols_of(problems).max())
        return super().features(problems) * max(most + self.network.reserved, 1)

    def size(self, problem: Sequence[int]) -> tuple[int, int]:
        symbols = {token for token in problem if token >= len(self.vocabulary)}
        return max(len(symbols) + self.network.reserved, 1), len(problem)

    def check(self, symbols: int, ensemble: int = 1, tokens: int = 0) -> None:
        """Raise LogicgenError as other models do, or if the streams have too many tokens."""
        super().check(symbols, ensemble, tokens)
        if symbols * tokens > capacity.MOST_STREAMED:
            raise LogicgenError(
                f"a problem of {symbols} symbols: with {tokens} tokens, the model takes up to"
                f" {capacity.MOST_STREAMED // tokens}: leave --model out for a solver"
            )

    def pieces(self, batch: Batch) -> tuple[list[Tensor], bool]:
        device = batch.problems.device
        padded = capacity.padded_tokens(device)
        if padded is None:
            return super().pieces(batch)
        within = capacity.kept_tokens(super().features(batch.problems), device)
        most = min(padded, within)
        order = self.transformer.symbols_of(batch.problems).sort(descending=True, stable=True)
        tokens = max(batch.problems.shape[1], batch.inputs.shape[1])
        streams = [max(each + self.network.reserved, 1) for each in order.values.tolist()]
        pieces = cut(order.indices, [each * tokens for each in streams], most)
        return pieces, len(pieces) * most > within

    @property
    def canonical(self) -> bool:
        # The network ignores names. Canonical names make this exact, also in rounding.
        return True

    def _start_weights(self, trained: EncoderDecoder, name: str) -> dict[str, Tensor]:
        """Return a trained model's weights under the names that this model uses.

        A `learned` model is converted to a symbol-invariant model (Işık, Li, ICML 2026). Two of its
        symbol rows become "this one" and "some other one", and its attentions become attentions
        within streams. The attention to the fused view is new, and initially adds zero. So before
        any training, both models give the same answer to a problem of one symbol.
        """
        weights = super()._start_weights(trained, name)
        if trained.rows.method == "learned":
            rows = weights.pop("embedding.symbols")
            if len(rows) < 2:
                raise LogicgenError(f"{name}: has only one symbol row, and two are needed")
            weights["embedding.this"], weights["embedding.other"] = rows[:1], rows[1:2]
            weights.update(self._idle_fused_attention())
        return weights

    def _idle_fused_attention(self) -> Iterator[tuple[str, Tensor]]:
        """Yield all weights of attention to the fused view, with output weights of zero."""
        for key, module in self.named_modules():
            if isinstance(module, (StreamEncoderLayer, StreamDecoderLayer)):
                for part, value in module.state_dict().items():
                    if "fused" in part:
                        silent = part.startswith("fused_attention.output")
                        yield f"{key}.{part}", torch.zeros_like(value) if silent else value
