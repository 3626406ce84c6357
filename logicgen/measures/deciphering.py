"""Read a text in an unknown cipher, with the guesses of a language model's probe at each symbol.

`keys.py` measures how well a probe finds known keys. Here the key of a text is unknown. A long text
is cut into rows, which the model reads one by one. All rows have the same key, so the occurrences
of a symbol in all rows vote together on its plain symbol.

Shapes: B rows, T tokens of a row, V tokens in the vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from string import whitespace

import numpy as np
import torch

from logicgen.callbacks import Progress, no_progress
from logicgen.data.corpus import Ciphers, Corpus
from logicgen.errors import LogicgenError, at, reading, shortened
from logicgen.files import prepare_folder
from logicgen.measures.keys import checked_context
from logicgen.measures.probe import ProbeSettings, check_fits, probes_of
from logicgen.model.checkpoint import as_language_model, load_model, weights_digest
from logicgen.report.tables import write_csv
from logicgen.tokens import LETTERS, Tokens

GUESSES = "guesses.csv"
SHOWN = 3  # number of the most probable plain symbols that a line shows


@dataclass(frozen=True)
class DecipheredText:
    """A text with the guesses of a probe.

    Attributes:
        tokens: the ids of the cipher symbols, (B, T).
        probabilities: the probability of each plain symbol, (B, T, V).
        staying: no key changes ids below this number.
        names: the tokens of the model.
        blanks: the characters that a model of letters read as blanks.
        left_out: the number of symbols at the end of the text that fill no row.
    """

    tokens: np.ndarray
    probabilities: np.ndarray
    staying: int
    names: Tokens
    blanks: str = ""
    left_out: int = 0

    def key(self) -> dict[int, tuple[int, float, int]]:
        """Return for each cipher symbol the plain symbol, its share of the votes, and the votes.

        Each occurrence votes with its probabilities. If votes are equal, the smaller id wins.
        """
        found = {}
        for symbol in np.unique(self.tokens[self.tokens >= self.staying]).tolist():
            votes = self.probabilities[self.tokens == symbol]
            shares = votes.mean(axis=0)
            found[symbol] = int(shares.argmax()), float(shares.max()), len(votes)
        return found

    def text(self) -> str:
        """Return the text with each symbol replaced by its plain symbol of the key."""
        key = {symbol: plain for symbol, (plain, _, _) in self.key().items()}
        return self.names.decode(key.get(each, each) for each in self.tokens.ravel().tolist())


def decipher(
    run: Path,
    corpus: Corpus,
    folder: Path,
    settings: ProbeSettings,
    text: Path,
    *,
    context: int | None = None,
    temperature: float = 1.0,
    device: str = "auto",
    progress: Progress = no_progress,
) -> DecipheredText:
    """Return the guesses of the probe of least loss at each symbol of a text file.

    corpus: the training data of the probes. If `folder` has no probes, they are trained first.
    temperature: divides the logits of the probe.

    Raises LogicgenError if the text has tokens that the model does not know, or fewer than two.
    """
    model, ciphers = as_language_model(load_model(run, device), run), Ciphers(corpus, "train")
    check_fits(model, corpus, str(run), settings.layer)
    context = checked_context(ciphers, context, 1, settings.last)
    ids, blanks = _encoded(corpus.tokens, text)
    prepare_folder(folder)
    digest, called = weights_digest(run), run.resolve().name
    probes, card = probes_of(model, digest, called, corpus, folder, settings, context, progress)
    layer = min(zip(card["losses"], probes, strict=True))[1]
    rows = ids[None] if len(ids) < context else ids[: len(ids) // context * context]
    rows = rows.reshape(-1, min(context, len(ids)))
    likely = []
    for number, row in enumerate(rows):  # the number of the row is the seed of random rows
        with torch.no_grad():
            states = model.hidden_states(row[None], [number])[layer - 1]
            likely.append((probes[layer](states) / temperature).softmax(-1)[0].cpu().numpy())
    votes, left_out = np.stack(likely), len(ids) - rows.size
    return DecipheredText(rows, votes, ciphers.staying, corpus.tokens, blanks, left_out)


def _encoded(tokens: Tokens, path: Path) -> tuple[np.ndarray, str]:
    """Return the ids of the tokens of a text file, and the characters that are read as blanks."""
    with reading(path):
        text = path.read_text(encoding="utf-8").strip()
    with at(path):
        if tokens.kind == "characters":
            for unknown in sorted({*text} - {*tokens.texts}):
                raise LogicgenError(f"the model does not know {unknown!r}: remove it")
        ids = tokens.encode(text)
        letters = tokens.kind == "letters"
        if len(ids) < 2:
            known = " of the letters a to z" if letters else ""
            raise LogicgenError(
                f"{len(ids)} symbols that the model knows are too few to read: give a longer"
                f" text{known}"
            )
    others = {*text.lower()} - {*LETTERS, *whitespace}
    return ids, "".join(sorted(others)) if letters else ""


def write_guesses(found: DecipheredText, folder: Path) -> Path:
    """Write the guess at each symbol of a text as a CSV file, and return its path."""
    rows = []
    for number, row in enumerate(found.tokens):
        for place in np.flatnonzero(row >= found.staying).tolist():
            shares = found.probabilities[number, place]
            plain = int(shares.argmax())
            rows.append(
                {
                    "row": number,
                    "position": place,
                    "symbol": found.names.texts[row[place]],
                    "guess": found.names.texts[plain],
                    "probability": round(float(shares[plain]), 4),
                }
            )
    write_csv(rows, folder / GUESSES)
    return folder / GUESSES


def deciphered_lines(found: DecipheredText, symbol: str | None = None) -> list[str]:
    """Return lines of text: the key and the deciphered text, or all guesses at one symbol.

    Raises LogicgenError if the symbol does not occur in the text.
    """
    texts = found.names.texts
    if symbol is None:
        lines = [
            f"{texts[each]} -> {texts[plain]}  {share:.0%} of {votes:,} votes"
            for each, (plain, share, votes) in found.key().items()
        ]
        if found.blanks:
            lines.append(f"read as blanks, because they are not letters: {shortened(found.blanks)}")
        if found.left_out:
            row = found.tokens.shape[1]
            lines.append(
                f"not read, because they fill no row of {row}: the last {found.left_out} symbols"
            )
        return [*lines, found.text()]
    number_of = texts.index(symbol) if symbol in texts else -1
    places = np.argwhere(found.tokens == number_of).tolist()
    if not places:
        known = " ".join(sorted(texts[each] for each in found.key()))
        raise LogicgenError(
            f"--symbol: {symbol!r} does not occur in the text as the model reads it; give one of"
            f" {known}"
        )
    lines = []
    for number, place in places:
        shares = found.probabilities[number, place]
        best = np.argsort(-shares, kind="stable")[:SHOWN].tolist()
        guesses = ", ".join(f"{texts[each]} {shares[each]:.2f}" for each in best)
        lines.append(f"row {number}, position {place}: {guesses}")
    return lines
