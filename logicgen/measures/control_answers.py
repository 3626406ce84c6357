"""Controls in the place of a model: they answer the problems of a data set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from logicgen.data.dataset import Dataset
from logicgen.data.solved import SolvedProblems
from logicgen.errors import LogicgenError
from logicgen.tasks.controls import PREFIX, Control, load_control

if TYPE_CHECKING:
    from logicgen.model.model import Answer, Request

# The number of training problems by which controls choose their settings.
FITTED = 1_000

FOLDER = Path("runs") / "controls"
"""The folder for the scores of controls. Each control has a folder in it."""


def control_scores_folder(run: str | Path, scores: str) -> Path:
    """Return the folder for the scores of a model or a control.

    run: folder of a model, name of a shipped model, or `control:NAME`.
    scores: the last part of the path.
    """
    from logicgen.model import checkpoint

    if str(run).startswith(PREFIX):
        return FOLDER / str(run).removeprefix(PREFIX) / scores
    return checkpoint.scores_folder(run, scores)


def prepared(data: Dataset, name: str) -> Control:
    """Return a control of the task, with settings chosen by problems of the training split.

    Raises LogicgenError if the task has no control of this name.
    """
    control = load_control(data.task, name)
    if data.splits.get("train"):
        table = data.table("train").slice(0, FITTED)
        pairs = zip(table["problem"].to_pylist(), table["answer"].to_pylist(), strict=True)
        control.fit(list(pairs))
    return control


class ControlAnswerer:
    """A control that answers the problems of a data set (a `model.Answerer`).

    called: `control:NAME`.
    shots: number of solved problems before each problem, as for language models.

    Raises LogicgenError if the task has no control of this name.
    """

    canonical = False
    votes = 1
    trained_on_task = reorders = False

    def __init__(self, data: Dataset, called: str, shots: int = 0) -> None:
        from logicgen.model.training_data import TrainingRegion

        self.task_name, self.vocabulary, self.shots = data.task.name, data.vocabulary, shots
        self._control = prepared(data, called.removeprefix(PREFIX))
        self._solved = SolvedProblems(data, shots)
        self.region = TrainingRegion(data.region.symbols, data.region.length)
        self.alphabet, self.largest = data.region.symbols[1], self.region.largest

    def check(self, symbols: int, ensemble: int = 1, tokens: int = 0) -> None:
        """Raise LogicgenError for an ensemble, because controls have no random rows."""
        if ensemble > 1:
            raise LogicgenError("an ensemble averages over random rows, and a control has none")

    def predict(self, request: Request) -> list[list[Answer]]:
        """Return at most `decoding.answers` different answers to each problem, in order.

        If the control has no answer to a problem, its answer is empty.
        """
        from logicgen.model.model import Answer

        decode, encode = self.vocabulary.decode, self.vocabulary.encode
        count = getattr(request.decoding, "answers", 1)
        found: list[list[Answer]] = []
        for problem in request.problems:
            solved = self._solved.before(problem, request.embedding_seed)
            shots = [(decode(each), decode(answer)) for each, answer in solved]
            answers = self._control.answers(decode(problem), count, shots) or [""]
            # These scores keep the order of trust if equal answers are merged (`different`).
            found.append([Answer(encode(each), -float(n)) for n, each in enumerate(answers)])
        return found
