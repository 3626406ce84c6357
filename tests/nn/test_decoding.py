from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from logicgen.errors import LogicgenError
from logicgen.nn.decoding import GREEDY, BeamSearch, DecodedAnswers, Decoding, GrammarMask, decode
from logicgen.nn.samples import Sampling
from logicgen.nn.transformer import Transformer
from logicgen.tokens import Vocabulary
from tests.nn.test_transformer import WIDTH, transformer

VOCABULARY = Vocabulary(["0", "1", ";"])
FIXED, SYMBOLS = len(VOCABULARY), 4
FAR = 1_000_000


def grammar(transition: list[list[int]]) -> GrammarMask:
    """Return a mask over 0 1 ; and symbols, where the answer may end in the last state."""
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


SCALE = 8.0  # of cosines: probabilities far from equal
EVERY_METHOD = [
    GREEDY,
    BeamSearch(3, answers=3),
    Sampling(seed=5),
    Sampling(temperature=2.0, top_k=3, top_p=0.9),
    Sampling(seed=5, answers=3),
    Sampling(temperature=2.0, top_k=3, top_p=0.9, answers=4),
]


def log_probabilities(
    net: Transformer, matrices: list[torch.Tensor], problem: torch.Tensor, answer: list[int]
) -> torch.Tensor:
    """Return the log-probabilities of every token at every position, without a cache, (T, V)."""
    inputs = torch.tensor([[VOCABULARY.start, *answer[:-1]]])
    with torch.no_grad():
        each = [(SCALE * net(rows, problem[None], inputs)[0]).softmax(-1) for rows in matrices]
    return torch.stack(each).mean(0).log()


def score(
    net: Transformer,
    matrices: list[torch.Tensor],
    problem: torch.Tensor,
    answer: list[int],
    alpha: float,
) -> float:
    """Return the normalised log-probability of an answer that ends with `<end>`."""
    table = log_probabilities(net, matrices, problem, answer)
    total = sum(table[place, token].item() for place, token in enumerate(answer))
    return total / ((5 + len(answer)) / 6) ** alpha


def slow_beam_search(
    net: Transformer,
    matrices: list[torch.Tensor],
    problem: torch.Tensor,
    max_length: int,
    mask: GrammarMask | None,
    search: BeamSearch,
) -> list[tuple[float, list[int]]]:
    """Search by the definition, one prefix at a time, without cache, batches or early ends."""
    alive: list[tuple[float, list[int]]] = [(0.0, [])]
    found: list[tuple[float, list[int]]] = []
    for _ in range(max_length + 1):
        candidates = []
        for total, prefix in alive:
            table = log_probabilities(net, matrices, problem, [*prefix, VOCABULARY.pad])[-1]
            for token in range(2, len(table)):
                if mask is None or may_follow(mask, prefix, token, max_length):
                    candidates.append((total + table[token].item(), [*prefix, token]))
        candidates.sort(key=lambda candidate: -candidate[0])
        for total, answer in candidates[: search.beams]:
            if answer[-1] == VOCABULARY.end:
                penalty = ((5 + len(answer)) / 6) ** search.length_normalization
                found.append((total / penalty, answer))
        alive = [c for c in candidates if c[1][-1] != VOCABULARY.end][: search.beams]
        if len(found) >= search.beams:
            return sorted(found, reverse=True)[: search.answers]
    found.sort(reverse=True)
    return (found + [(-math.inf, prefix) for _, prefix in alive])[: search.answers]


def may_follow(mask: GrammarMask, prefix: list[int], token: int, budget: int) -> bool:
    state = 0
    for earlier in prefix:
        state = int(mask.transition[state, min(earlier, FIXED)])
    if token == VOCABULARY.end:
        return int(mask.distance[state]) == 0
    state = int(mask.transition[state, min(token, FIXED)])
    return state >= 0 and int(mask.distance[state]) <= budget - len(prefix) - 1


def listed(decoded: DecodedAnswers) -> list[list[tuple[float, list[int]]]]:
    """Return the answers of each problem with their scores, without padding."""
    return [
        [
            (value, [token for token in ids if token != VOCABULARY.pad])
            for ids, value in zip(answers, values, strict=True)
            if any(ids)
        ]
        for answers, values in zip(decoded.ids.tolist(), decoded.scores.tolist(), strict=True)
    ]


def same(ours: list[tuple[float, list[int]]], expected: list[tuple[float, list[int]]]) -> None:
    assert [ids for _, ids in ours] == [ids for _, ids in expected]
    assert [value for value, _ in ours] == pytest.approx([v for v, _ in expected], abs=1e-4)


