"""A column for each measure and a figure for each kind: what a study shows of `[[measure]]`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from logicgen.experiments import Json
from logicgen.measures.perplexity import CLOSED, Curve
from logicgen.measures.perplexity_figures import draw_curves
from logicgen.measures.statistics import deviation, wilson_interval
from logicgen.report.study_figures import (
    draw_answers_by,
    draw_learning,
    draw_shares,
    draw_windows,
)
from logicgen.report.tables import Report, percent, percent_interval
from logicgen.study.cell_tables import TABLE, beside_choices
from logicgen.study.measure import ANSWERS, KEYS, PERPLEXITY, Measure
from logicgen.study.recipe import Study, short
from logicgen.study.records import Record
from logicgen.study.trial import curve_of


def show_measures(study: Study, points: dict[str, list[Record]], counted: str) -> Report:
    """Return a table with columns for each measure, and figures.

    counted: a sentence on how much was done.
    """
    lines = beside_choices(
        (point, record.training.choices, line)
        for point, some in points.items()
        for record in some
        for line in _lines(record)
    )
    says = f"{counted} In brackets 95% intervals over problems or sequences."
    tables = [(says, *_table(points))]
    return Report(study.name, study.description, tables, _pictures(study, points), {TABLE: lines})


def _pictures(study: Study, points: dict[str, list[Record]]) -> list[tuple[str, str, Figure]]:
    results = next(iter(points.values()))[0].measures
    pictures = []
    answered = [name for name, found in results.items() if found["kind"] == ANSWERS]
    if answered:
        shares = {
            ", ".join(_choices(some).values()): {
                f"{name}{called}": _pooled(scores, what)
                for name in answered
                for scores in [[record.measures[name]["score"] for record in some]]
                for called, what in (("", "accuracy"), (", verified", "verified_accuracy"))
                if what in scores[0]
            }
            for some in points.values()
        }
        pictures.append(("answers", "right answers", draw_shares(shares, study.name)))
        if (learning := _learning(points)) is not None:
            pictures.append(
                ("learning", "accuracy while training", draw_learning(learning, study.name))
            )
    for each in next(iter(points.values()))[0].training.measures:
        name, by = each.measure.name, each.measure.by if isinstance(each.measure, Measure) else None
        if by is not None:
            lines = {
                _label(some, points): curve_points(
                    by, [record.measures[name]["by"] for record in some]
                )
                for some in points.values()
            }
            figure = draw_answers_by(lines, by, f"{study.name}: {name}")
            pictures.append((f"{name}-by-{by}", f"{name}: right answers by {by}", figure))
    for name, found in results.items():
        if found["kind"] == PERPLEXITY:
            groups = _curves(name, points)
            about = next(iter(groups.values()))[0][1].about
            title = f"{study.name}: {about.data} ({about.split})"
            pictures.append((name, f"{name}: perplexity by position", draw_curves(groups, title)))
    for name, found in results.items():
        if found["kind"] == KEYS:
            precisions = {
                _label(some, points): some[0].measures[name]["windows"] for some in points.values()
            }
            figure = draw_windows(precisions, f"{study.name}: {name}")
            pictures.append((name, f"{name}: key precision by window", figure))
    return pictures


def _learning(
    points: dict[str, list[Record]],
) -> dict[str, list[list[tuple[float, float]]]] | None:
    """Return minutes and share of exact answers while models were trained; None if not kept."""
    found: dict[str, list[list[tuple[float, float]]]] = {}
    for some in points.values():
        for record in some:
            training = record.run
            curve = training.validation.get("exact")
            if not curve:
                return None
            a_step = training.minutes / training.steps
            line = [(step * a_step, share) for step, share in curve]
            found.setdefault(", ".join(_choices(some).values()), []).append(line)
    return found


def _lines(record: Record) -> list[dict[str, Any]]:
    """Return a trial's lines of `results.csv`: a line for each part of each measure."""
    training = record.training
    head = {"seed": training.seed} | record.run.model_dump(exclude={"validation"})
    lines: list[dict[str, Any]] = []
    for each in training.measures:
        found = record.measures[each.measure.name]
        about = {**head, "measure": each.measure.name, "data": each.data.name}
        if found["kind"] == ANSWERS:
            lines.append({**about, "part": "overall", **found["score"]})
        elif found["kind"] == PERPLEXITY:
            for part in ("overall", "beyond"):
                if part in found["summary"]:
                    lines.append({**about, "part": part, **found["summary"][part]})
        else:
            for by, windows in {"probe": found["windows"], **found["controls"]}.items():
                lines += [_window_line(about, w) | {"by": by} for w in windows]
    return lines


