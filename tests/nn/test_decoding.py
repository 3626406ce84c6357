import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from logicgen.errors import LogicgenError
from logicgen.nn.decoding import GrammarMask, greedy
from logicgen.vocabulary import Vocabulary
from tests.nn.test_transformer import WIDTH, transformer

VOCABULARY = Vocabulary(["0", "1", ";"])
FIXED, SYMBOLS = len(VOCABULARY), 4
FAR = 1_000_000


def grammar(transition: list[list[int]]) -> GrammarMask:
    """Over 0 1 ; and symbols; the answer may end in the last state. Distances by relaxation."""
    table = torch.full((len(transition), FIXED + 1), -1)
    table[:, 3:] = torch.tensor(transition)
    distance = [FAR] * len(transition)
    distance[-1] = 0
    for _ in transition:
        for state, row in enumerate(transition):
            reached = [distance[following] + 1 for following in row if following >= 0]
            distance[state] = min([distance[state], *reached])
    return GrammarMask(table, torch.tensor(distance))


# (symbol bit)* ;   then anything forbidden: state 0 between pairs, 1 after a symbol, 2 the end
PAIRS = grammar([[-1, -1, 2, 1], [0, 0, -1, -1], [-1, -1, -1, -1]])


def accepts(mask: GrammarMask, answer: list[int]) -> bool:
    state = 0
    for token in answer:
        state = int(mask.transition[state, min(token, FIXED)])
        if state < 0:
            return False
    return int(mask.distance[state]) == 0


def random_setting(seed: int, batch: int = 6) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(FIXED + SYMBOLS, WIDTH, generator=generator)
    return rows, torch.randint(3, FIXED + SYMBOLS, (batch, 5), generator=generator)


def without_markers(ids: list[int]) -> list[int]:
    return ids[: ids.index(VOCABULARY.end)] if VOCABULARY.end in ids else ids


@given(
    transition=st.lists(
        st.lists(st.integers(-1, 4), min_size=4, max_size=4), min_size=5, max_size=5
    ),
    seed=st.integers(0, 1000),
    budget=st.integers(0, 12),
)
@settings(max_examples=60, deadline=None)
def test_an_answer_is_always_a_word_of_the_grammar(
    transition: list[list[int]], seed: int, budget: int
) -> None:
    mask = grammar(transition)
    rows, problems = random_setting(seed)
    if int(mask.distance[0]) > budget:
        with pytest.raises(LogicgenError, match="raise the length budget"):
            greedy(transformer(), rows, problems, VOCABULARY, budget, mask)
        return
    decoded = greedy(transformer(), rows, problems, VOCABULARY, budget, mask).tolist()
    for ids in decoded:
        assert VOCABULARY.end in ids
        answer = without_markers(ids)
        assert len(answer) <= budget
        assert accepts(mask, answer), answer
        assert not any(ids[len(answer) + 1 :])  # padding after the end


def test_tight_budgets() -> None:
    rows, problems = random_setting(0, batch=40)
    for budget in (1, 2, 3, 4):
        for ids in greedy(transformer(), rows, problems, VOCABULARY, budget, PAIRS).tolist():
            assert accepts(PAIRS, without_markers(ids))
            assert len(without_markers(ids)) <= budget


def test_without_a_grammar_markers_never_come_and_an_endless_answer_shows() -> None:
    for seed in range(20):
        rows, problems = random_setting(seed)
        for ids in greedy(transformer(), rows, problems, VOCABULARY, 6).tolist():
            answer = without_markers(ids)
            assert VOCABULARY.pad not in answer
            assert VOCABULARY.start not in answer
            assert len(answer) <= 6 or (len(answer) == 7 and VOCABULARY.end not in ids)


def test_cached_decoding_is_the_plain_argmax() -> None:
    net, (rows, problems) = transformer(), random_setting(3)
    prefix = torch.full((6, 1), VOCABULARY.start)
    for _ in range(9):
        logits = net(rows, problems, prefix)[:, -1]
        logits[:, [VOCABULARY.pad, VOCABULARY.start]] = -torch.inf
        prefix = torch.cat([prefix, logits.argmax(-1, keepdim=True)], dim=1)
    decoded = greedy(net, rows, problems, VOCABULARY, 8)
    for plain, cached in zip(prefix[:, 1:].tolist(), decoded.tolist(), strict=True):
        assert without_markers(plain) == without_markers(cached)
