"""What may follow the beginning of an answer, read off a token automaton."""

from __future__ import annotations

from collections.abc import Sequence

from logicgen.syntax.token_automaton import TokenAutomaton


def allowed(
    automaton: TokenAutomaton, prefix: Sequence[str], budget: int | None = None
) -> tuple[set[str | None], bool]:
    """Return the tokens that may follow `prefix`, and whether the answer may end after it.

    The token None means any symbol. budget: the largest number of tokens of the whole answer.
    Raises ValueError if no answer begins with `prefix`.
    """
    state = 0
    names = (*automaton.tokens, None)
    for token in prefix:
        state = int(automaton.transition[state, names.index(token if token in names else None)])
        if state < 0:
            raise ValueError(f"{' '.join(prefix)!r} is not the start of an answer")
    room = None if budget is None else budget - len(prefix) - 1
    following = {
        name
        for name, after in zip(names, automaton.transition[state], strict=True)
        if after >= 0 and (room is None or automaton.distance[after] <= room)
    }
    return following, bool(automaton.distance[state] == 0)
