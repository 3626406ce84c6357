"""Export of a trained model: weights in half precision, `model.json`, and a model card.

The weights may be a weighted mean of several models (Wortsman et al., "Model soups", ICML 2022).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from logicgen import recipes
from logicgen.data.cards import markdown_table, plain
from logicgen.errors import LogicgenError
from logicgen.files import write_text
from logicgen.measures.best_control import control_text
from logicgen.measures.comparison import COLUMNS
from logicgen.measures.evaluation import SUMMARY
from logicgen.model import checkpoint
from logicgen.model.encoder_decoder import EncoderDecoder
from logicgen.model.recipe import read_model_recipe
from logicgen.report.tables import percent_interval
from logicgen.training.run_folder import training_minutes

README = "README.md"


def export(
    run: Path,
    target: Path,
    name: str,
    description: str | None = None,
    mean: Sequence[tuple[str, float]] = (),
) -> int:
    """Write the finished model of the training run `run` into the folder `target`.

    description: a sentence about the model; by default the description in its recipe.
    mean: runs or shipped models with the same network, and their shares in a weighted mean of the
        weights. `run` has the rest.

    Returns the size of the weights in bytes. Raises LogicgenError if a run has no finished model,
    if the networks differ, or if `target` is not empty.
    """
    run = checkpoint.find_run(run)
    model = checkpoint.as_encoder_decoder(checkpoint.load_model(run, "cpu"), run)
    _mix(model, run, mean)
    before = checkpoint.load_json(run / checkpoint.CARD)
    if description is not None:
        model.recipe = model.recipe.model_copy(update={"description": description})
    parameters = sum(weights.numel() for weights in model.parameters())
    about = _about(name, model.recipe.description)
    scores = [] if mean else _scores(run)  # a mean has not been evaluated
    card = _card(name, about, before, parameters, training_minutes(run), scores)
    try:
        target.mkdir(parents=True, exist_ok=True)
        if any(target.iterdir()):
            raise LogicgenError(f"{target}: not empty: choose another folder, or remove it")
    except OSError as error:
        raise LogicgenError(
            f"{target}: cannot be made ({error.strerror}): choose another folder"
        ) from None
    checkpoint.save_model(
        model, target, steps=before["steps"], fingerprint=before["data"], half=True
    )
    write_text(target / README, card)
    return (target / checkpoint.WEIGHTS).stat().st_size


def _mix(model: EncoderDecoder, run: Path, mean: Sequence[tuple[str, float]]) -> None:
    """Replace the weights of a model by a weighted mean of several models' weights."""
    if not mean:
        return
    shares = [share for _, share in mean]
    rest = 1 - sum(shares)
    if not all(0 < share < 1 for share in (*shares, rest)):
        raise LogicgenError(
            f"--mean: shares {', '.join(f'{share:g}' for share in shares)}, and {rest:g} for"
            f" {run}: each has to be above 0 and below 1"
        )
    own = model.state_dict()
    mixed = {key: rest * weights for key, weights in own.items()}
    for name, share in mean:
        other = checkpoint.as_encoder_decoder(checkpoint.load_model(name, "cpu"), name)
        if _kind(other) != _kind(model):
            raise LogicgenError(
                f"--mean {name}: its task, its network or its answers are not as in {run}: leave it"
                " out"
            )
        for key, weights in other.state_dict().items():
            mixed[key] = mixed[key] + share * weights
    model.load_state_dict(mixed)


def _kind(model: EncoderDecoder) -> tuple[Any, ...]:
    """Return the values that are equal in all models of a mean."""
    recipe = model.recipe
    return model.task_name, recipe.network, recipe.embedding, recipe.answer_form


def _scores(run: Path) -> list[dict[str, Any]]:
    """Return the summaries of the evaluations in a run's folder.

    The order is: the split `test`, the split `grid`, then other splits by name.
    """
    names = sorted(path.name for path in run.iterdir() if os.path.isfile(path / SUMMARY))
    found = []
    first = [name for name in ("test", "grid") if name in names]
    for name in [*first, *(name for name in names if name not in first)]:
        path = run / name / SUMMARY
        summary = checkpoint.load_json(path)
        if summary.get("reset_rows") is not None:  # not the rows that are exported
            continue
        scores = [summary[part] for part in COLUMNS if part in summary]
        if not scores or any("accuracy_low" not in score for score in scores):
            raise LogicgenError(f"{path}: damaged: run logicgen evaluate again")
        found.append(summary)
    return found


