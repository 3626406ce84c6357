import math
from itertools import combinations, pairwise
from random import Random

import pytest
import torch

from logicgen.nn.distance_bias import FunctionalBias, LinearBias, RelativeBias
from logicgen.nn.position import (
    TreePositions,
    TreeRelativeBias,
    random_positions,
    rotate,
    rotations,
    tree_paths,
    tree_relation,
    tree_relations,
)
from logicgen.syntax.formula import Formula
from logicgen.syntax.formula_language import ltl, propositional
from logicgen.syntax.sampling import FormulaSampler

OPERATORS = {
    "propositional": {"!": 2, "&": 1, "<->": 1, "1": 1},
    "ltl": {"!": 2, "X": 3, "&": 1, "U": 1, "0": 1},
}


def recursive_paths(formula: Formula, above: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    """Return the branches from each token up to the root, nearest first, in prefix order."""
    below = [
        path
        for number, operand in enumerate(formula.operands)
        for path in recursive_paths(operand, (number, *above))
    ]
    return [above, *below]


def arities(formulas: list[Formula], arity: dict[str, int]) -> torch.Tensor:
    """Return the arities of the tokens, an end marker and padding, (B, S)."""
    texts = [formula.prefix.split() for formula in formulas]
    table = torch.zeros(len(texts), max(map(len, texts)) + 2, dtype=torch.int64)
    for row, tokens in enumerate(texts):
        table[row, : len(tokens)] = torch.tensor([arity.get(token, 0) for token in tokens])
    return table


@pytest.mark.parametrize("language", [propositional(), ltl()], ids=lambda language: language.name)
@pytest.mark.parametrize("levels", [3, 64])
def test_tree_paths_against_recursion(language, levels: int) -> None:
    sampler = FormulaSampler(language, OPERATORS[language.name], "tree", 5)
    rng = Random(0)
    formulas = [sampler.sample(rng, rng.randint(1, 50), "abcde") for _ in range(200)]
    table = arities(formulas, language.arity)
    found = tree_paths(table, levels)
    expected = torch.zeros(*table.shape, 2 * levels, dtype=torch.bool)
    for row, formula in enumerate(formulas):
        for token, path in enumerate(recursive_paths(formula)):
            for level, branch in enumerate(path[:levels]):
                expected[row, token, 2 * level + branch] = True
    assert torch.equal(found, expected)
    depths = [max(map(len, recursive_paths(formula))) for formula in formulas]
    assert max(depths) > 3  # so that three levels cut something off


def test_trees_of_one_token_and_of_none() -> None:
    for table in ([[0, 0, 0]], [[0]]):  # an end marker, padding
        assert not tree_paths(torch.tensor(table), 4).any()


def test_tree_vectors_are_weighted_paths() -> None:
    tree = TreePositions(300)  # two decays of 75 levels
    table = arities([ltl().read("a U (X b & !c)")], ltl().arity)  # U a & X b ! c
    vectors = tree(table)
    assert vectors.shape == (1, 9, 300)
    assert tree.levels == 75
    for number, decay in enumerate((0.95, 0.7)):
        part = vectors[0, :, 150 * number : 150 * (number + 1)]
        norm = math.sqrt((1 - decay**2) * 150)
        for token, path in enumerate([(), (0,), (1,), (0, 1), (0, 0, 1), (1, 1), (0, 1, 1)]):
            expected = torch.zeros(150)
            for level, branch in enumerate(path):
                expected[2 * level + branch] = norm * decay**level
            assert torch.allclose(part[token], expected, atol=1e-4)
        assert not part[7:].any()  # the end marker and padding
    vectors.sum().backward()
    assert tree.decay.grad is not None
    assert (tree.decay.grad != 0).all()


@pytest.mark.parametrize("width", [128, 130, 256, 320])
def test_places_in_a_chain_of_fifty_tokens_do_not_collide(width: int) -> None:
    tree = TreePositions(width)
    chain = torch.tensor([[1] * (tree.levels + 0) + [0]])  # levels + 1 tokens
    assert chain.shape[1] >= 50
    with torch.no_grad():
        vectors = tree(chain)[0]
    distances = torch.cdist(vectors, vectors) + torch.eye(len(vectors))
    # Inputs have entries of about 1: what is far below float32's resolution of those is lost.
    assert distances[:50, :50].min() > 0.1
    assert distances.min() > 0.01
    longer = tree_paths(torch.tensor([[1] * (tree.levels + 2) + [0]]), tree.levels)[0]
    assert torch.equal(longer[-1], longer[-2])  # the limit that the docstring states


def test_trees_of_a_batch_are_independent_of_each_other() -> None:
    table = torch.tensor([[2, 1, 0, 0, 0], [1, 1, 1, 0, 0], [0, 0, 0, 0, 0]])
    together = tree_paths(table, 8)
    for row in range(3):
        assert torch.equal(together[[row]], tree_paths(table[[row]], 8))


def bucket(ahead: int, causal: bool, buckets: int = 32, furthest: int = 128) -> int:
    """Return the bucket of one distance by the T5 paper's formula."""
    if causal:
        distance, offset = max(-ahead, 0), 0
    else:
        buckets //= 2
        distance, offset = abs(ahead), buckets if ahead > 0 else 0
    exact = buckets // 2
    if distance < exact:
        return offset + distance
    steps = math.log(distance / exact) / math.log(furthest / exact) * (buckets - exact)
    return offset + min(exact + math.floor(steps + 1e-9), buckets - 1)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("start", "queries", "keys"), [(0, 300, 300), (7, 1, 8), (0, 1, 1)])
