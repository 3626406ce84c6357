"""The measure `keys`: the figures, the page and the files of a probe of ciphers.

The probe guesses the plain symbol of each cipher symbol. `keys.py` defines the precision and the
windows. A row is a cipher text. The files of a measurement:

windows.csv     precision by window
summary.json    the settings, and the precision in the last window
five figures    precision by window, guesses by plain symbol, and three figures of one row
report.html     one cipher text, with the guess of the probe at each position
matrices.json   on request, guesses by plain symbol after some numbers of tokens, with a figure
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from logicgen.data.opening import as_corpus
from logicgen.errors import LogicgenError, at
from logicgen.files import write_text
from logicgen.measures.key_matrices import (
    FONT,
    draw_guesses,
    draw_matrices,
    draw_matrix,
    draw_probabilities,
    labels_of,
    matrices_json,
    readable,
)
from logicgen.measures.keys import Keys, KeyWindow, ProbedRow, check_matrices, find_keys
from logicgen.measures.measure import (
    Findings,
    Json,
    Measure,
    Picture,
    Subject,
    check_reads,
    labels,
    mean_share,
)
from logicgen.measures.probe import ProbeSettings
from logicgen.model.recipe import ModelRecipe
from logicgen.report.document import Document, FactTable, write_document
from logicgen.report.figure_style import (
    LINES,
    band,
    legend_below,
    line_styles,
    new_axes,
    save,
    shares,
    whole_numbers,
)
from logicgen.report.rows import REPORT
from logicgen.report.tables import percent_interval, write_csv, write_json
from logicgen.tokens import Tokens

# The figure of a key also shows plain symbols that do not occur in the window, if their mean
# probability at some cipher symbol is at least this value.
WORTH_SHOWING = 0.1
RIVALS = 3  # number of the most probable wrong plain symbols in the figure of occurrences


def draw_precision(found: Keys, title: str) -> Figure:
    """Draw the precision of each window: of its votes, all votes up to its end, and single guesses.

    A vote is the guess at one occurrence of a cipher symbol. Bands are 95% intervals over rows. For
    controls (guesses without a model), only the precision by all votes up to the end is drawn.
    """
    windows = found.best.windows
    figure, axes = new_axes(7.5, 4.2, title)
    numbers = [each.window for each in windows]
    lines = (
        ("majority of the window", "precision", ("low", "high")),
        ("majority so far", "so_far", ("so_far_low", "so_far_high")),
        ("single occurrences", "occurrence", None),
    )
    for (label, what, between), style in zip(lines, line_styles(), strict=False):
        axes.plot(numbers, [getattr(each, what) for each in windows], label=label, **style)
        if between:
            low, high = ([getattr(each, end) for each in windows] for end in between)
            band(axes, numbers, low, high, style["color"])
    dashes = ((1, 2), (4, 2), (8, 2))
    for (label, theirs), gaps in zip(found.controls.items(), dashes, strict=False):
        places, precisions = [each.window for each in theirs], [each.so_far for each in theirs]
        axes.plot(places, precisions, color="#777777", dashes=gaps, label=f"control: {label}")
    width = windows[0].last - windows[0].first + 1
    axes.set(xlabel=f"window ({width:,} characters each)", ylabel="right", ylim=(0, 1.02))
    whole_numbers(axes.xaxis)
    shares(axes.yaxis)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    legend_below(figure)
    return figure


def draw_key(
    row: ProbedRow, meant: np.ndarray, tokens: Tokens, width: int, title: str
) -> Figure | None:
    """Draw the probability of each plain symbol at each cipher symbol of a row.

    meant: the plain symbol of each cipher symbol, as `ProbedRow.meant` returns it.
    width: number of tokens of a window.

    A probability is the mean over the last window. Cipher symbols are in the order of their plain
    symbols, so that the true key is the diagonal. Returns None if the window has no symbol that a
    key could change.
    """
    last = len(row.tokens) // width * width
    here, probabilities = (each[last - width : last] for each in (row.tokens, row.probabilities))
    columns = np.unique(here[here >= row.staying])
    if not len(columns):
        return None
    columns = columns[np.argsort(meant[columns])]
    true = meant[columns]
    matrix = np.stack([probabilities[here == each].mean(axis=0) for each in columns], axis=1)
    others = np.flatnonzero(matrix.max(axis=1) >= WORTH_SHOWING)
    rows = np.concatenate([true, np.setdiff1d(others, true)])
    texts = labels_of(tokens, columns), labels_of(tokens, rows)
    says = f"mean probability in the last {width:,} characters"
    figure, axes = draw_matrix(matrix[rows], *texts, title, says)
    axes.set(xlabel="cipher symbol", ylabel="plain symbol")
    frame: dict[str, Any] = {"fill": False, "edgecolor": LINES[1][0], "linewidth": 1.4}
    for place in range(len(columns)):
        label = "" if place else "true key"
        axes.add_patch(Rectangle((place - 0.5, place - 0.5), 1, 1, label=label, **frame))
    legend_below(figure, 1)
    return figure


def draw_key_so_far(row: ProbedRow, meant: np.ndarray, tokens: Tokens, title: str) -> Figure:
    """Draw, for each symbol of a row, the probability of its true plain symbol along the row.

    meant: the plain symbol of each cipher symbol.

    Each position shows the probability at the symbol's latest occurrence, or nothing before its
    first occurrence. Symbols are in the order of their first occurrence.
    """
    symbols = list(dict.fromkeys(int(each) for each in row.tokens if each >= row.staying))
    carpet = np.full((len(symbols), len(row.tokens)), np.nan)
    for place, symbol in enumerate(symbols):
        places = np.flatnonzero(row.tokens == symbol)
        said = row.probabilities[places, meant[symbol]]
        latest = np.searchsorted(places, np.arange(len(row.tokens)), side="right") - 1
        carpet[place] = np.where(latest >= 0, said[latest], np.nan)
    figure, axes = new_axes(7.5, 1.5 + 0.2 * len(symbols), title)
    says = "probability of the truth\nat the latest occurrence"
    how = {"aspect": "auto", "interpolation": "nearest"}
    draw_probabilities(figure, axes, carpet, says, 0.8, **how)
    axes.yaxis.set_ticks(range(len(symbols)), labels_of(tokens, meant[symbols]))
    axes.tick_params(axis="y", length=0, labelsize=8, labelfontfamily=FONT)
    axes.set(xlabel="position", ylabel="plain symbol")
    return figure


def draw_occurrences(
    row: ProbedRow, meant: np.ndarray, tokens: Tokens, width: int, title: str
) -> Figure:
    """Draw the probabilities of plain symbols at each occurrence of one cipher symbol.

    meant: the plain symbol of each cipher symbol.
    width: number of tokens of a window.

    The figure shows the true plain symbol and the most probable wrong plain symbols. The cipher
    symbol is the row's most frequent symbol that does not mean a blank, if there is any.
    """
    counts = np.bincount(row.tokens, minlength=len(tokens))
    counts[: row.staying] = 0
    blank = np.array([text.isspace() for text in tokens.texts])[meant]
    symbol = int(np.argmax(counts * np.where(blank, 1, len(row.tokens))))
    true = int(meant[symbol])
    places = np.flatnonzero(row.tokens == symbol)
    probabilities = row.probabilities[places]
    order = np.argsort(-probabilities.mean(axis=0), kind="stable")
    rivals = order[order != true][:RIVALS]
    figure, axes = new_axes(7.5, 4.2, title)
    for plain, style in zip([true, *rivals], line_styles(), strict=False):
        label = f"{readable(tokens.texts[plain])}{' (true)' if plain == true else ''}"
        style["linewidth"] = 1.8 if plain == true else 1.0
        axes.plot(places, probabilities[:, plain], markersize=4, label=label, **style)
    for border in range(width, len(row.tokens) + 1, width):
        axes.axvline(border - 0.5, color="#cccccc", linewidth=0.8, zorder=0)
    axes.set_xlim(0, len(row.tokens))
    axes.set(ylim=(-0.02, 1.02), xlabel=f"position of the occurrence (lines: windows of {width:,})")
    written = readable(tokens.texts[symbol])
    axes.set_ylabel(f"probability of plain symbols\nwhere {written} is written")
    shares(axes.yaxis)
    legend_below(figure, 4, prop={"family": FONT, "size": 11})
    return figure


def draw_windows(points: dict[str, list[dict[str, float]]], title: str) -> Figure:
    """Draw key precision by window with 95% intervals: a line per combination of settings.

    points: for the label of each combination, the values of `KeyWindow` for each window.
    """
    figure, axes = new_axes(7, 4.2, title)
    for (label, windows), style in zip(points.items(), line_styles(), strict=False):
        places = [window["last"] for window in windows]
        low, high = ([window[end] for window in windows] for end in ("low", "high"))
        axes.plot(places, [w["precision"] for w in windows], label=label, markersize=5, **style)
        band(axes, places, low, high, style["color"])
    axes.set_ylim(0, 1)
    shares(axes.yaxis)
    axes.set(xlabel="end of the window (characters)", ylabel="key precision")
    legend_below(figure, max(1, 75 // (max(map(len, points)) + 8)))  # number of labels side by side
    return figure


def write_key_page(found: Keys, tokens: Tokens, path: Path) -> Path:
    """Write the HTML page of the keys that a probe found; return its path."""
    about, windows = found.about, found.best.windows
    last = windows[-1]
    document = Document(
        title=f"{about['called']} on {about['data']} ({about['split']})",
        lead="In the last window, the probe finds"
        f" {percent_interval(last.precision, last.low, last.high)} of the symbols of"
        f" {about['rows']:,} rows.",
        summary=[_windows("The probe, window by window", windows)],
        data={"cipher": _cipher(found.best.example, tokens)},
        facts=[_windows(f"Control: {name}", some) for name, some in found.controls.items()],
        notes=["Made by logicgen. Intervals are 95% Wilson intervals over rows."],
    )
    return write_document(document, path)


def _cipher(row: ProbedRow, tokens: Tokens) -> list[Json]:
    """Return a dictionary for each position of a row, for the page's scripts.

    `written` is the cipher symbol, `meant` the plain symbol, and `guess` the guess of the probe.
    `vote` is the majority of the guesses at this cipher symbol up to this position. `truth` is the
    probability of the plain symbol. `keyed` is whether a key can change the symbol.
    """
    votes: dict[int, Counter[int]] = defaultdict(Counter)
    places, guesses = [], row.probabilities.argmax(axis=1).tolist()
    for place, (written, meant, guess) in enumerate(
        zip(row.tokens.tolist(), row.plain.tolist(), guesses, strict=True)
    ):
        votes[written][guess] += 1
        count = votes[written]
        # If votes are equal, the smallest id wins, as in `measures/keys.py`.
        vote = min(count, key=lambda each: (-count[each], each))
        ids = {"written": written, "meant": meant, "guess": guess, "vote": vote}
        truth = round(float(row.probabilities[place, meant]), 3)
        texts = {name: tokens.texts[number] for name, number in ids.items()}
        places.append({**texts, "truth": truth, "keyed": written >= row.staying})
    return places


def _windows(title: str, windows: list[KeyWindow]) -> FactTable:
    """Return the table of precision by window."""
    rows = [
        [
            f"{each.first} to {each.last}",
            percent_interval(each.precision, each.low, each.high),
            percent_interval(each.so_far, each.so_far_low, each.so_far_high),
            f"{each.occurrence:.1%}",
            f"{each.symbols:,}",
        ]
        for each in windows
    ]
    heads = ["positions", "right, by votes of the window", "by votes so far", "single", "symbols"]
    return FactTable(title, heads, rows)


WINDOWS, SUMMARY, PRECISION, MATRICES = "windows.csv", "summary.json", "precision", "matrices"


def write_keys(found: Keys, tokens: Tokens, folder: Path) -> None:
    """Write all files of an evaluation of a probe."""
    about, best, width = found.about, found.best, found.about["window"]
    layers = {f"probe of layer {layer}": each.windows for layer, each in found.layers.items()}
    found_by = {"probe": best.windows, **layers, **found.controls}
    lines = [{"by": by, **asdict(each)} for by, some in found_by.items() for each in some]
    write_csv(lines, folder / WINDOWS)
    summary = {
        **about,
        "last": asdict(best.windows[-1]),
        "controls": {by: asdict(some[-1]) for by, some in found.controls.items()},
        "layers": _last_windows(found),
    }
    write_json(summary, folder / SUMMARY)
    title = f"{about['called']} on {about['data']} ({about['split']})"
    every, one = f"{title}, {about['rows']:,} rows", f"{title}, one row"
    row, guesses = best.example, draw_guesses(best.guesses, tokens, every)
    figures = {PRECISION: draw_precision(found, every), "guesses": guesses}
    if best.matrices:
        numbers = matrices_json(found, tokens)
        write_text(folder / f"{MATRICES}.json", json.dumps(numbers) + "\n")
        figures[MATRICES] = draw_matrices(numbers, every)
    if (meant := row.meant) is not None:
        figures["key"] = draw_key(row, meant, tokens, width, one)
        figures["key-so-far"] = draw_key_so_far(row, meant, tokens, one)
        figures["occurrences"] = draw_occurrences(row, meant, tokens, width, one)
    for name, figure in figures.items():
        if figure is not None:
            save(figure, folder, name)
    write_key_page(found, tokens, folder / REPORT)


def _last_windows(found: Keys) -> Json:
    """Return the precision in the last window, by number of the layer."""
    return {str(layer): asdict(each.windows[-1]) for layer, each in found.layers.items()}


class KeyPrecision(Measure):
    """The precision at which a probe of a language model finds the keys of ciphers."""

    name = "keys"
    noun = "a probe of ciphers"
    of = ("sequences", "ciphers")

    def check(self, settings: Any, data: Any, model: ModelRecipe, where: str) -> None:
        """Check that the data have keys and that the model is a language model.

        Raises LogicgenError for data without keys and for any other model.
        """
        if data.holds != "ciphers" and data.task != "automaton":
            raise LogicgenError(
                f"{where}: measure {settings.name}: data of the task {data.task} have no keys: give"
                " data of the task cipher or automaton"
            )
        check_reads(settings.name, model, where)
        if settings.matrices is not None:
            context = settings.context or data.settings(where).length
            with at(f"{where}: measure {settings.name}"):
                check_matrices(settings.matrices, settings.window, context)

    def take(self, settings: Any, data: Any, subject: Subject) -> Json:
        """Train probes and measure how well they find keys.

        Returns the precision by window of the best probe and of the controls, and the precision of
        each layer's probe in the last window. If `settings.matrices` is given, also returns the
        matrices of the best probe.
        """
        corpus, folder = as_corpus(data), subject.run / settings.name
        probed = ProbeSettings(**settings.model_dump(include={"steps", "hidden", "layer", "last"}))
        options = settings.model_dump(include={"split", "context", "window", "matrices"})
        options |= {"limit": settings.limit or 1000, "device": subject.device}
        keys = find_keys(subject.run, subject.name, corpus, folder, probed, **options)
        write_keys(keys, corpus.tokens, folder)
        controls = {by: [asdict(each) for each in some] for by, some in keys.controls.items()}
        windows = [asdict(each) for each in keys.best.windows]
        layer, layers = keys.about["layer"], _last_windows(keys)
        found = {"windows": windows, "controls": controls, "layer": layer, "layers": layers}
        return found | ({MATRICES: matrices_json(keys, corpus.tokens)} if settings.matrices else {})

    def headline(self, found: Json) -> tuple[float, bool]:
        """Return the precision in the last window. Higher is better."""
        return float(found["windows"][-1]["precision"]), False

    def columns(self, points: list[Findings], prefix: str) -> list[dict[str, str]]:
        """Return table rows: precision in the first and the last window, and of the controls."""
        return [
            {
                f"{point.measure}, {which} window": mean_share(
                    [each["windows"][place] for each in point.found], "precision", "low", "high"
                )
                for which, place in (("first", 0), ("last", -1))
            }
            | {
                f"{prefix}{by}, last window": f"{windows[-1]['precision']:.1%}"
                for by, windows in point.found[0]["controls"].items()
            }
            for point in points
        ]

    def lines(self, found: Json) -> list[Json]:
        """Return a row for each window of the probe and of each control."""
        return [
            {"part": f"window {window['window']}", **window, "by": by}
            for by, windows in {"probe": found["windows"], **found["controls"]}.items()
            for window in windows
        ]

    def pictures(self, study: str, measured: list[list[Findings]]) -> list[Picture]:
        """Return the figures of each measure: precision by window, and matrices.

        Matrices are of the first training seed.
        """
        pictures = []
        for points in measured:
            name, windows = points[0].measure, [point.found[0]["windows"] for point in points]
            precisions = dict(zip(labels(points), windows, strict=True))
            figure = draw_windows(precisions, f"{study}: {name}")
            pictures.append((name, f"{name}: key precision by window", figure))
            for point in points:
                if MATRICES in point.found[0]:
                    title = f"{study}: {name}, {point.label}"
                    drawn = draw_matrices(point.found[0][MATRICES], title)
                    if drawn is not None:
                        pictures.append((f"{name}-{MATRICES}-{point.point}", title, drawn))
        return pictures


MEASURE = KeyPrecision()


def keys_lines(found: Keys) -> list[str]:
    """Return the key precision by window, layer and control as printed lines."""
    lines = [
        f"{'window':>6}  {'positions':<12} {'key precision':<24} {'votes so far':<24} occurrences"
    ]
    for each in found.best.windows:
        within = percent_interval(each.precision, each.low, each.high)
        so_far = percent_interval(each.so_far, each.so_far_low, each.so_far_high)
        positions = f"{each.first}-{each.last}"
        numbers = f"{within:<24} {so_far:<24} {each.occurrence:.1%}"
        lines.append(f"{each.window:>6}  {positions:<12} {numbers}")
    if len(found.layers) > 1:
        last = {layer: each.windows[-1].precision for layer, each in found.layers.items()}
        shares = ", ".join(f"{layer}: {share:.1%}" for layer, share in last.items())
        lines.append(f"layer {found.about['layer']}; last window by layer: {shares}")
    for by, some in found.controls.items():
        end = some[-1]
        lines.append(
            f"control, {by}: {end.precision:.1%} in the last window, {end.so_far:.1%} with all"
            f" votes so far, {end.occurrence:.1%} of occurrences"
        )
    return lines
