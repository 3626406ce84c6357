"""The inductive Transformer against sums over all states of its factor graph, and factor by factor.

The truth tables below are those of the paper, and nothing of the network's own arithmetic: every
Bernoulli and categorical variable is enumerated.
"""

from itertools import permutations, product

import numpy as np
import pytest
import torch

from logicgen.nn import inductive_transformer as inductive
from logicgen.nn.inductive_transformer import InductiveTransformer
from logicgen.tokens import NOTHING

SIZES = list(product((1, 2, 3), repeat=3))  # units, words, positions


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def model(width, words, positions, **options):
    options = {"words": words, "positions": positions, "width": width, **options}
    return InductiveTransformer(**options).double()


def bits(count):
    return list(product((0, 1), repeat=count))


def one_hot(category, state):
    """The factor between a categorical variable and Bernoulli ones."""
    return all(bit == (number == category) for number, bit in enumerate(state))


def all_and(z, x, y):
    """The factors AND of a layer, equation 3."""
    return all(a == (b and c) for a, b, c in zip(z, x, y, strict=True))


def states(start, tokens, below, words):
    """Yield every state of the factor graph with its weight, (weight, units, connections, words).

    Arrays of probabilities; words: P ids or NOTHING.
    """
    width, positions = len(start), len(tokens)

    def layer(number, z, weight, units, pairs, spoken):
        """Yield all states of a layer and those below it, given the Bernoulli variables z'."""
        units = [*units, z]
        if number + 1 == positions:
            # The last layer switches nothing on: its AND has one child.
            for x, category in product(bits(width), range(width)):
                if x == z and one_hot(category, x):
                    yield from speak(number, category, weight, units, pairs, spoken)
            return
        for x, y in product(bits(width), repeat=2):
            if not all_and(z, x, y):
                continue
            for x_category, y_category in product(range(width), repeat=2):
                if one_hot(x_category, x) and one_hot(y_category, y):
                    for more in speak(number, x_category, weight, units, pairs, spoken):
                        yield from choose(number, y_category, *more)

    def speak(number, category, weight, units, pairs, spoken):
        for word in range(len(tokens[number])):
            if words[number] in (word, NOTHING) and tokens[number][word, category]:
                said = weight * tokens[number][word, category]
                yield said, units, pairs, [*spoken, word]

    def choose(number, category, weight, units, pairs, spoken):
        for v in range(width):
            chosen = weight * below[number][v, category]
            # Copies in the open universe: u of each unit below, for each unit above.
            for u in bits(width * width):
                copies = np.array(u).reshape(width, width)
                wanted = np.zeros((width, width), dtype=int)
                wanted[v, category] = 1
                if not (copies == wanted).all():
                    continue
                z = tuple(int(copies[unit].any()) for unit in range(width))  # OR
                yield from layer(number + 1, z, chosen, units, [*pairs, (v, category)], spoken)

    for root, z in product(range(width), bits(width)):
        if one_hot(root, z):
            yield from layer(0, z, start[root], [], [], [])


def summed(weights, words):
    """Return exact marginals by summing over `states`: total, units, connections, words."""
    start, tokens, below = (each[0].exp().numpy() for each in weights)
    positions, count, width = tokens.shape
    total = 0.0
    units = np.zeros((positions, width))
    connections = np.zeros((max(positions - 1, 0), width, width))
    spoken = np.zeros((positions, count))
    for found in states(start, tokens, below, words):
        # A state of the last layer comes from `speak`, with nothing chosen after it.
        weight, on, pairs, said = found
        total += weight
        units += weight * np.array(on)
        for layer, pair in enumerate(pairs):
            connections[layer][pair] += weight
        spoken[np.arange(positions), said] += weight
    return total, units / total, connections / total, spoken / total


@pytest.mark.parametrize(("width", "words", "positions"), SIZES)
def test_marginals_are_sums_over_all_states(width, words, positions):
    network = model(width, words, positions)
    rng = np.random.default_rng(1)
    prompts = rng.integers(-1, words, (4, positions))
    prompts[0] = NOTHING
    with torch.no_grad():
        beliefs = network(torch.from_numpy(prompts))
        weights = network.weights()
    for row, prompt in enumerate(prompts.tolist()):
        total, units, connections, spoken = summed(weights, prompt)
        assert beliefs.log_probability[0, row].exp().item() == pytest.approx(total, abs=1e-6)
        for mine, sums in (
            (beliefs.units, units),
            (beliefs.words, spoken),
            (beliefs.connections, connections),
        ):
            if sums.size:
                assert mine[0, row].exp().numpy() == pytest.approx(sums, abs=1e-6)
    whole = torch.from_numpy(rng.integers(0, words, (5, positions)))
    with torch.no_grad():
        logs = network.log_probabilities(whole)
        assert torch.allclose(logs, network(whole).log_probability)
        following = network.following(whole[:, :-1]).gather(-1, whole[None, ..., None])
    assert torch.allclose(following[..., 0].sum(-1), logs)


