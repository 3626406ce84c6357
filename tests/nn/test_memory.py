import pytest
import torch
import torch.nn.functional as F

from logicgen.nn.layers import FeedForward
from logicgen.nn.memory import Memory
from tests.nn.test_transformer import DECODER, FIXED, SYMBOLS, batch, matrix, transformer

# Problems that are kept, as places among those that are left, and answers of each from then on. The
# steps in the middle fill the room that slots had at first.
STEPS = [(None, 1), (None, 3), (None, 6), ([0, 2, 3], 6), *[(None, 6)] * 12, ([1], 4), (None, 1)]


@pytest.mark.parametrize("cross", [False, True])
@pytest.mark.parametrize("decoder", DECODER)
@torch.no_grad()
def test_answers_fork_and_are_given_up(decoder: str, cross: bool) -> None:
    net, rows = transformer(decoder=decoder, rotary_cross_attention=cross), matrix()
    problems, _ = batch()
    generator = torch.Generator().manual_seed(0)
    memory, number = net.encode(rows, problems), list(range(len(problems)))
    prefixes = torch.empty(len(problems), 1, 0, dtype=torch.int64)
    for kept, answers in STEPS:
        left, before, _ = prefixes.shape
        tokens = torch.randint(3, FIXED + SYMBOLS, (left, before, 1), generator=generator)
        prefixes = torch.cat([prefixes, tokens], dim=2)
        logits = net.step(rows, tokens.reshape(-1, 1), memory)
        expected = net(rows, problems[number].repeat_interleave(before, 0), prefixes.flatten(0, 1))
        torch.testing.assert_close(logits, expected[:, -1], atol=1e-5, rtol=1e-4)
        kept = list(range(left)) if kept is None else kept
        parents = torch.randint(before, (len(kept), answers), generator=generator)
        memory.select(torch.tensor(kept)[:, None] * before + parents)
        prefixes = torch.stack([prefixes[k][p] for k, p in zip(kept, parents, strict=True)])
        number = [number[k] for k in kept]
    assert memory.slots > 64


def test_tokens_never_move() -> None:
    """Selecting answers copies a mask, not keys and values, which makes it fast."""
    memory = Memory(torch.ones(2, 1, 1, 4, dtype=torch.bool), [])
    for _ in range(5):
        memory.begin(1)
        new = torch.rand(2 * memory.under_way, 3, 1, 8)
        memory.remember(memory.answers, 0, (new, new))
        if memory.length > 1:
            place = memory.answers[0][0].data_ptr()
            memory.select(torch.tensor([[1, 0], [2, 2]]) if memory.length > 2 else _forked())
            assert memory.answers[0][0].data_ptr() == place


def _forked() -> torch.Tensor:
    return torch.tensor([[0, 0], [1, 1]])


def test_a_feed_forward_in_parts_is_the_same() -> None:
    torch.manual_seed(0)
    made, x = FeedForward(8, 16), torch.randn(3, 7, 8)
    whole = made[2](F.gelu(made[0](x)))
    made.at_a_time = 4
    with torch.no_grad():
        torch.testing.assert_close(made(x), whole)
        torch.testing.assert_close(made(x[:, :0]), whole[:, :0])
