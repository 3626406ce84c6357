"""The page about inductive Transformers: its file can be read, its worked layer is right."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from logicgen.productions import read_grammar

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "inductive.md"


def test_the_worked_layer():
    code = "\n".join(re.findall(r"```python\n(>>>.*?)```", PAGE.read_text(), re.DOTALL))
    examples = doctest.DocTestParser().get_doctest(code, {}, "docs/inductive.md", None, 0)
    assert len(examples.examples) == 8
    said: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(examples, out=said.append)
    assert not result.failed, "".join(said)


def test_the_file(tmp_path):
    path = tmp_path / "g.toml"
    path.write_text(re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)[0])
    grammar = read_grammar(path)
    assert grammar.log_probabilities(grammar.encode("tiny dog")[None]) == pytest.approx(
        -3.6888794541139363
    )
