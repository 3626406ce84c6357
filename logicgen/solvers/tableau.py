"""An exact LTL tableau, built on the fly: does some word of a lasso of letters satisfy a formula?

States and steps are those of `unfolding.py`. To take `X(a U b)` for `a U b` postpones the until,
and a run is accepting if no until is postponed for ever: a generalised Büchi condition. A
depth-first search for strongly connected components stops at the first accepting one. A clause
excludes every state that is found to accept nothing, and all that contain it.

Source: Couvreur, On-the-fly verification of linear temporal logic (FM 1999).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from logicgen.solvers.unfolding import Letter, State, Step, Unfolding


@dataclass
class _Visit:
    number: int
    order: list[int]  # of the atoms, most urgently to be absent first
    steps: list[Step] = field(default_factory=list)


class Tableau(Unfolding):
    """The product of a lasso of letters with the words that satisfy a formula."""

    def is_empty(self) -> bool:
        """Return whether no word of the lasso satisfies the formula."""
        return self._search() is None

    def word(self) -> tuple[list[Letter], list[Letter]] | None:
        """Return a word of the lasso that satisfies the formula, as stem and period, or None."""
        found = self._search()
        if found is None:
            return None
        visits, root, component = found
        assert self.start is not None
        stem = [] if self.start == root else _way(visits, self.start, visits, root)
        state = root
        period: list[tuple[State, Step]] = []
        missing = self.untils
        while missing:
            part = _way(visits, state, component, missing=missing)
            period += part
            for _, step in part:
                missing &= ~step.met
            state = part[-1][1].target
        if state != root or not period:
            period += _way(visits, state, component, root)
        letters = [self.letter(*place) for place in stem + period]
        return letters[: len(stem)], letters[len(stem) :]

    def _search(self) -> tuple[dict[State, _Visit], State, set[State]] | None:
        """Return the states visited, and root and states of an accepting component, or None."""
        if self.start is None:
            return None
        visits: dict[State, _Visit] = {}
        dead: set[State] = set()
        open_states: list[State] = []  # in order of their numbers
        # Components of open states: number of the first state, untils met inside, and, for all but
        # the first, untils met on the step that leads into it.
        roots: list[list[int]] = []
        path: list[tuple[State, Iterator[Step]]] = []

        def enter(state: State, met: int, order: list[int]) -> None:
            visits[state] = _Visit(len(visits), order)
            open_states.append(state)
            roots.append([visits[state].number, 0, met])
            path.append((state, self.steps(state, order)))

        enter(self.start, 0, list(self.atoms))
        while path:
            state, steps = path[-1]
            step = next(steps, None)
            if step is None:
                path.pop()
                if roots[-1][0] == visits[state].number:
                    roots.pop()
                    while True:
                        closed = open_states.pop()
                        dead.add(closed)
                        self.exclude(closed)
                        if closed == state:
                            break
                continue
            target = step.target
            if target in dead:
                continue
            visits[state].steps.append(step)
            seen = visits.get(target)
            if seen is None:
                order = self._urgent_first(visits[state].order, self.untils & ~step.met)
                enter(target, step.met, order)
                continue
            met = step.met
            while roots[-1][0] > seen.number:
                _, inside, into = roots.pop()
                met |= inside | into
            roots[-1][1] |= met
            if roots[-1][1] == self.untils:
                first = roots[-1][0]
                component = {s for s in open_states if visits[s].number >= first}
                root = next(s for s in open_states if visits[s].number == first)
                return visits, root, component
        return None

    def _urgent_first(self, order: list[int], postponed: int) -> list[int]:
        """Return the atoms, those that postpone the given untils first, which makes search fair."""
        late = [atom for atom in order if self.atoms[atom][1] & postponed]
        return late + [atom for atom in order if not self.atoms[atom][1] & postponed]


def _way(
    visits: dict[State, _Visit],
    start: State,
    allowed: Collection[State],
    goal: State | None = None,
    missing: int = 0,
) -> list[tuple[State, Step]]:
    """Return the fewest known steps of which the last leads to a goal or meets a missing until."""
    came: dict[State, tuple[State, Step]] = {}
    queue = deque([start])
    seen = {start}
    while queue:
        state = queue.popleft()
        for step in visits[state].steps:
            if step.target not in allowed:
                continue
            if step.target == goal or step.met & missing:
                way = [(state, step)]
                while state != start:
                    way.append(came[state])
                    state = came[state][0]
                return way[::-1]
            if step.target not in seen:
                seen.add(step.target)
                came[step.target] = state, step
                queue.append(step.target)
    raise AssertionError("a component is connected")