def test_relative_bias_against_the_formula(
    causal: bool, start: int, queries: int, keys: int
) -> None:
    torch.manual_seed(0)
    relative = RelativeBias(64, 3, causal=causal)
    bias = relative(start, queries, keys)
    assert bias.shape == (1, 3, queries, keys)
    for query in range(queries):
        wanted = torch.stack(
            [
                torch.full((3,), -math.inf)
                if causal and key > start + query
                else relative.bias[bucket(key - start - query, causal)]
                for key in range(keys)
            ]
        )
        assert torch.equal(bias[0, :, query], wanted.T)


def test_every_bucket_is_used() -> None:
    for causal in (True, False):
        relative = RelativeBias(8, 1, causal=causal)
        relative(0, 200, 200).masked_fill(torch.ones(200, 200).triu(1) > 0, 0).sum().backward()
        used = relative.bias.grad[:, 0] != 0
        assert used[: relative.buckets].all()


def relation(query: tuple[int, ...], key: tuple[int, ...], after: bool, exact: int) -> object:
    """Return the relation of two different tokens, given by their branches from the root down."""
    if key[: len(query)] == query:
        way = key[len(query) :]
        return "down", way if len(way) <= exact else "further"
    if query[: len(key)] == key:
        way = query[len(key) :]
        return "up", way if len(way) <= exact else "further"
    return "sibling" if query[:-1] == key[:-1] else "other", after


@pytest.mark.parametrize("language", [propositional(), ltl()], ids=lambda language: language.name)
@pytest.mark.parametrize("exact", [1, 3])
def test_tree_relations_against_recursion(language, exact: int) -> None:
    """Each relation has one number, and different relations have different ones."""
    sampler = FormulaSampler(language, OPERATORS[language.name], "tree", 5)
    rng = Random(0)
    formulas = [sampler.sample(rng, rng.randint(9, 25), "abcde") for _ in range(200)]
    found = tree_relation(arities(formulas, language.arity), exact).tolist()
    numbers: dict[object, int] = {}
    for formula, rows in zip(formulas, found, strict=True):
        branches = [path[::-1] for path in recursive_paths(formula)]
        for q, query in enumerate(branches):
            for k, key in enumerate(branches):
                expected = "itself" if q == k else relation(query, key, k > q, exact)
                assert numbers.setdefault(expected, rows[q][k]) == rows[q][k], expected
        after = len(branches)  # the end marker is no part of the tree
        assert rows[0][after] == numbers["other", True]
        assert rows[after][0] == numbers["other", False]
    assert len(set(numbers.values())) == len(numbers) == tree_relations(exact)
    assert set(numbers.values()) == set(range(tree_relations(exact)))


def test_tree_relative_bias_is_one_number_per_relation_and_head():
    bias = TreeRelativeBias(64, 4)
    sampler = FormulaSampler(ltl(), OPERATORS["ltl"], "tree", 5)
    table = arities([sampler.sample(Random(0), 12, "abcde")], ltl().arity)
    scores = bias(table, torch.full_like(table, -1))
    assert scores.shape == (1, 4, table.shape[1], table.shape[1])
    relation = tree_relation(table, bias.exact)
    assert torch.equal(scores[0, 2], (bias.bias * bias.gain)[relation[0], 2])


