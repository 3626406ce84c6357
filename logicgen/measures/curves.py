"""The measure `perplexity`: its files, and its use in comparisons and studies.

A measurement writes these files:

    positions.csv   means at each position
    summary.json    means over all positions, and over positions from the setting `beyond` on
    readings.json   the first sequences, with the measures at each token
    perplexity      a figure of perplexity by position, as .png and .svg
    report.html     a page of these results, with the first sequences colored by bits per token
"""

from __future__ import annotations

import csv
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from logicgen.callbacks import Progress
from logicgen.data.opening import as_corpus
from logicgen.errors import LogicgenError
from logicgen.files import prepare_folder, write_text
from logicgen.measures.comparison import check_folders, labels_of
from logicgen.measures.measure import (
    Comparison,
    Findings,
    Json,
    Measure,
    Picture,
    Subject,
    check_reads,
    differing,
    mean_share,
)
from logicgen.measures.perplexity import CLOSED, MEASURES, Curve, Reading, measure_perplexity
from logicgen.measures.perplexity_figures import draw_curves, write_perplexity_page
from logicgen.model.recipe import ModelRecipe
from logicgen.report.figure_style import save
from logicgen.report.rows import REPORT
from logicgen.report.tables import percent_interval, write_csv, write_json

POSITIONS, SUMMARY, FIGURE = "positions.csv", "summary.json", "perplexity"
READINGS = "readings.json"

MOST_POSITIONS = 2**24
"""The most positions of a curve. The files of a curve may come from an untrusted source."""


class Perplexity(Measure):
    """Bits per token and perplexity of a language model, by position."""

    name = "perplexity"
    noun = "an evaluation on a corpus"
    file = POSITIONS
    of = ("sequences", "ciphers")

    def check(self, settings: Any, data: Any, model: ModelRecipe, where: str) -> None:
        """Raise LogicgenError for another model than a language model, or a single sequence."""
        check_reads(settings.name, model, where)
        if settings.limit == 1:
            raise LogicgenError(
                f"{where}: measure {settings.name}: limit: one sequence has no 95% interval"
            )

    def take(self, settings: Any, data: Any, subject: Subject) -> Json:
        """Measure perplexity; return the summary, and the means at each position."""
        from logicgen.model.checkpoint import as_language_model

        options = settings.model_dump(include={"split", "context", "embedding_seeds", "beyond"})
        options["limit"] = settings.limit or 256
        reader = as_language_model(subject.model, subject.run)
        curve = measure_perplexity(reader, as_corpus(data), subject.name, **options)
        folder = subject.run / settings.name
        prepare_folder(folder)
        means = {name: np.round(values[1:], 6).tolist() for name, values in curve.means.items()}
        return {
            "summary": write_curve(curve, folder),
            "tokens": curve.tokens.tolist(),
            "means": means,
        }

    def headline(self, found: Json) -> tuple[float, bool]:
        """Return the score that ranks models, and True, since a lower score is better.

        The score is the bits above the exact lexinvariant model (the best model that does not know
        the names of the symbols). If that model is not known, the score is the bits per token.
        """
        part = _last_part(found)
        return float(part["kl_ideal"] if "kl_ideal" in part else part["bits"]), True

    def columns(self, points: list[Findings], prefix: str) -> list[dict[str, str]]:
        """Return table rows: perplexity, and the distances from exact models that are known."""
        return [_columns(point, prefix) for point in points]

    def lines(self, found: Json) -> list[Json]:
        """Return a row for all positions, and a row for positions from the setting `beyond` on."""
        summary = found["summary"]
        return [{"part": p, **summary[p]} for p in ("overall", "beyond") if p in summary]

    def pictures(self, study: str, measured: list[list[Findings]]) -> list[Picture]:
        """Return a figure of perplexity by position for each measure of the study."""
        pictures = []
        for points in measured:
            name, groups = points[0].measure, curve_groups(points)
            about = next(iter(groups.values()))[0][1].about
            figure = draw_curves(groups, f"{study}: {about.data} ({about.split})")
            pictures.append((name, f"{name}: perplexity by position", figure))
        return pictures

    def compare(
        self, folders: list[Path], out: Path, *, workers: int, progress: Progress
    ) -> Comparison:
        """Draw the curves of several evaluations in one figure."""
        found = compare_curves(folders, out)
        lines = ["\n  ".join([label, *summary_lines(summary)]) for label, summary in found]
        return Comparison(lines, [f"figure: {out / FIGURE}.png"])

    def write_page(
        self, folder: Path, path: Path | None, *, workers: int, progress: Progress
    ) -> Path:
        """Write the page of a curve, with the first sequences colored by bits per token."""
        return write_perplexity_page(read_readings(folder), path or folder / REPORT)


