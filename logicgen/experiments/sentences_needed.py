"""How many sentences a model needs to come near its teacher: inductive Transformer and vanilla one.

Both learn the same sentences of the same random teachers. The decoder-only Transformers, of more
parameters, are stopped where they are nearest to the teacher, which only somebody can do who knows
the teacher. The inductive one is taken as it is at the end, and, to be compared with them, as the
nearest of several trainings of other lengths.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from logicgen.model.inductive import as_grammar
from logicgen.nn.language_model import CausalLM, CausalTransformer
from logicgen.nn.token_rows import TokenRows
from logicgen.productions import Grammar, divergence, random_grammar
from logicgen.report.figure_style import line_styles, save
from logicgen.report.tables import write_csv
from logicgen.study.experiment import Table, write_experiment
from logicgen.study.points import compute
from logicgen.train.students import Lesson, Sentences, teach

SIZE = {"width": 3, "layers": 3, "words": 8}
SENTENCES = [10, 30, 100, 300, 1_000, 3_000, 10_000]
DECODERS = {
    "decoder, width 8": {"width": 8, "heads": 2, "layers": 1, "feed_forward": 16},
    "decoder, width 32": {"width": 32, "heads": 4, "layers": 2, "feed_forward": 128},
}
INDUCTIVE, STOPPED = "inductive", "inductive, stopped"
SHORTER = (20, 50, 100, 200)  # steps of the other trainings of the one that is stopped
REACHED = (0.5, 0.2, 0.1, 0.05)  # bits

LESSON = Lesson(starts=20)
RESAMPLED = 10_000


@dataclass(frozen=True)
class Training:
    """Of decoders.

    Attributes:
        steps: at most.
        batch: sentences of a step, at most.
        rate: of AdamW; it falls to 0 as a cosine.
        look: steps between two looks at the divergence.
        patience: steps without a new least one after which nobody expects another.
    """

    steps: int = 2_000
    batch: int = 128
    rate: float = 1e-2
    look: int = 20
    patience: int = 400


TRAINING = Training()


def needed_point(
    teacher_seed: int, sentences: int, lesson: dict[str, Any], decoders: dict[str, Any]
) -> dict[str, Any]:
    """KL(teacher || model) in bits of each model after so many sentences, and its parameters.

    decoders: size of each, by name, and, under `training`, the numbers of their training.
    """
    rng = np.random.default_rng(teacher_seed)
    teacher = random_grammar(**SIZE, rng=rng, concentration=0.5, own_words=True)
    sample = teacher.sample(rng, sentences)
    found = {STOPPED: math.inf}
    whole = Lesson(**lesson)
    for steps in (*SHORTER, whole.steps):
        weights, _ = teach(
            [Sentences.of(sample)],
            words=SIZE["words"],
            width=SIZE["width"],
            lesson=replace(whole, steps=steps),
            seed=teacher_seed,
        )
        found[INDUCTIVE] = divergence(teacher, as_grammar(weights, 0, teacher.words))
        found[STOPPED] = min(found[STOPPED], found[INDUCTIVE])
    parameters = dict.fromkeys(found, sum(each[0].numel() for each in weights))
    training = Training(**decoders["training"])
    for name in DECODERS:
        found[name], parameters[name] = _decoder(
            teacher, sample, decoders[name], training, teacher_seed
        )
    return {"bits": found, "parameters": parameters}


def _decoder(
    teacher: Grammar, sample: np.ndarray, size: dict[str, Any], training: Training, seed: int
) -> tuple[float, int]:
    """The least divergence of all that were looked at during training, in bits; parameters."""
    ids, probabilities = teacher.sentences()
    truth = torch.from_numpy(probabilities)
    every, learnt = _rows(ids), _rows(sample)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        rows = TokenRows("learned", len(teacher.words) + 1, size["width"], 0.0)
        model = CausalLM(rows, CausalTransformer(**size), size["width"])
        generator = torch.Generator().manual_seed(seed)
        optimizer = torch.optim.AdamW(model.parameters(), lr=training.rate, weight_decay=0.01)
        least, last = math.inf, 0
        for step in range(training.steps + 1):
            if step % training.look == 0:
                logs = model.log_probabilities(every[:, :-1]).gather(2, every[:, 1:, None])
                bits = truth @ (truth.log() - logs[..., 0].double().sum(1)) / math.log(2)
                if bits < least:
                    least, last = float(bits), step
                elif step - last >= training.patience:
                    break
            batch = torch.randint(
                len(learnt), (min(training.batch, len(learnt)),), generator=generator
            )
            for group in optimizer.param_groups:
                group["lr"] = training.rate * (1 + math.cos(math.pi * step / training.steps)) / 2
            optimizer.zero_grad()
            model.loss(learnt[batch]).backward()
            optimizer.step()
    return least, sum(each.numel() for each in model.parameters())


def _rows(sentences: np.ndarray) -> Tensor:
    """Sentences behind a token that begins them, 0."""
    return torch.from_numpy(np.insert(sentences + 1, 0, 0, axis=1))


def reached(bits: np.ndarray, sentences: list[int], threshold: float) -> np.ndarray:
    """(K,) sentences after which (K, N) divergences are below a threshold; inf where never.

    Between numbers that were tried, on a straight line between logarithms of both.
    """
    found = np.full(len(bits), np.inf)
    logs = np.log(sentences)
    for row, each in enumerate(bits):
        below = np.flatnonzero(each <= threshold)
        if not len(below):
            continue
        first = below[0]
        if first == 0:
            found[row] = sentences[0]
            continue
        high, low = np.log(each[first - 1]), np.log(max(each[first], 1e-12))
        along = (high - np.log(threshold)) / (high - low)
        found[row] = np.exp(logs[first - 1] + along * (logs[first] - logs[first - 1]))
    return found


def sentences_needed(
    folder: Path,
    *,
    teachers: int = 12,
    sentences: list[int] = SENTENCES,
    workers: int = 1,
    command: str = "",
    progress: Any = lambda done, total: None,
) -> str:
    """Run the experiment into a folder; its table, for people."""
    points = {
        f"{teacher}-{count}": {
            "teacher_seed": teacher,
            "sentences": count,
            "lesson": asdict(LESSON),
            "decoders": {**DECODERS, "training": asdict(TRAINING)},
        }
        for teacher in range(teachers)
        for count in sentences
    }
    computed = compute(needed_point, points, folder, workers=workers, progress=progress)
    models = [INDUCTIVE, STOPPED, *DECODERS]
    bits = {
        model: np.array(
            [
                [computed[f"{teacher}-{count}"]["found"]["bits"][model] for count in sentences]
                for teacher in range(teachers)
            ]
        )
        for model in models
    }
    parameters = next(iter(computed.values()))["found"]["parameters"]
    write_csv(
        [
            {
                **{key: each["arguments"][key] for key in ("teacher_seed", "sentences")},
                "model": model,
                "kl_bits": each["found"]["bits"][model],
            }
            for each in computed.values()
            for model in models
        ],
        folder / "divergences.csv",
    )
    rng = np.random.default_rng(0)
    draws = rng.integers(teachers, size=(RESAMPLED, teachers))
    rows = []
    for model in models:
        cells = []
        for threshold in REACHED:
            needed = reached(bits[model], sentences, threshold)
            medians = np.median(needed[draws], axis=1)
            low, high = np.quantile(medians, [0.025, 0.975], method="nearest")
            cells.append(f"{_number(float(np.median(needed)))} [{_number(low)}, {_number(high)}]")
        rows.append([model, f"{parameters[model]:,}", *cells])
    heads = ["model", "parameters", *(f"to {threshold} bits" for threshold in REACHED)]
    tables: list[Table] = [
        (
            "Sentences needed, median over teachers [95% interval, bootstrap over teachers]:",
            heads,
            rows,
        )
    ]
    _draw(bits, sentences, folder)
    about = (
        f"{teachers} random teachers of {SIZE['layers']} layers of {SIZE['width']} units, which"
        f" share {SIZE['words']} words out among themselves. KL(teacher || model) of whole"
        f" sentences. Stopped: the nearest after {', '.join(map(str, SHORTER))} or {LESSON.steps}"
        f" steps. Decoders: AdamW at a rate from {TRAINING.rate} to 0, up to {TRAINING.steps:,}"
        f" steps of up to {TRAINING.batch} sentences, the best of all models looked at every"
        f" {TRAINING.look} steps."
    )
    pictures = [("divergence", "divergence from the teacher by number of sentences")]
    title = "Sentences needed"
    return write_experiment(folder, title, about, command, tables, pictures, computed)


def _number(value: float) -> str:
    return f"{value:,.0f}" if np.isfinite(value) else "more"


def _draw(bits: dict[str, np.ndarray], sentences: list[int], folder: Path) -> None:
    """Medians and quartiles over teachers."""
    figure = Figure(figsize=(6.5, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for (model, values), style in zip(bits.items(), line_styles(), strict=False):
        low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
        axes.plot(sentences, middle, label=model, **style)
        axes.fill_between(sentences, low, high, color=style["color"], alpha=0.15, linewidth=0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("sentences")
    axes.set_ylabel("KL(teacher || model), bits")
    axes.legend()
    figure.suptitle("Median and quartiles over teachers", fontsize=11)
    save(figure, folder, "divergence")