def _window_line(about: dict[str, Any], window: dict[str, Any]) -> dict[str, Any]:
    return {**about, "part": f"window {window['window']}", **window}


def _pooled(scores: list[Json], what: str = "accuracy") -> Json:
    """Return a share of several training seeds: their mean; the interval is over problems."""
    shares = [score[what] for score in scores]
    mean, examples = float(np.mean(shares)), int(scores[0]["examples"])
    low, high = wilson_interval(mean, examples)
    return {
        "examples": examples,
        "accuracy": mean,
        "accuracy_std": deviation(shares),
        "accuracy_low": low,
        "accuracy_high": high,
    }


FEWEST = 30
"""Problems of a point of a curve: neighbouring numbers of symbols, or lengths, are one point."""


def curve_points(by: str, seeds: list[list[Json]]) -> list[tuple[float, float, float, float]]:
    """Return points of a curve, over training seeds: mean place, share, and its 95% interval."""
    points, group = [], []
    for place in range(len(seeds[0])):
        group.append(place)
        examples = [seeds[0][each]["examples"] for each in group]
        rest = sum(each["examples"] for each in seeds[0][place + 1 :])
        if rest and (sum(examples) < FEWEST or rest < FEWEST):
            continue
        middle = float(np.average([seeds[0][each][by] for each in group], weights=examples))
        shares = [
            np.average([found[each]["accuracy"] for each in group], weights=examples)
            for found in seeds
        ]
        share = float(np.mean(shares))
        points.append((middle, share, *wilson_interval(share, sum(examples))))
        group = []
    return points


def _curves(name: str, points: dict[str, list[Record]]) -> dict[str, list[tuple[str, Curve]]]:
    """Return the curves of points that read the same data, by the choices that these share.

    Training seeds are averaged. Points that all read the same data have no name for it.
    """
    groups: dict[str, list[list[Record]]] = {}
    for some in points.values():
        data = next(e.data for e in some[0].training.measures if e.measure.name == name)
        groups.setdefault(data.folder, []).append(some)
    found = {}
    for number, group in enumerate(groups.values(), start=1):
        inside = _differing(group) if len(groups) > 1 else list(_choices(group[0]))
        shared = [name for axis, name in _choices(group[0]).items() if axis not in inside]
        curves = []
        for some in group:
            label = ", ".join(n for axis, n in _choices(some).items() if axis in inside)
            curves.append((label or ", ".join(shared), _mean_curve(name, some)))
        # Where no choice tells the data of some points from those of others, a number does.
        found[("-".join(shared) or f"data {number}") if len(groups) > 1 else ""] = curves
    return found


def _mean_curve(name: str, some: list[Record]) -> Curve:
    curves = [curve_of(record.measures[name]) for record in some]
    first = curves[0]
    means = {key: np.mean([each.means[key] for each in curves], axis=0) for key in first.means}
    return replace(first, means=means)


def _choices(some: list[Record]) -> dict[str, str]:
    return some[0].training.choices


def _differing(group: list[list[Record]]) -> list[str]:
    """Return the axes in which points differ."""
    return [
        axis for axis in _choices(group[0]) if len({_choices(some)[axis] for some in group}) > 1
    ]


def _label(some: list[Record], points: dict[str, list[Record]]) -> str:
    """Return a point's name in a figure of all: the choices in which points differ."""
    chosen = _choices(some)
    return ", ".join(chosen[axis] for axis in _differing(list(points.values())) or chosen)


def _table(points: dict[str, list[Record]]) -> tuple[list[str], list[list[str]]]:
    """Return column heads and a row for each point, for people."""
    lines = []
    several = _several_right(points)
    kinds = [(name, found["kind"]) for name, found in _first(points).measures.items()]
    # Heads of measures of one kind are told apart by the measure's name.
    alike = {name for name, kind in kinds if [each for _, each in kinds].count(kind) > 1}
    for point, some in points.items():
        training = [record.run for record in some]
        minutes = float(np.mean([each.minutes for each in training]))
        measured = [
            column
            for name in some[0].measures
            for column in _columns(
                name,
                [each.measures[name] for each in some],
                name in several,
                f"{name}: " if name in alike else "",
            )
        ]
        took = {"steps": f"{training[0].steps:,}", "parameters": f"{training[0].parameters:,}"}
        took["minutes"] = f"{minutes:.1f}"
        chosen = {axis: short(name) for axis, name in _choices(some).items()}
        lines.append((point, chosen, {**dict(measured), **took}))
    rows = beside_choices(lines)
    # Columns may differ: only a model with a cache has the share of the cache.
    every = list(dict.fromkeys(head for row in rows for head in row))
    heads = [head for head in every if head not in (*took, "point")] + list(took)
    return heads, [[row.get(head, "") for head in heads] for row in rows]