def _about(name: str, description: str) -> str:
    """Return `description`; if it is empty, the description of the recipe `name`."""
    # A model that was trained in a study has no description of its own.
    if not description and name in recipes.names("models", ".toml"):
        return read_model_recipe(name).description
    return description


def _card(
    name: str,
    about: str,
    made: dict[str, Any],
    parameters: int,
    minutes: float | None,
    scores: list[dict[str, Any]],
) -> str:
    region = made["region"]
    ranges = [f"{low} to {high}" for low, high in (region["symbols"], region["length"])]
    tokens = f" (`{' '.join(region['tokens'])}`)" if region.get("tokens") else ""
    steps = f"{made['steps']:,} steps" + ("" if minutes is None else f" in {minutes:,.0f} minutes")
    how = "first on stored answers to" if made["recipe"].get("reward") else f"for {steps} on"
    lines = [f"# {plain(name)}", "", *([plain(about), ""] if about else [])]
    lines += [
        f"A model of {parameters:,} parameters for the task `{made['task']}`.",
        f"Logicgen {made['versions']['logicgen']} trained it {how} problems of {ranges[0]} symbols"
        f" and {ranges[1]} tokens{tokens}.",
        *_learning(made, steps),
        "The weights are in half precision. `model.json` contains the recipe, and the sha256 of"
        " the weights,",
        "which is checked when the model is loaded.",
        "",
        "```",
        f'logicgen solve --task {made["task"]} --model {name} "..."',
        "```",
    ]
    for summary in scores:
        split = summary.get("split", "")
        lines += ["", f"Right answers on `{summary['data']}`, {split}, judged by the solver:", ""]
        lines.append(_table(summary))
    lines += ["", *_limits(made)]
    return "\n".join(lines) + "\n"


def _table(summary: dict[str, Any]) -> str:
    """Return the scores of an evaluation, and the best control for each score, as a table."""
    found = [(called, summary[part]) for part, called in COLUMNS.items() if part in summary]
    found += [(level["label"], level) for level in summary.get("by_difficulty", ())]
    columns = {"right, 95% interval": ""}
    if all("verified_accuracy" in score for _, score in found):
        draws = summary["decoding"]["verified"]["draws"]
        columns[f"best of {draws}, verified"] = "verified_"
    heads = ["where"]
    rows = [[called] for called, _ in found]
    for head, before in columns.items():
        heads.append(head)
        controls = all(f"{before}best_control" in score for _, score in found)
        heads += ["best control"] if controls else []
        for row, (_, score) in zip(rows, found, strict=True):
            row.append(_interval(score, f"{before}accuracy"))
            row += [control_text(score, before)] if controls else []
    for row, (_, score) in zip(rows, found, strict=True):
        row.append(f"{score['examples']:,}")
    return markdown_table([*heads, "examples"], rows)


def _learning(made: dict[str, Any], steps: str) -> list[str]:
    """Return the card's sentences on learning from the solver's verdicts in the last training.

    The list is empty if the model was not trained in this way.
    """
    region, reward = made["region"], made["recipe"].get("reward")
    if reward is None:
        return []
    symbols, length = (list(reward.get(key) or region[key]) for key in ("symbols", "length"))
    if made.get("grown"):  # `reward.grow`: the goals were not reached
        symbols[1], length[1] = made["grown"]
    lines = [
        f"In its last training, of {steps}, it learned from its own answers to",
        f"unsolved problems of {symbols[0]} to {symbols[1]} symbols and {length[0]} to {length[1]}"
        f" tokens. The solver judged the answers (`{reward['method']}`).",
    ]
    if stored := reward["stored"]:
        lines.append(f"In each step, {100 * stored:.0f}% of the answers were stored answers.")
    return lines


def _interval(score: dict[str, Any], key: str) -> str:
    return percent_interval(*(score[f"{key}{end}"] for end in ("", "_low", "_high")))


def _limits(made: dict[str, Any]) -> list[str]:
    """Return the card's sentences on the limits of the model."""
    network, tokens = made["recipe"]["network"], made["region"].get("tokens")
    found = ["Limits: on other problems, the accuracy can be much lower than in these tables."]
    if tokens:
        found.append(
            "Formulas with other operators are rewritten in its own operators, if possible."
        )
    if network["kind"] == "symbol-invariant":
        found.append("Its answers contain only symbols of the problem.")
    if most := network.get("position_range"):
        found.append(f"Problems have at most {most - 1} tokens.")
    return found
