"""Train a model in plain PyTorch on arrays of token ids, and let the solver judge its answers.

The model is a small decoder-only Transformer that reads `problem <start> answer <end>`. Replace it
by a model of your own: logicgen sees only the file of replies. The number of training steps and
the size of the data set are optional arguments.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

import logicgen
from logicgen.errors import FormatError
from logicgen.library import judge_replies

STEPS, SIZE = map(int, sys.argv[1:] or (2_000, 20_000))
BATCH, WIDTH = 128, 128

data = logicgen.generate("propositional-mini", "data/propositional-mini", size=SIZE)
vocabulary, task = data.vocabulary, data.task
PAD, START, END = vocabulary.pad, vocabulary.start, vocabulary.end
train, grid = data.encoded("train"), data.encoded("grid")
TOKENS = len(vocabulary) + grid.alphabet  # markers, operators and values; then the symbols
PLACES = int(grid.length.max()) + 2 * grid.alphabet + 2  # the longest problem and its answer


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(TOKENS, WIDTH), nn.Embedding(PLACES, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, 0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 3)
        self.logits = nn.Linear(WIDTH, TOKENS)

    def forward(self, ids):
        """Return the logits (batch, places, tokens) of the next token for ids (batch, places)."""
        size = ids.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(size)
        hidden = self.tokens(ids) + self.places(torch.arange(size))
        return self.logits(self.layers(hidden, mask, is_causal=True))


def sequences(split, rows):
    """Return `problem <start> answer <end>` of some rows, padded, as ids (rows, places)."""
    parts = [[*split.problems[row], START, *split.answers[row], END] for row in rows]
    longest = max(map(len, parts))
    return torch.tensor([part + [PAD] * (longest - len(part)) for part in parts])


def answer(model, problem):
    """Return the greedy answer to a problem as text, or None if its tokens are not an answer."""
    ids = [*problem, START]
    with torch.no_grad():
        while len(ids) < PLACES and ids[-1] != END:
            ids.append(int(model(torch.tensor([ids]))[0, -1].argmax()))
    try:
        return f"<answer>{task.decode_answer(vocabulary.decode(ids[len(problem) + 1 :]))}</answer>"
    except FormatError:
        return None


torch.manual_seed(0)
chosen = np.random.default_rng(0)
model = Decoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(STEPS):
    batch = sequences(train, chosen.integers(len(train), size=BATCH))
    targets = batch[:, 1:].clone()
    answers = (batch[:, :-1] == START).cumsum(1).bool()  # learn to answer, not to ask
    targets[~answers | (targets == PAD)] = -100
    logits = model(batch[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-100)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

model.eval()
replies = Path("replies.jsonl")
with replies.open("w") as file:
    for row in range(len(grid)):
        reply = {"row": row, "completion": answer(model, grid.problems[row])}
        file.write(json.dumps(reply) + "\n")
folder, summary = judge_replies(replies, data, None, split="grid")
for region in "inside_training_region", "beyond_in_symbols_only", "beyond_in_length_only":
    scores = summary[region]
    print(f"{region}: {scores['accuracy']:.1%} right of {scores['examples']}")
print(f"heat map: {folder}/heatmap.png; every answer: {folder}/report.html")
