"""Key precision: how well a probe finds the keys of ciphers, by the length of the text read.

A cipher replaces the symbols of a plain text (plain symbols) by cipher symbols. The key is this
replacement. A probe (`probe.py`) guesses the plain symbol at each position of a cipher text.

A cipher text, called a row, is cut into windows. Within a window, each occurrence of a cipher
symbol votes for the plain symbol that the probe guesses there. The majority wins. If votes are
equal, the plain symbol with the smaller id wins, which is the more frequent character. The
precision of a window is the share of its cipher symbols with a right majority. `<end>` and
`<other>`, which no key changes, neither count nor vote. Tokens after the last whole window are
ignored.

In a cipher that is not one-to-one, a cipher symbol means several characters. Its majority is right
if it is the character that the symbol means most often in the window. The share of right guesses at
single occurrences has the same meaning for both kinds of cipher.

Source: Huang et al., Lexinvariant Language Models (NeurIPS 2023), with windows of 100 characters.

Three controls find keys without a model:

    most frequent   every symbol means the most frequent symbol of the language
    frequencies     the n-th most frequent symbol of the text read so far means the n-th most
                    frequent symbol of the language
    exact           the most probable symbol under the exact posterior over keys; only if the
                    language is an automaton with few symbols

Shapes: B rows, T tokens of a row, V tokens in the vocabulary.

Ids below the number `staying` belong to `<end>` and, in texts, to `<other>`. No key changes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from logicgen.automata import Automaton, read_automaton
from logicgen.automata.lexinvariant import MOST_SYMBOLS, symbol_posterior
from logicgen.callbacks import Progress, StageProgress, no_progress
from logicgen.data.corpus import Ciphers, Corpus
from logicgen.errors import LogicgenError, shown
from logicgen.files import prepare_folder
from logicgen.measures.probe import Probes, ProbeSettings, check_fits, probes_of
from logicgen.measures.statistics import share_by_row
from logicgen.model.checkpoint import as_language_model, load_model, weights_digest
from logicgen.model.language_model import LanguageModel
from logicgen.tasks.automaton_strings import AUTOMATON
from logicgen.tasks.cipher import STAYING

COUNTED = 1_000  # number of training rows that determine the frequencies of symbols


def control_guesses(
    corpus: Corpus, ciphers: Ciphers, tokens: np.ndarray, progress: Progress = no_progress
) -> dict[str, np.ndarray]:
    """Return the plain symbols that each control guesses, by the name of the control.

    tokens: the cipher symbols, (B, T). The guesses have the same shape.
    """
    order = _by_frequency(corpus, ciphers)
    found = {
        "most frequent": np.full(tokens.shape, order[0]),
        "frequencies": order[_ranks(tokens, len(corpus.tokens), ciphers.staying)],
    }
    if corpus.task_name == "automaton" and len(corpus.tokens) - 1 <= MOST_SYMBOLS:
        automaton = read_automaton(corpus.folder / AUTOMATON)
        rows = []
        for row in tokens:  # a row of eight different symbols takes up to a second
            rows.append(_most_probable(automaton, row))
            progress(len(rows), len(tokens))
        found["exact"] = np.stack(rows)
    return found


def _by_frequency(corpus: Corpus, ciphers: Ciphers) -> np.ndarray:
    """Return the ids of the plain symbols, sorted by their frequency in the training rows.

    The most frequent symbol comes first. The shape is (V - staying,).
    """
    train = Ciphers(corpus, "train") if corpus.splits.get("train") else ciphers
    _, plain = train.rows(np.arange(min(COUNTED, len(train))), train.length)
    counts = np.bincount(plain.ravel(), minlength=len(corpus.tokens))[ciphers.staying :]
    return np.argsort(-counts, kind="stable") + ciphers.staying


def _ranks(tokens: np.ndarray, count: int, staying: int) -> np.ndarray:
    """Return the rank of each token in its row, by frequency in the row up to this token, (B, T).

    tokens: the cipher symbols, (B, T).
    count: V, the size of the vocabulary.

    The most frequent symbol has rank 0. Among equally frequent symbols, the smaller id comes first;
    ids of cipher symbols are random. Ranks of ids below `staying` have no meaning.
    """
    rows = np.arange(len(tokens))
    so_far = np.zeros((len(tokens), count - staying))
    ranks = np.zeros(tokens.shape, dtype=np.int64)
    for place, column in enumerate(tokens.T):
        there = column >= staying
        so_far[rows[there], column[there] - staying] += 1
        own = np.maximum(column - staying, 0)
        mine = so_far[rows, own][:, None]
        before = (so_far == mine) & (np.arange(count - staying) < own[:, None])
        ranks[:, place] = ((so_far > mine) | before).sum(axis=1)
    return ranks


def _most_probable(automaton: Automaton, row: np.ndarray) -> np.ndarray:
    """Return the most probable plain symbol of each token, given the row up to this token, (T,).

    row: the cipher symbols, (T,).
    """
    ids = row[: int((row > 0).sum())] - 1  # symbols of the string without its end
    likely = symbol_posterior(automaton, ids)  # (tokens read, cipher symbol, plain symbol)
    found = np.zeros(len(row), dtype=np.int64)
    found[: len(ids)] = likely[np.arange(1, len(ids) + 1), ids].argmax(axis=1) + 1
    return found


# The number of tokens in a batch.
AT_A_TIME = 2**14


@dataclass(frozen=True)
class KeyWindow:
    """The precision of a probe in one window, over all rows.

    `precision` is the share of cipher symbols with a right majority of votes in the window. For
    `so_far`, all occurrences up to the end of the window vote. Bounds are 95% intervals over rows.
    """

    window: int  # number of the window, from 1
    first: int  # first position in the row
    last: int  # last position in the row
    precision: float
    low: float
    high: float
    so_far: float
    so_far_low: float
    so_far_high: float
    symbols: int  # number of cipher symbols with votes, over all rows
    occurrence: float  # share of single occurrences at which the probe is right
    occurrences: int  # number of occurrences of cipher symbols


@dataclass(frozen=True)
class ProbedRow:
    """A cipher text with the guesses of a probe."""

    tokens: np.ndarray  # (T,), the cipher symbols
    plain: np.ndarray  # (T,), the plain symbols
    staying: int  # no key changes ids below this number
    probabilities: np.ndarray  # (T, V), the probe's probability of each plain symbol

    @property
    def meant(self) -> np.ndarray | None:
        """Return the key of the row: the plain symbol of each cipher symbol that occurs, (V,).

        Entries of other symbols are 0. Returns None if a cipher symbol has several plain symbols,
        or if all ids in the row are below `staying`.
        """
        meant = np.zeros(self.probabilities.shape[1], dtype=np.int64)
        meant[self.tokens] = self.plain
        has_key = (meant[self.tokens] == self.plain).all() and self.tokens.max() >= self.staying
        return meant if has_key else None


@dataclass(frozen=True)
class LayerKeys:
    """The keys that the probe of one layer found."""

    windows: list[KeyWindow]
    example: ProbedRow  # the first cipher text
    # (V, V). Entry (i, j) is the mean probability of the guess j where the plain symbol is i, over
    # the last windows of all cipher texts. If symbol i does not occur there, the entry is 0.
    guesses: np.ndarray
    # By number of tokens read before: a matrix as `guesses`, over the window after these tokens.
    matrices: dict[int, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class Keys:
    """The keys that probes of a model found.

    about: the name of the model (`called`), the `data` and `split`, the number of `rows`, and the
        width of a `window`. The entry `layer` is the layer of the probe with the least loss on
        training rows. The entry `probe` is the content of `probe.json`.
    """

    about: dict[str, Any]
    layers: dict[int, LayerKeys]  # by number of the layer
    controls: dict[str, list[KeyWindow]]  # by name; controls find keys without a model

    @property
    def best(self) -> LayerKeys:
        """Return the keys of the layer with the probe of least loss."""
        return self.layers[self.about["layer"]]


def majority(
    tokens: np.ndarray, predicted: np.ndarray, count: int, staying: int = STAYING
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the plain symbol of each cipher symbol of each row, by majority of its occurrences.

    tokens: the cipher symbols, (B, T).
    predicted: the plain symbol for which each token votes, (B, T).
    count: V, the size of the vocabulary.
    staying: no key changes ids below this number.

    Returns three arrays with an entry for each cipher symbol of each row: the row, the cipher
    symbol, and the plain symbol. If votes are equal, the smallest id wins.
    """
    rows = np.broadcast_to(np.arange(len(tokens))[:, None], tokens.shape)
    there = tokens >= staying
    voters = (rows * count + tokens)[there]
    votes, counts = np.unique(voters * count + predicted[there], return_counts=True)
    # Sort by row and cipher symbol, then by number of votes (descending), then by plain symbol.
    votes = votes[np.lexsort((votes, -counts, votes // count))]
    voters, first = np.unique(votes // count, return_index=True)
    return voters // count, voters % count, votes[first] % count


def windows_of(
    tokens: np.ndarray, predicted: np.ndarray, plain: np.ndarray, width: int, staying: int = STAYING
) -> list[KeyWindow]:
    """Return the precision of guesses in each window. Windows without cipher symbols are left out.

    tokens: the cipher symbols, (B, T).
    predicted: the guesses of a probe or of a control, (B, T).
    plain: the plain symbols, (B, T).
    width: number of tokens of a window.
    """
    count, found = 1 + max(int(each.max(initial=0)) for each in (tokens, predicted, plain)), []
    right = predicted == plain
    for number in range(tokens.shape[1] // width):
        here = slice(number * width, (number + 1) * width)
        rows, symbols, said = majority(tokens[:, here], predicted[:, here], count, staying)
        if not len(rows):
            continue
        *_, true = majority(tokens[:, here], plain[:, here], count, staying)
        within = share_by_row(rows, said == true, len(tokens))
        read = slice(here.stop)
        all_rows, all_symbols, all_said = majority(
            tokens[:, read], predicted[:, read], count, staying
        )
        again = np.isin(all_rows * count + all_symbols, rows * count + symbols)
        so_far = share_by_row(rows, all_said[again] == true, len(tokens))
        there = tokens[:, here] >= staying
        single = float(right[:, here][there].mean()), int(there.sum())
        place = number + 1, here.start, here.stop - 1
        found.append(KeyWindow(*place, *within, *so_far, len(rows), *single))
    return found


def find_keys(
    run: Path,
    called: str,
    corpus: Corpus,
    folder: Path,
    settings: ProbeSettings,
    *,
    split: str = "test",
    context: int | None = None,
    window: int = 100,
    matrices: Sequence[int] | None = None,
    limit: int = 1000,
    device: str = "auto",
    progress: StageProgress = no_progress,
) -> Keys:
    """Return the keys that probes of the model in the folder `run` find.

    called: the model's name.
    matrices: numbers of tokens; for each, measure the guesses in the window after these tokens.

    The probes are trained if `folder` contains no probe. Raises LogicgenError if the model, the
    probe and the corpus do not fit together.
    """
    model = as_language_model(load_model(run, device), run)
    ciphers = Ciphers(corpus, split)
    check_fits(model, corpus, called, settings.layer)
    context = checked_context(ciphers, context, window, settings.last)
    check_matrices(matrices or (), window, context)
    prepare_folder(folder)  # before slow work, because this step may fail
    digest, counted = weights_digest(run), partial(progress, "steps of the probe")
    probes, card = probes_of(model, digest, called, corpus, folder, settings, context, counted)
    numbers = np.arange(min(limit, len(ciphers)))
    counted = partial(progress, "rows read")
    layers = measure_keys(
        model, probes, ciphers, numbers, context, window, matrices or (), progress=counted
    )
    tokens, plain = ciphers.rows(numbers, context)
    guessed = control_guesses(
        corpus, ciphers, tokens, partial(progress, "rows of the exact control")
    )
    controls = {
        name: windows_of(tokens, guesses, plain, window, ciphers.staying)
        for name, guesses in guessed.items()
    }
    about = {"called": called, "data": corpus.name, "split": split, "rows": len(numbers)}
    best = min(zip(card["losses"], probes, strict=True))[1]
    return Keys(about | {"window": window, "layer": best, "probe": card}, layers, controls)


def checked_context(ciphers: Ciphers, context: int | None, window: int, last: int | None) -> int:
    """Return the number of tokens of a row to read: `context`, or by default all tokens.

    last: number of positions at the end of each row that the probe learns from.

    Raises LogicgenError if rows are shorter than `context`, or if `window` or `last` exceeds it.
    """
    context = ciphers.length if context is None else context
    if context > ciphers.length:
        raise LogicgenError(
            f"context {context}: the rows have {ciphers.length} tokens; ask for no more"
        )
    if context < window:
        raise LogicgenError(
            f"window {window}: only {context} tokens of a row are read: make it smaller, or make a"
            " corpus with longer rows"
        )
    if last is not None and last > context:
        raise LogicgenError(f"last {last}: {context} tokens of a row are read; ask for less")
    return context


def check_matrices(matrices: Sequence[int], window: int, context: int) -> None:
    """Check the places of matrices of guesses.

    matrices: for each matrix, the number of tokens before its window.

    Raises LogicgenError if the numbers do not increase, or if a row has no whole window there.
    """
    for before, after in zip((-1, *matrices), matrices, strict=False):
        if after <= before:
            raise LogicgenError(
                f"matrices {shown([*matrices])}: give increasing numbers of at least 0, such as"
                " 0,50,100"
            )
        if after + window > context:
            raise LogicgenError(
                f"matrices {shown(after)}: after these tokens a window of {window} ends beyond the"
                f" {context} tokens of a row that are read; give at most {context - window}"
            )


def measure_keys(
    model: LanguageModel,
    probes: Probes,
    ciphers: Ciphers,
    numbers: np.ndarray,
    context: int,
    window: int,
    matrices: Sequence[int] = (),
    progress: Progress = no_progress,
) -> dict[int, LayerKeys]:
    """Return the keys that the probe of each layer finds in some rows, by layer.

    numbers: indices of the rows.
    context: number of tokens of a row that are read, at least `window`.
    matrices: numbers of tokens before the windows of `LayerKeys.matrices`.
    """
    tokens, plain = ciphers.rows(numbers, context)
    different, last = len(model.tokens), _last(context, window)
    parts = [last, *(slice(after, after + window) for after in matrices)]
    predicted = {layer: np.empty_like(tokens) for layer in probes}
    examples: dict[int, ProbedRow] = {}
    sums = {layer: np.zeros((len(parts), different, different)) for layer in probes}
    at_a_time = max(1, AT_A_TIME // context)
    for first in range(0, len(numbers), at_a_time):
        here = slice(first, first + at_a_time)
        # Random embedding rows have the index of the cipher text as their seed.
        states = model.hidden_states(tokens[here], numbers[here].tolist())
        for layer, probe in probes.items():
            with torch.no_grad():
                scores: Tensor = probe(states[layer - 1])
            likely = scores.softmax(-1).cpu().numpy()
            for total, part in zip(sums[layer], parts, strict=True):
                np.add.at(total, plain[here, part].ravel(), likely[:, part].reshape(-1, different))
            predicted[layer][here] = scores.argmax(-1).cpu().numpy()
            if not first:
                examples[layer] = ProbedRow(tokens[0], plain[0], ciphers.staying, likely[0])
        progress(min(first + at_a_time, len(numbers)), len(numbers))
    met = [np.bincount(plain[:, part].ravel(), minlength=different) for part in parts]
    counts = np.where(np.arange(different) < ciphers.staying, 0, met)[..., None]
    found = {}
    for layer in probes:
        windows = windows_of(tokens, predicted[layer], plain, window, ciphers.staying)
        guesses, *others = np.where(counts > 0, sums[layer] / np.maximum(counts, 1), 0)
        asked = dict(zip(matrices, others, strict=True))
        found[layer] = LayerKeys(windows, examples[layer], guesses, asked)
    if not all(each.windows for each in found.values()):
        raise LogicgenError("no row has a symbol that its key could change: give another corpus")
    return found


def _last(context: int, window: int) -> slice:
    """Return the positions of the last whole window."""
    end = context // window * window
    return slice(end - window, end)
