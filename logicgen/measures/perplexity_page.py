"""The page of an evaluation on a corpus: perplexity by position, and text coloured by surprise."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from logicgen.measures.perplexity import MEASURES, Curve
from logicgen.measures.perplexity_figure import WINDOW, moving_average
from logicgen.report.html.document import Document, Facts, write_document

# Measures that are bits, which one axis can have, with their short names.
LINES = {
    "bits": "the model",
    "counter_bits": "the best counter of the text",
    "ideal_bits": "the ideal lexinvariant model",
    "true_bits": "the truth",
}


def write_perplexity_page(curve: Curve, path: Path) -> Path:
    """Write the page of an evaluation on a corpus; return its path."""
    write_document(perplexity_document(curve), path)
    return path


def perplexity_document(curve: Curve) -> Document:
    """Return the page of an evaluation on a corpus."""
    about, there = curve.about, [name for name in LINES if name in curve.means]
    places = np.flatnonzero(curve.tokens)
    width = max(1, round(WINDOW * len(curve.tokens)))
    averages = {n: moving_average(curve.means[n], curve.tokens, width) for n in there}
    lines = [
        {
            "name": name,
            "label": LINES[name],
            "values": [
                round(value, 4) if math.isfinite(value) else None
                for value in averages[name][places].tolist()
            ],
        }
        for name in there
    ]
    readings = [
        {
            "tokens": list(reading.tokens),
            "measured": {name: reading.measured[name] for name in there},
        }
        for reading in curve.readings
    ]
    data = {
        "positions": places.tolist(),
        "lines": lines,
        "readings": readings,
        "blanks": about.task in ("automaton", "production"),
    }
    overall = curve.parts["overall"]
    return Document(
        title=f"{about.model} on {about.data} ({about.split})",
        lead=f"Perplexity {overall['perplexity']:.3f} over {overall['tokens']:,} tokens of"
        f" {about.sequences:,} sequences.",
        summary=[_parts(curve)],
        data=data,
        facts=[_facts(curve)],
        notes=[f"Made by logicgen. Lines are means over {width} positions around each."],
    )


def _parts(curve: Curve) -> Facts:
    """Return the table of means over all positions, and from one on."""
    rows = []
    for part, found in curve.parts.items():
        where = "all positions" if part == "overall" else f"from position {found['from']} on"
        rows.append([where, "perplexity", f"{found['perplexity']:.3f}", f"{found['tokens']:,}"])
        for name, called in MEASURES.items():
            if name in found:
                low, high = found[f"{name}_low"], found[f"{name}_high"]
                value = f"{found[name]:.4f} [{low:.4f}, {high:.4f}]"
                rows.append([where, called, value, f"{found['tokens']:,}"])
    return Facts("Means", ["where", "what", "value", "tokens"], rows)


def _facts(curve: Curve) -> Facts:
    about: dict[str, Any] = {
        "model": curve.about.model,
        "data": f"{curve.about.data}, split {curve.about.split}",
        "task": curve.about.task,
        "tokens of a sequence": curve.about.context,
        "sequences": curve.about.sequences,
        "embedding seeds": curve.about.embedding_seeds,
    }
    return Facts("What was evaluated", ["", ""], [[name, str(about[name])] for name in about])
