"""The number of sentences that inductive and decoder-only Transformers need to learn a teacher.

A teacher is a random grammar. Both kinds of Transformers learn the same sentences of the same
teachers. The measure is the divergence KL(teacher || model). The decoder-only Transformers
(decoders) have more parameters. Their training is stopped at the smallest divergence, which
requires knowledge of the teacher. The inductive Transformer is measured at the end of its training.
For a fair comparison, the best of several shorter trainings of the inductive Transformer is
measured, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from pydantic import Field
from torch import Tensor

from logicgen.experiments import Call, Experiment, ExperimentSettings, Json, Positive
from logicgen.experiments.teachers import LessonTable, learn
from logicgen.nn.language_model import CausalLM, CausalTransformer
from logicgen.nn.token_rows import TokenRows
from logicgen.productions import Grammar, divergence, random_grammar
from logicgen.recipes import Table
from logicgen.report.figure_style import band, line_styles
from logicgen.report.tables import Report
from logicgen.training.learner import Learner
from logicgen.training.optimizer import Schedule
from logicgen.training.students import Sentences

SIZE = {"width": 3, "layers": 3, "words": 8}
INDUCTIVE, STOPPED = "inductive", "inductive, stopped"
SHORTER = (20, 50, 100, 200)  # the numbers of steps of the shorter inductive trainings
REACHED = (0.5, 0.2, 0.1, 0.05)  # thresholds of the divergence, in bits

RESAMPLED = 10_000  # the number of bootstrap samples


class Decoder(Table):
    """The size of a decoder."""

    width: Positive
    heads: Positive
    layers: Positive
    feed_forward: Positive


class DecoderTraining(Table):
    """The training of decoders by AdamW, with a cosine schedule of the learning rate down to 0."""

    steps: Positive  # the largest number of steps
    batch: Positive  # the largest number of sentences in a batch
    learning_rate: float = Field(gt=0, alias="rate")  # the name in records
    look: Positive  # the number of steps between two measurements of the divergence
    patience: Positive  # stop after this number of steps without a new minimum of the divergence


class NeededSettings(ExperimentSettings):
    """Keys of a study of this experiment."""

    teachers: int = Field(ge=2)
    sentences: list[Positive]  # numbers of training sentences
    lesson: LessonTable
    decoders: dict[str, Decoder]  # sizes of the decoders, by name
    training: DecoderTraining


def needed_point(
    teacher_seed: int, sentences: int, lesson: dict[str, Any], decoders: dict[str, Any]
) -> Json:
    """Train each model on the same sentences of a random teacher.

    The result contains, for each model, KL(teacher || model) in bits (`bits`) and the number of
    parameters (`parameters`).

    teacher_seed: the seed of the teacher.
    sentences: the number of training sentences.
    decoders: the size of each decoder by name. The entry `training` contains the settings of their
        training.
    """
    rng = np.random.default_rng(teacher_seed)
    teacher = random_grammar(**SIZE, rng=rng, concentration=0.5, own_words=True)
    sample = teacher.sample(rng, sentences)
    found = {STOPPED: math.inf}
    seen = [Sentences.of(sample)]
    for steps in (*SHORTER, lesson["steps"]):
        shorter = {**lesson, "steps": steps}
        (student,), _ = learn(seen, teacher.words, SIZE["width"], shorter, teacher_seed)
        found[INDUCTIVE] = divergence(teacher, student)
        found[STOPPED] = min(found[STOPPED], found[INDUCTIVE])
    weights = (student.start, *student.tokens, *student.below)
    parameters = dict.fromkeys(found, sum(each.size for each in weights))
    sizes = dict(decoders)
    training = DecoderTraining.model_validate(sizes.pop("training"))
    for name, size in sizes.items():
        found[name], parameters[name] = _decoder(teacher, sample, size, training, teacher_seed)
    return {"bits": found, "parameters": parameters}


class DecoderLearner(Learner):
    """A decoder with its training sentences, for the training loop."""

    module: CausalLM

    def __init__(
        self, model: CausalLM, learned: Tensor, training: DecoderTraining, seed: int
    ) -> None:
        self.module, self.learned, self.training, self.seed = model, learned, training, seed
        self.schedule = Schedule(training.steps, training.learning_rate)
        self.log_every = training.steps

    def optimizer(self) -> torch.optim.Optimizer:
        """Return a new optimizer of the weights."""
        rate = self.training.learning_rate
        return torch.optim.AdamW(self.module.parameters(), lr=rate, weight_decay=0.01)

    def batches(self, step: int) -> Iterator[Tensor]:
        """Yield batches of random sentences, (batch, words + 1) token ids.

        `step` is ignored, since the training always begins with step 0.
        """
        generator = torch.Generator().manual_seed(self.seed)
        size = (min(self.training.batch, len(self.learned)),)
        while True:
            yield self.learned[torch.randint(len(self.learned), size, generator=generator)]

    def loss(
        self, batch: Tensor, generator: torch.Generator, measured: bool
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the mean cross-entropy of a batch in nats, and an empty dict of measurements."""
        return self.module.loss(batch), {}


class Patience:
    """A function for the training loop that ends the training when a measure no longer decreases.

    Attributes:
        measure: the function that returns the measure. It is first called before the first step.
        every: the number of steps between two measurements.
        patience: the number of steps without a new least value after which the training ends.
        least: the least value that was measured.
        at: the number of steps after which `least` was measured.
    """

    def __init__(self, measure: Callable[[], float], every: int, patience: int) -> None:
        self.measure, self.every, self.patience = measure, every, patience
        self.least, self.at = measure(), 0

    def __call__(self, done: int, loss: Tensor) -> bool:
        """Measure after every `every` steps. Return whether to end the training."""
        if done % self.every:
            return False
        value = self.measure()
        if value < self.least:
            self.least, self.at = value, done
        return done - self.at >= self.patience