@given(
    transition=st.lists(
        st.lists(st.integers(-1, 4), min_size=4, max_size=4), min_size=5, max_size=5
    ),
    seed=st.integers(0, 1000),
    budget=st.integers(0, 12),
    decoding=st.sampled_from(EVERY_METHOD),
)
def test_an_answer_is_always_a_word_of_the_grammar(
    transition: list[list[int]], seed: int, budget: int, decoding: Decoding
) -> None:
    mask = grammar(transition)
    rows, problems = random_setting(seed)
    if int(mask.distance[0]) > budget:
        with pytest.raises(LogicgenError, match="raise the length budget"):
            decode(transformer(), [rows], problems, VOCABULARY, budget, mask, decoding)
        return
    decoded = decode(transformer(), [rows], problems, VOCABULARY, budget, mask, decoding)
    assert (decoded.scores[:, 0] > -math.inf).all()
    answers = decoded.ids[decoded.scores > -math.inf]
    assert not decoded.ids[decoded.scores == -math.inf].any()  # fewer words than answers wanted
    for ids in answers.tolist():
        assert VOCABULARY.end in ids
        answer = without_markers(ids)
        assert len(answer) <= budget
        assert accepts(mask, answer), answer
        assert not any(ids[len(answer) + 1 :])  # padding after the end


@pytest.mark.parametrize("decoding", EVERY_METHOD)
def test_symbols_that_may_occur_once_are_not_repeated(decoding: Decoding) -> None:
    budget, repeated = 2 * SYMBOLS + 1, 0
    for seed in range(5):
        rows, problems = random_setting(seed)
        free, found = (
            decode(transformer(), [rows], problems, VOCABULARY, budget, mask, decoding)
            for mask in (PAIRS, replace(PAIRS, once=True))
        )
        for ids in found.ids[found.scores > -math.inf].tolist():
            answer = without_markers(ids)
            symbols = [token for token in answer if token >= FIXED]
            assert accepts(PAIRS, answer)
            assert len({*symbols}) == len(symbols) == len(answer) // 2
        for before, after in zip(free.ids[:, 0].tolist(), found.ids[:, 0].tolist(), strict=True):
            symbols = [token for token in without_markers(before) if token >= FIXED]
            repeated += len({*symbols}) < len(symbols)
            if decoding == GREEDY and len({*symbols}) == len(symbols):
                assert before == after
    assert repeated  # so that the test says something


@pytest.mark.parametrize("decoding", EVERY_METHOD)
@pytest.mark.parametrize("budget", [2 * SYMBOLS + 1, 4])
def test_a_complete_answer_has_every_symbol_of_the_problem(decoding: Decoding, budget: int) -> None:
    # (symbol bit)*: the answer may end wherever another symbol is allowed
    mask = grammar([[-1, -1, -1, 1], [2, 2, -1, -1], [-1, -1, -1, 1]])
    mask, short = replace(mask, distance=torch.tensor([0, 1, 0]), once=True), 0
    for seed in range(5):
        rows, problems = random_setting(seed)
        free, found = (
            decode(transformer(), [rows], problems, VOCABULARY, budget, each, decoding)
            for each in (mask, replace(mask, complete=True))
        )
        for problem, scores, answers in zip(problems, found.scores, found.ids, strict=True):
            asked = {token for token in problem.tolist() if token >= FIXED}
            for ids in answers[scores > -math.inf].tolist():
                answer = without_markers(ids)
                missing = asked - {*answer}
                assert accepts(mask, answer)
                assert {token for token in answer if token >= FIXED} <= asked
                assert not missing or len(answer) + 2 > budget  # no room for another pair
        for problem, ids in zip(problems.tolist(), free.ids[:, 0].tolist(), strict=True):
            short += not {token for token in problem if token >= FIXED} <= {*ids}
    assert short  # so that the test says something


def test_tight_budgets() -> None:
    rows, problems = random_setting(0, batch=40)
    for budget in (1, 2, 3, 4):
        for ids in (
            decode(transformer(), [rows], problems, VOCABULARY, budget, PAIRS).ids[:, 0].tolist()
        ):
            assert accepts(PAIRS, without_markers(ids))
            assert len(without_markers(ids)) <= budget


def test_without_a_grammar_markers_never_come_and_an_endless_answer_shows() -> None:
    for seed in range(20):
        rows, problems = random_setting(seed)
        for ids in decode(transformer(), [rows], problems, VOCABULARY, 6).ids[:, 0].tolist():
            answer = without_markers(ids)
            assert VOCABULARY.pad not in answer
            assert VOCABULARY.start not in answer
            assert len(answer) <= 6 or (len(answer) == 7 and VOCABULARY.end not in ids)


