"""Position encodings: vectors, rotations, and relations in a tree.

    scheme          what it changes                      parameters
    sinusoidal      a vector added to the input          none
    randomized      a sinusoidal vector of a random position,
                    added to the input               none
    tree            a vector added to the input          a few decays
    rotary          queries and keys, in every layer     none
    tree-relative   attention scores, in every layer     one number per relation and head

    tree-symbols    as tree-relative, with one more level
                    and a relation for equal symbols  one number per relation and head
    tree-messages   as tree-symbols; a token attends only
                    to its neighbors in the tree      one number per relation and head

Schemes of distances (`relative`, `alibi`, `fire` and plugins) are in `distance_bias.py`.

Shapes: B sequences, T tokens of a sequence that are queries, S tokens that are keys (in prefix
notation, both are the S tokens of a problem), H heads, D = features of a head.

Source: Vaswani et al. 2017 (sinusoidal), Su et al. 2021 (rotary),
Shiv and Quirk 2019 (tree), Ruoss et al. 2023 (randomized).
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# The rotation of T tokens: cosines and sines of angles, (T, 1, D / 2) each; D features of a head
Rotation = tuple[Tensor, Tensor]


def _angles(start: int, length: int, width: int, device: torch.device) -> Tensor:
    """Return the angle of each position `start..start+length-1` at each of width/2 frequencies."""
    positions = torch.arange(start, start + length, device=device, dtype=torch.float32)
    exponents = torch.arange(0, width, 2, device=device, dtype=torch.float32) / width
    return positions[:, None] * 10_000.0**-exponents  # (length, width / 2)


def sinusoidal(start: int, length: int, width: int, device: torch.device) -> Tensor:
    """Return vectors to add to the inputs, (length, width): sines, then cosines."""
    angles = _angles(start, length, width, device)
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


def random_positions(lengths: Tensor, among: int, draw: bool) -> Tensor:
    """Choose ascending positions below `among` for the tokens of B sequences; return (B, among).

    A model that was trained on strings of 20 tokens at random positions below 128 knows all 128
    positions, so it can read longer strings. Source: Ruoss et al., "Randomized Positional Encodings
    Boost Length Generalization of Transformers" (ACL 2023).

    Ruoss et al. draw the positions of a sequence from all positions, so the neighbors in short
    sequences are rarely as close as in long sequences. This function draws the positions from a
    window. The logarithm of the window's width is uniform between log(length of the sequence) and
    log(`among`).

    lengths: the number of tokens of each sequence, (B,), at least 1.
    draw: whether to draw positions with torch's global generator, as in training. Otherwise they
        are equally spaced around the middle.

    The result has more entries than a sequence has tokens. After the last token, they increase by
    one up to `among` - 1.
    """
    place = torch.arange(among, device=lengths.device)
    count = lengths[:, None]
    if draw:
        wide, where = torch.rand(2, len(lengths), 1, device=lengths.device)
        window = (count * ((among + 1) / count) ** wide).long().clamp(max=among).maximum(count)
        first = (where * (among - window + 1)).long()
        outside = (place < first) | (place >= first + window)
        order = torch.rand(len(lengths), among, device=lengths.device) + outside
        chosen = order.argsort(1).argsort(1) < count
        ascending = torch.where(chosen, place, among).sort(1).values
    else:
        gap = among // count
        ascending = place * gap + (among - 1 - gap * (count - 1)) // 2
    last = ascending.gather(1, count - 1)
    after = last + place - count + 1
    return torch.where(place < count, ascending, after).clamp(max=among - 1)


def rotations(start: int, length: int, width: int, device: torch.device) -> Rotation:
    """Return the rotation at each position, for heads of an even width. All layers share it."""
    angles = _angles(start, length, width, device)[:, None]  # (length, 1, width / 2)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, by: Rotation) -> Tensor:
    """Rotate queries or keys (..., T, H, D), so that only relative positions affect scores."""
    cos, sin = by[0].to(x.dtype), by[1].to(x.dtype)
    rotated: Tensor = _Rotate.apply(x, cos, sin)  # type: ignore[no-untyped-call]
    return rotated


class _Rotate(torch.autograd.Function):
    """A rotation, with the inverse rotation as its gradient: autograd would make more copies."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        ctx.save_for_backward(cos, sin)
        return _rotated(x, cos, sin)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        cos, sin = ctx.saved_tensors
        return _rotated(gradient, cos, -sin), None, None


