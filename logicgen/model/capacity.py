"""The capacity of memory: how many problems a model reads, or answers, at a time."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

# Most attention scores of a batch for each head, by device. With four heads, 2**26 scores are a
# gigabyte.
MOST_SCORES = {"cpu": 2**26, "cuda": 2**27}
# Bytes that training keeps for each feature of a token in a layer, measured in float32.
# Bfloat16, usual on a GPU, needs half of these bytes.
KEPT = 180
# Most bytes that training keeps. Larger batches are trained in parts, which takes a third longer.
MOST_KEPT = 2**31  # on other devices than a GPU
KEPT_SHARE = 0.7  # on a GPU: share of its memory
# A batch that is too large is read in pieces, each of which needs this share of that memory. The
# backward pass computes large and small pieces again, so small pieces take no longer.
PIECE_SHARE = 0.25
# Most tokens of all streams, with padding, that training reads at a time, by device. A GPU computes
# padding, too, so the pieces of a batch have similar numbers of symbols. A CPU leaves padding out.
MOST_PADDED: dict[str, int | None] = {"cpu": None, "cuda": 2**18}
# Most tokens of all streams of one problem that `solve --model` accepts. Larger problems would take
# minutes.
MOST_STREAMED = 2**15
# Most unfinished answers that are continued together, by device. Each answer needs memory for its
# keys and values.
MOST_ROWS = {"cpu": 256, "cuda": 8192}

# Most bytes that a process may hold before freed memory is returned between the pieces of a batch.
# To return it, and to ask for it again, takes a quarter of the time of training.
MOST_HELD = 3 * 2**29

# PyTorch asks Linux for huge pages of 2 MiB for large tensors on a CPU. The largest batches are
# then computed in two thirds of the time, and need less memory. PyTorch reads the variable when it
# makes the first tensor.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # a function of glibc


def kept_tokens(features: int, device: torch.device) -> int:
    """Return the most tokens, with padding, of which training can keep all features.

    features: number of features of a token in all layers.
    """
    most, each = MOST_KEPT, KEPT
    if device.type == "cuda":
        most = int(torch.cuda.get_device_properties(device).total_memory * KEPT_SHARE)
        each = KEPT // 2 if torch.is_autocast_enabled("cuda") else KEPT
    return most // (each * features)


def padded_tokens(device: torch.device) -> int | None:
    """Return the most tokens of all streams, with padding, to read at a time; None if unlimited."""
    return MOST_PADDED[_kind(device)]


def problems_together(streams: int, tokens: int, device: torch.device) -> int:
    """Return the most problems with these numbers of streams and tokens that are read together."""
    return MOST_SCORES[_kind(device)] // (streams * tokens**2) or 1


def answered_together(
    sizes: Sequence[tuple[int, int]], prefixes: int, batch_size: int, device: torch.device
) -> Iterator[list[int]]:
    """Yield the indices of problems that are answered together, the largest problems first.

    sizes: numbers of streams and tokens of each problem.
    prefixes: number of unfinished answers to a problem.
    batch_size: the most problems.
    """
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    longest = max((tokens for _, tokens in sizes), default=0) + 1
    most = min(MOST_ROWS[_kind(device)] // prefixes, batch_size)
    while order:
        together = min(most, problems_together(sizes[order[-1]][0], longest, device)) or 1
        yield order[-together:]
        del order[-together:]


def return_memory(device: torch.device) -> None:
    """Return freed memory to the system, if this process holds more than `MOST_HELD` bytes.

    Without this call, the C library glibc keeps freed memory between blocks in use. After several
    pieces of a batch, this can be as much as one piece needs. On a GPU, or without glibc, it does
    nothing.
    """
    if device.type == "cpu" and _trim is not None and _held() > MOST_HELD:
        _trim(0)


def _held() -> int:
    """Return the bytes of memory that this process holds; `MOST_HELD` + 1 if it is unknown."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except OSError:  # a system without /proc
        return MOST_HELD + 1
    return int(pages) * mmap.PAGESIZE


def _kind(device: torch.device) -> str:
    return "cpu" if device.type == "cpu" else "cuda"
