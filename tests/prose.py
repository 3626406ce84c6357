"""Find sentences that are hard to read: `python -m tests.prose [--warnings] [PATH ...]`.

It reads docstrings, comments and messages of Python files, and Markdown. `prose.toml` holds the
habits.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

SETTINGS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
HABITS = [(habit["name"], re.compile(habit["pattern"], re.I)) for habit in SETTINGS["habit"]]
EXCEPTIONS = tuple(SETTINGS["exceptions"])
FEWEST_WORDS = 4  # a shorter string is a name or a key

Text = tuple[int, str]  # the line where a piece of prose begins, and the piece


def python_texts(source: str) -> Iterator[Text]:
    """Yield docstrings, messages and comments of a module; neighbouring comments are one text."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            parts = [p.value if isinstance(p, ast.Constant) else "X" for p in node.values]
            yield node.lineno, "".join(str(part) for part in parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
    comments: list[Text] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            text = token.string.lstrip("#: ")
            whole_line = token.line.lstrip().startswith("#")
            if comments and whole_line and token.start[0] == comments[-1][0] + 1:
                comments[-1] = (token.start[0], f"{comments[-1][1]} {text}")
            else:
                comments.append((token.start[0], text))
    yield from comments


def markdown_texts(source: str) -> Iterator[Text]:
    """Yield the paragraphs, list items and cells outside of code blocks."""
    source = re.sub(r"```.*?```|<!--.*?-->", lambda m: "\n" * m[0].count("\n"), source, flags=re.S)
    line = 1
    for paragraph in re.split(r"(\n\s*\n|\n(?=\s*(?:[-*|]|\d+\.)\s))", source):
        if paragraph.strip() and not paragraph.lstrip().startswith(("|", "#")):
            yield line, re.sub(r"^\s*([-*]|\d+\.)\s", "", paragraph)
        line += paragraph.count("\n")


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of `text`, without code, tables, links' addresses and emphasis.

    A line of code or of a table is recognised by a sign that no sentence has: two blanks after the
    indent, or an equals sign or bracket as in Python.
    """
    text = re.sub(r"`+[^`]*`+", "X", re.sub(r"\]\([^)]*\)", "]", text))
    text = re.sub(r"^.*(\S  +\S| = |\w\(|^\s*(import|from|logicgen|\$) ).*$", "", text, flags=re.M)
    for paragraph in re.split(r"\n\s*\n|\n\s*[-*]\s|(?:^|\n)\s*\w+:\s", text):
        plain = " ".join(paragraph.replace("*", "").replace("_", " ").split())
        yield from re.split(r"(?<=[.!?])\s+(?=[A-Z\[\"'])|:\s(?=[A-Z])", plain)


def findings(path: Path) -> Iterator[tuple[int, bool, str, str]]:
    """Yield line, whether it fails, reason and sentence for each doubtful sentence of a file."""
    source = path.read_text(encoding="utf-8")
    texts = python_texts(source) if path.suffix == ".py" else markdown_texts(source)
    for line, text in texts:
        for sentence in sentences(text):
            words = len(re.findall(r"[\w'-]*\w", sentence))
            if words < FEWEST_WORDS or sentence.startswith(EXCEPTIONS or ("\0",)):
                continue
            reasons = [name for name, pattern in HABITS for _ in pattern.findall(sentence)]
            if words > SETTINGS["longest"]:
                yield line, True, f"{words} words", sentence
            if reasons:
                yield line, len(reasons) > 1, ", ".join(reasons), sentence


def main(arguments: list[str]) -> int:
    """Print the findings and return 1 if a sentence fails."""
    wanted = [name for name in arguments if not name.startswith("-")] or SETTINGS["files"]
    command = ["git", "ls-files", *wanted]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    failed = warned = 0
    for name in listed:
        if not name.endswith((".py", ".md")) or name.startswith(tuple(SETTINGS["skipped"])):
            continue
        for line, fails, reason, sentence in findings(Path(name)):
            failed, warned = failed + fails, warned + (not fails)
            if fails or "--warnings" in arguments:
                print(f"{name}:{line}: {'' if fails else 'warning: '}{reason}: {sentence[:160]}")
    print(f"{failed} sentences fail, {warned} warn", file=sys.stderr)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
