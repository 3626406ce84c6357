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
    assert memory.length > 16  # the room that was allocated first


def test_only_forks_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory(torch.ones(2, 1, 1, 4, dtype=torch.bool), [])
    memory.answers = [(torch.rand(6, 3, 5, 8), torch.rand(6, 3, 5, 8))]
    memory.rows = torch.arange(6).view(2, 3)
    before = [each.clone() for each in memory.answers[0]]
    written: list[int] = []
    copy = torch.Tensor.index_copy_

    def copied(past: torch.Tensor, dim: int, to: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
        written.extend(to.tolist())
        return copy(past, dim, to, new)

    monkeypatch.setattr(torch.Tensor, "index_copy_", copied)
    memory.select(torch.tensor([[2, 0, 1], [4, 4, 5]]))  # 4 continues twice, in place of 3
    assert memory.rows.tolist() == [[2, 0, 1], [4, 3, 5]]
    assert written == [3, 3]  # keys and values
    for now, then in zip(memory.answers[0], before, strict=True):
        assert torch.equal(now, then[[0, 1, 2, 4, 4, 5]])
    memory.select(torch.tensor([[1, 1, 1], [3, 5, 4]]))
    assert memory.rows.tolist() == [[0, 1, 2], [4, 5, 3]]
    for now, then in zip(memory.answers[0], before, strict=True):
        assert torch.equal(now, then[[0, 0, 0, 4, 4, 5]])


def test_a_feed_forward_in_parts_is_the_same() -> None:
    torch.manual_seed(0)
    made, x = FeedForward(8, 16), torch.randn(3, 7, 8)
    whole = made[2](F.gelu(made[0](x)))
    made.at_a_time = 4
    with torch.no_grad():
        torch.testing.assert_close(made(x), whole)
        torch.testing.assert_close(made(x[:, :0]), whole[:, :0])
