"""The page of a probe of ciphers: one cipher, and its key as it is found."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from logicgen.measures.keys import Keys, KeyWindow, ProbedRow
from logicgen.report.html.document import Document, Facts, write_document
from logicgen.tokens import Tokens


def write_key_page(found: Keys, tokens: Tokens, path: Path) -> Path:
    """Write the page of the keys that a probe found; return its path."""
    write_document(key_document(found, tokens), path)
    return path


def key_document(found: Keys, tokens: Tokens) -> Document:
    """Return the page of the keys that a probe found."""
    about, last = found.about, found.windows[-1]
    return Document(
        title=f"{about['called']} on {about['data']} ({about['split']})",
        lead=f"In the last window the probe is right about {last.precision:.1%}"
        f" [{100 * last.low:.1f}, {100 * last.high:.1f}] of the symbols of {about['rows']:,} rows.",
        summary=[_windows("The probe, window by window", found.windows)],
        data={"cipher": _cipher(found.example, tokens)},
        facts=[_windows(f"Control: {name}", windows) for name, windows in found.controls.items()],
        notes=["Made by logicgen. Intervals are Wilson's, of 95%, over rows."],
    )


def _cipher(row: ProbedRow, tokens: Tokens) -> list[dict[str, Any]]:
    """Return each place of a row: what is written, meant and guessed, and the vote so far."""
    votes: dict[int, Counter[int]] = defaultdict(Counter)
    places = []
    texts = list(tokens.texts)
    guesses = row.probabilities.argmax(axis=1).tolist()
    for place, (written, meant, guess) in enumerate(
        zip(row.tokens.tolist(), row.plain.tolist(), guesses, strict=True)
    ):
        votes[written][guess] += 1
        count = votes[written]
        # Of equally many votes the smallest id wins, as in `measures/keys.py`.
        vote = min(count, key=lambda each: (-count[each], each))
        places.append(
            {
                "written": texts[written],
                "meant": texts[meant],
                "guess": texts[guess],
                "vote": texts[vote],
                "truth": round(float(row.probabilities[place, meant]), 3),
                "keyed": written >= row.staying,
            }
        )
    return places


def _windows(title: str, windows: list[KeyWindow]) -> Facts:
    """Return the table of precision by window."""
    rows = [
        [
            f"{each.first} to {each.last}",
            f"{each.precision:.1%} [{100 * each.low:.1f}, {100 * each.high:.1f}]",
            f"{each.so_far:.1%} [{100 * each.so_far_low:.1f}, {100 * each.so_far_high:.1f}]",
            f"{each.occurrence:.1%}",
            f"{each.symbols:,}",
        ]
        for each in windows
    ]
    heads = ["positions", "right, by votes of the window", "by votes so far", "single", "symbols"]
    return Facts(title, heads, rows)