def _decoder(
    teacher: Grammar, sample: np.ndarray, size: dict[str, Any], training: DecoderTraining, seed: int
) -> tuple[float, int]:
    """Train a decoder on the sentences `sample`.

    Returns the least KL(teacher || decoder) during training, in bits, and the number of parameters.
    """
    from logicgen.training.loop import run_steps

    ids, probabilities = teacher.sentences()
    truth, every = torch.from_numpy(probabilities), _rows(ids)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        rows = TokenRows("learned", len(teacher.words) + 1, size["width"], 0.0)
        model = CausalLM(rows, CausalTransformer(**size), size["width"])

        def bits() -> float:
            """Return KL(teacher || decoder) over all sentences, in bits."""
            logs = model.log_probabilities(every[:, :-1]).gather(2, every[:, 1:, None])
            each = truth.log() - logs[..., 0].double().sum(1)
            return float(truth @ each / math.log(2))

        nearest = Patience(bits, training.look, training.patience)
        run_steps(DecoderLearner(model, _rows(sample), training, seed), [nearest])
    return nearest.least, sum(each.numel() for each in model.parameters())


def _rows(sentences: np.ndarray) -> Tensor:
    """Turn word ids (sentences, words) into token ids (sentences, words + 1).

    The token id of a word is its word id plus 1. The id 0 is inserted before the first word.
    """
    return torch.from_numpy(np.insert(sentences + 1, 0, 0, axis=1))


def reached(bits: np.ndarray, sentences: list[int], threshold: float) -> np.ndarray:
    """Return the number of sentences at which the divergence of each teacher reaches a threshold.

    The result, (teachers,), is inf if no divergence of a teacher is at most `threshold`. Between
    two numbers of sentences, the logarithms of numbers and divergences are interpolated linearly.

    bits: (teachers, numbers of sentences) divergences.
    sentences: the numbers of sentences, in increasing order.
    """
    found = np.full(len(bits), np.inf)
    logs = np.log(sentences)
    for row, each in enumerate(bits):
        below = each <= threshold
        first = int(below.argmax())
        if below[0]:
            found[row] = sentences[0]
        elif first:
            high, low = np.log(each[first - 1]), np.log(max(each[first], 1e-12))
            along = (high - np.log(threshold)) / (high - low)
            found[row] = np.exp(logs[first - 1] + along * (logs[first] - logs[first - 1]))
    return found


def trials(settings: NeededSettings) -> dict[str, Call]:
    """Return a trial for each teacher and number of sentences."""
    decoders = {name: size.model_dump() for name, size in settings.decoders.items()}
    common = {
        "lesson": settings.lesson.arguments(),
        "decoders": {**decoders, "training": settings.training.model_dump(by_alias=True)},
    }
    return {
        f"{seed}-{count}": (needed_point, {"teacher_seed": seed, "sentences": count, **common})
        for seed in range(settings.teachers)
        for count in settings.sentences
    }


def report(settings: NeededSettings, found: dict[str, Json]) -> Report:
    """Return the report: the sentences that each model needs, and a picture of the divergences."""
    sentences, teachers, training = settings.sentences, settings.teachers, settings.training
    models = [INDUCTIVE, STOPPED, *settings.decoders]
    shape = teachers, len(sentences)
    bits = {
        model: np.reshape([found[name]["bits"][model] for name in trials(settings)], shape)
        for model in models
    }
    parameters = next(iter(found.values()))["parameters"]
    lines = [
        {
            **{key: arguments[key] for key in ("teacher_seed", "sentences")},
            "model": model,
            "kl_bits": found[name]["bits"][model],
        }
        for name, (_, arguments) in trials(settings).items()
        for model in models
    ]
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
    figure = _draw(bits, sentences)
    says = "Sentences needed, median over teachers [95% interval, bootstrap over teachers]:"
    return Report(
        "Sentences needed",
        f"{teachers} random teachers with {SIZE['layers']} layers of {SIZE['width']} units and"
        f" {SIZE['words']} words; in each layer, a word belongs to one unit. KL(teacher || model)"
        f" of whole sentences. Stopped: the best of {', '.join(map(str, SHORTER))} and"
        f" {settings.lesson.steps} steps. Decoders: AdamW with a learning rate from"
        f" {training.learning_rate} to 0, up to {training.steps:,} steps of up to"
        f" {training.batch} sentences; the best model, measured every {training.look} steps.",
        [(says, heads, rows)],
        [("divergence", "divergence from the teacher by number of sentences", figure)],
        {"divergences.csv": lines},
    )


def _number(value: float) -> str:
    """Return a number of sentences as text; inf means that more sentences are needed."""
    return f"{value:,.0f}" if np.isfinite(value) else "more"


def _draw(bits: dict[str, np.ndarray], sentences: list[int]) -> Figure:
    """Draw the median and the quartiles of the divergences over teachers, a line for each model."""
    figure = Figure(figsize=(6.5, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for (model, values), style in zip(bits.items(), line_styles(), strict=False):
        low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
        axes.plot(sentences, middle, label=model, **style)
        band(axes, sentences, low, high, style["color"])
    axes.set(xscale="log", yscale="log", xlabel="sentences", ylabel="KL(teacher || model), bits")
    axes.legend()
    figure.suptitle("Median and quartiles over teachers", fontsize=11)
    return figure


EXPERIMENT = Experiment(NeededSettings, trials, report)