def test_greedy_decoding_is_the_plain_argmax() -> None:
    net, (rows, problems) = transformer(), random_setting(3)
    prefix = torch.full((6, 1), VOCABULARY.start)
    for _ in range(9):
        logits = net(rows, problems, prefix)[:, -1]
        logits[:, [VOCABULARY.pad, VOCABULARY.start]] = -torch.inf
        prefix = torch.cat([prefix, logits.argmax(-1, keepdim=True)], dim=1)
    for decoding in (GREEDY, Sampling(top_k=1), Sampling(temperature=1e-9), Sampling(top_p=1e-9)):
        decoded = decode(net, [rows], problems, VOCABULARY, 8, None, decoding)
        for plain, cached in zip(prefix[:, 1:].tolist(), decoded.ids[:, 0].tolist(), strict=True):
            assert without_markers(plain) == without_markers(cached)


@pytest.mark.parametrize("mask", [None, PAIRS], ids=["free", "grammar"])
@pytest.mark.parametrize("search", [BeamSearch(1), BeamSearch(3, 1.0, 3), BeamSearch(4, 0.4, 2)])
def test_beam_search_is_what_its_definition_says(
    mask: GrammarMask | None, search: BeamSearch
) -> None:
    net = transformer()
    for seed in range(3):
        rows, problems = random_setting(seed)
        problems[1, 2:] = VOCABULARY.pad
        decoded = decode(net, [rows], problems, VOCABULARY, 7, mask, search, SCALE)
        for problem, ours in zip(problems, listed(decoded), strict=True):
            same(ours, slow_beam_search(net, [rows], problem, 7, mask, search))


@pytest.mark.parametrize("alpha", [0.0, 1.0, 3.0])
def test_with_a_beam_for_everything_the_best_of_all_answers_is_found(alpha: float) -> None:
    net, budget = transformer(), 3
    rows, problems = random_setting(11, batch=3)
    rows = rows[: FIXED + 1]  # one symbol
    problems = problems.clamp(max=FIXED)
    tokens = range(3, FIXED + 1)
    words = [w for n in range(budget + 1) for w in itertools.product(tokens, repeat=n)]
    for mask in (None, PAIRS):
        allowed = [[*w, VOCABULARY.end] for w in words if not mask or accepts(mask, list(w))]
        search = BeamSearch(5 * len(words), alpha, answers=min(10, len(allowed)))
        decoded = decode(net, [rows], problems, VOCABULARY, budget, mask, search, SCALE)
        for problem, ours in zip(problems, listed(decoded), strict=True):
            scored = [(score(net, [rows], problem, word, alpha), word) for word in allowed]
            same(ours, sorted(scored, reverse=True)[: search.answers])


class Table:
    """A network whose probabilities are a function of problem and prefix; it counts its rows."""

    def __init__(self, probabilities: Callable[[list[int], list[int]], Sequence[float]]) -> None:
        self.probabilities = probabilities
        self.rows: list[int] = []

    def encode(self, matrix: torch.Tensor, problems: torch.Tensor) -> TableMemory:
        return TableMemory([[(without_padding(row), [])] for row in problems.tolist()])

    def step(self, matrix: torch.Tensor, tokens: torch.Tensor, memory: TableMemory) -> torch.Tensor:
        rows = [row for line in memory.lines for row in line]
        self.rows.append(len(rows))
        for (_, prefix), [token] in zip(rows, tokens.tolist(), strict=True):
            prefix.append(token)
        return torch.tensor([self.probabilities(*row) for row in rows]).log()


@dataclass
class TableMemory:
    lines: list[list[tuple[list[int], list[int]]]]  # per problem: problem and prefix

    def select(self, rows: torch.Tensor) -> None:
        flat = [row for line in self.lines for row in line]
        self.lines = [[(flat[i][0], [*flat[i][1]]) for i in line] for line in rows.tolist()]
        for line in self.lines:
            assert all(problem == line[0][0] for problem, _ in line)


def without_padding(ids: list[int]) -> list[int]:
    return [token for token in ids if token != VOCABULARY.pad]


def test_length_normalisation_prefers_longer_answers() -> None:
    def probabilities(_: list[int], prefix: list[int]) -> list[float]:
        tables = [[0, 0, 0.4, 0.6], [0, 0, 0.65, 0.35], [0, 0, 1, 0]]
        return tables[min(len(prefix), 3) - 1]

    problems = torch.tensor([[3, VOCABULARY.end]])
    for alpha, answer, expected in (
        (0.0, [2], math.log(0.4)),
        (1.0, [3, 2], math.log(0.6 * 0.65) / (7 / 6)),
    ):
        search = BeamSearch(2, alpha)
        found = decode(
            Table(probabilities), [torch.empty(0)], problems, Vocabulary([]), 5, None, search
        )
        assert listed(found) == [[(pytest.approx(expected), answer)]]


