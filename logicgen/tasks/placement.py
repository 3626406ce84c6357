"""Place the literals of an LTL formula on a lasso in one pass, without trying twice.

This is the placement of the control `rule`. It reads the formula from its root. An obligation is a
formula that has to hold at a position. Obligations of a conjunction are met at once. An obligation
such as `a U b` leaves a choice. The placement takes the first option that fits the literals that
are already placed. It never takes a choice back.

If no obligation is left and no choice failed, the placed literals satisfy the formula.
"""

from __future__ import annotations

from collections import deque

from logicgen.solvers.ltl_graph import AND, FALSE, NEXT, SYMBOL, TRUE, XOR, Graph

Obligation = tuple[int, int]
"""The edge of a formula, and the position at which it has to hold."""

Option = list[Obligation]
"""Obligations that together suffice."""

# The number of obligations that are looked at to decide whether an option fits.
LOOKED_AT = 64


class Placement:
    """A lasso with some literals, and the obligations that are still open.

    positions: the number of positions. loop: the position that follows the last position.
    last_first: whether the options of a choice are tried in reverse order.
    delay: the number of positions by which the goal of an until is put off, if possible.
    """

    def __init__(
        self,
        graph: Graph,
        root: int,
        positions: int,
        loop: int,
        *,
        last_first: bool = False,
        delay: int = 0,
    ) -> None:
        self.graph, self.positions, self.loop = graph, positions, loop
        self.last_first, self.delay = last_first, delay
        self.values: dict[Obligation, bool] = {}  # by number of the symbol, and position
        self.fits = True  # whether no choice and no literal failed
        self._done: set[Obligation] = set()
        self._surely: list[Obligation] = [(root, 0)]
        self._choices: deque[Obligation] = deque()
        self._late: dict[Obligation, int] = {}  # by how many positions an until was put off
        self._run()

    def letters(self) -> list[dict[str, bool]]:
        """Return the placed literals of each position, by name of the symbol."""
        found: list[dict[str, bool]] = [{} for _ in range(self.positions)]
        for (symbol, position), value in sorted(self.values.items()):
            found[position][self.graph.symbols[symbol]] = value
        return found

    def _after(self, position: int) -> int:
        return position + 1 if position + 1 < self.positions else self.loop

    def _run(self) -> None:
        """Meet all obligations: those without a choice first, then the oldest choice."""
        while self._surely or self._choices:
            if self._surely:
                obligation = self._surely.pop()
                if obligation in self._done:
                    continue
                self._done.add(obligation)
                self._meet(obligation)
            else:
                self._choose(self._choices.popleft())

    def _meet(self, obligation: Obligation) -> None:
        """Place a literal, or pass the obligation on to operands, or put off the choice."""
        options = self._options(obligation)
        if options is None:
            edge, position = obligation
            symbol = self.graph.left[edge >> 1], position
            if self.values.setdefault(symbol, not edge & 1) == bool(edge & 1):
                self.fits = False
        elif len(options) == 1:
            self._surely += options[0]
        elif options:
            self._choices.append(obligation)
        else:
            self.fits = False

    def _choose(self, obligation: Obligation) -> None:
        """Take the first option of a choice that fits the placed literals."""
        options = self._options(obligation) or []
        for option in reversed(options) if self.last_first else options:
            if self._possible(option):
                self._surely += option
                return
        self.fits = False

    def _options(self, obligation: Obligation) -> list[Option] | None:
        """Return the options that meet an obligation; None for a literal."""
        edge, at = obligation
        if edge <= 1:
            return [[]] if edge == TRUE else []
        node, negated = edge >> 1, edge & 1
        kind, left, right = self.graph.kind[node], self.graph.left[node], self.graph.right[node]
        after = self._after(at)
        if kind == SYMBOL:
            return None
        if kind == NEXT:
            return [[(left ^ negated, after)]]
        if kind == AND:
            if negated:
                return [[(left ^ 1, at)], [(right ^ 1, at)]]
            return [[(left, at), (right, at)]]
        if kind == XOR:
            other = right ^ 1 ^ negated
            return [[(left, at), (other, at)], [(left ^ 1, at), (other ^ 1, at)]]
        if negated:  # the goal must not hold until the left side fails
            never = [(right ^ 1, at), (edge, after)]
            ends = [(right ^ 1, at), (left ^ 1, at)]
            return [never] if left == TRUE else [ends, never]
        return self._goal(obligation, left, right)

    def _goal(self, obligation: Obligation, left: int, right: int) -> list[Option]:
        """Return the options of an until: reach the goal here, or wait."""
        at = obligation[1]
        after = self._after(at)
        here: Option = [(right, at)]
        wait: Option = [(left, at), (obligation[0], after)]
        # On the period, waiting for a goal that was waited for before would never end.
        if (obligation[0], after) in self._done or after == at:
            return [here]
        late = self._late.get(obligation, 0)
        if late < self.delay:
            self._late[obligation[0], after] = late + 1
            return [wait, here]
        return [here, wait]

    def _possible(self, option: Option) -> bool:
        """Return whether the literals that an option forces fit the placed literals."""
        todo, wanted = list(option), dict[Obligation, bool]()
        for _ in range(LOOKED_AT):
            if not todo:
                break
            edge, at = todo.pop()
            if edge == FALSE:
                return False
            options = self._options((edge, at)) if edge > 1 else [[]]
            if options is None:
                symbol, value = (self.graph.left[edge >> 1], at), not edge & 1
                if self.values.get(symbol, wanted.setdefault(symbol, value)) != value:
                    return False
                if wanted.setdefault(symbol, value) != value:
                    return False
            elif len(options) == 1 and (edge, at) not in self._done:
                todo += options[0]
        return True
