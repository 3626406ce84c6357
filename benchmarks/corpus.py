"""Memory of training on a text of many gigabytes: `python benchmarks/corpus.py [--gib 4]`.

The benchmark writes a text of random words. `logicgen generate` turns it into a corpus of
characters, and `logicgen train` trains a language model on it for some steps. For each command it
prints the peak proportional set size (PSS) of all processes, including pages of mapped files.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from generation import memory  # benchmarks/generation.py

RECIPE = """
task = "text"
[corpus]
files = ["{folder}"]
tokens = "characters"
"""
BLOCK = 64 * 2**20  # bytes of a file


def write_text(folder: Path, size: int) -> None:
    """Write files of invented words with very different frequencies."""
    rng = np.random.default_rng(0)
    letters = rng.integers(97, 123, (5000, 8)).astype(np.uint8)
    letters[:, -1] = 32
    for number in range(-(-size // BLOCK)):
        words = (5000 * rng.random(BLOCK // 8) ** 3).astype(np.int64)
        (folder / f"{number:03d}.txt").write_bytes(letters[words].tobytes())


def run(name: str, *arguments: str) -> None:
    """Run a command of logicgen, and print its time and its peak of memory."""
    command = [sys.executable, "-m", "logicgen.cli.main", *arguments]
    begun = time.monotonic()
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        peak = max(peak, memory(process.pid))
        time.sleep(0.1)
    if process.returncode:
        sys.exit(f"{' '.join(command)}: exit status {process.returncode}")
    print(f"{name}: {time.monotonic() - begun:,.0f} s, at most {peak / 2**20:,.0f} MiB", flush=True)


def main() -> None:
    """Make the text and the corpus, train, and print the time and memory of each step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gib", type=float, default=4.0)
    parser.add_argument("--model", default="language-learned")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument(
        "--folder", type=Path, help="folder for the data; a temporary folder if not given"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        text = Path(name, "text")
        text.mkdir()
        write_text(text, int(options.gib * 2**30))
        recipe = Path(name, "made-up.toml")
        recipe.write_text(RECIPE.format(folder=text))
        data, out = str(Path(name, "data")), str(Path(name, "run"))
        run("generate", "generate", str(recipe), "-o", data)
        run(
            "train",
            "train",
            options.model,
            "--data",
            data,
            "-o",
            out,
            "--steps",
            str(options.steps),
        )


if __name__ == "__main__":
    main()