@pytest.mark.parametrize("scheme", ["tree-symbols", "tree-messages"])
def test_tree_symbols_against_recursion(scheme: str) -> None:
    """Equal symbols have a bias of their own; with messages, only edges of the tree are seen."""
    bias = TreeRelativeBias(64, 4, scheme)
    sampler = FormulaSampler(ltl(), OPERATORS["ltl"], "tree", 5)
    formula = sampler.sample(Random(3), 21, "abc")
    table, tokens = arities([formula], ltl().arity), formula.prefix.split()
    symbols = torch.full_like(table, -1)
    for place, token in enumerate(tokens):
        symbols[0, place] = "abc".find(token)
    scores, relation = bias(table, symbols)[0], tree_relation(table, bias.exact)[0]
    branches = [path[::-1] for path in recursive_paths(formula)]
    for q, query in enumerate(branches):
        for k, key in enumerate(branches):
            same = q != k and tokens[q] == tokens[k] in ("a", "b", "c")
            plain = (bias.same if same else bias.bias[relation[q, k]]) * bias.gain
            near = key[:-1] == query[:-1] or key[:-1] == query or query[:-1] == key
            seen = scheme == "tree-symbols" or same or q == k or (near and () not in (key, query))
            seen = seen or (near and len(key) + len(query) == 1)  # the root and its operands
            wanted = plain if seen else torch.full((4,), -math.inf)
            assert torch.equal(scores[:, q, k], wanted), (q, k)
    assert not scores[:, len(tokens)].isinf().any()  # `<end>` sees all


def test_alibi_and_fire_against_their_formulas() -> None:
    torch.manual_seed(0)
    alibi = LinearBias(64, 8, causal=True)(2, 3, 5)[0]
    for head in range(8):
        for query in range(3):
            for key in range(5):
                ahead = key - query - 2
                wanted = -math.inf if ahead > 0 else ahead * 2 ** -(head + 1)
                assert alibi[head, query, key] == wanted
    fire = FunctionalBias(64, 2, causal=True)
    found = fire(0, 300, 300)[0]
    for query, key in ((0, 0), (9, 4), (299, 3), (299, 299)):
        steep, longest = 0.1 + 1e-3, max(query, 64)
        share = math.log(steep * (query - key) + 1) / math.log(steep * longest + 1)
        wanted = fire.outer(fire.inner(torch.tensor([share])).relu()) * fire.gain
        assert torch.allclose(found[:, query, key], wanted, atol=1e-4)
    assert found[0, 0, 1] == -math.inf


def test_random_positions_ascend_and_fit():
    torch.manual_seed(0)
    lengths = torch.tensor([1, 5, 20, 32])
    for draw in (True, False):
        positions = random_positions(lengths, 32, draw)
        assert positions.shape == (4, 32)
        assert positions.min() >= 0
        assert positions.max() <= 31
        for row, length in zip(positions.tolist(), lengths.tolist(), strict=True):
            own = row[:length]
            assert own == sorted(set(own))  # each once, ascending
            assert row[length:] == [min(own[-1] + 1 + k, 31) for k in range(32 - length)]
    assert torch.equal(random_positions(lengths, 32, False), random_positions(lengths, 32, False))


def test_random_positions_are_a_subset_of_a_window():
    """Compare how often two of four positions are drawn with what their windows' chances give."""
    torch.manual_seed(0)
    drawn = random_positions(torch.full((60_000,), 2), 4, True)[:, :2]
    counts = torch.bincount(drawn[:, 0] * 4 + drawn[:, 1], minlength=16).reshape(4, 4)
    # Widths from 2 to 5, not included, each doubling as likely as another, without their fractions.
    two, three, four = (math.log((width + 1) / width) / math.log(2.5) for width in (2, 3, 4))
    expected = torch.zeros(4, 4)
    for width, chance in ((2, two), (3, three), (4, four)):
        places = 4 - width + 1
        for first in range(places):
            for one, other in combinations(range(first, first + width), 2):
                expected[one, other] += chance / places / math.comb(width, 2)
    assert (counts / 60_000 - expected).abs().max() < 0.01


def test_positions_are_equally_far_apart_around_the_middle():
    among = 10
    for length in range(1, among + 1):
        (positions,) = random_positions(torch.tensor([length]), among, False)[:, :length].tolist()
        gaps = {right - left for left, right in pairwise(positions)}
        assert len(gaps) == (length > 1)
        assert 0 <= (among - 1 - positions[-1]) - positions[0] <= 1


def test_the_gradient_of_a_rotation():
    by = rotations(0, 3, 4, torch.device("cpu"))
    by = by[0].double(), by[1].double()
    x = torch.randn(2, 3, 2, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: rotate(x, by), (x,))
