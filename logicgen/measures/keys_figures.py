"""The measure of keys: the figures, the page and the files of a probe of ciphers.

windows.csv     precision by window
summary.json    means
five figures    precision by window, guesses by letter, the key of one row
report.html     one cipher, and its key as it is found
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, get_font
from matplotlib.patches import Rectangle
from matplotlib.ticker import PercentFormatter

from logicgen.data.opening import as_corpus
from logicgen.errors import LogicgenError
from logicgen.measures.keys import Keys, KeyWindow, ProbedRow, find_keys
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

# White to the first colour of lines.
PROBABILITY = LinearSegmentedColormap.from_list("probability", ["white", LINES[0][0]])

FONT = "DejaVu Sans Mono"  # comes with Matplotlib

# A plain symbol that no cipher symbol here stands for is shown where it is at least as probable.
WORTH_SHOWING = 0.1
RIVALS = 3
MOST_GUESSED = 64  # symbols of a figure


def readable(text: str) -> str:
    """Return a token as a label: a blank is ␣, what the font has not is an escape."""
    if text == " ":
        return "␣"
    font = get_font(findfont(FONT))
    shown = "".join(
        each if each.isprintable() and font.get_char_index(ord(each)) else ascii(each)[1:-1]
        for each in text
    )
    return shown.replace("$", r"\$")  # two would begin a formula


def draw_precision(
    windows: Sequence[KeyWindow], controls: Mapping[str, Sequence[KeyWindow]], title: str
) -> Figure:
    """Draw the precision of each window, with votes of the window and so far, and of single places.

    Bands are 95% intervals over rows. Of controls, votes so far are drawn.
    """
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
    for (label, theirs), dashes in zip(controls.items(), ((1, 2), (4, 2), (8, 2)), strict=False):
        places, shares_right = ([getattr(w, what) for w in theirs] for what in ("window", "so_far"))
        axes.plot(places, shares_right, color="#777777", dashes=dashes, label=f"control: {label}")
    width = windows[0].last - windows[0].first + 1
    axes.set(xlabel=f"window ({width:,} characters each)", ylabel="right", ylim=(0, 1.02))
    whole_numbers(axes.xaxis)
    shares(axes.yaxis)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    legend_below(figure)
    return figure


def draw_key(row: ProbedRow, tokens: Tokens, width: int, title: str) -> Figure | None:
    """Draw the mean probability, over the last window, of each plain symbol at each cipher symbol.

    Cipher symbols are in the order of what they stand for, so that the true key is the diagonal.
    Returns None where the window has no symbol that a key could change, or the row has no key.
    """
    meant = row.meant
    last = len(row.tokens) // width * width
    here = row.tokens[last - width : last]
    probabilities = row.probabilities[last - width : last]
    columns = np.unique(here[here >= row.staying])
    if not len(columns) or meant is None:
        return None
    columns = columns[np.argsort(meant[columns])]
    true = meant[columns]
    matrix = np.stack([probabilities[here == each].mean(axis=0) for each in columns], axis=1)
    others = np.flatnonzero(matrix.max(axis=1) >= WORTH_SHOWING)
    rows = np.concatenate([true, np.setdiff1d(others, true)])
    size = 0.24
    figure, axes = new_axes(max(2.4 + size * len(columns), 5), 1.5 + size * len(rows), title)
    picture = axes.imshow(matrix[rows], cmap=PROBABILITY, vmin=0, vmax=1)
    frame: dict[str, Any] = {"fill": False, "edgecolor": LINES[1][0], "linewidth": 1.4}
    for place in range(len(columns)):
        label = "" if place else "true key"
        axes.add_patch(Rectangle((place - 0.5, place - 0.5), 1, 1, label=label, **frame))
    for axis, ids in ((axes.xaxis, columns), (axes.yaxis, rows)):
        labels = [readable(tokens.texts[each]) for each in ids]
        axis.set_ticks(range(len(ids)), labels)
        if axis is axes.xaxis and max(map(len, labels)) > 3:
            axis.set_tick_params(rotation=90)
    axes.tick_params(length=0, labelsize=8, labelfontfamily=FONT)
    axes.set(xlabel="cipher symbol", ylabel="plain symbol")
    bar = figure.colorbar(picture, ax=axes, shrink=0.6, format=PercentFormatter(xmax=1, decimals=0))
    bar.set_label(f"mean probability in the last {width:,} characters")
    legend_below(figure, 1)
    return figure


def draw_guesses(guesses: np.ndarray, tokens: Tokens, title: str) -> Figure | None:
    """Draw the mean probability of each guess, by the plain symbol that is meant; (V, V).

    Symbols are in the order of their ids; more than `MOST_GUESSED` are not drawn beyond these.
    Returns None where no symbol occurs.
    """
    met = np.flatnonzero(guesses.sum(axis=1) > 0)[:MOST_GUESSED]
    if not len(met):
        return None
    size = 0.24
    figure, axes = new_axes(max(2.4 + size * len(met), 5), 1.5 + size * len(met), title)
    picture = axes.imshow(guesses[np.ix_(met, met)], cmap=PROBABILITY, vmin=0, vmax=1)
    labels = [readable(tokens.texts[each]) for each in met]
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(range(len(met)), labels)
    if max(map(len, labels)) > 3:
        axes.xaxis.set_tick_params(rotation=90)
    axes.tick_params(length=0, labelsize=8, labelfontfamily=FONT)
    axes.set(xlabel="guess", ylabel="what is meant")
    bar = figure.colorbar(picture, ax=axes, shrink=0.6, format=PercentFormatter(xmax=1, decimals=0))
    bar.set_label("mean probability in the last window")
    return figure


def draw_key_so_far(row: ProbedRow, tokens: Tokens, title: str) -> Figure | None:
    """Draw, for each symbol of a row, the probability of what it stands for as the row goes on.

    At each position stands what was said at the symbol's latest occurrence; before the first there
    is nothing. Symbols are in the order in which they occur. Returns None without symbols or key.
    """
    symbols = list(dict.fromkeys(int(each) for each in row.tokens if each >= row.staying))
    meant = row.meant
    if not symbols or meant is None:
        return None
    length = len(row.tokens)
    carpet = np.full((len(symbols), length), np.nan)
    for place, symbol in enumerate(symbols):
        places = np.flatnonzero(row.tokens == symbol)
        said = row.probabilities[places, meant[symbol]]
        latest = np.searchsorted(places, np.arange(length), side="right") - 1
        carpet[place] = np.where(latest >= 0, said[latest], np.nan)
    figure, axes = new_axes(7.5, 1.5 + 0.2 * len(symbols), title)
    picture = axes.imshow(
        carpet, cmap=PROBABILITY, vmin=0, vmax=1, aspect="auto", interpolation="nearest"
    )
    labels = [readable(tokens.texts[meant[each]]) for each in symbols]
    axes.yaxis.set_ticks(range(len(symbols)), labels)
    axes.tick_params(axis="y", length=0, labelsize=8, labelfontfamily=FONT)
    axes.set(xlabel="position", ylabel="what a symbol stands for")
    bar = figure.colorbar(picture, ax=axes, shrink=0.8, format=PercentFormatter(xmax=1, decimals=0))
    bar.set_label("probability of the truth\nat the latest occurrence")
    return figure


def draw_occurrences(row: ProbedRow, tokens: Tokens, width: int, title: str) -> Figure | None:
    """Draw the probability of what one symbol stands for, and of its rivals, at each occurrence.

    The symbol is the row's most frequent one that does not stand for a blank, if there is another.
    Returns None where the row has no symbol that a key could change, or no key.
    """
    meant = row.meant
    counts = np.bincount(row.tokens, minlength=len(tokens))
    counts[: row.staying] = 0
    if not counts.any() or meant is None:
        return None
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
    """Draw key precision by window with 95% intervals, a line per point."""
    figure, axes = new_axes(7, 4.2, title)
    for (label, windows), style in zip(points.items(), line_styles(), strict=False):
        places = [window["last"] for window in windows]
        low, high = ([window[end] for window in windows] for end in ("low", "high"))
        axes.plot(places, [w["precision"] for w in windows], label=label, markersize=5, **style)
        band(axes, places, low, high, style["color"])
    axes.set_ylim(0, 1)
    shares(axes.yaxis)
    axes.set(xlabel="end of the window (characters)", ylabel="key precision")
    legend_below(figure, max(1, 75 // (max(map(len, points)) + 8)))  # of text that fits the width
    return figure


def write_key_page(found: Keys, tokens: Tokens, path: Path) -> Path:
    """Write the page of the keys that a probe found; return its path."""
    write_document(key_document(found, tokens), path)
    return path


def key_document(found: Keys, tokens: Tokens) -> Document:
    """Return the page of the keys that a probe found."""
    about, last = found.about, found.windows[-1]
    return Document(
        title=f"{about['called']} on {about['data']} ({about['split']})",
        lead=f"In the last window the probe is right about {last.precision:.1%}"
        f" [{100 * last.low:.1f}, {100 * last.high:.1f}] of the symbols of {about['rows']:,} rows.",
        summary=[_windows("The probe, window by window", found.windows)],
        data={"cipher": _cipher(found.example, tokens)},
        facts=[_windows(f"Control: {name}", windows) for name, windows in found.controls.items()],
        notes=["Made by logicgen. Intervals are Wilson's, of 95%, over rows."],
    )


def _cipher(row: ProbedRow, tokens: Tokens) -> list[dict[str, Any]]:
    """Return each place of a row: what is written, meant and guessed, and the vote so far."""
    votes: dict[int, Counter[int]] = defaultdict(Counter)
    places = []
    texts = list(tokens.texts)
    guesses = row.probabilities.argmax(axis=1).tolist()
    for place, (written, meant, guess) in enumerate(
        zip(row.tokens.tolist(), row.plain.tolist(), guesses, strict=True)
    ):
        votes[written][guess] += 1
        count = votes[written]
        # Of equally many votes the smallest id wins, as in `measures/keys.py`.
        vote = min(count, key=lambda each: (-count[each], each))
        places.append(
            {
                "written": texts[written],
                "meant": texts[meant],
                "guess": texts[guess],
                "vote": texts[vote],
                "truth": round(float(row.probabilities[place, meant]), 3),
                "keyed": written >= row.staying,
            }
        )
    return places


def _windows(title: str, windows: list[KeyWindow]) -> FactTable:
    """Return the table of precision by window."""
    rows = [
        [
            f"{each.first} to {each.last}",
            f"{each.precision:.1%} [{100 * each.low:.1f}, {100 * each.high:.1f}]",
            f"{each.so_far:.1%} [{100 * each.so_far_low:.1f}, {100 * each.so_far_high:.1f}]",
            f"{each.occurrence:.1%}",
            f"{each.symbols:,}",
        ]
        for each in windows
    ]
    heads = ["positions", "right, by votes of the window", "by votes so far", "single", "symbols"]
    return FactTable(title, heads, rows)


WINDOWS, SUMMARY = "windows.csv", "summary.json"
# Each as .png and .svg
PRECISION, KEY, KEY_SO_FAR, GUESSES, OCCURRENCES = (
    "precision",
    "key",
    "key-so-far",
    "guesses",
    "occurrences",
)


def write_keys(found: Keys, tokens: Tokens, folder: Path) -> dict[str, Any]:
    """Write all files of an evaluation of a probe; returns the summary."""
    about, width = found.about, found.about["window"]
    layers = {f"probe of layer {layer}": some for layer, some in found.layers.items()}
    found_by = {"probe": found.windows, **layers, **found.controls}
    lines = [{"by": by, **asdict(each)} for by, some in found_by.items() for each in some]
    write_csv(lines, folder / WINDOWS)
    last = {by: asdict(some[-1]) for by, some in found.controls.items()}
    summary = {**about, "last": asdict(found.windows[-1]), "controls": last}
    summary["layers"] = {layer: asdict(some[-1]) for layer, some in found.layers.items()}
    write_json(summary, folder / SUMMARY)
    title = f"{about['called']} on {about['data']} ({about['split']})"
    figures = {
        PRECISION: draw_precision(
            found.windows, found.controls, f"{title}, {about['rows']:,} rows"
        ),
        KEY: draw_key(found.example, tokens, width, f"{title}, one row"),
        KEY_SO_FAR: draw_key_so_far(found.example, tokens, f"{title}, one row"),
        GUESSES: draw_guesses(found.guesses, tokens, f"{title}, {about['rows']:,} rows"),
        OCCURRENCES: draw_occurrences(found.example, tokens, width, f"{title}, one row"),
    }
    for name, figure in figures.items():
        if figure is not None:
            save(figure, folder, name)
    write_key_page(found, tokens, folder / REPORT)
    return summary


class KeyPrecision(Measure):
    """The precision at which a probe of a language model finds the keys of ciphers."""

    name = "keys"
    noun = "a probe of ciphers"
    of = ("sequences", "ciphers")

    def check(self, settings: Any, data: Any, model: ModelRecipe, where: str) -> None:
        """Raise LogicgenError for texts without keys, and for a model that reads no texts."""
        if data.holds != "ciphers" and data.task != "automaton":
            raise LogicgenError(
                f"{where}: measure {settings.name}: keys: {data.task} has none: give data of the"
                " task cipher or automaton"
            )
        check_reads(settings.name, model, where)

    def take(self, settings: Any, data: Any, subject: Subject) -> Json:
        """Return the precision by window, of the probe, of controls and of other layers."""
        corpus, folder = as_corpus(data), subject.run / settings.name
        probed = ProbeSettings(**settings.model_dump(include={"steps", "hidden", "layer", "last"}))
        options = settings.model_dump(include={"split", "context", "window"})
        options |= {"limit": settings.limit or 1000, "device": subject.device}
        keys = find_keys(subject.run, subject.name, corpus, folder, probed, **options)
        write_keys(keys, corpus.tokens, folder)
        controls = {by: [asdict(each) for each in some] for by, some in keys.controls.items()}
        return {"windows": [asdict(each) for each in keys.windows], "controls": controls} | {
            "layer": keys.about["layer"],
            "layers": {str(layer): asdict(some[-1]) for layer, some in keys.layers.items()},
        }

    def headline(self, found: Json) -> tuple[float, bool]:
        """Return the precision of the last window."""
        return float(found["windows"][-1]["precision"]), False

    def columns(self, points: list[Findings], prefix: str) -> list[dict[str, str]]:
        """Return the columns of the first and the last window, and of controls."""
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
        """Return a line for each window, of the probe and of controls."""
        return [
            {"part": f"window {window['window']}", **window, "by": by}
            for by, windows in {"probe": found["windows"], **found["controls"]}.items()
            for window in windows
        ]

    def pictures(self, study: str, measured: list[list[Findings]]) -> list[Picture]:
        """Return the precision by window of each measure."""
        pictures = []
        for points in measured:
            name = points[0].measure
            precisions = {
                label: point.found[0]["windows"]
                for label, point in zip(labels(points), points, strict=True)
            }
            figure = draw_windows(precisions, f"{study}: {name}")
            pictures.append((name, f"{name}: key precision by window", figure))
        return pictures


MEASURE = KeyPrecision()


def keys_lines(found: Keys) -> list[str]:
    """Return the precision of keys by window, layer and control in words."""
    lines = [
        f"{'window':>6}  {'positions':<12} {'key precision':<24} {'votes so far':<24} occurrences"
    ]
    for each in found.windows:
        within = percent_interval(each.precision, each.low, each.high)
        so_far = percent_interval(each.so_far, each.so_far_low, each.so_far_high)
        positions = f"{each.first}-{each.last}"
        numbers = f"{within:<24} {so_far:<24} {each.occurrence:.1%}"
        lines.append(f"{each.window:>6}  {positions:<12} {numbers}")
    if len(found.layers) > 1:
        shares = ", ".join(f"{n}: {some[-1].precision:.1%}" for n, some in found.layers.items())
        lines.append(f"layer {found.about['layer']}; last window by layer: {shares}")
    for by, some in found.controls.items():
        end = some[-1]
        lines.append(
            f"control, {by}: {end.precision:.1%} of the last window, {end.so_far:.1%} with votes"
            f" so far, {end.occurrence:.1%} of occurrences"
        )
    return lines