MEASURE = Perplexity()


def _last_part(found: Json) -> Json:
    """Return the means over positions from `beyond` on if they exist, else over all positions."""
    part: Json = found["summary"].get("beyond") or found["summary"]["overall"]
    return part


def _columns(point: Findings, prefix: str) -> dict[str, str]:
    """Return the row of one combination of settings in the table: texts by column head.

    Numbers are means over training seeds.
    """
    parts = [_last_part(each) for each in point.found]
    first = parts[0]

    def mean(key: str) -> float:
        return float(np.mean([part[key] for part in parts]))

    where = f" from {first['from']} on" if "beyond" in point.found[0]["summary"] else ""
    columns = {f"{point.measure}: perplexity{where}": f"{mean('perplexity'):.3f}"}
    for key, called in (("kl_ideal", "bits above the ideal"), ("kl_true", "bits above the truth")):
        if key in first:
            low, high = mean(f"{key}_low"), mean(f"{key}_high")
            columns[f"{prefix}{called}"] = f"{mean(key):.4f} [{low:.4f}, {high:.4f}]"
    if "l1_true" in first:
        columns[f"{prefix}distance from the truth (L1)"] = f"{mean('l1_true'):.3f}"
    if "counter_bits" in first:
        columns[f"{prefix}perplexity of the best counter"] = f"{2 ** mean('counter_bits'):.3f}"
    if "cache_share" in first:
        columns[f"{prefix}share of the cache"] = f"{mean('cache_share'):.1%}"
    if CLOSED in first:
        share = mean_share(parts, CLOSED, f"{CLOSED}_low", f"{CLOSED}_high")
        columns[f"{prefix}way from the counter to the ideal"] = share
    return columns


def curve_groups(points: list[Findings]) -> dict[str, list[tuple[str, Curve]]]:
    """Group the combinations of settings by their data; return the curves of each group.

    A curve is a pair (label, mean over training seeds). The key of a group names the choices that
    its combinations share. The key is empty if there is a single group.
    """
    groups: dict[str, list[Findings]] = {}
    for point in points:
        groups.setdefault(point.data_folder, []).append(point)
    found = {}
    for number, group in enumerate(groups.values(), start=1):
        choices = group[0].choices
        inside = differing(group) if len(groups) > 1 else list(choices)
        shared = [name for axis, name in choices.items() if axis not in inside]
        curves = []
        for point in group:
            label = ", ".join(name for axis, name in point.choices.items() if axis in inside)
            curves.append((label or ", ".join(shared), _mean_curve(point)))
        # If the combinations of a group share no choice, a number is the key.
        found[("-".join(shared) or f"data {number}") if len(groups) > 1 else ""] = curves
    return found


def _mean_curve(point: Findings) -> Curve:
    curves = [_curve_of(found) for found in point.found]
    first = curves[0]
    means = {key: np.mean([each.means[key] for each in curves], axis=0) for key in first.means}
    return replace(first, means=means)


def _curve_of(found: Json) -> Curve:
    """Return the curve in the results of one model."""
    means = {
        name: np.array([np.nan, *(np.nan if v is None else v for v in values)])
        for name, values in found["means"].items()
    }
    return Curve.stored(found["summary"], np.array(found["tokens"]), means)


# Files


