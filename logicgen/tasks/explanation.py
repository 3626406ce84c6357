"""Why an answer has the verdict that it has, as a page draws it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Explanation:
    """What there is to see of a problem and an answer to it.

    Attributes:
        reason: why the answer is not right; empty if it is right, or nobody can tell.
        truth: by token of a formula in prefix notation, the truth of the subformula that begins
            there, at each position of the word: `1`, `0`, or `?` where it depends on symbols that
            the answer leaves open. Of propositional logic there is one position.
        letters: the symbols that are true at each position of the word: one that the answer allows,
            which falsifies the formula if the answer is wrong; of a wrong `unsat` one that
            satisfies it. Empty if `truth` holds for all.
        loop: the position that comes again after the last one; None without a word.
        deciding: by token of the right answer, the tokens of the problem that decide it, by number.
    """

    reason: str = ""
    truth: tuple[str, ...] = ()
    letters: tuple[tuple[str, ...], ...] = ()
    loop: int | None = None
    deciding: tuple[tuple[int, ...], ...] = ()
