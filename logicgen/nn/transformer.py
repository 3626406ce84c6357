"""The encoder-decoder Transformer.

It has no embedding of its own: its methods take the embedding matrix as an argument (see
`embedding.py`).
So no parameter depends on the size of the vocabulary. Permuting the rows of symbols in the matrix
together with the ids of the inputs permutes the logits. A matrix is (V, width), or (B, V, width) if
each sequence has its own matrix.

Its layers are in `layers.py`.

Shapes: B sequences, R hypotheses (unfinished answers; R = B, or K for each problem), S problem
tokens, T answer tokens, H heads, D = width / H, F fixed tokens, V rows of the matrix.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from logicgen.nn.distance_bias import distance_bias
from logicgen.nn.layers import DecoderLayer, EncoderLayer, Packing, Positions
from logicgen.nn.memory import Memory
from logicgen.nn.position import (
    TREE_SCHEMES,
    Rotation,
    TreePositions,
    TreeRelativeBias,
    random_positions,
    rotations,
    sinusoidal,
)


@contextmanager
def mode(module: nn.Module, training: bool) -> Iterator[None]:
    """Within the context, put a module into training mode, or into evaluation mode.

    Functions that a backward pass computes again need it. They may run in another mode than at
    first, and they end with an exception once all that the backward pass needs is computed.
    """
    before = module.training
    module.train(training)
    try:
        yield
    finally:
        module.train(before)


class Transformer(nn.Module):
    """An encoder and a decoder of the same width.

    encoder_positions, decoder_positions: a scheme of `position.py` or `distance_bias.py`, or a
        plugin. The schemes of trees are for the encoder, and need `arities`.
    encoder_loops: number of times that the encoder's layers are applied, with the same weights;
        once if not given.
    position_range: number of positions from which randomized positions are drawn.
    shared_positions: whether tokens of an answer have the positions of the problem's tokens.
    arities: int64 (F + 1,), the number of operands of each fixed token, then of any symbol; 0 for
        tokens that are not in the tree of the problem.
    rotary_cross_attention: whether queries and keys are rotated in cross-attention, too.
    normalize_features: whether the decoder's last features have norm 1. If the rows of the matrix
        have norm 1 as well, logits are cosines.
    input_scale: the factor from rows to inputs: "sqrt-width", or "learned", which starts at
        sqrt(width).
    most_tokens: in attention to a problem of S > most_tokens tokens, scores are multiplied by
        log(S) / log(most_tokens), so that attention is not spread over more tokens than in
        training. Source: Chiang, Cholak (ACL 2022).
    """

    recompute = False  # whether each layer of the encoder is computed again in the backward pass
    arities: Tensor | None
    encoder_bias: nn.Module | None  # for relative and tree-relative positions, and plugins
    encoder_layer: Callable[..., EncoderLayer] = EncoderLayer
    decoder_layer: Callable[..., DecoderLayer] = DecoderLayer

    def __init__(
        self,
        *,
        width: int,
        heads: int,
        encoder_layers: int,
        decoder_layers: int,
        feed_forward: int,
        dropout: float,
        encoder_positions: str,
        decoder_positions: str,
        normalize_features: bool,
        rotary_cross_attention: bool = False,
        input_scale: str = "sqrt-width",
        encoder_loops: int | None = None,
        position_range: int | None = None,
        shared_positions: bool = False,
        most_tokens: int | None = None,
        pad: int = 0,
        arities: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.pad, self.width, self.heads = pad, width, heads
        self.encoder_positions, self.decoder_positions = encoder_positions, decoder_positions
        self.rotary_cross_attention = rotary_cross_attention
        self.normalize_features = normalize_features
        self.encoder_loops = encoder_loops or 1
        self.position_range, self.shared_positions = position_range, shared_positions
        self.most_tokens = most_tokens
        self.dropout = nn.Dropout(dropout)
        # Rows have norm 1. This factor makes inputs with entries of about 1.
        scale = width**0.5
        self.input_scale = nn.Parameter(torch.tensor(scale)) if input_scale == "learned" else scale
        sizes = width, heads, feed_forward, dropout
        self.encoder = nn.ModuleList(self.encoder_layer(*sizes) for _ in range(encoder_layers))
        self.norm_encoder = nn.LayerNorm(width)
        self.decoder = nn.ModuleList(self.decoder_layer(*sizes) for _ in range(decoder_layers))
        self.norm_decoder = nn.LayerNorm(width)
        self.encoder_bias = distance_bias(encoder_positions, width, heads, causal=False)
        self.decoder_bias = distance_bias(decoder_positions, width, heads, causal=True)
        if encoder_positions in TREE_SCHEMES:
            if arities is None:
                raise ValueError("tree positions need arities")
            if encoder_positions == "tree":
                self.tree = TreePositions(width)
            else:
                self.encoder_bias = TreeRelativeBias(width, heads, encoder_positions)
        # Arities are not saved with the weights, because they follow from the vocabulary.
        self.register_buffer("arities", arities, persistent=False)

    def encode(self, matrix: Tensor, problems: Tensor) -> Memory:
        """Read padded problems (B, S) and return a memory with their keys and values."""
        mask = self.present(problems)
        at = self.problem_positions(problems, mask)
        x = self._inputs(matrix, problems, at)
        # On a GPU, `nonzero` would make the CPU wait for the GPU.
        if torch.is_grad_enabled() and problems.device.type == "cpu":
            places = mask.flatten().nonzero()[:, 0]
            at = at.packed(Packing.of(places, (problems.shape[0], problems.shape[1])))
            x = at.packing.pack(x)  # type: ignore[union-attr]
        x = self.dropout(x)
        x = self.norm_encoder(self.through_encoder(x, at))  # (problems, tokens, width)
        decoder = cast(list[DecoderLayer], self.decoder)
        how = at.problem_rotation, at.packing, at.sharpness
        keys_values = [layer.keys_values(x, *how) for layer in decoder]
        return Memory(mask, keys_values, positions=at.of_answers)

    def decode(
        self, matrix: Tensor, answers: Tensor, memory: Memory, places: Tensor | None = None
    ) -> Tensor:
        """Return the features (B, T, width) that predict the token after each of `answers`.

        answers: (B, T) ids, which are added to the memory: whole answers with an empty memory, or
            one token at a time.
        places: the indices of tokens in `answers.flatten()`; features elsewhere are zero.
        """
        at = self.answer_positions(memory, answers)
        x = self._inputs(matrix, answers, at)
        if places is not None:
            at = at.packed(Packing.of(places, (answers.shape[0], answers.shape[1])))
            x = at.packing.pack(x)  # type: ignore[union-attr]
        x = self.dropout(x)
        for number, layer in enumerate(self.decoder):
            x = layer(x, memory, number, at)
        x = self.norm_decoder(x)
        if self.normalize_features:
            x = F.normalize(x, dim=-1)
        return at.packing.pad(x) if at.packing is not None else x  # (sequences, tokens, width)

    def through_encoder(self, x: Tensor, at: Any) -> Tensor:
        """Return the output of the encoder's layers for inputs x.

        at: the positions of the tokens, as each layer takes them.
        """
        training = self.training

        def read(layer: nn.Module, x: Tensor) -> Tensor:
            with mode(layer, training):
                found: Tensor = layer(x, at)
            return found

        for layer in [*self.encoder] * self.encoder_loops:
            if self.recompute:
                x = checkpoint(read, layer, x, use_reentrant=False)
            else:
                x = layer(x, at)
        return x

    def present(self, problems: Tensor) -> Tensor:
        """Return whether each of (B, S) ids is a token, not padding: bool (B, 1, 1, S)."""
        present = problems != self.pad  # (problems, tokens)
        # A softmax over no keys is NaN. So a problem without tokens attends to its first padding.
        present[:, 0] |= ~present.any(dim=1)
        return present[:, None, None, :]

    def problem_positions(self, problems: Tensor, mask: Tensor) -> Positions:
        """Return the encoded positions of problem tokens (B, S). The mask is True for tokens."""
        length, device = problems.shape[1], problems.device
        vectors, places, of_answers = None, None, None
        if "randomized" in (self.encoder_positions, self.decoder_positions):
            assert self.position_range is not None
            lengths = (problems != self.pad).sum(1)
            places = random_positions(lengths, self.position_range, self.training)
            of_answers = places
            if not self.shared_positions:
                # The length of the answer is unknown, so draw gaps of all sizes.
                most = self.position_range
                parts = torch.full_like(lengths, most // 2)
                if self.training:
                    parts = (torch.rand(len(lengths), device=device) * most).long() + 1
                of_answers = random_positions(parts, most, self.training)
        if self.encoder_positions == "sinusoidal":
            vectors = sinusoidal(0, length, self.width, device)
        elif self.encoder_positions == "randomized":
            assert places is not None
            vectors = self._at_random(places[:, :length])
        elif self.encoder_positions == "tree":
            vectors = self.tree(self._arities(problems))
        elif self.encoder_positions in TREE_SCHEMES:
            assert self.encoder_bias is not None
            assert self.arities is not None
            symbols = problems.masked_fill(problems < len(self.arities) - 1, -1)
            mask = self.encoder_bias(self._arities(problems), symbols).masked_fill(~mask, -math.inf)
        elif self.encoder_bias is not None:
            mask = self.encoder_bias(0, length, length).masked_fill(~mask, -math.inf)
        rotation, crossing = self._rotations(self.encoder_positions, 0, length, device)
        sharpness = self._sharpness(problems)
        return Positions(
            vectors, rotation, crossing, mask, of_answers=of_answers, sharpness=sharpness
        )

    def _sharpness(self, problems: Tensor) -> Tensor | None:
        """Return a factor for the keys of each problem in (B, S), (B,); see `most_tokens`.

        Returns None if no problem has more than `most_tokens` tokens, including `<end>`.
        """
        most = self.most_tokens
        if most is None or problems.shape[1] <= most:
            return None
        lengths = (problems != self.pad).sum(1).clamp(min=most)
        return 1 + (lengths / most).log() / math.log(most)  # exactly 1 if no longer than `most`

    def _at_random(self, positions: Tensor) -> Tensor:
        """Return the sinusoidal vectors (..., width) of positions (...) below `position_range`."""
        assert self.position_range is not None
        return F.embedding(
            positions, sinusoidal(0, self.position_range, self.width, positions.device)
        )

    def _arities(self, problems: Tensor) -> Tensor:
        assert self.arities is not None
        return self.arities[
            problems.clamp(max=len(self.arities) - 1)
        ]  # the last entry is for all symbols

    def answer_positions(self, memory: Memory, answers: Tensor) -> Positions:
        """Return the encoded positions of the next answer tokens (R, T), and count them."""
        start, length, device = memory.length, answers.shape[1], answers.device
        if start and length > 1:
            raise ValueError("after the first call, decode takes one token at a time")
        memory.length += length
        vectors, mask = None, None
        if self.decoder_positions == "sinusoidal":
            vectors = sinusoidal(start, length, self.width, device)
        elif self.decoder_positions == "randomized":
            assert memory.positions is not None
            place = torch.arange(start, start + length, device=device)
            place = place.clamp(max=memory.positions.shape[1] - 1)
            vectors = self._at_random(memory.positions[:, place])  # (sequences, tokens, width)
            vectors = vectors.repeat_interleave(len(answers) // len(vectors), dim=0)
        elif self.decoder_bias is not None:
            mask = self.decoder_bias(start, length, start + length)  # (1, heads, queries, keys)
        rotation, crossing = self._rotations(self.decoder_positions, start, length, device)
        return Positions(vectors, rotation, crossing, mask)

    def _rotations(
        self, scheme: str, start: int, length: int, device: torch.device
    ) -> tuple[Rotation | None, Rotation | None]:
        rotation = None
        if scheme == "rotary" or self.rotary_cross_attention:
            rotation = rotations(start, length, self.width // self.heads, device)
        return (
            rotation if scheme == "rotary" else None,
            rotation if self.rotary_cross_attention else None,
        )

    def logits(self, matrix: Tensor, features: Tensor, memory: Memory | None = None) -> Tensor:
        """Return one logit for each row of the matrix, (B, T, V), from features (B, T, width)."""
        # Use float32: AdaCos multiplies cosines by up to 100, and bfloat16 has only 8 bits.
        with torch.autocast(features.device.type, enabled=False):
            return features.float() @ matrix.float().transpose(-1, -2)

    def step(self, matrix: Tensor, tokens: Tensor, memory: Memory) -> Tensor:
        """Return the logits (R, V) of the next tokens of R hypotheses.

        tokens: (R, 1), the last token of each hypothesis, which is added to the memory.
        """
        features = self.decode(matrix, memory.in_rows(tokens), memory)
        return memory.in_order(self.logits(matrix, features, memory)[:, 0])

    def forward(
        self, matrix: Tensor, problems: Tensor, answers: Tensor, places: Tensor | None = None
    ) -> Tensor:
        """Return the logits (R, T, V) after each token of `answers` (R, T) to problems (B, S).

        places: see `decode`; ignored if there are several answers to each problem.
        """
        memory = self.encode(matrix, problems)
        if len(answers) > len(problems):
            places = None
            if matrix.dim() == 3:
                matrix = matrix.repeat_interleave(len(answers) // len(problems), 0)
        return self.logits(matrix, self.decode(matrix, answers, memory, places), memory)

    def _inputs(self, matrix: Tensor, ids: Tensor, at: Positions) -> Tensor:
        if matrix.dim() == 2:
            x = F.embedding(ids, matrix)  # (sequences, tokens, width)
        else:
            x = matrix.gather(1, ids[..., None].expand(-1, -1, matrix.shape[-1]))
        x = x * self.input_scale
        return x if at.vectors is None else x + at.vectors