def by_problem(problem: list[int], prefix: list[int]) -> Sequence[float]:
    """Return weights of a prefix; after a number of tokens that the problem sets, `<end>` comes."""
    weights = np.random.default_rng((*problem, 99, *prefix)).random(FIXED + SYMBOLS) ** 4
    weights[VOCABULARY.end] = 20 if len(prefix) > sum(problem) % 40 else 0.001
    return list(weights)


@pytest.mark.slow
@pytest.mark.parametrize("decoding", EVERY_METHOD, ids=str)
def test_an_answer_does_not_depend_on_the_rest_of_the_batch(decoding: Decoding) -> None:
    _, problems = random_setting(7, batch=40)
    problems[::3, 3:] = VOCABULARY.pad
    longer = torch.cat([problems, torch.zeros(40, 4, dtype=torch.int64)], dim=1)

    def answers(some: torch.Tensor) -> list[list[tuple[float, list[int]]]]:
        network = Table(by_problem)
        found = decode(network, [torch.empty(0)], some, VOCABULARY, 45, None, decoding)
        if len(some) == 40:  # problems that are done are dropped
            assert network.rows[-1] <= network.rows[1] / 3
        return listed(found)

    together = answers(problems)
    assert len({len(of_one[0][1]) for of_one in together}) > 10
    assert answers(longer) == together
    assert answers(problems[13:20]) == together[13:20]
    assert [answers(problems[[row]])[0] for row in range(40)] == together


def test_an_ensemble_averages_probabilities_at_every_step() -> None:
    net, (_, problems) = transformer(), random_setting(0)
    draws = [random_setting(seed)[0] for seed in range(3)]
    search = BeamSearch(3, 1.0, 2)
    decoded = decode(net, draws, problems, VOCABULARY, 6, PAIRS, search, SCALE)
    for problem, ours in zip(problems, listed(decoded), strict=True):
        same(ours, slow_beam_search(net, draws, problem, 6, PAIRS, search))
    # Equal members change nothing.
    one = decode(net, draws[:1], problems, VOCABULARY, 6, PAIRS, search, SCALE)
    two = decode(net, draws[:1] * 2, problems, VOCABULARY, 6, PAIRS, search, SCALE)
    for ours, expected in zip(listed(two), listed(one), strict=True):
        same(ours, expected)


def test_fewer_words_than_answers_wanted() -> None:
    only = grammar([[-1, -1, 1, -1], [-1, -1, -1, -1]])  # the word ";" alone
    rows, problems = random_setting(1)
    every = BeamSearch(4, answers=4), Sampling(answers=4)
    for budget, decoding in itertools.product((1, 20), every):
        decoded = decode(transformer(), [rows], problems, VOCABULARY, budget, only, decoding)
        assert decoded.ids.shape[:2] == (len(problems), 4)
        for [(value, ids)] in listed(decoded):
            assert ids == [VOCABULARY.id(";"), VOCABULARY.end]
            assert math.isfinite(value)
        assert (decoded.scores[:, 1:] == -math.inf).all()


def test_answers_that_do_not_end_come_after_those_that_do() -> None:
    net, endless = transformer(), 0
    for seed in range(10):
        rows, problems = random_setting(seed)
        for answers in listed(
            decode(net, [rows], problems, VOCABULARY, 2, None, BeamSearch(4, answers=4), SCALE)
        ):
            assert len(answers) == 4
            ended = [ids[-1] == VOCABULARY.end for _, ids in answers]
            assert ended == sorted(ended, reverse=True)
            for value, ids in answers:
                assert math.isfinite(value) == (ids[-1] == VOCABULARY.end)
                if ids[-1] != VOCABULARY.end:
                    endless += 1
                    assert len(ids) == 3
    assert endless


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BeamSearch(0), "beams: 0, but it has to be 1 to 1,000"),
        (lambda: BeamSearch(2, answers=3), "answers: 3"),
        (lambda: BeamSearch(2, -1.0), "length normalization: -1.0"),
        (lambda: BeamSearch(2, math.nan), "length normalization: nan"),
        (lambda: Sampling(0.0), "temperature: 0.0, but it has to be above 0"),
        (lambda: Sampling(math.inf), "temperature: inf"),
        (lambda: Sampling(top_k=0), "top-k: 0"),
        (lambda: Sampling(top_p=0.0), "top-p: 0.0"),
        (lambda: Sampling(top_p=1.1), "top-p: 1.1, but it has to be above 0, at most 1"),
        (lambda: Sampling(answers=0), "answers: 0, but it has to be 1 to 1,000"),
    ],
)
def test_bad_options(make, message: str) -> None:
    with pytest.raises(LogicgenError, match=message):
        make()
