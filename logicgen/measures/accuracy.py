"""The measure `answers`: the share of right answers, also by number of symbols or by length."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from logicgen.callbacks import Progress
from logicgen.data.dataset import Dataset
from logicgen.data.opening import as_dataset
from logicgen.errors import at
from logicgen.files import prepare_folder
from logicgen.measures.comparison import compare, markdown, paired_lines, read_runs
from logicgen.measures.control_answers import ControlAnswerer
from logicgen.measures.covariance import write_covariance
from logicgen.measures.evaluation import PREDICTIONS, write_evaluation_page, write_predictions
from logicgen.measures.measure import Comparison, Findings, Json, Measure, Picture, Subject, labels
from logicgen.measures.predictions import About, predict_and_verify
from logicgen.measures.renamed_answers import predict_renamed
from logicgen.measures.scores import Scores
from logicgen.measures.statistics import deviation, wilson_interval
from logicgen.measures.verified import VerifiedSearch
from logicgen.report.figure_style import (
    LINES,
    band,
    legend_below,
    line_styles,
    new_axes,
    shares,
    whole_numbers,
)
from logicgen.report.tables import percent
from logicgen.tasks import load_task
from logicgen.tasks.controls import PREFIX, load_control

if TYPE_CHECKING:
    import pyarrow as pa

    from logicgen.model.model import Answerer

# The least number of problems at a point of a curve. Neighboring lengths, or numbers of symbols,
# with fewer problems share a point.
FEWEST = 30

Curves = dict[str, list[tuple[float, float, float, float]]]
"""Points (place, share, low, high) of the line of each combination of settings, by its label."""

# The most characters of a label in a legend with three columns.
LONG = 25

# Scores of controls, by all that they depend on.
_scored_controls: dict[str, Json] = {}

# Patterns of bars, used when the colors repeat.
HATCHES: list[dict[str, Any]] = [
    {},
    {"hatch": "////", "edgecolor": "white"},
    {"hatch": "....", "edgecolor": "white"},
]


class Accuracy(Measure):
    """The share of right answers to problems."""

    name = "answers"
    noun = "an evaluation of answers"
    file = PREDICTIONS
    of = ("problems",)

    def take(self, settings: Any, data: Any, subject: Subject) -> Json:
        """Answer problems; return the score of the answers.

        The settings may also request the alpha-covariance, and the scores by number of symbols or
        length.
        """
        dataset = as_dataset(data)
        table, about = predicted(settings, dataset, subject, subject.run / settings.name)
        scores = Scores.of(table, about)
        found = {"score": scores.score().flat(), **covariance(settings, dataset, subject)}
        if settings.by is not None:
            places = scores.by_symbols() if settings.by == "symbols" else scores.by_length()
            found["by"] = [{settings.by: place, **each.flat()} for place, each in places.items()]
        if settings.controls:
            found["controls"] = controls(settings, dataset, subject)
        return found

    def check(self, settings: Any, recipe: Any, model: Any, where: str) -> None:
        """Raise LogicgenError if the settings name a control that the task does not have."""
        for name in getattr(settings, "controls", None) or ():
            with at(f"{where}: measure {settings.name}"):
                load_control(load_task(recipe.task), name)

    def headline(self, found: Json) -> tuple[float, bool]:
        """Return the share of right answers."""
        return float(found["score"]["accuracy"]), False

    def columns(self, points: list[Findings], prefix: str) -> list[dict[str, str]]:
        """Return table rows with the shares of right answers and the alpha-covariance."""
        # The column of exact answers is needed if some right answer is not the stored answer.
        several = any(found["score"]["correct"] for point in points for found in point.found)
        return [_columns(point, several) for point in points]

    def lines(self, found: Json) -> list[Json]:
        """Return a single row, for all problems."""
        return [{"part": "overall", **found["score"]}]

    def pictures(self, study: str, measured: list[list[Findings]]) -> list[Picture]:
        """Return figures: bars and curves of accuracy, and the accuracy during training."""
        pictures = [("answers", "right answers", draw_shares(_shares(measured), study))]
        if (learning := _learning(measured[0])) is not None:
            pictures.append(("learning", "accuracy while training", draw_learning(learning, study)))
        shots = _by_shots(measured)
        for label, lines in shots.items():
            of, file = "", "shots"
            if len(shots) > 1:  # the name of a picture in Markdown contains no blank
                of, file = f": {label}", f"shots-{label.replace(', ', ',')}"
            figure = draw_answers_by(lines, "shots", f"{study}{of}")
            pictures.append((file, f"right answers by number of solved problems{of}", figure))
        for points in measured:
            name, by = points[0].measure, points[0].settings.by
            if by is not None:
                curves: dict[str, Curves] = {}  # by data set
                for label, point in zip(labels(points), points, strict=True):
                    line = curve_points(by, [found["by"] for found in point.found])
                    curves.setdefault(point.data, {})[label] = line
                for data, lines in curves.items():
                    of = f", {data}" if len(curves) > 1 else ""
                    figure = draw_answers_by(lines, by, f"{study}: {name}{of}")
                    file = f"{name}-by-{by}" + (f"-{data}" if of else "")
                    pictures.append((file, f"{name}{of}: right answers by {by}", figure))
        return pictures

    def compare(
        self, folders: list[Path], out: Path, *, workers: int, progress: Progress
    ) -> Comparison:
        """Write heat maps, differences, and a page of the examples."""
        rows = compare(folders, out, workers=workers, progress=progress)
        figures = f"figures: {out / 'heatmaps.png'}, differences.png, symbols.png"
        page = f"report, with every answer: {out / 'report.html'}"
        paired = paired_lines(read_runs(folders))
        return Comparison([markdown(rows), "", *paired], [figures, page])

    def write_page(
        self, folder: Path, path: Path | None, *, workers: int, progress: Progress
    ) -> Path:
        """Write a page with heat maps and all answers."""
        return write_evaluation_page(folder, path, workers=workers, progress=progress)


MEASURE = Accuracy()


# Findings of a model


def predicted(
    settings: Any, data: Dataset, subject: Subject, folder: Path
) -> tuple[pa.Table, About]:
    """Answer problems with a model; return the table of answers and verdicts, and its description.

    The function also writes the table into `folder`.
    """
    answerer = _answerer(settings, data, subject)
    about = About.of(answerer.region, subject.name, data, settings.split)
    about = replace(about, precision=subject.model.precision)
    options = settings.model_dump(include={"limit", "embedding_seeds"}) | _decoding(settings)
    options["verified"] = _verified(settings)
    table = predict_and_verify(answerer, data, about, **options)
    prepare_folder(folder)
    write_predictions(table, folder)
    return table, about


def _answerer(settings: Any, data: Dataset, subject: Subject) -> Answerer:
    return subject.model.answerer(data.task, subject.name, shots=settings.shots, data=data)


def controls(settings: Any, data: Dataset, subject: Subject) -> Json:
    """Return the score of each control that the settings name.

    A control answers the model's problems, with the same number of solved problems before each.
    """
    shots = _answerer(settings, data, subject).shots
    return {name: _control_score(name, settings, data, shots) for name in settings.controls}


def _control_score(name: str, settings: Any, data: Dataset, shots: int) -> Json:
    """Return the score of a control. It is computed once, because trials share their problems."""
    options = settings.model_dump(include={"limit", "embedding_seeds"})
    asked = [name, data.fingerprint, settings.split, options, shots, settings.verified]
    key = json.dumps([*asked, settings.temperature])
    if key not in _scored_controls:
        control = ControlAnswerer(data, f"{PREFIX}{name}", shots)
        about = About.of(control.region, f"{PREFIX}{name}", data, settings.split)
        options["verified"] = _verified(settings)
        table = predict_and_verify(control, data, about, grammar=False, **options)
        _scored_controls[key] = Scores.of(table, about).score().flat()
    return _scored_controls[key]


def _verified(settings: Any) -> VerifiedSearch | None:
    """Return the settings of verified decoding; None if the settings do not request it."""
    from logicgen.nn.samples import Sampling

    draws = settings.verified
    return None if draws is None else VerifiedSearch(draws, Sampling(settings.temperature))


def _decoding(settings: Any) -> dict[str, Any]:
    """Return the settings of decoding, as keyword arguments of `predict_and_verify`."""
    from logicgen.nn.decoding import BeamSearch

    asked = settings.model_dump(include={"grammar", "ensemble"})
    return {**asked, "decoding": BeamSearch(settings.beams)}


def covariance(settings: Any, data: Dataset, subject: Subject) -> Json:
    """Measure the alpha-covariance; return its summary under the key `covariance`.

    Returns an empty dictionary if the settings do not request it.
    """
    if settings.covariance is None:
        return {}
    answerer = _answerer(settings, data, subject)
    about = About.of(answerer.region, subject.name, data, settings.covariance.split)
    options = settings.covariance.model_dump(exclude={"split"}) | _decoding(settings)
    renamed = predict_renamed(answerer, data, about, **options)
    folder = subject.run / f"{settings.name}-renamed"
    prepare_folder(folder)
    return {"covariance": write_covariance(renamed, folder)}


# Columns and figures of a study


def _columns(point: Findings, several: bool) -> dict[str, str]:
    name, scores = point.measure, [each["score"] for each in point.found]
    columns = {name: percent(_pooled(scores))}
    if several:
        columns[f"{name}, exact"] = percent(_pooled(scores, "exact_match"))
    if all("token_accuracy" in score for score in scores):
        columns[f"{name}, tokens"] = percent(_pooled(scores, "token_accuracy"))
    if "verified_accuracy" in scores[0]:
        columns[f"{name}, verified"] = percent(_pooled(scores, "verified_accuracy"))
    if "covariance" in point.found[0]:
        means = [each["covariance"]["overall"]["strings"]["mean"] for each in point.found]
        columns[f"{name}, alpha-covariance"] = f"{np.mean(means):.3f}"
    if "controls" in point.found[0]:
        best = _best_control(point)
        share = percent(_pooled(_control_scores(point, best)))
        columns[f"{name}, best control"] = f"{best}: {share}"
        if "verified_accuracy" in _control_scores(point, best)[0]:
            best = _best_control(point, "verified_accuracy")
            share = percent(_pooled(_control_scores(point, best), "verified_accuracy"))
            columns[f"{name}, verified, best control"] = f"{best}: {share}"
    return columns


def _best_control(point: Findings, what: str = "accuracy") -> str:
    """Return the name of the control with the largest share `what` (a key of its scores)."""
    names: list[str] = list(point.found[0]["controls"])
    return max(names, key=lambda name: _pooled(_control_scores(point, name), what)["accuracy"])


def _control_scores(point: Findings, control: str) -> list[Json]:
    """Return the scores of a control, one for each training seed of a combination of settings."""
    return [each["controls"][control] for each in point.found]


def _pooled(scores: list[Json], what: str = "accuracy") -> Json:
    """Return the mean of a share over training seeds, with an interval over problems.

    what: key of the share in the scores.
    """
    found = [score[what] for score in scores]
    mean, examples = float(np.mean(found)), int(scores[0]["examples"])
    low, high = wilson_interval(mean, examples)
    return {
        "examples": examples,
        "accuracy": mean,
        "accuracy_std": deviation(found),
        "accuracy_low": low,
        "accuracy_high": high,
    }


def _shares(measured: list[list[Findings]]) -> dict[str, dict[str, Json]]:
    """Return the share of right answers for each combination of settings and each measure."""
    found: dict[str, dict[str, Json]] = {point.label: {} for point in measured[0]}
    for points in measured:
        for point in points:
            scores = [each["score"] for each in point.found]
            for called, what in (("", "accuracy"), (", verified", "verified_accuracy")):
                if what in scores[0]:
                    found[point.label][f"{point.measure}{called}"] = _pooled(scores, what)
    return found


def _by_shots(measured: list[list[Findings]]) -> dict[str, Curves]:
    """Return curves of accuracy by number of shots, for each combination of settings and control.

    There is a dictionary of curves for each data set, under the label of its first combination of
    settings. Each measure gives a point (shots, share, low, high). The result is empty if fewer
    than three measures differ in their shots.
    """
    by_shots = {points[0].settings.shots: points for points in measured}
    if None in by_shots or len(by_shots) < max(3, len(measured)):
        return {}
    curves: dict[str, Curves] = {}  # by data set
    first: dict[Any, str] = {}
    for shots, points in sorted(by_shots.items()):
        for point in points:
            scores = {point.label: [each["score"] for each in point.found]}
            for control in point.found[0].get("controls", ()):
                scores[f"{PREFIX}{control}"] = _control_scores(point, control)
            here = curves.setdefault(first.setdefault(point.data_folder, point.label), {})
            for label, found in scores.items():
                share = _pooled(found)
                line = shots, share["accuracy"], share["accuracy_low"], share["accuracy_high"]
                if line not in here.setdefault(label, []):
                    here[label].append(line)
    return curves


def _learning(points: list[Findings]) -> dict[str, list[list[tuple[float, float]]]] | None:
    """Return the learning curves of each combination of settings, one for each training seed.

    A curve contains pairs (minutes, share of exact answers). Returns None if a training has no
    record of its exact answers.
    """
    found: dict[str, list[list[tuple[float, float]]]] = {}
    for point in points:
        for run in point.runs:
            curve = run.validation.get("exact")
            if not curve:
                return None
            a_step = run.minutes / run.steps
            line = [(step * a_step, share) for step, share in curve]
            found.setdefault(point.label, []).append(line)
    return found


def curve_points(by: str, seeds: list[list[Json]]) -> list[tuple[float, float, float, float]]:
    """Return the points of a curve of accuracy by number of symbols, or by length.

    by: `symbols` or `length`.
    seeds: for each training seed, a score for each number of symbols or each length.

    A point is (place, share, low, high). The place is the mean number of symbols, or the mean
    length, of the point's problems. The share of right answers is a mean over training seeds. Its
    95% interval is from `low` to `high`.
    """
    points, group = [], []
    for place in range(len(seeds[0])):
        group.append(place)
        examples = [seeds[0][each]["examples"] for each in group]
        rest = sum(each["examples"] for each in seeds[0][place + 1 :])
        if rest and (sum(examples) < FEWEST or rest < FEWEST):
            continue
        middle = float(np.average([seeds[0][each][by] for each in group], weights=examples))
        right = [
            np.average([found[each]["accuracy"] for each in group], weights=examples)
            for found in seeds
        ]
        share = float(np.mean(right))
        points.append((middle, share, *wilson_interval(share, sum(examples))))
        group = []
    return points


def draw_shares(points: dict[str, dict[str, dict[str, float]]], title: str) -> Figure:
    """Draw the right answers as bars with 95% intervals: a color per combination of settings.

    points: the share and its interval, by the label of the combination, then by measure.
    """
    measures = list(next(iter(points.values())))
    figure, axes = new_axes(max(6, 1.6 * len(measures) + 2), 4.2, title)
    width = 0.8 / len(points)
    for number, ((label, found), style) in enumerate(
        zip(points.items(), line_styles(), strict=False)
    ):
        places = np.arange(len(measures)) + (number - (len(points) - 1) / 2) * width
        right, low, high = (
            np.array([found[measure][f"accuracy{end}"] for measure in measures])
            for end in ("", "_low", "_high")
        )
        hatch = HATCHES[number // len(LINES) % len(HATCHES)]
        axes.bar(places, right, 0.92 * width, color=style["color"], label=label, **hatch)
        ends = [right - low, high - right]
        axes.errorbar(places, right, ends, fmt="none", ecolor="#333333", capsize=2)
    axes.set_xticks(range(len(measures)), [fill(measure, 16) for measure in measures], fontsize=9)
    axes.set_ylim(0, 1.03)
    shares(axes.yaxis)
    axes.set_ylabel("right answers")
    legend_below(figure)
    return figure


def draw_learning(points: dict[str, list[list[tuple[float, float]]]], title: str) -> Figure:
    """Draw the share of exact answers to held-out problems against minutes of training.

    points: for the label of each combination of settings, a line for each training seed. A line is
        a list of pairs (minutes, share).
    """
    figure, axes = new_axes(7, 4.2, title)
    for (label, seeds), style in zip(points.items(), line_styles(), strict=False):
        for number, pairs in enumerate(seeds):
            minutes, exact = zip(*pairs, strict=True)
            axes.plot(minutes, exact, label=None if number else label, markersize=4, **style)
    axes.set_ylim(0, 1.03)
    shares(axes.yaxis)
    axes.set(xlabel="minutes of training", ylabel="exact answers, held-out problems")
    legend_below(figure)
    return figure


def draw_answers_by(points: Curves, by: str, title: str) -> Figure:
    """Draw the share of right answers over the number of symbols, the length, or the shots.

    points: for the label of each line, (place, share, low, high) in order. A place is a number of
        symbols, a length, or a number of solved problems before the problem; low and high are the
        95% interval.
    """
    figure, axes = new_axes(7, 4.2, title)
    for (label, line), style in zip(points.items(), line_styles(), strict=False):
        places, right, low, high = zip(*line, strict=True)
        axes.plot(places, right, label=label, markersize=5, **style)
        band(axes, places, low, high, style["color"])
    whole_numbers(axes.xaxis)
    axes.set_ylim(0, 1.03)
    shares(axes.yaxis)
    named = {
        "symbols": "symbols in the problem",
        "length": "length of the problem (tokens)",
        "shots": "solved problems before the problem",
    }
    axes.set(xlabel=named[by], ylabel="right answers")
    legend_below(figure, 3 if max(map(len, points)) <= LONG else 2)
    return figure
