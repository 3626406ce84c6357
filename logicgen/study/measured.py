"""What a study of language models found: a table with a column for each measure, and figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from logicgen.atomic import write_text
from logicgen.evaluate.perplexity import Curve
from logicgen.report.figure_style import save
from logicgen.report.perplexity_figure import draw_curves
from logicgen.report.study_figures import draw_shares, draw_windows
from logicgen.report.tables import percent, write_csv
from logicgen.study.measure import ANSWERS, KEYS, PERPLEXITY, Measure, curve_of
from logicgen.study.plan import Plan
from logicgen.study.results import REPORT, TABLE, made_with
from logicgen.study.study_recipe import short
from logicgen.study.summary import Result

SHARES = "answers"


def write_measured(plan: Plan, results: list[Result], folder: Path) -> str:
    """Write the tables and figures of a study of language models; returns the table for people."""
    points: dict[str, list[Result]] = {}
    for result in results:
        points.setdefault(result.trial.point, []).append(result)
    lines = [line for result in results for line in _lines(result)]
    write_csv(lines, folder / TABLE)
    pictures: list[tuple[str, str]] = []
    answered = _of_kind(plan, results, ANSWERS)
    if answered:
        shares = {
            ", ".join(some[0].trial.choices.values()): {
                measure.name: _pooled([result.measures[measure.name]["score"] for result in some])
                for measure in answered
            }
            for some in points.values()
        }
        draw_shares(shares, plan.study.name, folder, SHARES)
        pictures.append((SHARES, "right answers"))
    for measure in _of_kind(plan, results, PERPLEXITY):
        for group, curves in _curves(measure, points).items():
            name = f"{measure.name}-{group}" if group else measure.name
            data = f"{curves[0][1].about.data} ({measure.split})"
            figure = draw_curves({group: curves}, f"{plan.study.name}: {group or data}")
            save(figure, folder, name)
            pictures.append((name, f"{name}: perplexity by position"))
    for measure in _of_kind(plan, results, KEYS):
        precisions = {
            _label(some, points): some[0].measures[measure.name]["windows"]
            for some in points.values()
        }
        draw_windows(precisions, f"{plan.study.name}: {measure.name}", folder, measure.name)
        pictures.append((measure.name, f"{measure.name}: key precision by window"))
    table = _table(plan, points)
    write_text(folder / REPORT, _report(plan, results, table, pictures))
    return table


def _of_kind(plan: Plan, results: list[Result], kind: str) -> list[Measure]:
    measures = plan.study.measures
    return [each for each in measures if results[0].measures[each.name]["kind"] == kind]


def _lines(result: Result) -> list[dict[str, Any]]:
    """The lines of a trial in the table for programs: one for each measure and part of it."""
    trial, training = result.trial, result.content["training"]
    head = {"point": trial.point, **trial.choices, "seed": trial.seed, **training}
    lines: list[dict[str, Any]] = []
    for each in trial.measured or ():
        measure, found = each.measure, result.measures[each.measure.name]
        about = {**head, "measure": measure.name, "data": each.data.name}
        if found["kind"] == ANSWERS:
            lines.append({**about, "part": "overall", **found["score"]})
        elif found["kind"] == PERPLEXITY:
            for part in ("overall", "beyond"):
                if part in found["summary"]:
                    lines.append({**about, "part": part, **found["summary"][part]})
        else:
            lines += [{**about, "part": f"window {w['window']}", **w} for w in found["windows"]]
    return lines


def _pooled(scores: list[dict[str, Any]]) -> dict[str, Any]:
    """The score of several training seeds: their mean; the interval is over problems."""
    from logicgen.evaluate.wilson import wilson_interval

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


def _curves(
    measure: Measure, points: dict[str, list[Result]]
) -> dict[str, list[tuple[str, Curve]]]:
    """The curves of points that read the same data, by the choices that these share.

    Training seeds are averaged. Points that all read the same data have no name for it.
    """
    groups: dict[str, list[list[Result]]] = {}
    for some in points.values():
        data = next(e.data for e in some[0].trial.measured or () if e.measure == measure)
        groups.setdefault(data.folder, []).append(some)
    found = {}
    for group in groups.values():
        inside = {axis for axis in _axes(group) if len(groups) == 1 or _differs(group, axis)}
        shared = [name for axis, name in _choices(group[0]).items() if axis not in inside]
        curves = []
        for some in group:
            label = ", ".join(n for axis, n in _choices(some).items() if axis in inside)
            curves.append((label or ", ".join(shared), _mean_curve(measure, some)))
        found["-".join(shared) if len(groups) > 1 else ""] = curves
    return found


def _mean_curve(measure: Measure, some: list[Result]) -> Curve:
    curves = [curve_of(result.measures[measure.name]) for result in some]
    first = curves[0]
    means = {name: np.mean([each.means[name] for each in curves], axis=0) for name in first.means}
    return Curve(first.about, first.tokens, means, first.parts)


def _choices(some: list[Result]) -> dict[str, str]:
    return some[0].trial.choices


def _axes(group: list[list[Result]]) -> list[str]:
    return list(_choices(group[0]))


def _differs(group: list[list[Result]], axis: str) -> bool:
    return len({_choices(some)[axis] for some in group}) > 1


def _label(some: list[Result], points: dict[str, list[Result]]) -> str:
    """Of a point in a figure of all: the choices in which points differ."""
    every = list(points.values())
    differ = [axis for axis in _axes(every) if _differs(every, axis)]
    chosen = _choices(some)
    return ", ".join(chosen[axis] for axis in differ or chosen)


def _cells(measure: Measure, some: list[Result]) -> list[str]:
    """What the table for people says of a measure of a point."""
    found = [result.measures[measure.name] for result in some]
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


def _window(found: list[dict[str, Any]], number: int) -> dict[str, Any]:
    windows = [each["windows"][number] for each in found]
    precision = [window["precision"] for window in windows]
    return {
        "accuracy": float(np.mean(precision)),
        "accuracy_std": float(np.std(precision)) if len(precision) > 1 else 0.0,
        "accuracy_low": float(np.mean([window["low"] for window in windows])),
        "accuracy_high": float(np.mean([window["high"] for window in windows])),
    }


def _heads(measure: Measure, found: dict[str, Any]) -> list[str]:
    if found["kind"] == ANSWERS:
        return [measure.name]
    if found["kind"] == KEYS:
        return [f"{measure.name}, first window", f"{measure.name}, last window"]
    summary = found["summary"]
    where = f" from {summary['beyond']['from']} on" if "beyond" in summary else ""
    part = summary.get("beyond") or summary["overall"]
    heads = [f"{measure.name}: perplexity{where}"]
    called = {"kl_ideal": "bits above the ideal", "kl_true": "bits above the truth"}
    return heads + [text for name, text in called.items() if name in part]


def _table(plan: Plan, points: dict[str, list[Result]]) -> str:
    first = next(iter(points.values()))[0]
    heads = list(first.trial.choices)
    for measure in plan.study.measures:
        heads += _heads(measure, first.measures[measure.name])
    heads += ["steps", "parameters", "minutes"]
    lines = [f"| {' | '.join(heads)} |", "| --- |" + " --- |" * (len(heads) - 1)]
    for some in points.values():
        values = [short(name) for name in some[0].trial.choices.values()]
        for measure in plan.study.measures:
            values += _cells(measure, some)
        training = [result.content["training"] for result in some]
        minutes = float(np.mean([each["minutes"] for each in training]))
        steps, parameters = training[0]["steps"], training[0]["parameters"]
        values += [f"{steps:,}", f"{parameters:,}", f"{minutes:.1f}"]
        lines.append(f"| {' | '.join(values)} |")
    return "\n".join(lines)


def _report(plan: Plan, results: list[Result], table: str, pictures: list[tuple[str, str]]) -> str:
    """`results.md`: the table, what it was made with, and the figures."""
    study = plan.study
    points = len({result.trial.point for result in results})
    lines = [f"# {study.name}", "", study.description, ""]
    lines += [f"`logicgen study {study.name}`", ""]
    lines += [
        f"{points:,} points of {len(plan.points):,}, {len(results):,} trials. In brackets 95%"
        " intervals over problems or sequences.",
        "",
        table,
        "",
    ]
    return "\n".join(lines) + "\n" + made_with(plan, results, pictures)