def write_curve(curve: Curve, folder: Path) -> dict[str, Any]:
    """Write all files of an evaluation on a corpus; return the summary."""
    rows = [
        {
            "position": position,
            "tokens": int(count),
            **{name: float(means[position]) for name, means in curve.means.items()},
        }
        for position, count in enumerate(curve.tokens.tolist())
        if count
    ]
    write_csv(rows, folder / POSITIONS)
    summary = curve.summary()
    write_json(summary, folder / SUMMARY)
    title = f"{curve.about.data} ({curve.about.split})"
    save(draw_curves({"": [(curve.about.model, curve)]}, title), folder, FIGURE)
    readings = [asdict(reading) for reading in curve.readings]
    write_text(folder / READINGS, json.dumps(readings, separators=(",", ":")) + "\n")
    write_perplexity_page(curve, folder / REPORT)
    return summary


def summary_lines(summary: dict[str, Any]) -> list[str]:
    """Return a summary as printed lines, with a line for each part and measure."""
    lines = []
    for part in ("overall", "beyond"):
        if part not in summary:
            continue
        found = summary[part]
        where = part if part == "overall" else f"from position {found['from']} on"
        lines.append(
            f"{where:<24} perplexity {found['perplexity']:.3f} over {found['tokens']:,} tokens"
        )
        for name, called in MEASURES.items():
            if name in found:
                low, high = found[f"{name}_low"], found[f"{name}_high"]
                lines.append(f"{'':<24} {found[name]:.4f} [{low:.4f}, {high:.4f}] {called}")
        if CLOSED in found:
            share = percent_interval(*(found[f"{CLOSED}{end}"] for end in ("", "_low", "_high")))
            lines.append(f"{'':<24} {share} of the way from the counter to the ideal")
    return lines


def read_curve(folder: Path) -> Curve:
    """Read the curve in a folder. Raises LogicgenError if it is missing or damaged."""
    path = folder / POSITIONS
    try:
        summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
        context = int(summary["context"])
        if not 1 <= context <= MOST_POSITIONS:
            raise ValueError("context")
        lines = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
        tokens = np.zeros(context, dtype=np.int64)
        means = {name: np.full(context, np.nan) for name in MEASURES if name in lines[0]}
        for line in lines:
            position = int(line["position"])
            if position < 0:
                raise IndexError(position)
            tokens[position] = int(line["tokens"])
            for name, values in means.items():
                values[position] = float(line[name])
        found = Curve.stored(summary, tokens, means)
        if not (float(found.parts["overall"]["perplexity"]) >= 1 and found.about.sequences > 0):
            raise ValueError("overall")
        return found
    except FileNotFoundError:
        raise LogicgenError(f"{folder}: no {POSITIONS}; run logicgen evaluate first") from None
    except (ValueError, KeyError, TypeError, OSError, IndexError, RecursionError):
        raise LogicgenError(
            f"{path}: damaged, or of another version; run logicgen evaluate again"
        ) from None


def read_readings(folder: Path) -> Curve:
    """Read the curve in a folder, with the first sequences and the measures of their tokens.

    Raises LogicgenError if a file is missing or damaged.
    """
    curve, path = read_curve(folder), folder / READINGS
    try:
        readings = TypeAdapter(list[Reading]).validate_json(path.read_bytes())
        for each in readings:
            lengths = {len(each.measured[name]) for name in curve.means}
            if lengths != {len(each.tokens)}:
                raise ValueError("numbers of measures and of tokens differ")
    except (ValidationError, KeyError, ValueError, OSError) as error:
        raise LogicgenError(f"{path}: damaged; run logicgen evaluate again") from error
    return replace(curve, readings=readings)


def compare_curves(folders: list[Path], out: Path) -> list[tuple[str, dict[str, Any]]]:
    """Draw evaluations of the same sequences in one figure.

    Returns the label and the means (`Curve.parts`) of each evaluation. Raises LogicgenError if the
    sequences differ, or if `out` is one of the folders.
    """
    check_folders(folders, out)
    curves = [read_curve(folder) for folder in folders]
    abouts = [curve.about for curve in curves]
    labels = labels_of(folders, abouts, ("data", "split", "sequences", "context"))
    labelled = list(zip(labels, curves, strict=True))
    prepare_folder(out)
    save(draw_curves({"": labelled}, f"{abouts[0].data} ({abouts[0].split})"), out, FIGURE)
    return [(label, dict(curve.parts)) for label, curve in labelled]
