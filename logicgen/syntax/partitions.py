"""Set partitions, which say which places hold the same symbol when names do not matter.

A partition of `n` places into `k` blocks is written as a restricted growth string: place `i` holds
the number of its block, and blocks are numbered in order of first occurrence. Alpha-renaming
reduces a sequence of symbols to such a string.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from random import Random

Partition = list[int]


_stirling: list[list[int]] = [[1]]


def stirling(places: int, blocks: int) -> int:
    """Return the number of partitions of `places` places into `blocks` blocks (second kind)."""
    if places > 0 and blocks in (1, places):
        return 1  # without the table, which long problems over one symbol would make large
    if blocks > places or (places > 0 and blocks == 0):
        return 0
    while len(_stirling) <= places:
        last = [*_stirling[-1], 0]
        _stirling.append([0, *(k * last[k] + last[k - 1] for k in range(1, len(last)))])
    return _stirling[places][blocks]


@cache
def _completions(places: int, used: int, blocks: int) -> int:
    """Return how many ways there are to fill further places, from `used` blocks to `blocks`."""
    if places < blocks - used:
        return 0
    if places == 0:
        return 1
    again = used * _completions(places - 1, used, blocks) if used else 0
    return again + (_completions(places - 1, used + 1, blocks) if used < blocks else 0)


@cache
def _chance_of_new(places: int, used: int, blocks: int) -> float:
    """Return the chance that the next place opens a block, all partitions equally likely."""
    if used == blocks:
        return 0.0
    return _completions(places - 1, used + 1, blocks) / _completions(places, used, blocks)


def random_partition(rng: Random, places: int, blocks: int) -> Partition:
    """Return a random partition into exactly `blocks` blocks; raise ValueError if there is none."""
    if not _completions(places, 0, blocks):
        raise ValueError(f"{places} places cannot hold exactly {blocks} different symbols")
    random = rng.random
    partition, used = [], 0
    for remaining in range(places, 0, -1):
        if used < blocks and random() < _chance_of_new(remaining, used, blocks):
            partition.append(used)
            used += 1
        else:
            partition.append(int(random() * used))
    return partition


def all_partitions(places: int, blocks: int) -> Iterator[Partition]:
    """Yield every partition of `places` places into exactly `blocks` blocks, each once."""
    pending: list[tuple[Partition, int]] = [([], 0)] if blocks <= places else []
    while pending:
        partition, used = pending.pop()
        if len(partition) == places:
            yield partition
            continue
        remaining = places - len(partition) - 1
        for block in reversed(range(min(used + 1, blocks))):
            now_used = max(used, block + 1)
            if remaining >= blocks - now_used:
                pending.append(([*partition, block], now_used))


def partition_of(labels: Iterable[int]) -> Partition:
    """Return which of the labels are equal, as a partition of their places."""
    blocks: dict[int, int] = {}
    return [blocks.setdefault(label, len(blocks)) for label in labels]
