"""The page docs/reading-answers.md lists every spelling of grammars/completion.lark.

`python -m tests.scoring.test_reading_answers` writes the list anew.
"""

from __future__ import annotations

import re
from pathlib import Path

from logicgen.scoring.scorer import judge
from logicgen.tasks import load_task

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "reading-answers.md"
GRAMMAR = ROOT / "grammars" / "completion.lark"
BEGIN = "<!-- spellings: written by python -m tests.scoring.test_reading_answers -->\n"
END = "<!-- end of spellings -->\n"

PARTS = re.compile(r'"(?P<text>(?:[^"\\]|\\.)*)"(?P<any_case>i?)|(?P<regex>/(?:[^/\\]|\\.)+/i?)|\|')


def spellings() -> str:
    """Return the list in Markdown: a section of each part of the grammar, a line of each token."""
    lines: list[str] = []
    title = ""
    for line in grammar_lines():
        if line.startswith("// ----"):
            title = line.strip("/- ")
        found = re.fullmatch(r"_?([A-Z_]+)(?:\.(\d))?: (.*)", line)
        if found is None or found[1] == found[3].strip("_"):  # no token, or another name of one
            continue
        if title:
            lines += [f"\n### Tokens: {title}\n"]
            title = ""
        priority = f" [{found[2]}]" if found[2] else ""
        choices = re.sub(r"\b_(?=[A-Z])", "", PARTS.sub(shown, found[3]))
        choices = in_paragraphs(re.sub(r"(?<=[`A-Z_)?*]) ,(?= )", ",", choices))
        end = "\n" if "\n" in choices else ""  # a blank line between paragraph and next item
        lines.append(f"- **{found[1]}**{priority}: {choices}{end}")
    return "\n".join(lines).rstrip("\n") + "\n\n"


def in_paragraphs(choices: str) -> str:
    """Return a list of choices with a paragraph for every 20 of them."""
    parts = re.split(r"(?<=[`A-Z_)?*]), ", choices)
    paragraphs = [", ".join(parts[start : start + 20]) for start in range(0, len(parts), 20)]
    return ",\n\n    ".join(paragraphs)


def grammar_lines() -> list[str]:
    """Return the lines of the grammar, those that continue another one joined to it."""
    return re.sub(r"\n +\|", " |", GRAMMAR.read_text(encoding="utf-8")).split("\n")


def shown(part: re.Match[str]) -> str:
    """Return a part of a definition as the page shows it."""
    if part[0] == "|":
        return ","
    if part["regex"]:
        return code(part["regex"])
    text = re.sub(r"\\(.)", r"\1", part["text"])
    return code(f'"{text}"i' if part["any_case"] else text)


def code(text: str) -> str:
    """Return a text as code in Markdown."""
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    blank = " " if "`" in text else ""
    return f"{fence}{blank}{text}{blank}{fence}"


def test_the_page_lists_the_spellings_of_the_grammar():
    page = PAGE.read_text(encoding="utf-8")
    listed = page.partition(BEGIN)[2].partition(END)[0]
    assert listed == spellings(), "run python -m tests.scoring.test_reading_answers"


def test_the_page_explains_every_token():
    """But parts of tokens, which the list explains."""
    page = PAGE.read_text(encoding="utf-8").partition(BEGIN)[0]
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


if __name__ == "__main__":
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(before + BEGIN + spellings() + END + rest.partition(END)[2], encoding="utf-8")
