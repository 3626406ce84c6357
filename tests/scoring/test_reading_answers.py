"""The page docs/reading-answers.md explains grammars/completion.lark."""

from __future__ import annotations

import re
from pathlib import Path

from logicgen.scoring.scorer import judge
from logicgen.tasks import load_task
from tests.scoring.spellings import MARKER, grammar_lines, on_page_markdown, spellings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reading-answers.md"


def test_the_site_lists_the_spellings_of_the_grammar():
    page = PAGE.read_text(encoding="utf-8")
    assert page.endswith("\n" + MARKER)
    assert page.count(MARKER) == 1
    made = on_page_markdown(page)
    assert made == page.removesuffix(MARKER) + spellings()
    assert "- **TICK**: `` ` ``\n- **END_TICK** [1]: `` /(?<=\\S)`/ ``\n" in made
    assert on_page_markdown("another page") == "another page"


def test_the_page_explains_every_token():
    """But parts of tokens, which the list explains."""
    page = PAGE.read_text(encoding="utf-8")
    rules = [line for line in grammar_lines() if re.match(r"_?[a-z]", line)]
    for token in set(re.findall(r"\b_?([A-Z][A-Z_]+)\b", "\n".join(rules))):
        assert re.search(rf"\b{token}\b", page), token


def test_the_first_table_of_the_page_is_true():
    table = re.findall(
        r"(?m)^\| (`.+`) \| (\w+) \| (\w+)(?::.*)? \|$", PAGE.read_text(encoding="utf-8")
    )
    assert len(table) >= 7
    task = load_task("propositional")
    for completion, *verdicts in table:
        for mode, verdict in zip(("strict", "tolerant"), verdicts, strict=True):
            found = judge(task, task.read_problem("a & !b"), completion.strip("`"), mode)
            assert found.verdict == verdict, (completion, mode, found)
