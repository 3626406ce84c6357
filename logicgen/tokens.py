"""Tokens of formulas and tokens of texts, and their ids.

A `Vocabulary` has F *fixed tokens* (operators, constants, separators, markers) with ids `0..F-1`,
and infinitely many *symbols* (propositions, variables, letters to copy): symbol `k` has id `F + k`.
Symbols are written `a`, `b`, ..., `z`, `a1`, ..., `z1`, `a2`, ...

`Tokens` holds the V tokens of a language model. `<end>` follows every document. It is never part of
a text.

    kind          a token is                            ids
    characters    a character                           0 <end>, 1 <other>, then the most frequent
    letters       a letter from a to z, or a blank      0 <end>, 1 <other>, then by frequency
                  for all characters between letters
    byte-pairs    a run of bytes that occurs often      0 <end>, then in the order of merges
    names         a name between blanks, such as an     0 <end>, then in the given order
                  automaton's symbol
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from logicgen.errors import LogicgenError, nearest
from logicgen.recipes import Table

if TYPE_CHECKING:
    from tokenizers import Tokenizer

PAD, START, END = "<pad>", "<start>", "<end>"

# The largest number of symbols of a data set or a model.
MOST_SYMBOLS = 1_000_000

# At most 17 digits, because Python refuses to convert a text of very many digits to a number.
_SYMBOL = re.compile(r"([a-z])(0|[1-9][0-9]{0,16})?\Z")


def symbol_name(index: int) -> str:
    """Return the name of symbol number `index` (from 0): `a`..`z`, then `a1`..`z1`, and so on."""
    turn, letter = divmod(index, 26)
    return chr(97 + letter) + (str(turn) if turn else "")


def symbol_index(name: str) -> int | None:
    """Return the number of the symbol called `name`, or None if no symbol has that name."""
    match = _SYMBOL.match(name)
    if match is None or match[2] == "0":
        return None
    return ord(match[1]) - 97 + 26 * int(match[2] or 0)


class Vocabulary:
    """The tokens of a task: `<pad>`, `<start>`, `<end>`, the other fixed tokens, the symbols."""

    pad, start, end = 0, 1, 2

    def __init__(self, fixed: Sequence[str]) -> None:
        self.fixed: tuple[str, ...] = (PAD, START, END, *fixed)
        self._ids = {token: number for number, token in enumerate(self.fixed)}
        if len(self._ids) != len(self.fixed):
            raise ValueError(f"a fixed token is listed twice: {self.fixed}")

    def __len__(self) -> int:
        """Return F, the number of fixed tokens. The ids of symbols start at F."""
        return len(self.fixed)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.fixed == other.fixed

    def __hash__(self) -> int:
        return hash(self.fixed)

    def __repr__(self) -> str:
        return f"Vocabulary({' '.join(self.fixed[3:])})"

    def id(self, token: str) -> int:
        """Return the id of a token. Raises KeyError if `token` is no fixed token and no symbol."""
        number = self._ids.get(token)
        if number is None:
            symbol = symbol_index(token)
            if symbol is None:
                raise KeyError(token)
            number = self._ids[token] = len(self.fixed) + symbol
        return number

    def token(self, number: int) -> str:
        """Return the token with this id, as text."""
        own = number - len(self.fixed)
        return self.fixed[number] if own < 0 else symbol_name(own)

    def encode(self, text: str) -> list[int]:
        """Return the ids of the blank-separated tokens of `text`, without `<start>` and `<end>`."""
        return [self.id(token) for token in text.split()]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of `ids` up to the first `<end>`, without `<pad>` and `<start>`."""
        before = takewhile(lambda number: number != self.end, ids)
        markers = self.pad, self.start
        return " ".join(self.token(number) for number in before if number not in markers)


Kind = Literal["characters", "letters", "byte-pairs", "names"]

NOTHING = -1  # fills places after the end of a sequence of ids; no token has this id
OTHER = "<other>"  # replaces each character that is not a token

LETTERS = "abcdefghijklmnopqrstuvwxyz"

Lattice = list[dict[int, int]]
"""All ways to cut one text into tokens.

A place in the text is the index of a byte (kind `byte-pairs`), a name (`names`) or a character
(other kinds). Entry i of the list is for place i. The entry maps the id of each token that can
begin at place i to the place after this token. The length of the list is the place after the text.
"""


class TokensTable(Table):
    """The result of `Tokens.as_dict`, read from a file. It is checked, as the file may be wrong."""

    kind: Kind
    texts: Annotated[list[str], Field(min_length=1)]
    merges: str | None = None

    @model_validator(mode="after")
    def _are_tokens(self) -> Self:
        if len(set(self.texts)) != len(self.texts):
            raise ValueError("texts: a token is listed twice")
        if self.texts[0] != END:
            raise ValueError(f"texts: the first is not {END}")
        by_character = self.kind in ("characters", "letters")
        if by_character and any(len(text) != 1 for text in self.texts[2:]):
            raise ValueError("texts: not characters")
        if (self.kind == "byte-pairs") != (self.merges is not None):
            raise ValueError("merges goes with byte-pairs, and only with them")
        return self


