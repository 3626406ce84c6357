"""The examples of pages about languages and grammars give the output shown."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"


def blocks(page: str, language: str, begin: str = "") -> list[str]:
    """The blocks of a page in a language, of those that begin in a certain way."""
    text = (DOCS / f"{page}.md").read_text()
    return re.findall(rf"```{language}\n({begin}.*?)```", text, re.DOTALL)


@pytest.mark.parametrize(
    ("page", "file", "least"),
    [
        pytest.param("automata", "walk.toml", 31, marks=pytest.mark.needs("scipy")),
        pytest.param("inductive", "g.toml", 8, marks=pytest.mark.needs("torch")),
        pytest.param("tasks/propositional", None, 4, marks=pytest.mark.needs("sympy")),
    ],
)
def test_examples_give_the_output_shown(page, file, least, tmp_path, monkeypatch):
    if file is not None:
        (tmp_path / file).write_text(blocks(page, "toml")[0])
    monkeypatch.chdir(tmp_path)
    code = "\n".join(blocks(page, "python", ">>>"))
    examples = doctest.DocTestParser().get_doctest(code, {}, f"docs/{page}.md", None, 0)
    assert len(examples.examples) >= least
    said: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(examples, out=said.append)
    assert not result.failed, "".join(said)
