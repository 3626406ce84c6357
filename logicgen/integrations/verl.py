"""A reward function for verl: pays solutions of problems that logicgen has written.

reward.custom_reward_function.path=pkg://logicgen.integrations.verl

with data that `logicgen export DATA DIR --for verl` writes. Settings of `logicgen.Scorer` are given
as +reward.custom_reward_function.reward_kwargs.timeout=5.
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
    """Return `score`, and `acc`, which is the same: 1.0 for a right answer, else 0.0.

    data_source: `logicgen/<task>`. ground_truth: the problem.

    verl needs a number for each solution: None would leave the whole batch without rewards, and NaN
    spoil the advantages of the group. So a verdict that is not known is paid like a wrong answer,
    since 1.0 might be paid for nothing, and `unknown`, else 0.0, is 1.0: verl averages it over the
    validation data, where it should stay near 0. Where data of others are mixed in, all solutions
    need the same keys, or `score` alone. Raises LogicgenError for another data source and a problem
    that does not parse; no solution makes it raise.
    """
    if not isinstance(data_source, str) or not data_source.startswith(_OURS):
        raise LogicgenError(
            f"data_source: {shown(data_source)}; it has to be {_OURS}TASK, as"
            " `logicgen export DATA DIR --for verl` writes it"
        )
    task = data_source.removeprefix(_OURS)
    (paid,) = rewards([(task, ground_truth, solution_str)], mode, timeout, workers)
    return {"score": paid or 0.0, "acc": paid or 0.0, "unknown": float(paid is None)}
