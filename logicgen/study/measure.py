"""What a study measures of language models: each measure on data of its own."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from logicgen.evaluate.perplexity import Curve
    from logicgen.model.language_model import Language

Count = Annotated[int, Field(ge=1)]

ANSWERS, PERPLEXITY, KEYS = "answers", "perplexity", "keys"
"""Kinds of measures; which one it is follows from the data."""


class Measure(BaseModel):
    """An entry of `measure` in a study.

    Attributes:
        name: of the measure in tables.
        data: a recipe: of look-up or permutation, whose answers are scored; of a cipher, whose keys
            a probe is asked for; of another corpus, of which the perplexity is measured. What the
            model is trained on, if not given.
        data_set: changes to that recipe.
        split: `test` if not given.
        limit, embedding_seeds, context, beyond, grammar: as the options of `logicgen evaluate`.
        steps, hidden, layer, window: as the options of `logicgen probe`.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    data: str | None = None
    data_set: dict[str, Any] = {}
    split: str = "test"
    limit: Count | None = None
    embedding_seeds: Count = 1
    context: Count | None = None
    beyond: Count = 100
    grammar: bool = False
    steps: Count = 2000
    hidden: Count = 256
    layer: Count | None = None
    window: Count = 100


def take(measure: Measure, data: Path, run: Path, called: str, device: str) -> dict[str, Any]:
    """The result of one measure of a trained model, as plain data.

    data: folder of the data set. run: of the model; results that are large stay there.
    Raises LogicgenError where the model cannot be measured so.
    """
    from logicgen.atomic import prepare_folder
    from logicgen.data.corpus import Corpus, load_data
    from logicgen.model.checkpoint import load_language

    opened, model = load_data(data), load_language(run, device)
    folder = run / measure.name
    prepare_folder(folder)
    if not isinstance(opened, Corpus):
        return _answers(measure, opened, model, called, folder)
    if opened.recipe.task == "cipher":
        return _keys(measure, opened, run, called, folder, device)
    return _perplexity(measure, opened, model, called, folder)


def _answers(
    measure: Measure, data: Any, model: Language, called: str, folder: Path
) -> dict[str, Any]:
    from logicgen.evaluate.predictions import About, predict_and_verify
    from logicgen.evaluate.prompted import Prompted
    from logicgen.evaluate.scores import Scores
    from logicgen.report.evaluation_files import write_predictions

    prompted: Any = Prompted(model, data)
    about = About.of(prompted, called, data, measure.split)
    table = predict_and_verify(
        prompted,
        data,
        about,
        limit=measure.limit,
        embedding_seeds=measure.embedding_seeds,
        grammar=measure.grammar,
    )
    write_predictions(table, folder)
    return {"kind": ANSWERS, "score": Scores.of(table, about).score().flat()}


def _perplexity(
    measure: Measure, corpus: Any, model: Language, called: str, folder: Path
) -> dict[str, Any]:
    from logicgen.evaluate.perplexity import measure_perplexity
    from logicgen.report.perplexity_files import write_curve

    curve = measure_perplexity(
        model,
        corpus,
        called,
        split=measure.split,
        limit=measure.limit or 256,
        context=measure.context,
        embedding_seeds=measure.embedding_seeds,
        beyond=measure.beyond,
    )
    summary = write_curve(curve, folder)
    return {
        "kind": PERPLEXITY,
        "summary": summary,
        "tokens": curve.tokens.tolist(),
        "means": {name: np.round(values[1:], 6).tolist() for name, values in curve.means.items()},
    }


def _keys(
    measure: Measure, corpus: Any, run: Path, called: str, folder: Path, device: str
) -> dict[str, Any]:
    from logicgen.evaluate.keys import find_keys
    from logicgen.report.key_files import write_keys
    from logicgen.train.probe import ProbeSettings

    found = find_keys(
        run,
        called,
        corpus,
        folder,
        ProbeSettings(steps=measure.steps, hidden=measure.hidden, layer=measure.layer),
        split=measure.split,
        context=measure.context,
        window=measure.window,
        limit=measure.limit or 1000,
        device=device,
    )
    write_keys(found, corpus.tokens, folder)
    return {"kind": KEYS, "windows": [asdict(each) for each in found.windows]}


def headline(result: dict[str, Any]) -> tuple[float, bool]:
    """The one number of a measure, and whether less is better."""
    if result["kind"] == ANSWERS:
        return float(result["score"]["accuracy"]), False
    if result["kind"] == KEYS:
        return float(result["windows"][-1]["precision"]), False
    part = result["summary"].get("beyond") or result["summary"]["overall"]
    return float(part.get("kl_ideal", part["bits"])), True


def curve_of(result: dict[str, Any]) -> Curve:
    """The curve that a measure of perplexity holds."""
    from logicgen.evaluate.perplexity import Curve, CurveAbout

    summary = dict(result["summary"])
    parts = {name: summary.pop(name) for name in ("overall", "beyond") if name in summary}
    means = {
        name: np.array([np.nan, *(np.nan if v is None else v for v in values)])
        for name, values in result["means"].items()
    }
    return Curve(CurveAbout(**summary), np.array(result["tokens"]), means, parts)