def _rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    left, right = x.chunk(2, dim=-1)  # 2 x (..., T, H, D / 2)
    rotated = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    first, second = rotated.chunk(2, dim=-1)
    torch.mul(left, cos, out=first).addcmul_(right, sin, value=-1)
    torch.mul(right, cos, out=second).addcmul_(left, sin)
    return rotated


TREE_SCHEMES = ("tree", "tree-relative", "tree-symbols", "tree-messages")

LEVELS = 64  # least number of tree levels in each copy of a path


class TreePositions(nn.Module):
    """The path from the tree's root to a token, as a vector to add to the input.

    Source: Shiv and Quirk, "Novel positional encodings to enable tree-based Transformers" (NeurIPS
    2019). Each level has two columns, beginning with the parent's level: (1, 0) for a first or only
    operand, (0, 1) for a second operand, zeros above the root. Level l has the weight decay**l,
    with a learned decay. The root, padding and tokens after the tree have the zero vector.

    A vector of less than 256 columns holds the path once, with width / 2 levels. A wider vector
    holds it width / 128 times, with different decays and at least `LEVELS` levels. A deeper token
    keeps only its nearest ancestors, so in long chains of unary operators two tokens may have the
    same vector. In problems of up to `levels` + 1 tokens this cannot happen.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        decays = max(1, width // (2 * LEVELS))
        self.levels = width // (2 * decays)
        # Begin near 1, so that an ancestor 50 levels above is visible: 0.95^50 = 0.08.
        self.decay = nn.Parameter(torch.linspace(0.95, 0.7, decays).atanh())

    def forward(self, arities: Tensor) -> Tensor:
        """Return vectors (B, S, width) for B problems of S tokens in prefix notation.

        arities: (B, S), the number of operands of each token.
        """
        decay = self.decay.tanh()[:, None]  # (decays, 1)
        level = torch.arange(2 * self.levels, device=arities.device) // 2
        # An infinite path has the squared norm width / 2, as sinusoidal positions have.
        weight = decay**level * ((1 - decay**2) * self.width / 2).sqrt()  # (decays, 2 * levels)
        paths = tree_paths(arities, self.levels).to(weight)
        # (problems, tokens, decays * 2 * levels)
        vectors = (paths[..., None, :] * weight).flatten(-2)
        return F.pad(vectors, (0, self.width - vectors.shape[-1]))  # (problems, tokens, width)


class TreeRelativeBias(nn.Module):
    """A learned bias for each head and relation of two tokens in the problem's tree.

    With this bias a head can attend to the second operand of an operator, wherever it begins. From
    positions in the text alone, a model has to learn to parse. The relations of a query to a key:

    - the token itself
    - a descendant, up to `exact` levels below: one relation for each path (first or second operand)
    - an ancestor, up to `exact` levels above: one relation for each path
    - any deeper descendant; any further ancestor
    - the other operand of the same operator, before or after
    - any other token, before or after (also tokens after the tree)

    All layers share the bias. `distance_bias.py` explains `gain`.

    scheme: `tree-relative`; or `tree-symbols`, with one more level, and a further relation: another
        occurrence of the same symbol. With `tree-messages`, a token of the tree attends only to
        itself, its operator, its operands, the other operand of its operator, and the other
        occurrences of its symbol. Tokens after the tree attend to all tokens.
    """

    gain = 16.0

    def __init__(self, width: int, heads: int, scheme: str = "tree-relative") -> None:
        super().__init__()
        self.scheme = scheme
        self.exact = 3 if scheme == "tree-relative" else 4  # levels with a relation for each path
        self.bias = nn.Parameter(torch.randn(tree_relations(self.exact), heads) * width**-0.5)
        if scheme != "tree-relative":
            self.same = nn.Parameter(torch.randn(heads) * width**-0.5)

    def forward(self, arities: Tensor, symbols: Tensor) -> Tensor:
        """Return the bias (B, H, S, S) of each head for each query token and key token.

        arities: (B, S), the number of operands of each token.
        symbols: (B, S), the id of each symbol, -1 for other tokens.
        """
        relation = tree_relation(arities, self.exact)
        bias = F.embedding(relation, self.bias * self.gain).permute(0, 3, 1, 2)
        if self.scheme == "tree-relative":
            return bias
        itself = torch.eye(arities.shape[1], dtype=torch.bool, device=arities.device)
        same = (symbols[:, None] == symbols[:, :, None]) & (symbols >= 0)[:, None] & ~itself
        bias = torch.where(same[:, None], (self.same * self.gain)[:, None, None], bias)
        if self.scheme == "tree-symbols":
            return bias
        first_up = 4 + 2 ** (self.exact + 1)  # the relation of a first operand to its operator
        near = torch.tensor([2, 3, 4, 5, 6, first_up, first_up + 1], device=arities.device)
        inside = _subtrees(arities)[0][:, 0].clone()  # whether each token is in the tree
        inside[:, 0] = True
        seen = torch.isin(relation, near) | same | ~inside[:, :, None]
        return bias.masked_fill(~seen[:, None], -math.inf)


def tree_relations(exact: int) -> int:
    """Return the number of relations.

    There are 5 fixed relations. Each direction (up, down) adds all paths of up to `exact` levels,
    and one relation for all longer paths.
    """
    return 5 + 2 * ((2 << exact) - 1)


def tree_relation(arities: Tensor, exact: int) -> Tensor:
    """Number the relation of each query token to each key token, int64 (B, S, S).

    arities: (B, S), the arities 0, 1 or 2 of tokens in prefix notation; 0 after the tree.
    """
    below, second = _subtrees(arities)  # (problems, ancestor, token)
    depth = below.sum(1)  # (problems, tokens)
    # (problems, ancestor, token): the number of levels between a token and its ancestor
    level = depth[:, None, :] - depth[:, :, None] - 1
    # Paths of l + 1 levels are numbered from 2^(l + 1) - 2 on. All longer paths share a number.
    longer = 2 ** (exact + 1) - 2
    way = torch.full_like(level, longer)
    # Bit l of each token: whether it is in the second operand of its ancestor l levels above its
    # parent. These bits number the paths to the token.
    turns = torch.zeros_like(depth)
    for above in range(exact):
        turns = turns + (second & below & (level == above)).any(1) * 2**above
        way = torch.where(level == above, 2 ** (above + 1) - 2 + turns[:, None, :], way)
    parent = (below & (level == 0)).float()  # (problems, parent, token)
    sibling = parent.transpose(1, 2) @ parent > 0
    position = torch.arange(arities.shape[1], device=arities.device)
    after = (position > position[:, None]).expand_as(below)  # whether the key comes after the query
    relation = after + torch.where(sibling, 2, 0)
    relation = torch.where(position == position[:, None], 4, relation)
    relation = torch.where(below, 5 + way, relation)
    return torch.where(below.transpose(1, 2), 6 + longer + way.transpose(1, 2), relation)


def tree_paths(arities: Tensor, levels: int) -> Tensor:
    """Return the path to each token, from its parent up: bool (B, S, 2 * levels).

    `TreePositions` explains the columns.

    arities: (B, S), the arities 0, 1 or 2 of tokens in prefix notation; 0 after the tree.
    """
    below, second = _subtrees(arities)  # (problems, ancestor, token)
    depth = below.sum(1)  # (problems, tokens)
    # (problems, ancestor, token): the number of levels between a token and its ancestor
    level = depth[:, None, :] - depth[:, :, None] - 1
    column = torch.where(below & (level < levels), 2 * level + second, 2 * levels)
    size = *arities.shape, 2 * levels + 1
    paths = torch.zeros(size, dtype=torch.bool, device=arities.device)
    # (problems, tokens, 2 * levels)
    return paths.scatter_(2, column.transpose(1, 2), True)[..., :-1]


def _subtrees(arities: Tensor) -> tuple[Tensor, Tensor]:
    """Return which tokens are in each token's subtree, and which are in its second operand.

    Both results are bool (B, ancestor, token). The first result is True if the token is below the
    ancestor. For these tokens, the second result is True in the ancestor's second operand. For
    other tokens it has no meaning.
    """
    length = arities.shape[1]
    position = torch.arange(length, device=arities.device)
    # The number of operands that are missing before each token. The token's subtree ends at the
    # first later token before which fewer operands are missing.
    missing = (arities - 1).cumsum(1) - (arities - 1)  # (problems, tokens)
    fewer = (missing[:, None, :] < missing[:, :, None]) & (position > position[:, None])
    # (problems, tokens): the place after each token's subtree
    end = torch.where(fewer, position, length).amin(dim=2)
    below = (position > position[:, None]) & (position < end[..., None])
    # The first operand directly follows its operator, and the second operand follows the first.
    second = position >= F.pad(end[:, 1:], (0, 1), value=length)[..., None]
    return below, second
