"""Beam search with 3 beams against a straightforward implementation of it, in problems a second.

Both decode problems of `ltl-35` with the same untrained weights of `ltl-learned-published` (8+8
layers, width 128, feed-forward 1,024), with at most 19 tokens, without a grammar. The simple
implementation decodes one problem at a time. For every token it runs the decoder again over all
prefixes. Problems are padded to 36 tokens, prefixes to 20, and attention matrices are written out.
The two take turns; figures are medians. Untrained answers hardly ever end early.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import time
from datetime import date
from random import Random
from statistics import median

import torch
import torch.nn.functional as F
from torch import Tensor

from logicgen.data.recipe import DataRecipe
from logicgen.model.encoder_decoder import EncoderDecoder
from logicgen.model.model import Request
from logicgen.model.recipe import read_model_recipe
from logicgen.model.training_data import TrainingRegion
from logicgen.nn.decoding import BeamSearch
from logicgen.nn.layers import Attention
from logicgen.nn.transformer import Transformer
from logicgen.tasks.task import Cell
from logicgen.tokens import Vocabulary

BEAMS, ALPHA = 3, 1.0
SYMBOLS, PROBLEM, ANSWER = 5, 36, 20  # markers counted
WIDTH = 128


class Straightforward:
    """The textbook's encoder-decoder and beam search, over the weights of ours."""

    def __init__(self, net: Transformer, matrix: Tensor, vocabulary: Vocabulary) -> None:
        self.net, self.matrix, self.vocabulary = net, matrix, vocabulary
        frequency = 10_000.0 ** (-torch.arange(0, WIDTH, 2) / WIDTH)
        angles = torch.arange(PROBLEM)[:, None] * frequency
        self.positions = torch.cat([angles.sin(), angles.cos()], dim=1)  # (PROBLEM, WIDTH)
        self.causal = torch.ones(ANSWER, ANSWER).tril() == 0

    def embed(self, ids: Tensor) -> Tensor:
        return self.matrix[ids] * math.sqrt(WIDTH) + self.positions[: ids.shape[1]]

    @staticmethod
    def attend(attention: Attention, x: Tensor, read: Tensor, hidden: Tensor) -> Tensor:
        heads, size = attention.heads, WIDTH // attention.heads
        query = attention.query(x).view(len(x), -1, heads, size).transpose(1, 2)
        key, value = attention.key_value(read).chunk(2, dim=-1)
        key = key.view(len(read), -1, heads, size).transpose(1, 2)
        value = value.view(len(read), -1, heads, size).transpose(1, 2)
        weights = query @ key.transpose(2, 3) / math.sqrt(size)
        weights = weights.masked_fill(hidden, -math.inf).softmax(dim=-1)
        return attention.output((weights @ value).transpose(1, 2).flatten(2))

    def encode(self, problem: Tensor) -> tuple[Tensor, Tensor]:
        hidden = (problem == self.vocabulary.pad)[:, None, None, :]
        x = self.embed(problem)
        for layer in self.net.encoder:
            y = layer.norm_attention(x)
            x = x + self.attend(layer.attention, y, y, hidden)
            x = x + layer.feed_forward(layer.norm_feed_forward(x))
        return self.net.norm_encoder(x), hidden

    def decode(self, prefixes: Tensor, encoded: Tensor, hidden: Tensor) -> Tensor:
        encoded = encoded.expand(len(prefixes), -1, -1)
        x = self.embed(prefixes)
        for layer in self.net.decoder:
            y = layer.norm_answer(x)
            x = x + self.attend(layer.answer_attention, y, y, self.causal)
            y = layer.norm_problem(x)
            x = x + self.attend(layer.problem_attention, y, encoded, hidden)
            x = x + layer.feed_forward(layer.norm_feed_forward(x))
        return self.net.norm_decoder(x) @ self.matrix.T  # (beams, ANSWER, V)

    @torch.inference_mode()
    def beam_search(self, problem: list[int]) -> list[int]:
        vocabulary = self.vocabulary
        padded = torch.full((1, PROBLEM), vocabulary.pad)
        padded[0, : len(problem) + 1] = torch.tensor([*problem, vocabulary.end])
        encoded, hidden = self.encode(padded)
        alive: list[tuple[float, list[int]]] = [(0.0, [])]
        found: list[tuple[float, list[int]]] = []
        for step in range(ANSWER):
            prefixes = torch.full((len(alive), ANSWER), vocabulary.pad)
            for row, (_, tokens) in enumerate(alive):
                prefixes[row, : step + 1] = torch.tensor([vocabulary.start, *tokens])
            log_p = F.log_softmax(self.decode(prefixes, encoded, hidden)[:, step], dim=-1)
            log_p[:, [vocabulary.pad, vocabulary.start]] = -math.inf
            total = torch.tensor([score for score, _ in alive])[:, None] + log_p
            best, place = total.flatten().topk(2 * BEAMS)
            candidates = [
                (score, [*alive[where // log_p.shape[1]][1], where % log_p.shape[1]])
                for score, where in zip(best.tolist(), place.tolist(), strict=True)
            ]
            found += [
                (score / ((6 + step) / 6) ** ALPHA, tokens)
                for score, tokens in candidates[:BEAMS]
                if tokens[-1] == vocabulary.end
            ]
            alive = [c for c in candidates if c[1][-1] != vocabulary.end][:BEAMS]
            if len(found) >= BEAMS:
                break
        best = max(found)[1] if found else alive[0][1]
        return [token for token in best if token != vocabulary.end]


def problems(vocabulary: Vocabulary, count: int) -> list[list[int]]:
    """Problems of `ltl-35`, all lengths alike, as ids."""
    recipe = DataRecipe.read("ltl-35")
    task, rng = recipe.load_task(), Random(0)
    source = task.source(recipe.settings("ltl-35"), recipe.region.symbols)
    cells = [Cell(None, rng.randint(*recipe.region.length)) for _ in range(count)]
    return [vocabulary.encode(task.encode(source.sample(rng, cell).problem)) for cell in cells]


def untrained() -> EncoderDecoder:
    """The model of `ltl-learned-published`, without the additions of logicgen."""
    recipe = read_model_recipe("ltl-learned-published")
    plain = {
        "encoder_positions": "sinusoidal",
        "decoder_positions": "sinusoidal",
        "normalize_features": False,
    }
    loss = recipe.loss.model_copy(update={"method": "cross-entropy"})
    table = recipe.network.model_copy(update=plain)
    recipe = recipe.model_copy(update={"network": table, "loss": loss})
    data = DataRecipe.read("ltl-35")
    torch.manual_seed(3)
    region = TrainingRegion(data.region.symbols, data.region.length)
    return EncoderDecoder(recipe, data.load_task().vocabulary, SYMBOLS, "ltl", region).eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    model = untrained()
    matrix = model.inference_matrix(SYMBOLS, 0)
    straightforward = Straightforward(model.transformer, matrix, model.vocabulary)
    many = problems(model.vocabulary, 256)
    few = many[:8]

    def ours(some: list[list[int]]) -> list[list[int]]:
        search = BeamSearch(BEAMS, ALPHA)
        request = Request(some, SYMBOLS, 0, ANSWER - 1, decoding=search, batch_size=64)
        return [answers[0].ids for answers in model.predict(request)]

    def theirs() -> list[list[int]]:
        return [straightforward.beam_search(problem) for problem in few]

    answers = theirs()
    if ours(few) != answers:
        raise SystemExit("the two implementations give different answers")
    rates: dict[str, list[float]] = {"straightforward": [], "logicgen": []}
    for _ in range(arguments.rounds):
        start = time.perf_counter()
        theirs()
        middle = time.perf_counter()
        ours(many)
        rates["straightforward"].append(len(few) / (middle - start))
        rates["logicgen"].append(len(many) / (time.perf_counter() - middle))
    length = sum(map(len, answers)) / len(answers)
    print(
        f"{date.today()}, {platform.processor() or platform.machine()}, {arguments.threads} threads"
        f", torch {torch.__version__}; mean answer of {length:.1f} tokens"
    )
    for name, each in rates.items():
        print(f"{name:<20} {median(each):>8.1f} problems/s")
    ratios = [b / a for a, b in zip(*rates.values(), strict=True)]
    print(f"{'ratio':<20} {median(ratios):>8.1f} ({min(ratios):.1f} to {max(ratios):.1f})")


if __name__ == "__main__":
    main()
