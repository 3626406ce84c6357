"""The tables of the page `results-deciphering.md`, from committed records."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from logicgen.data.cards import markdown_table
from tests.study.page_controls import guessed
from tests.study.study_tables import Row, measures, part, rows, share


def cache() -> str:
    lines = []
    counters = ("bigram-of-the-string", "trigram-of-the-string")
    without = {"3-states-0.05": "3-states,long", "2-states-0.1": "2-states,long"}
    for language in ("3-states-0.05", "2-states-0.1", "2-states-0.2", "3-states-0.2"):
        of = {
            model: part("lexinvariant-cache", f"{language},{model}", "beyond")
            for model in (*counters, "lexinvariant", "trigram")
        }
        best = min((of[each] for each in counters), key=lambda row: float(row["kl_ideal"]))
        uncached = ""
        if language in without:
            uncached = _above(part("lexinvariant-automata", without[language], "beyond"))
        trigram = f"{float(of['trigram']['kl_ideal']):.3f}"
        both = _bold_least([_above(of["lexinvariant"]), _above(best)])
        lines.append([language, *both, trigram, uncached])
    heads = ["language", "bits above the ideal", "the control: counts of the string"]
    heads += ["trigram that knows the symbols", "without the cache (strings of 192)"]
    return markdown_table(heads, lines)


def _above(row: Row) -> str:
    """Return the bits above the ideal with their interval."""
    bits, low, high = (float(row[f"kl_ideal{end}"]) for end in ("", "_low", "_high"))
    return f"{bits:.3f} [{low:.3f}, {high:.3f}]"


def _bold_least(cells: list[str]) -> list[str]:
    """Set the least figure in bold type; cells have an interval after it."""
    least = min(cells, key=lambda cell: float(cell.split()[0]))
    return [re.sub(r"^(\S+)", r"**\1**", cell) if cell == least else cell for cell in cells]


def which_rows() -> str:
    names = {
        "names": "dealt out anew for each string (`lexinvariant-names`)",
        "some-names-at-first": (
            "... to some of the symbols only, in four fifths of the training strings"
            " (`whole = 0.2`)"
        ),
        "random-rows": "drawn at random, as published (`lexinvariant`)",
    }
    heads = ["way from the counter to the ideal", "keys, last window", "minutes"]
    found = rows("lexinvariant-rows")
    lines = []
    for key, name in names.items():
        for has, said in (("false", "no"), ("true", "yes")):
            row = found[f"{key},{has}"]
            lines.append([name if has == "false" else "", said, *(row[head] for head in heads)])
    return markdown_table(["rows", "cache", *heads], lines)


def many() -> str:
    (row,) = rows("lexinvariant-many").values()
    heads = {
        "perplexity from 16 on": "perplexity from 16 on",
        "perplexity of the best counter": "of the best counter",
        "way from the counter to the ideal": (
            "way from the counter to the ideal, which knows the language"
        ),
    }
    lines = [
        [f"draw-{number}", *(row[f"draw-{number}: {head}"] for head in heads)]
        for number in range(4)
    ]
    return markdown_table(["language", *heads.values()], lines)


def perplexities(bits: Iterable[float], places: Iterable[tuple[int, int]]) -> list[float]:
    """Return the mean perplexity over each range of positions.

    bits: the bits at positions 1, 2, ... The token at a position has that many tokens before it.
    places: the first and the last position of each range.
    """
    by_position = np.array([np.nan, *bits])
    return [float(2 ** by_position[first : last + 1].mean()) for first, last in places]


LETTERS = [(1, 7), (16, 31), (64, 127), (128, 191), (180, 219), (256, 383), (384, 510)]
CHARACTERS = [(1, 7), (16, 31), (64, 127), (128, 191), (180, 219), (224, 254)]
PROSE = [(16, 31), (64, 127), (192, 254)]


def _spans(places: Iterable[tuple[int, int]]) -> list[str]:
    return [f"{first} to {last}" for first, last in places]


def letters_by_position() -> str:
    means = {
        name: measures("lexinvariant-letters", name)["text"]["means"]
        for name in ("learned", "lexinvariant-names")
    }
    twin, ours = (perplexities(each["bits"], LETTERS) for each in means.values())
    counter = perplexities(means["learned"]["counter_bits"], LETTERS)
    excess = [(there - here) / here for here, there in zip(twin, ours, strict=True)]
    below = [1 - there / counted for there, counted in zip(ours, counter, strict=True)]
    lines = [
        ["knows the letters (`learned`)", *(f"{each:.1f}" for each in twin)],
        ["does not (`lexinvariant-names`)", *(f"{each:.1f}" for each in ours)],
        ["best counter of the same text", *(f"{each:.1f}" for each in counter)],
        ["excess over `learned`, in multiples of its perplexity", *(f"{e:.2f}" for e in excess)],
        ["below the counter", *(f"{each:.0%}" for each in below)],
    ]
    return markdown_table(["letters before", *_spans(LETTERS)], lines)


def letters_found() -> str:
    keys = measures("lexinvariant-letters", "lexinvariant-names")["keys"]
    windows = {
        "letters found": keys["windows"],
        "control: ranks of frequency": keys["controls"]["frequencies"],
        "control: always the most frequent": keys["controls"]["most frequent"],
    }
    lines = [[n, *(f"{each['precision']:.1%}" for each in some)] for n, some in windows.items()]
    heads = [f"{64 * number}" for number in range(1, 1 + len(keys["windows"]))]
    for place in (4, 8):
        low, high = (100 * keys["windows"][place - 1][end] for end in ("low", "high"))
        lines[0][place] = f"**{lines[0][place]}** [{low:.1f}, {high:.1f}]"
    return markdown_table(["letters read", *heads], lines)


def in_context() -> str:
    found = rows("lexinvariant-tasks")
    lines = [
        [task, row["as-trained"], row["over-80-symbols"], row["minutes"]]
        for task, row in found.items()
    ]
    return markdown_table(["task", "as in training", "over 80 symbols, longer", "minutes"], lines)


def in_context_128() -> str:
    """Return the accuracies of models that know 128 characters, and of models that do not."""
    kinds = {
        "learned": "knows the characters (`learned`)",
        "random": "random rows (`lexinvariant`)",
        "shuffled": "shuffled rows (`lexinvariant-names`)",
    }
    found, lines = rows("lexinvariant-128"), []
    for kind, text in kinds.items():
        for cached in ("false", "true"):
            cells = [f"{text}, {'with' if cached == 'true' else 'without'} a cache"]
            for task in ("look-up", "permutation"):
                row = found[f"{task},{kind},{cached}"]
                cells += [row["as-trained"], row["to-512-tokens"]]
            lines.append(cells)
    cells = ["best control (`counter`, `guess`)"]
    for data in ("lookup-128-characters", "permutation-128-characters"):
        cells += [f"{guessed()[data, split][0][1]:.1%}" for split in ("test", "grid")]
    heads = ["model", "look-up", "look-up, to 512 tokens", "permutation"]
    return markdown_table([*heads, "permutation, to 512 tokens"], [*lines, cells])


# Points of the study `lexinvariant-text`, with their names in tables.
TEXT_MODELS = {
    "learned": "knows the characters (`learned`)",
    "learned-cache": "... with a cache",
    "lexinvariant": "random rows (`lexinvariant`)",
    "lexinvariant-cache": "... with a cache",
    "lexinvariant-names": "rows dealt out (`lexinvariant-names`)",
    "lexinvariant-names-cache": "... with a cache",
}


def characters_by_position() -> str:
    means = {n: measures("lexinvariant-text", n)["python"]["means"] for n in TEXT_MODELS}
    counter = perplexities(means["learned"]["counter_bits"], CHARACTERS)
    lines = [["best counter of the same text", *(f"{each:.1f}" for each in counter), ""]]
    cached = rows("lexinvariant-text")
    for point, name in TEXT_MODELS.items():
        found = perplexities(means[point]["bits"], CHARACTERS)
        part_of_cache = cached[point]["share of the cache"].replace("-", "")
        lines.append([name, *(f"{each:.1f}" for each in found), part_of_cache])
    heads = ["perplexity, characters before", *_spans(CHARACTERS), "share of the cache"]
    return markdown_table(heads, lines)


def prose() -> str:
    """Return the perplexities of English and of Python, with and without names of tokens."""
    texts = {
        "python": "Python, characters",
        "english": "English, characters",
        "python-byte-pairs": "Python, byte pairs",
        "english-byte-pairs": "English, byte pairs",
    }
    lines = []
    for text, shown in texts.items():
        named, nameless = (
            measures("lexinvariant-prose", f"{text},{model}")["text"]["means"]
            for model in ("learned", "lexinvariant-names")
        )
        known = perplexities(named["bits"], PROSE)
        lines.append([f"{shown}: with names", *(f"{each:.1f}" for each in known)])
        for who, bits in (
            ("without names", nameless["bits"]),
            ("best counter", named["counter_bits"]),
        ):
            pairs = zip(perplexities(bits, PROSE), known, strict=True)
            lines.append(
                [f"... {who}", *(f"{own:.1f} ({own / other:.1f} times)" for own, other in pairs)]
            )
    return markdown_table(["perplexity, tokens before", *_spans(PROSE)], lines)


def prompts() -> str:
    names = TEXT_MODELS | {
        "learned-permutations": "`learned`, a twentieth permutations",
        "lexinvariant-names-permutations": "`lexinvariant-names`, a twentieth permutations",
    }
    controls = {
        "ppm": "control: a counter of the prompt (PPM of order 3, nothing learnt)",
        "trigram": "control: a trigram counter of the prompt",
    }
    columns = {
        "look-up-any-token": "look-up, any token",
        "look-up": "look-up",
        "look-up-by-frequency": "by frequency",
        "permutation": "permutation",
        "permutation, tokens": "tokens",
        "permutation-dropped": "one symbol dropped",
        "permutation-dropped, tokens": "tokens",
    }
    guess = ["control: a guess among what could be meant", "", "25%", ""]
    lines = []
    for study, some in (("lexinvariant-controls", controls), ("lexinvariant-text", names)):
        found = rows(study)
        lines += [[n, *(share(found[point][c]) for c in columns)] for point, n in some.items()]
    lines.insert(2, [*guess, "16.7%", "33.3%", "16.7%", "33.3%"])
    return markdown_table(["", *columns.values()], lines)


def partial() -> str:
    found = rows("lexinvariant-text")
    points = {
        "0 (`learned`)": ("learned", "learned"),
        "0.2": ("partial-rows-0.2", "partial-names-0.2"),
        "0.5": ("partial-rows-0.5", "partial-names-0.5"),
        "1 (`lexinvariant`, `lexinvariant-names`)": ("lexinvariant", "lexinvariant-names"),
    }
    lines = []
    for name, both in points.items():
        cells = [name]
        for point in both:
            row = found[point]
            cells += [row["python: perplexity from 100 on"], row["look-up"]]
            cells.append(share(row["look-up-by-frequency"]))
        lines.append(cells)
    heads = ["rows: perplexity from 100 on", "names: perplexity"]
    return markdown_table(
        ["p", heads[0], "look-up", "by frequency", heads[1], "look-up", "by frequency"], lines
    )
