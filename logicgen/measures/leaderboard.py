"""The leaderboard of a suite, and the scores of one result with the best control for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from logicgen.data.cards import markdown_table
from logicgen.data.suite import Suite
from logicgen.measures.suite_results import FEW, HARD, PartScore, SuiteResult, part_scores
from logicgen.tasks.controls import PREFIX

SOLVER = "solver:"
"""The beginning of the name of a solver with a limited effort."""

Scores = Mapping[str, Mapping[str, PartScore]]
"""The scores of systems, by name of the system and name of the part."""


def _kind(system: str) -> int:
    """Return the place of a kind of systems: controls, solvers, models."""
    return next((n for n, start in enumerate((PREFIX, SOLVER)) if system.startswith(start)), 2)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"


def _plain_and_verified(score: PartScore) -> str:
    plain = _percent(score.plain)
    return plain if score.verified is None else f"{plain} / {_percent(score.verified)}"


TABLES: list[tuple[str, str, Callable[[PartScore], str]]] = [
    (
        "Right answers",
        "One answer / several answers, which the verifier checks (controls and models: 16). In"
        " percent. `solver:N` is the solver of logicgen, stopped after N search steps.",
        _plain_and_verified,
    ),
    (
        "Right answers to hard problems",
        f"One answer to the hard problems of a part: at least {100 * HARD:.0f}% of the systems are"
        f" wrong on each of them. Parts with fewer than {FEW} hard problems have empty cells.",
        lambda score: _percent(score.hard),
    ),
    (
        "Consistency",
        "Share of problems of which all three forms are answered right, or all three wrong.",
        lambda score: _percent(score.consistency),
    ),
]
"""The tables of a leaderboard: heading, sentence, and the text of a score."""


def leaderboard(
    suite: Suite, results: Sequence[SuiteResult], rated: Mapping[str, Sequence[float]]
) -> str:
    """Return the leaderboard as a page of Markdown.

    rated: the rating of each problem, by part.
    """
    scores = {result.system: part_scores(result, rated) for result in results}
    order = sorted(scores, key=lambda system: (_kind(system), system))
    blocks = [
        f"# Leaderboard of {suite.name}",
        f"{suite.recipe.description}. Controls learn nothing. [How to submit](suite.md). Made by"
        f" `logicgen suite leaderboard`; fingerprint `{suite.fingerprint[:16]}`.",
    ]
    for title, about, value in TABLES:
        blocks += [f"## {title}", about]
        for parts in _groups(suite):
            rows = []
            for system in order:
                texts = [value(scores[system][p]) if p in scores[system] else "" for p in parts]
                rows += [[f"`{system}`", *texts]] if any(texts) else []
            blocks += [markdown_table(["system", *parts], rows)] if rows else []
    rows = []
    for part, problems in suite.rows.items():
        hard = int((np.array(rated.get(part, ())) >= HARD).sum())
        rows.append([part, f"{len(problems):,}", f"{hard:,}", suite.about(part)])
    heads = ["part", "problems", "of which hard", "content"]
    blocks += ["## Parts", markdown_table(heads, rows)]
    return "\n\n".join(blocks) + "\n"


def _groups(suite: Suite) -> list[list[str]]:
    """Return the parts of each logic, and all other parts together."""
    groups: dict[str, list[str]] = {}
    for part in suite.rows:
        groups.setdefault(suite.task(part).logic or "", []).append(part)
    return list(groups.values())


def best_control(scores: Scores, part: str, verified: bool = False) -> tuple[str, float] | None:
    """Return the control with the most right answers to a part, and its share.

    verified: whether controls may answer several times.
    """
    found: dict[str, float] = {}
    for system, parts in scores.items():
        if _kind(system) == 0 and part in parts:
            score = parts[part]
            found[system] = (score.verified or score.plain) if verified else score.plain
    if not found:
        return None
    name = max(found, key=lambda each: found[each])
    return name.removeprefix(PREFIX), found[name]


def score_rows(suite: Suite, result: SuiteResult, listed: Scores) -> list[list[str]]:
    """Return a row for each part of a result: its scores and the best control.

    listed: the scores of the systems of the leaderboard.
    """
    rated = suite.ratings
    rows = []
    for part, score in part_scores(result, rated).items():
        row = [part, f"{len(suite.rows[part]):,}", _percent(score.plain)]
        plain, verified = (best_control(listed, part, several) for several in (False, True))
        row.append("" if plain is None else f"{plain[0]} {_percent(plain[1])}")
        row.append(_percent(score.verified))
        show = verified is not None and score.verified is not None
        row.append(f"{verified[0]} {_percent(verified[1])}" if show and verified else "")
        rows.append([*row, _percent(score.hard), _percent(score.consistency)])
    return rows


HEADS = ["part", "problems", "right", "best control", "verified", "best control, verified"]
HEADS += ["right, hard problems", "consistency"]


def score_lines(suite: Suite, result: SuiteResult, listed: Scores) -> list[str]:
    """Return the scores of a result as lines of text, in percent."""
    rows = [HEADS, *score_rows(suite, result, listed)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEADS))]
    return [
        "  ".join(
            text.rjust(width) if place else text.ljust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
