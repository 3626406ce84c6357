"""Show, cut and sample a grammar of productions (`productions/grammar.py`).

The argument `run` of these functions is a grammar file, or the folder of a trained model or of a
data set with a grammar.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from logicgen.errors import LogicgenError
from logicgen.experiments.teachers import load_grammar
from logicgen.files import prepare_folder, write_text
from logicgen.productions import Grammar, cut, find_connection, grammar_text, pruned
from logicgen.report.figure_style import save
from logicgen.report.grammar_page import draw_grammars, write_grammar_page
from logicgen.report.rows import REPORT
from logicgen.tasks.grammar_sentences import GRAMMAR

# The largest number of sentences that `_lost` lists.
SHOWN = 20


def show_grammar(run: Path, out: Path | None) -> tuple[str, str]:
    """Draw a grammar; return a text with its weights, and a text with the names of the files.

    out: the folder for the files. If it is None: `run`, or the current folder if `run` is a file.
    """
    grammar, _ = load_grammar(run)
    folder = out or (run if run.is_dir() else Path("."))
    prepare_folder(folder)
    save(draw_grammars([(run.name, grammar)], "weights"), folder, "weights")
    write_grammar_page([(run.name, grammar)], run.name, folder / REPORT)
    return described(grammar), f"as a graph: {folder / 'weights.png'}, {folder / REPORT}"


def cut_grammar(run: Path, above: str, below: str, out: Path | None) -> tuple[list[str], str]:
    """Remove the connection from unit `above` to unit `below`, and write the remaining grammar.

    Returns lines about the sentences that lose most of their probability, and a text with the name
    of the file. If there are too many sentences to list, there is only a first line.
    """
    whole, least = load_grammar(run)
    grammar = pruned(whole, least) if least else whole
    left = cut(grammar, above, below)
    connection = find_connection(grammar, above, below)
    name = f"cut-{above}-{below}".replace(":", ".").replace("/", "_")
    folder = out or (run if run.is_dir() else Path(".")) / name
    prepare_folder(folder)
    _check_free(folder, run)
    write_text(folder / GRAMMAR, grammar_text(left, f"{run} without {above} -> {below}"))
    both = [("before", grammar), (f"{above} -> {below} cut", left)]
    save(draw_grammars(both, run.name, connection), folder, "cut")
    write_grammar_page(both, f"{run.name} without {above} -> {below}", folder / REPORT, connection)
    layer, unit, chosen = connection
    weight = grammar.below[layer][chosen, unit] * grammar.reach[layer][unit]
    lines = [f"cut: a connection of {weight:.1%} of all sentences"]
    with suppress(LogicgenError):  # the grammar has too many sentences to list
        lines += _lost(grammar, left)
    return lines, f"grammar without the connection: {folder / GRAMMAR}"


def _check_free(folder: Path, run: Path) -> None:
    """Raise LogicgenError if `folder` has the grammar to cut, or files that no cut would replace.

    run: the file or folder of the grammar to cut.
    """
    mine = {GRAMMAR, REPORT, "cut.png", "cut.svg", "weights.png", "weights.svg"}
    held = [each.name for each in folder.iterdir() if each.name not in mine and each.is_file()]
    if (folder / GRAMMAR).resolve() in (run.resolve(), (run / GRAMMAR).resolve()):
        held.append("the grammar that is cut")
    if held:
        raise LogicgenError(f"{folder}: holds {held[0]}: choose another folder with -o")


def _lost(grammar: Grammar, left: Grammar) -> list[str]:
    """Return a line for each sentence that the cut deprives of more than half of its probability.

    left: the grammar after the cut. Only the `SHOWN` most probable sentences are listed.
    """
    ids, before = grammar.sentences()
    after = np.exp(left.log_probabilities(ids))
    lost = np.flatnonzero(after < before / 2)
    lines = []
    for number in lost[np.argsort(-before[lost], kind="stable")][:SHOWN]:
        shares = f"{before[number]:>8.2%} -> {after[number]:>8.2%}"
        lines.append(f"{shares}  {grammar.decode(ids[number])}")
    if len(lost) > SHOWN:
        lines.append(f"and {len(lost) - SHOWN:,} more")
    return lines


def sentence_lines(run: Path, prompt: str, *, count: int, seed: int, exact: bool) -> Iterator[str]:
    """Yield `count` sentences that agree with a prompt, as lines of text.

    exact: whether to yield the most probable sentences, with their probabilities. If False, yield
        random sentences.
    """
    grammar, _ = load_grammar(run)
    given = grammar.encode(prompt)
    if not exact:
        for sentence in grammar.sample(np.random.default_rng(seed), count, given):
            yield grammar.decode(sentence)
        return
    ids, probabilities = grammar.sentences()
    agrees = grammar.agree(ids, given)
    total = probabilities[agrees].sum()
    if not total:
        raise LogicgenError(f"no sentence agrees with {prompt!r}: give another")
    order = np.flatnonzero(agrees)
    for number in order[np.argsort(-probabilities[order], kind="stable")][:count]:
        yield f"{probabilities[number] / total:>9.4%}  {grammar.decode(ids[number])}"


def described(grammar: Grammar) -> str:
    """Return a text with the distributions of every unit, without weights below 1%."""

    def shares(names: tuple[str, ...], column: Any) -> str:
        """Return names with their probabilities, the most probable first."""
        order = sorted(zip(names, column, strict=True), key=lambda pair: -pair[1])
        return ", ".join(f"{name} {share:.3f}" for name, share in order if share >= 0.01)

    lines = [f"start: {shares(grammar.units[0], grammar.start)}"]
    for layer, units in enumerate(grammar.units):
        lines.append(f"layer {layer + 1}")
        for number, unit in enumerate(units):
            on = grammar.reach[layer][number]
            said = shares(grammar.words, grammar.tokens[layer][:, number])
            line = f"  {unit} (active in {on:.1%}) emits {said}"
            if layer + 1 < grammar.positions:
                below = shares(grammar.units[layer + 1], grammar.below[layer][:, number])
                line += f"; then {below}"
            lines.append(line if on else f"  {unit} is never active")
    return "\n".join(lines)
