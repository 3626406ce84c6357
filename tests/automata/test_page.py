"""The page about automata: its file can be read, and its examples give the output shown."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "automata.md"


@pytest.mark.needs("scipy")
def test_examples(tmp_path, monkeypatch):
    text = PAGE.read_text()
    (tmp_path / "walk.toml").write_text(re.findall(r"```toml\n(.*?)```", text, re.DOTALL)[0])
    monkeypatch.chdir(tmp_path)
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    examples = doctest.DocTestParser().get_doctest(code, {}, "docs/automata.md", None, 0)
    assert len(examples.examples) > 30
    said: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(examples, out=said.append)
    assert not result.failed, "".join(said)
