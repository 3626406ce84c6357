"""Language models: training throughput by embedding method, and the memory of a large vocabulary.

    python benchmarks/language.py                    on a CPU, about two minutes
    python benchmarks/language.py --device cuda      the published size, in bf16; the card's share

The methods take turns in one process. Each trains the same network on the same random tokens, with
AdamW. Ratios to `learned` are medians over the turns. Peak memory is measured in one step of 64 x
512 tokens with a vocabulary of 32,000, in a process for each method. On a shared machine use one
thread: OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import subprocess
import sys
import time
from contextlib import nullcontext
from datetime import date
from statistics import median

import torch

from logicgen.model.model import find_device
from logicgen.nn.language_model import CausalLM, CausalTransformer
from logicgen.nn.token_rows import TokenRows

METHODS = ["learned", "lexinvariant", "partial-rows", "partial-names"]
TURNS = 7
PEAK = {"H100": 989e12, "H200": 989e12, "A100": 312e12}  # FLOP/s of dense bf16 matrices

SMALL = {"width": 128, "heads": 4, "layers": 3, "feed_forward": 512}
FULL = {"width": 1024, "heads": 8, "layers": 12, "feed_forward": 4096}  # Huang et al. (2023)


def made(method: str, tokens: int, sizes: dict[str, int], device: torch.device) -> CausalLM:
    """A model, with a fifth of the tokens random where the method is partial."""
    share = 0.2 if method.startswith("partial") else 0.0
    rows = TokenRows(method, tokens, sizes["width"], share)
    return CausalLM(rows, CausalTransformer(**sizes), sizes["width"]).to(device)


class Training:
    """One model and its optimizer."""

    def __init__(
        self,
        method: str,
        tokens: int,
        batch: tuple[int, int],
        sizes: dict[str, int],
        device: torch.device,
    ) -> None:
        self.model = made(method, tokens, sizes, device)
        weights = [each for each in self.model.parameters() if each.numel()]
        self.optimizer = torch.optim.AdamW(weights, lr=1e-3, fused=True)
        self.ids = torch.randint(tokens, batch, device=device)
        self.device = device

    def step(self) -> None:
        cuda = self.device.type == "cuda"
        with torch.autocast("cuda", torch.bfloat16) if cuda else nullcontext():
            loss = self.model.loss(self.ids)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def seconds(self, steps: int) -> float:
        """Return the seconds of a number of steps."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(steps):
            self.step()
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - start


def throughput(
    tokens: int,
    batch: tuple[int, int],
    sizes: dict[str, int],
    device: torch.device,
    steps: int,
) -> None:
    """Print tokens a second of each method, and the ratio to `learned`."""
    trainings = {name: Training(name, tokens, batch, sizes, device) for name in METHODS}
    for each in trainings.values():
        each.seconds(2)
    seconds: dict[str, list[float]] = {name: [] for name in METHODS}
    for _ in range(TURNS):
        for name, each in trainings.items():
            seconds[name].append(each.seconds(steps))
    count = steps * batch[0] * batch[1]
    print(f"{batch[0]} x {batch[1]} tokens of {tokens:,}, {sizes}")
    for name in METHODS:
        rate = count / median(seconds[name])
        ratios = [one / other for one, other in zip(seconds["learned"], seconds[name], strict=True)]
        line = f"  {name:<14} {rate:12,.0f} tokens/s   {median(ratios):.2f} of learned"
        if device.type == "cuda":
            weights = sum(p.numel() for p in trainings[name].model.network.parameters())
            # 6 a weight and token, and the products of attention and of the scores.
            flop = 6 * weights + 6 * sizes["width"] * (sizes["layers"] * batch[1] + tokens)
            card = torch.cuda.get_device_name()
            peak = next((value for key, value in PEAK.items() if key in card), None)
            line += f"   {rate * flop / 1e12:.0f} TFLOP/s"
            line += f", {rate * flop / peak:.0%} of the peak" if peak else ""
        print(line, flush=True)


def peak_of_one_step(method: str, device: torch.device) -> None:
    """Print the peak of memory of one step of 64 x 512 tokens of 32,000."""
    training = Training(method, 32_000, (64, 512), SMALL, device)
    seconds = training.seconds(1)
    if device.type == "cuda":
        used = torch.cuda.max_memory_allocated() / 2**30
    else:
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"  {method:<14} {used:5.1f} GiB at most, {seconds:.1f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--memory-of", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    device = find_device(arguments.device)
    if arguments.memory_of:
        peak_of_one_step(arguments.memory_of, device)
        return
    card = torch.cuda.get_device_name() if device.type == "cuda" else platform.machine()
    threads = torch.get_num_threads()
    print(f"{date.today()}, {card}, {threads} threads, torch {torch.__version__}")
    if device.type == "cuda":
        for tokens in (128, 32_000):
            throughput(tokens, (64, 512), FULL, device, steps=3)
    else:
        throughput(128, (16, 128), SMALL, device, steps=2)
        throughput(4096, (8, 128), SMALL, device, steps=2)
    print("one step of 64 x 512 tokens of 32,000, width 128:", flush=True)
    for method in METHODS:
        subprocess.run(
            [sys.executable, __file__, "--device", arguments.device, "--memory-of", method],
            check=True,
            env=os.environ,
        )


if __name__ == "__main__":
    main()
