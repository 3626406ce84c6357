"""Tightness: whether a probabilistic automaton loses probability to strings that never end.

Source: Du, Torroba Hennigen, Pimentel, Meister, Eisner, Cotterell, A Measure-Theoretic
Characterization of Tight Language Models (ACL 2023): a probabilistic automaton is tight
exactly if every accessible state is coaccessible.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from logicgen.automata.allsum import accessible, allsum, coaccessible
from logicgen.automata.automaton import Automaton, up_to_five
from logicgen.errors import LogicgenError

# How far sums of probabilities may be from 1, for probabilities written with ten digits.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Tightness:
    """The total probability of all strings, and where the rest is lost if it is below 1."""

    mass: float  # the probability of all strings together
    trapped: tuple[str, ...]  # accessible states from which no final state can be reached
    # Accessible states whose final weight and transitions sum to less than 1
    leaking: tuple[str, ...]
    beginning: float  # the sum of the initial weights

    @property
    def is_tight(self) -> bool:
        """Return whether all strings together have probability 1."""
        return not self.trapped and not self.leaking and self.beginning >= 1 - TOLERANCE

    @property
    def reason(self) -> str:
        """Return one line: that it is tight, or all reasons why not."""
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
                reasons.append(f"{what} from {up_to_five(states)}")
        return f"not tight, all strings together have {self.mass:.6g}: {'; '.join(reasons)}"


def tightness(automaton: Automaton) -> Tightness:
    """Return whether a probabilistic automaton is tight, and why not.

    Raises LogicgenError if weights of the beginning or of a state (named) sum to more than 1.
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
    return Tightness(
        mass=allsum(automaton),
        trapped=automaton.names(reached & ~coaccessible(automaton)),
        leaking=automaton.names(reached & (sums < 1 - TOLERANCE)),
        beginning=beginning,
    )
