"""Audit the scorer of Reasoning Gym's `propositional_logic`: it rewards a contradiction.

The scorer asks for a conclusion that follows from premises, which are the formula here. So the
audit only tries completions that are both wrong answers and wrong conclusions.
"""

import re

import reasoning_gym

import logicgen
from logicgen.tasks import load_task

TASK = load_task("propositional")
SCORER = reasoning_gym.create_dataset("propositional_logic", seed=0, size=1)
SIGNS = {"<->": "↔", "->": "→", "!": "¬", "&": "∧", "|": "∨"}


def reward(problem: str, completion: str) -> float:
    """Return the scorer's reward for a conclusion from a formula."""
    premise = TASK.show_problem(TASK.within(TASK.read_problem(problem), SIGNS))
    names = {name: chr(ord("P") + place) for place, name in enumerate("abc")}
    metadata = {"premises": [written(premise, names)], "variables": [*names.values()]}
    return SCORER.score_answer(written(completion, names), {"metadata": metadata})


def written(text: str, names: dict[str, str]) -> str:
    """Return a formula or an assignment as Reasoning Gym writes it."""
    text = re.sub(
        r"\b([a-c])=([01])(, )?", lambda m: "!" * (m[2] == "0") + m[1] + " & " * bool(m[3]), text
    )
    text = re.sub(r"\b[a-c]\b", lambda found: names[found[0]], text)
    return re.sub("<->|->|[!&|]", lambda found: SIGNS[found[0]], text)


if __name__ == "__main__":
    found = logicgen.audit(reward, "propositional", dresses=["bare"], only=["contradiction"])
    print(found.text)

# Prints:
# class             tried   paid  example
# contradiction       120     10  `a & !a` to `!a & a`: no assignment and no trace agrees with it
# raised              184      0
# right answers paid: bare 34 of 64
