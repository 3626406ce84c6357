"""Strings of tokens: the fast reader against Lark, on the same texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.errors import FormatError
from logicgen.syntax.language import Language
from logicgen.tasks import load_task

LANGUAGES = {
    "lookup": load_task("lookup").problem_language,
    "permutation": load_task("permutation").problem_language,
    "letters": load_task("copying").problem_language,
    "symbols": load_task("lookup").answer_language,
}
languages = pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES)
notations = pytest.mark.parametrize("notation", ["infix", "prefix"])

WORDS = ["a", "b", "c12", "->", ">", ";", "4", "_", "A", "x_", "-", "é", "->>", "SYMBOL", "1"]
GAPS = [" ", " ", " ", "\n", "\t ", "\u00a0", "\x1c", ""]
texts = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(GAPS)), max_size=14).map(
    lambda parts: "".join(word + gap for word, gap in parts)
)
likely = st.lists(st.sampled_from(["a", "b", "a -> b", "->", "a b > b a ;", ">", ";"])).map(
    " ".join
)


def outcome(read, text, notation):
    try:
        return read(text, notation)
    except FormatError as error:
        return str(error)


@languages
@notations
@given(text=texts | likely)
def test_it_reads_as_lark_does(language, notation, text):
    found = outcome(language.read, text, notation)
    assert found == outcome(lambda *given: Language.read(language, *given), text, notation)
    assert type(found) is str or all(type(token) is str for token in found)


@pytest.mark.parametrize(
    ("task", "text"),
    [("lookup", "a -> b " * 5 + "a ->"), ("permutation", "a b > b a ; c d >"), ("copying", "a b")],
)
def test_texts_of_networks_do_not_reach_lark(task, text, monkeypatch):
    chosen = load_task(task)
    problem = chosen.decode_problem(text)
    monkeypatch.setattr(Language, "read", None)
    assert chosen.encode(chosen.decode_problem(text)) == text
    assert chosen.read_problem(text) == problem
    assert chosen.decode_answer("a b") == ("a", "b")
