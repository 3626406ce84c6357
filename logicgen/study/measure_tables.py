"""A column for each measure and a figure for each kind: what a study shows of `[[measure]]`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from logicgen.evaluate.perplexity import Curve
from logicgen.evaluate.wilson import wilson_interval
from logicgen.report.evaluation_files import percent
from logicgen.report.perplexity_figure import draw_curve_groups
from logicgen.report.study_figures import draw_shares, draw_windows
from logicgen.report.tables import markdown_table
from logicgen.study.measure import ANSWERS, KEYS, PERPLEXITY
from logicgen.study.point import Json
from logicgen.study.result import Result, Shown
from logicgen.study.study_recipe import Study, short
from logicgen.study.trial import curve_of


def show_measures(study: Study, points: dict[str, list[Result]]) -> Shown:
    """Return a table with columns for each measure, and figures."""
    results = [result for some in points.values() for result in some]
    lines = [line for result in results for line in _lines(result)]
    says = "In brackets 95% intervals over problems or sequences."
    return Shown(lines, says, _table(points), pictures=_pictures(study, points))


def _pictures(study: Study, points: dict[str, list[Result]]) -> list[tuple[str, str, Figure]]:
    results = next(iter(points.values()))[0].measures
    pictures = []
    answered = [name for name, found in results.items() if found["kind"] == ANSWERS]
    if answered:
        shares = {
            ", ".join(_choices(some).values()): {
                name: _pooled([result.measures[name]["score"] for result in some])
                for name in answered
            }
            for some in points.values()
        }
        pictures.append(("answers", "right answers", draw_shares(shares, study.name)))
    for name, found in results.items():
        if found["kind"] == PERPLEXITY:
            groups = _curves(name, points)
            about = next(iter(groups.values()))[0][1].about
            title = f"{study.name}: {about.data} ({about.split})"
            pictures.append(
                (name, f"{name}: perplexity by position", draw_curve_groups(groups, title))
            )
    for name, found in results.items():
        if found["kind"] == KEYS:
            precisions = {
                _label(some, points): some[0].measures[name]["windows"] for some in points.values()
            }
            figure = draw_windows(precisions, f"{study.name}: {name}")
            pictures.append((name, f"{name}: key precision by window", figure))
    return pictures


def _lines(result: Result) -> list[dict[str, Any]]:
    """Return a trial's lines in the table for programs: one for each part of each measure."""
    trial = result.trial
    head = {"point": trial.combination, **trial.choices, "seed": trial.seed}
    head |= result.training.model_dump()
    lines: list[dict[str, Any]] = []
    for each in trial.measures:
        found = result.measures[each.measure.name]
        about = {**head, "measure": each.measure.name, "data": each.data.name}
        if found["kind"] == ANSWERS:
            lines.append({**about, "part": "overall", **found["score"]})
        elif found["kind"] == PERPLEXITY:
            for part in ("overall", "beyond"):
                if part in found["summary"]:
                    lines.append({**about, "part": part, **found["summary"][part]})
        else:
            lines += [{**about, "part": f"window {w['window']}", **w} for w in found["windows"]]
    return lines


def _pooled(scores: list[Json]) -> Json:
    """Return the score of several training seeds: their mean; the interval is over problems."""
    shares = [score["accuracy"] for score in scores]
    mean, examples = float(np.mean(shares)), int(scores[0]["examples"])
    low, high = wilson_interval(mean, examples)
    deviation = float(np.std(shares)) if len(shares) > 1 else 0.0
    return {
        "examples": examples,
        "accuracy": mean,
        "accuracy_std": deviation,
        "accuracy_low": low,
        "accuracy_high": high,
    }


