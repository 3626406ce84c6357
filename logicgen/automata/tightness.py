"""Whether a probabilistic automaton loses probability to strings that never end.

Source: Du, Torroba Hennigen, Pimentel, Meister, Eisner, Cotterell, A Measure-Theoretic
Characterization of Tight Language Models (ACL 2023): a probabilistic automaton is tight
exactly if every accessible state is coaccessible.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from logicgen.automata.allsum import accessible, allsum, coaccessible
from logicgen.automata.automaton import Automaton
from logicgen.errors import LogicgenError

# How far sums of probabilities may be from 1 because they were written with ten digits.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Tightness:
    """Whether all strings together have probability 1, and where it goes if not.

    Attributes:
        mass: the probability of all strings together.
        trapped: accessible states from which no final state can be reached.
        leaking: accessible states whose final weight and transitions sum to less than 1.
        beginning: what the initial weights sum to.
    """

    mass: float
    trapped: tuple[str, ...]
    leaking: tuple[str, ...]
    beginning: float

    @property
    def is_tight(self) -> bool:
        return not self.trapped and not self.leaking and self.beginning >= 1 - TOLERANCE

    @property
    def reason(self) -> str:
        """One line: that it is tight, or all reasons why not."""
        if self.is_tight:
            return "tight: every accessible state leads to the end"
        reasons = []
        if self.beginning < 1 - TOLERANCE:
            reasons.append(f"the initial weights sum to {self.beginning:.6g} only")
        for states, what in (
            (self.leaking, "weights that sum to less than 1"),
            (self.trapped, "no path to a final state"),
        ):
            if states:
                more = f" and {len(states) - 5} more" if len(states) > 5 else ""
                reasons.append(f"{what} from {', '.join(states[:5])}{more}")
        return f"not tight, all strings together have {self.mass:.6g}: {'; '.join(reasons)}"


def tightness(automaton: Automaton) -> Tightness:
    """Whether a probabilistic automaton is tight.

    Raises LogicgenError naming an accessible state whose final weight and transitions sum to more
    than 1, or the initial weights if these do: that is no probabilistic automaton.
    """
    reached = accessible(automaton)
    sums = automaton.total.sum(axis=1) + automaton.final  # (n,)
    beginning = float(automaton.initial.sum())
    for state in np.flatnonzero(reached & (sums > 1 + TOLERANCE))[:1]:
        raise LogicgenError(
            f"automaton: state {automaton.states[state]}: final weight and transitions sum to"
            f" {sums[state]:.6g}, not 1, so these are no probabilities; normalise it first"
        )
    if beginning > 1 + TOLERANCE:
        raise LogicgenError(
            f"automaton: the initial weights sum to {beginning:.6g}, not 1, so these are no"
            " probabilities; normalise it first"
        )

    def names(chosen: np.ndarray) -> tuple[str, ...]:
        return tuple(automaton.states[i] for i in np.flatnonzero(chosen))

    return Tightness(
        mass=allsum(automaton),
        trapped=names(reached & ~coaccessible(automaton)),
        leaking=names(reached & (sums < 1 - TOLERANCE)),
        beginning=beginning,
    )