def test_impossible_words_and_certain_ones_give_no_nan():
    network = model(2, 3, 3)
    with torch.no_grad():
        network.start[:] = torch.tensor([0.0, -torch.inf])
        network.tokens[:] = -torch.inf
        network.tokens[:, :, 0, 0] = network.tokens[:, :, 1, 1] = 0.0
        network.below[:] = torch.tensor([[0.0, 0.0], [-torch.inf, 0.0]])
    possible = torch.tensor([[0, 0, 0], [0, NOTHING, NOTHING]])
    beliefs = network(possible)
    assert torch.allclose(beliefs.log_probability.exp(), torch.ones(1, 2, dtype=torch.float64))
    assert torch.allclose(beliefs.units[0, :, :, 0].exp(), torch.ones(2, 3, dtype=torch.float64))
    impossible = torch.tensor([[1, 0, 0], [2, NOTHING, NOTHING], [0, 1, NOTHING]])
    beliefs = network(impossible)
    for each in beliefs:
        assert not each.isnan().any()
    assert torch.isneginf(beliefs.log_probability).all()
    network.log_probabilities(torch.cat([possible[:1], possible[:1]])).sum().backward()
    for parameter in network.parameters():
        assert not parameter.grad.isnan().any()
        parameter.grad = None
    # Of a sentence that cannot be, the gradient is 0 and not nan.
    logs = network.log_probabilities(impossible[:1].clamp(min=0))
    logs.masked_fill(logs.isinf(), 0).sum().backward()
    assert all(not parameter.grad.isnan().any() for parameter in network.parameters())


def test_the_factors_between_bernoulli_and_categorical_sum_over_their_truth_table():
    on = torch.randn(4, dtype=torch.float64)
    expected = torch.stack(
        [
            sum(
                torch.stack([on[i] if bit else on[i] * 0 for i, bit in enumerate(state)])
                .sum()
                .exp()
                for state in bits(4)
                if one_hot(category, state)
            )
            for category in range(4)
        ]
    )
    assert torch.allclose(inductive.bernoulli_to_categorical(on).exp(), expected)
    # The other way: of each state of the Bernoulli variables, what the categorical one weighs.
    weights = inductive.categorical_to_bernoulli(on)
    for state in bits(4):
        weight = sum(on[i].exp() for i in range(4) if one_hot(i, state))
        mine = sum(weights[i].exp() for i in range(4)) if sum(state) == 1 else 0
        if sum(state) == 1:
            mine = weights[state.index(1)].exp()
        assert float(mine) == pytest.approx(float(weight))


def test_and_sums_over_its_truth_table():
    x, y, z = torch.randn(3, 3, dtype=torch.float64)

    def weight(message, state):
        """Return the weight of a layer's state with one unit on."""
        return message[state.index(1)].exp() if sum(state) == 1 else torch.zeros(())

    def table(wanted):
        """Return, for each value of a variable, the sum over the other two."""
        found = {}
        for states in product(bits(3), repeat=3):
            if all_and(*states) and all(sum(state) == 1 for state in states):
                others = [
                    weight(message, state)
                    for number, (message, state) in enumerate(zip((z, x, y), states, strict=True))
                    if number != wanted
                ]
                key = states[wanted].index(1)
                found[key] = found.get(key, 0) + others[0] * others[1]
        return torch.stack([found[unit] for unit in range(3)])

    assert torch.allclose(inductive.both(x, y).exp(), table(0))
    to_x, to_y = inductive.each(z, x, y)
    assert torch.allclose(to_x.exp(), table(1))
    assert torch.allclose(to_y.exp(), table(2))


def test_universes_sum_over_their_truth_table():
    z = torch.randn(3, dtype=torch.float64)
    opened = inductive.closed_to_open(z, 2)
    u = torch.randn(3, 2, dtype=torch.float64)
    closed = torch.zeros(3, dtype=torch.float64)
    for state in bits(6):
        copies = np.array(state).reshape(3, 2)
        if copies.sum() != 1:
            continue  # one unit chooses one
        unit, parent = (int(place[0]) for place in np.nonzero(copies))
        on = [int(row.any()) for row in copies]  # OR
        assert opened[unit, parent] == z[on.index(1)]
        closed[on.index(1)] += u[unit, parent].exp()
    assert torch.allclose(inductive.open_to_closed(u).exp(), closed)


def test_choices_sum_over_their_truth_table():
    tokens = torch.randn(1, 3, 2, dtype=torch.float64).log_softmax(-2)
    below = torch.randn(1, 2, 2, dtype=torch.float64).log_softmax(-2)
    x, v = torch.randn(1, 1, 2, dtype=torch.float64), torch.randn(1, 1, 2, 2, dtype=torch.float64)
    for word in range(3):
        heard = inductive.say(tokens, torch.tensor([word]))
        assert torch.allclose(heard[0, 0].exp(), tokens[0, word].exp())
        spoken = sum(tokens[0, word, unit].exp() * x[0, 0, unit].exp() for unit in range(2))
        assert torch.allclose(inductive.said(tokens, x)[0, 0, word].exp(), spoken)
    assert (inductive.say(tokens, torch.tensor([NOTHING])) == 0).all()
    for unit in range(2):
        up = sum(below[0, b, unit].exp() * v[0, 0, b, unit].exp() for b in range(2))
        assert torch.allclose(inductive.attend(below, v)[0, 0, unit].exp(), up)
        for b in range(2):
            down = below[0, b, unit].exp() * x[0, 0, unit].exp()
            assert torch.allclose(inductive.attended(below, x)[0, 0, b, unit].exp(), down)


