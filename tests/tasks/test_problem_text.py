"""Problems among text: as many as asked for, right, and in the training text alone."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from logicgen.errors import LogicgenError
from logicgen.tasks import load_task
from logicgen.tasks.problem_text import ProblemText, problem_texts
from logicgen.tokens import Tokens
from tests.data.corpora import opened, text_files, text_recipe

LETTERS = "abcdefghijklmnop"
TOKENS = {
    "permutation": Tokens.of_characters(dict.fromkeys(LETTERS + ">;", 1), 40),
    "lookup": Tokens.of_characters(dict.fromkeys(LETTERS + " ->", 1), 40),
}


def first(count, settings, tokens=None):
    tokens = tokens or TOKENS[settings.task]
    drawn = problem_texts(settings, tokens, Random(0))
    return [next(drawn) for _ in range(count)]


@pytest.mark.parametrize(("task", "length"), [("permutation", 20), ("lookup", 14)])
def test_problems_have_the_answer_that_the_solver_gives(task, length):
    made, seen = load_task(task), set()
    for ids in first(50, ProblemText(task=task, length=length, share=0.1)):
        assert ids[-1] == 0  # <end>
        text = TOKENS[task].decode(ids)
        assert "�" not in text
        count = 1 if task == "lookup" else 3
        # As the task writes it: every token between blanks.
        spaced = text.replace("->", "=").replace(" ", "")
        words = " ".join(spaced).replace("=", "->").split()
        problem = made.problem_language.read(" ".join(words[:-count]), "prefix")
        assert made.solve(problem).witness == tuple(words[-count:])
        assert len(words) - count == length
        seen |= set(words)
    assert len(seen) > 10  # symbols are named anew


def test_a_share_of_the_training_text_is_problems(tmp_path):
    files = text_files(tmp_path / "files")
    (files / "marks.txt").write_text("a > b ; c\n" * 50)
    plain = opened(text_recipe(files, vocabulary=200), tmp_path / "plain")
    problems = {"task": "permutation", "length": 20, "share": 0.3}
    mixed = opened(text_recipe(files, vocabulary=200, problems=problems), tmp_path / "mixed")
    sizes = [sum(map(len, each.arrays("train"))) for each in (plain, mixed)]
    assert 1 - sizes[0] / sizes[1] == pytest.approx(0.3, abs=0.02)
    for split in ("validation", "test"):
        both = [np.concatenate(each.arrays(split)) for each in (plain, mixed)]
        assert np.array_equal(*both)
    # Problems end with <end>, begin behind a line or a document, and leave the text as it is.
    line = mixed.tokens.id("\n")
    text, pure = (np.concatenate(each.arrays("train")) for each in (mixed, plain))
    kept, place = [], 0
    for each in pure:
        while text[place] != each or (
            (not kept or kept[-1] in (0, line)) and _is_problem(text[place:], mixed.tokens)
        ):
            place += int(np.flatnonzero(text[place:] == 0)[0]) + 1
        kept.append(int(text[place]))
        place += 1
    assert np.array_equal(kept, pure)


def _is_problem(ids, tokens):
    text = tokens.decode(ids[:40])
    return len(text) == 20 + 3 and text[3] == text[11] == ">" and text[7] == ";"


def test_what_cannot_be_written_is_refused(tmp_path):
    few = Tokens.of_characters(dict.fromkeys("abc >", 1), 40)
    with pytest.raises(LogicgenError, match=r"the text has no token for ';'"):
        first(1, ProblemText(task="permutation", length=20, share=0.1), few)
    with pytest.raises(LogicgenError, match=r"no permutation of problem\.size = 3 has 21 tokens"):
        first(1, ProblemText(task="permutation", length=21, share=0.1))
    letters = Tokens.of_letters({"a": 1})
    with pytest.raises(LogicgenError, match="take tokens = 'characters'"):
        first(1, ProblemText(task="permutation", length=20, share=0.1), letters)
    with pytest.raises(LogicgenError, match=r"problem\.sise"):
        first(1, ProblemText(task="permutation", length=20, share=0.1, problem={"sise": 3}))


def test_problems_that_are_never_determined_are_given_up():
    rarely = ProblemText(task="permutation", length=183, share=0.1, problem={"size": 60})
    with pytest.raises(LogicgenError, match=r"1,000 problems of permutation.*problems\.length"):
        first(1, rarely)
