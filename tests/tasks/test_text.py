"""Docstrings of packages as text, and problems among text: in the training text alone."""

from __future__ import annotations

import sys
from random import Random

import numpy as np
import pytest

from logicgen.errors import LogicgenError
from logicgen.tasks import load_task
from logicgen.tasks.problem_text import ProblemText, problem_texts
from logicgen.tasks.text import docstrings, topics, versions
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


# -- docstrings -----------------------------------------------------------------------------------

SOURCE = '''"""Say what a module is for."""

class Box:
    """Hold things.

    >>> Box()
    <Box>

    It is never full.
    """

    def open(self):
        """Hold things."""

    async def close(self):
        """   """
'''


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Write a package `boxes` that fails where it is imported."""
    root = tmp_path / "boxes"
    (root / "tests").mkdir(parents=True)
    (root / "__init__.py").write_text(SOURCE + "\nraise RuntimeError\n")
    (root / "again.py").write_text('"""Say what a module is for."""\n')
    (root / "future.py").write_text('"""Not for this Python."""\nmatch match match\n')
    (root / "strange.py").write_text('"""Half \\ud800 a pair."""\n')
    (root / "tests" / "test_it.py").write_text('"""Test boxes."""\n')
    (tmp_path / "single.py").write_text('"""A module alone."""\n')
    monkeypatch.syspath_prepend(tmp_path)
    return root


def test_each_docstring_once_without_examples_and_without_importing(package):
    found = docstrings(["boxes"])
    assert found == {
        "boxes/__init__.py": b"Say what a module is for.\n\nHold things.\n\n"
        b"\nIt is never full.\n\nHold things.\n",
        "boxes/strange.py": b"Half ? a pair.\n",
    }
    assert "boxes" not in sys.modules


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "box",
            "packages: 'box' is not installed, or its import name differs: install",
        ),
        ("boxes.tests", "packages: 'boxes.tests' is not installed"),
        ("", "packages: '' is not installed"),
        ("scikit-learn", "'scikit-learn' is not installed, or its import name differs"),
        ("__main__", "packages: '__main__' is"),
        ("single", "packages: 'single' is not a folder of sources"),
        ("sys", "packages: 'sys' is not a folder of sources"),
    ],
)
def test_what_is_no_package_is_refused(package, name, said):
    with pytest.raises(LogicgenError, match=said):
        docstrings([name])


def test_versions_are_those_of_distributions(package):
    assert versions(["numpy", "boxes"]) == {"numpy": np.__version__}


def test_topics_are_pythons_own_and_in_order():
    found = topics()
    assert list(found) == sorted(found)
    assert b"assert" in found["assert"]