def _first(points: dict[str, list[Record]]) -> Record:
    return next(iter(points.values()))[0]


def _several_right(points: dict[str, list[Record]]) -> set[str]:
    """Return the measures in which some right answer is not the stored one."""
    return {
        name
        for some in points.values()
        for record in some
        for name, found in record.measures.items()
        if found["kind"] == ANSWERS and found["score"]["correct"]
    }


def _columns(name: str, found: list[Json], several: bool, prefix: str) -> list[tuple[str, str]]:
    """Return heads and values of a measure of a point, over training seeds.

    several: whether problems have several right answers, of which one is the stored one. prefix: of
    heads that do not name the measure.
    """
    if found[0]["kind"] == ANSWERS:
        scores = [each["score"] for each in found]
        columns = [(name, percent(_pooled(scores)))]
        if several:
            columns.append((f"{name}, exact", percent(_pooled(scores, "exact_match"))))
        if all("token_accuracy" in score for score in scores):
            columns.append((f"{name}, tokens", percent(_pooled(scores, "token_accuracy"))))
        if "verified_accuracy" in scores[0]:
            columns.append((f"{name}, verified", percent(_pooled(scores, "verified_accuracy"))))
        if "covariance" in found[0]:
            means = [each["covariance"]["overall"]["strings"]["mean"] for each in found]
            columns.append((f"{name}, alpha-covariance", f"{np.mean(means):.3f}"))
        return columns
    if found[0]["kind"] == KEYS:
        columns = [
            (f"{name}, {which} window", _precision([each["windows"][place] for each in found]))
            for which, place in (("first", 0), ("last", -1))
        ]
        for by, windows in found[0]["controls"].items():
            columns.append((f"{prefix}{by}, last window", f"{windows[-1]['precision']:.1%}"))
        return columns
    parts = [each["summary"].get("beyond") or each["summary"]["overall"] for each in found]
    where = f" from {parts[0]['from']} on" if "beyond" in found[0]["summary"] else ""
    perplexity = float(np.mean([part["perplexity"] for part in parts]))
    columns = [(f"{name}: perplexity{where}", f"{perplexity:.3f}")]
    for key, called in (("kl_ideal", "bits above the ideal"), ("kl_true", "bits above the truth")):
        if key in parts[0]:
            mean, low, high = (
                float(np.mean([part[f"{key}{end}"] for part in parts]))
                for end in ("", "_low", "_high")
            )
            columns.append((f"{prefix}{called}", f"{mean:.4f} [{low:.4f}, {high:.4f}]"))
    if "l1_true" in parts[0]:
        distance = float(np.mean([part["l1_true"] for part in parts]))
        columns.append((f"{prefix}distance from the truth (L1)", f"{distance:.3f}"))
    if "counter_bits" in parts[0]:
        counted = 2 ** float(np.mean([part["counter_bits"] for part in parts]))
        columns.append((f"{prefix}perplexity of the best counter", f"{counted:.3f}"))
    if "cache_share" in parts[0]:
        share = float(np.mean([part["cache_share"] for part in parts]))
        columns.append((f"{prefix}share of the cache", f"{share:.1%}"))
    if CLOSED in parts[0]:
        columns.append((f"{prefix}way from the counter to the ideal", _share(parts, CLOSED)))
    return columns


def _precision(windows: list[Json]) -> str:
    return _percent(windows, "precision", "low", "high")


def _share(parts: list[Json], name: str) -> str:
    return _percent(parts, name, f"{name}_low", f"{name}_high")


def _percent(seeds: list[Json], share: str, low: str, high: str) -> str:
    """Return the mean of a share over training seeds, with its interval and its deviation."""
    mean, least, most = (
        float(np.mean([each[key] for each in seeds])) for key in (share, low, high)
    )
    return percent_interval(mean, least, most, deviation([each[share] for each in seeds]))