class Tokens:
    """The V tokens of a language model. `kind` is the way in which a text is split into tokens."""

    end = 0

    def __init__(self, kind: Kind, texts: Sequence[str], merges: str | None = None) -> None:
        self.kind: Kind = kind
        self.texts = tuple(texts)  # entry i is the token with id i
        self.merges = merges  # only for `byte-pairs`: JSON of the package tokenizers
        self._ids = {text: number for number, text in enumerate(self.texts)}
        if len(self._ids) != len(self.texts):
            raise ValueError("a token is listed twice")

    def __len__(self) -> int:
        """Return V, the number of tokens."""
        return len(self.texts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tokens) and self.as_dict() == other.as_dict()

    def __hash__(self) -> int:
        return hash((self.kind, self.texts))

    @property
    def by_character(self) -> bool:
        """Return whether tokens are single characters. Then `OTHER` is an additional token."""
        return self.kind in ("characters", "letters")

    def as_dict(self) -> dict[str, Any]:
        """Return the arguments of `Tokens` for JSON. `Tokens(**arguments)` gives equal tokens."""
        content = {"kind": self.kind, "texts": list(self.texts)}
        return content | ({"merges": self.merges} if self.merges is not None else {})

    @staticmethod
    def of_characters(counts: dict[str, int], most: int) -> Tokens:
        """Return the most frequent characters as tokens, with `<end>` and `<other>`.

        counts: the frequency of each character.
        most: the largest number of tokens.
        """
        ordered = sorted(counts, key=lambda character: (-counts[character], character))
        return Tokens("characters", [END, OTHER, *ordered[: most - 2]])

    @staticmethod
    def of_letters(counts: dict[str, int]) -> Tokens:
        """Return a to z and the blank as tokens, in the order of their frequency.

        counts: the frequency of each character.

        Raises LogicgenError if `counts` contains no letter.
        """
        found = dict.fromkeys([" ", *LETTERS], 0)
        for text, count in counts.items():
            for letter in _between_blanks(text) or " ":
                found[letter] += count
        if not any(found[letter] for letter in LETTERS):
            raise LogicgenError(
                "the training text has none of the letters a to z: give other text, or"
                " tokens = 'characters'"
            )
        return Tokens("letters", Tokens.of_characters(found, len(found) + 2).texts)

    @staticmethod
    def of_byte_pairs(texts: Iterable[str], most: int) -> Tokens:
        """Return a byte-pair vocabulary that is trained on texts (Sennrich et al. 2016).

        Its tokens are `<end>`, the 256 bytes, and pairs of tokens merged by their frequency. The
        bytes make every text encodable.

        most: the largest number of tokens, at least 257.
        """
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=most,
            special_tokens=[END],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        tokenizer.train_from_iterator(texts, trainer)
        ids = tokenizer.get_vocab()
        return Tokens("byte-pairs", sorted(ids, key=lambda one: ids[one]), tokenizer.to_str())

    def id(self, text: str) -> int:
        """Return the id of a token. Raises LogicgenError, with similar tokens, if it is unknown."""
        number = self._ids.get(text)
        if number is None:
            raise LogicgenError(f"{text!r} is not a token: {nearest(text, list(self.texts))}")
        return number

    def encode(self, text: str) -> np.ndarray:
        """Return the ids of the tokens of a text, a 1-d array. No `<end>` is added.

        Raises LogicgenError if a name is unknown.
        """
        if self.by_character:
            text = _between_blanks(text) if self.kind == "letters" else text
            return self._by_character[np.frombuffer(text.encode("utf-32-le"), np.uint32)]
        if self.kind == "byte-pairs":
            text.encode()  # raises UnicodeEncodeError; tokenizers would raise another error
            return np.array(self._tokenizer.encode(text).ids, dtype=np.int64)
        names = text.split()
        if END in names:
            raise LogicgenError(f"{END} cannot be inside a text: leave it out")
        return np.array([self.id(name) for name in names], dtype=np.int64)

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids up to the first `<end>`. `OTHER` is written as `�`."""
        before = [int(number) for number in takewhile(lambda number: number != self.end, ids)]
        if self.kind == "byte-pairs":
            return str(self._tokenizer.decode(before))
        if self.kind == "names":
            return " ".join(self.texts[number] for number in before)
        return "".join("�" if number == 1 else self.texts[number] for number in before)

    def lattice(self, text: str) -> Lattice:
        """Return all ways to split a text into tokens. `encode` uses one of these ways.

        Only tokens of the kind `byte-pairs` have more than one way.
        """
        if self.kind != "byte-pairs":
            return [{int(number): place + 1} for place, number in enumerate(self.encode(text))]
        from tokenizers import pre_tokenizers

        # In `texts`, each byte of a byte-pair token is written as one character.
        alphabet = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        written = "".join(piece for piece, _ in alphabet.pre_tokenize_str(text))
        longest = max(map(len, self.texts))
        found: Lattice = []
        for place in range(len(written)):
            ends = range(place + 1, min(place + longest, len(written)) + 1)
            known = {self._ids.get(written[place:behind], self.end): behind for behind in ends}
            known.pop(self.end, None)  # <end> is never part of a text
            found.append(known)
        return found

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        try:
            tokenizer = Tokenizer.from_str(str(self.merges))
        except Exception as error:  # tokenizers raises plain exceptions
            raise LogicgenError(f"merges of byte pairs are damaged: {error}") from None
        ids = tokenizer.get_vocab()
        if sorted(ids, key=lambda one: ids[one]) != list(self.texts):
            raise LogicgenError("merges of byte pairs are damaged: they belong to other tokens")
        # The characters "<end>" in a text are split like other characters.
        tokenizer.encode_special_tokens = True
        return tokenizer

    @cached_property
    def _by_character(self) -> np.ndarray:
        """Return an array (0x110000,) with the id of each Unicode character, at its code point."""
        table = np.ones(0x110000, dtype=np.int64)
        for number, text in enumerate(self.texts[2:], 2):
            table[ord(text)] = number
        return table


def _between_blanks(text: str) -> str:
    """Return a text in lower case, with each run of characters outside a-z as a single blank.

    The result never begins with a blank, but may end with a blank. So results can be joined.
    """
    return re.sub("[^a-z]+", " ", text.lower()).removeprefix(" ")
