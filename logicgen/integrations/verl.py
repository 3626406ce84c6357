"""Reward right solutions of logicgen's problems, for verl.

Write data with `logicgen export DATA DIR --for verl`, and set

    reward.custom_reward_function.path=pkg://logicgen.integrations.verl

Give settings of `logicgen.Scorer` as +reward.custom_reward_function.reward_kwargs.timeout=5.
"""

from __future__ import annotations

from typing import Any

from logicgen.errors import LogicgenError, shown
from logicgen.integrations.scorers import rewards
from logicgen.integrations.versions import at_least
from logicgen.scoring.completions import Mode

at_least("verl", "0.9")

_OURS = "logicgen/"


def compute_score(
    data_source: str,
    solution_str: object,
    ground_truth: str,
    extra_info: Any = None,
    *,
    mode: Mode = "strict",
    timeout: float = 1.0,
    workers: int = 1,
    **_: Any,
) -> dict[str, float]:
    """Return the reward as `score` and as `acc`: 1.0 for a right answer, else 0.0.

    If the verdict is unknown, the key `unknown` is 1.0, else 0.0. An unknown verdict has the reward
    0.0, because verl needs a number. None would leave the whole batch without rewards, and NaN
    would spoil the advantages of the group. The mean of `unknown`, which verl logs for the
    validation data, should be near 0.

    If a batch mixes data sources, verl needs the same keys for all solutions, or only `score`.

    data_source: `logicgen/` and the name of the task.
    solution_str: the completion.
    ground_truth: the problem, which verl stores under this name.

    Raises LogicgenError for another data source, or a problem that does not parse. No solution
    raises an error.
    """
    if not isinstance(data_source, str) or not data_source.startswith(_OURS):
        raise LogicgenError(
            f"data_source: {shown(data_source)}; it must be {_OURS}TASK, as"
            " `logicgen export DATA DIR --for verl` writes it"
        )
    task = data_source.removeprefix(_OURS)
    (paid,) = rewards([(task, ground_truth, solution_str)], mode, timeout, workers)
    return {"score": paid or 0.0, "acc": paid or 0.0, "unknown": float(paid is None)}