def _curves(name: str, points: dict[str, list[Result]]) -> dict[str, list[tuple[str, Curve]]]:
    """Return the curves of points that read the same data, by the choices that these share.

    Training seeds are averaged. Points that all read the same data have no name for it.
    """
    groups: dict[str, list[list[Result]]] = {}
    for some in points.values():
        data = next(e.data for e in some[0].trial.measures if e.measure.name == name)
        groups.setdefault(data.folder, []).append(some)
    found = {}
    for group in groups.values():
        inside = {axis for axis in _axes(group) if len(groups) == 1 or _differs(group, axis)}
        shared = [name for axis, name in _choices(group[0]).items() if axis not in inside]
        curves = []
        for some in group:
            label = ", ".join(n for axis, n in _choices(some).items() if axis in inside)
            curves.append((label or ", ".join(shared), _mean_curve(name, some)))
        found["-".join(shared) if len(groups) > 1 else ""] = curves
    return found


def _mean_curve(name: str, some: list[Result]) -> Curve:
    curves = [curve_of(result.measures[name]) for result in some]
    first = curves[0]
    means = {key: np.mean([each.means[key] for each in curves], axis=0) for key in first.means}
    return replace(first, means=means)


def _choices(some: list[Result]) -> dict[str, str]:
    return some[0].trial.choices


def _axes(group: list[list[Result]]) -> list[str]:
    return list(_choices(group[0]))


def _differs(group: list[list[Result]], axis: str) -> bool:
    return len({_choices(some)[axis] for some in group}) > 1


def _label(some: list[Result], points: dict[str, list[Result]]) -> str:
    """Return a point's name in a figure of all: the choices in which points differ."""
    every = list(points.values())
    differ = [axis for axis in _axes(every) if _differs(every, axis)]
    chosen = _choices(some)
    return ", ".join(chosen[axis] for axis in differ or chosen)


def _cells(found: list[Json]) -> list[str]:
    """Return what the table for people says of a measure of a point, over training seeds."""
    if found[0]["kind"] == ANSWERS:
        return [percent(_pooled([each["score"] for each in found]))]
    if found[0]["kind"] == KEYS:
        return [percent(_window(found, 0)), percent(_window(found, -1))]
    parts = [each["summary"].get("beyond") or each["summary"]["overall"] for each in found]
    cells = [f"{np.mean([part['perplexity'] for part in parts]):.3f}"]
    for name in ("kl_ideal", "kl_true"):
        if name in parts[0]:
            mean, low, high = (
                float(np.mean([part[f"{name}{end}"] for part in parts]))
                for end in ("", "_low", "_high")
            )
            cells.append(f"{mean:.4f} [{low:.4f}, {high:.4f}]")
    return cells


def _window(found: list[Json], number: int) -> Json:
    windows = [each["windows"][number] for each in found]
    precision = [window["precision"] for window in windows]
    return {
        "accuracy": float(np.mean(precision)),
        "accuracy_std": float(np.std(precision)) if len(precision) > 1 else 0.0,
        "accuracy_low": float(np.mean([window["low"] for window in windows])),
        "accuracy_high": float(np.mean([window["high"] for window in windows])),
    }


def _heads(name: str, found: Json) -> list[str]:
    if found["kind"] == ANSWERS:
        return [name]
    if found["kind"] == KEYS:
        return [f"{name}, first window", f"{name}, last window"]
    summary = found["summary"]
    where = f" from {summary['beyond']['from']} on" if "beyond" in summary else ""
    part = summary.get("beyond") or summary["overall"]
    heads = [f"{name}: perplexity{where}"]
    called = {"kl_ideal": "bits above the ideal", "kl_true": "bits above the truth"}
    return heads + [text for name, text in called.items() if name in part]


def _table(points: dict[str, list[Result]]) -> str:
    first = next(iter(points.values()))[0]
    heads = list(first.trial.choices)
    for name, found in first.measures.items():
        heads += _heads(name, found)
    heads += ["steps", "parameters", "minutes"]
    rows = []
    for some in points.values():
        values = [short(name) for name in _choices(some).values()]
        for name in first.measures:
            values += _cells([result.measures[name] for result in some])
        training = [result.training for result in some]
        minutes = float(np.mean([each.minutes for each in training]))
        values += [f"{training[0].steps:,}", f"{training[0].parameters:,}", f"{minutes:.1f}"]
        rows.append(values)
    return markdown_table(heads, rows)