@pytest.mark.parametrize("options", [{}, {"embedding": "dense", "dimension": 3}, {"perceptron": 4}])
def test_gradients_are_those_of_finite_differences(options):
    network = model(2, 3, 3, students=2, **options)
    sentences = torch.tensor([[0, 1, 2], [2, 2, 0]])
    if network.up is not None:  # not at 0, where half of the gradient is
        for each in [*network.up, *network.down]:
            torch.nn.init.normal_(each.down)
    parameters = tuple(network.parameters())
    names = [name for name, _ in network.named_parameters()]

    def loss(*values):
        given = dict(zip(names, values, strict=True))
        call = torch.func.functional_call(
            Scored(network), {f"m.{n}": v for n, v in given.items()}, sentences
        )
        return call

    class Scored(torch.nn.Module):
        def __init__(self, m):
            super().__init__()
            self.m = m

        def forward(self, words):
            return self.m.log_probabilities(words)

    assert torch.autograd.gradcheck(loss, parameters, fast_mode=True)


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_permuting_the_units_of_a_layer_changes_no_output(layer):
    network = model(3, 4, 3)
    words = torch.tensor([[0, NOTHING, 3], [2, 1, NOTHING], [NOTHING] * 3])
    with torch.no_grad():
        before = network(words)
        for order in permutations(range(3)):
            other = model(3, 4, 3)
            other.load_state_dict(network.state_dict())
            places = list(order)
            other.tokens[:, layer] = network.tokens[:, layer][..., places]
            if layer == 0:
                other.start[:] = network.start[:, places]
            else:
                other.below[:, layer - 1] = network.below[:, layer - 1][:, places]
            if layer < 2:
                other.below[:, layer] = other.below[:, layer][..., places]
            after = other(words)
            assert torch.allclose(after.words, before.words)
            assert torch.allclose(after.log_probability, before.log_probability)
            assert torch.allclose(after.units[:, :, layer], before.units[:, :, layer][..., places])


def test_what_are_no_words_is_refused():
    network = model(2, 3, 2)
    for words in ([[0]], [[0, 1, 2]], [[0, 3]], [[0, -2]]):
        with pytest.raises(ValueError, match="words"):
            network(torch.tensor(words))
    with pytest.raises(ValueError, match="ids of words are 0 to 2"):
        network.log_probabilities(torch.tensor([[0, NOTHING]]))
    with pytest.raises(ValueError, match="2 words where there are 1"):
        network.following(torch.tensor([[0, 1]]))
    with pytest.raises(ValueError, match="dimension"):
        model(2, 3, 2, embedding="dense")


def test_students_have_nothing_to_do_with_each_other():
    three = model(2, 3, 2, students=3)
    words = torch.tensor([[0, 1], [2, 0]])
    together = three.log_probabilities(words)
    for number in range(3):
        alone = model(2, 3, 2)
        with torch.no_grad():
            for mine, all_of in zip(alone.parameters(), three.parameters(), strict=True):
                mine[:] = all_of[number : number + 1]
        assert torch.equal(alone.log_probabilities(words)[0], together[number])
    own = torch.stack([words, words.flip(0), words[[0, 0]]])
    separate = three.log_probabilities(own)
    assert torch.equal(separate[1], together[1].flip(0))
    assert torch.equal(separate[2], together[2][[0, 0]])


def test_a_perceptron_begins_as_the_factors_it_stands_for():
    relaxed, exact = model(3, 4, 3, perceptron=5), model(3, 4, 3)
    with torch.no_grad():
        for name in ("start", "tokens", "below"):
            getattr(exact, name)[:] = getattr(relaxed, name)
    words = torch.tensor([[0, 1, 3], [2, NOTHING, 1]])
    assert torch.allclose(relaxed(words).words, exact(words).words)
    whole = torch.tensor([[0, 1, 3]])
    assert torch.allclose(relaxed.log_probabilities(whole), exact.log_probabilities(whole))
    torch.nn.init.normal_(relaxed.down[0].down)
    assert not torch.allclose(relaxed(words).words, exact(words).words)


def test_words_of_a_dense_embedding_that_are_alike_are_said_alike():
    network = model(2, 4, 2, embedding="dense", dimension=3)
    with torch.no_grad():
        network.vectors[:, 1] = network.vectors[:, 3]
    tokens = network.weights().tokens
    assert torch.allclose(tokens.exp().sum(2), torch.ones_like(tokens[:, :, 0]))
    assert torch.equal(tokens[:, :, 1], tokens[:, :, 3])
