"""`logicgen inductive`: show, cut and sample the grammar of an inductive Transformer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from logicgen.cli.options import PATH, SEED, out_option
from logicgen.cli.terminal import put, say
from logicgen.errors import LogicgenError

if TYPE_CHECKING:
    from logicgen.productions import Grammar


@click.group("inductive")
def command() -> None:
    """Show, cut and sample the grammars of inductive Transformers.

    RUN is a trained model, a grammar file, or a folder with a grammar.toml: a data set of the task
    production, or what cut wrote. Units are called by the word they say, or LAYER.NUMBER.

    \b
    logicgen generate three-sentences -o data/three-sentences
    logicgen train inductive --data data/three-sentences -o runs/three
    logicgen inductive show runs/three
    logicgen inductive cut runs/three big dog
    logicgen inductive generate runs/three/cut-big-dog --prompt big
    """


RUN = click.argument("run", metavar="RUN", type=PATH)
OUT = out_option("Folder for what it writes.")


@command.command("show")
@RUN
@OUT
def show(run: Path, out: Path | None) -> None:
    """Print all weights of 1% and more, and draw them as a layered graph.

    Writes weights.png, weights.svg and report.html, a page, to --out, or to RUN if that is a
    folder.
    """
    from logicgen.experiments.teachers import load_grammar
    from logicgen.files import prepare_folder
    from logicgen.report.figure_style import save
    from logicgen.report.grammar_page import draw_grammars, write_grammar_page
    from logicgen.report.rows import REPORT

    grammar, _ = load_grammar(run)
    folder = out or (run if run.is_dir() else Path("."))
    prepare_folder(folder)
    put(described(grammar))
    save(draw_grammars([(run.name, grammar)], "weights"), folder, "weights")
    write_grammar_page([(run.name, grammar)], run.name, folder / REPORT)
    say(f"as a graph: {folder / 'weights.png'}, {folder / REPORT}")


@command.command("cut")
@RUN
@click.argument("above")
@click.argument("below")
@OUT
def cut_connection(run: Path, above: str, below: str, out: Path | None) -> None:
    """Take the connection from unit ABOVE to unit BELOW out of RUN's grammar.

    Writes what is left as grammar.toml, and a picture and a page of before and after, to --out, or
    to RUN/cut-ABOVE-BELOW. Of a trained model, what weighs a thousandth or less counts as nothing
    and is left out, too. Prints the sentences that have lost more than half of their share.
    """
    import numpy as np

    from logicgen.experiments.teachers import load_grammar
    from logicgen.files import prepare_folder, write_text
    from logicgen.productions import cut, find_connection, grammar_text, pruned
    from logicgen.report.figure_style import save
    from logicgen.report.grammar_page import draw_grammars, write_grammar_page
    from logicgen.report.rows import REPORT
    from logicgen.tasks.grammar_sentences import GRAMMAR

    whole, least = load_grammar(run)
    grammar = pruned(whole, least) if least else whole
    left = cut(grammar, above, below)
    connection = find_connection(grammar, above, below)
    name = f"cut-{above}-{below}".replace(":", ".").replace("/", "_")
    folder = out or (run if run.is_dir() else Path(".")) / name
    prepare_folder(folder)
    # What an earlier cut wrote may be replaced, but not what this one reads, nor anything else.
    mine = {GRAMMAR, REPORT, "cut.png", "cut.svg", "weights.png", "weights.svg"}
    held = [each.name for each in folder.iterdir() if each.name not in mine and each.is_file()]
    if (folder / GRAMMAR).resolve() in (run.resolve(), (run / GRAMMAR).resolve()):
        held.append("the grammar that is cut")
    if held:
        raise LogicgenError(f"{folder}: holds {held[0]}: choose another folder with -o")
    write_text(folder / GRAMMAR, grammar_text(left, f"{run} without {above} -> {below}"))
    both = [("before", grammar), (f"{above} -> {below} cut", left)]
    save(draw_grammars(both, run.name, connection), folder, "cut")
    write_grammar_page(both, f"{run.name} without {above} -> {below}", folder / REPORT, connection)
    layer, unit, chosen = connection
    weight = grammar.below[layer][chosen, unit] * grammar.reach[layer][unit]
    put(f"cut: {weight:.1%} of all sentences went that way")
    try:
        ids, before = grammar.sentences()
    except LogicgenError:  # too many to list
        return
    after = np.exp(left.log_probabilities(ids))
    lost = np.flatnonzero(after < before / 2)
    for number in lost[np.argsort(-before[lost], kind="stable")][:20]:
        shares = f"{before[number]:>8.2%} -> {after[number]:>8.2%}"
        put(f"{shares}  {grammar.decode(ids[number])}")
    if len(lost) > 20:
        put(f"and {len(lost) - 20:,} more")
    say(f"what is left: {folder / GRAMMAR}")


@command.command("generate")
@RUN
@click.option("--prompt", default="", help="Words of the sentences; _ is any word.")
@click.option("--count", type=click.IntRange(1, 1_000_000), default=10, show_default=True)
@SEED
@click.option(
    "--exact", is_flag=True, help="The most probable sentences with their probabilities instead."
)
def generate(run: Path, prompt: str, count: int, seed: int, exact: bool) -> None:
    """Draw sentences that agree with --prompt, each as probable as RUN's grammar has it."""
    import numpy as np

    from logicgen.experiments.teachers import load_grammar

    grammar, _ = load_grammar(run)
    given = grammar.encode(prompt)
    if not exact:
        for sentence in grammar.sample(np.random.default_rng(seed), count, given):
            put(grammar.decode(sentence))
        return
    ids, probabilities = grammar.sentences()
    agrees = grammar.agree(ids, given)
    total = probabilities[agrees].sum()
    if not total:
        raise LogicgenError(f"no sentence agrees with {prompt!r}: give another")
    order = np.flatnonzero(agrees)
    for number in order[np.argsort(-probabilities[order], kind="stable")][:count]:
        put(f"{probabilities[number] / total:>9.4%}  {grammar.decode(ids[number])}")


def described(grammar: Grammar) -> str:
    """Return every unit's distributions, without what is below 1%."""

    def shares(names: tuple[str, ...], column: Any) -> str:
        order = sorted(zip(names, column, strict=True), key=lambda pair: -pair[1])
        return ", ".join(f"{name} {share:.3f}" for name, share in order if share >= 0.01)

    lines = [f"start: {shares(grammar.units[0], grammar.start)}"]
    for layer, units in enumerate(grammar.units):
        lines.append(f"layer {layer + 1}")
        for number, unit in enumerate(units):
            on = grammar.reach[layer][number]
            said = shares(grammar.words, grammar.tokens[layer][:, number])
            line = f"  {unit} (on in {on:.1%}) says {said}"
            if layer + 1 < grammar.positions:
                below = shares(grammar.units[layer + 1], grammar.below[layer][:, number])
                line += f"; then {below}"
            lines.append(line if on else f"  {unit} is never on")
    return "\n".join(lines)
