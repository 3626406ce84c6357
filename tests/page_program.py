"""The program that runs a page of docs/ from top to bottom: `python page_program.py PAGE`.

A page consists of prose and of blocks. A block with a title is a file. `$` begins a command, and
`>>>` a statement of Python; if an output follows, it is compared, and `...` stands for any text.
It runs in the current folder.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

BLOCK = re.compile(r'^```(\w+)(?: title="(.*?)")?\n(.*?)^```\n', re.DOTALL | re.MULTILINE)
OUTPUT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of a block, and the output that the page shows of each."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def run_command(line: str) -> str:
    """Run a command in this process and return its output."""
    program, *arguments = shlex.split(line)
    if program == "pip":
        assert arguments == ["install", "--editable", "."], line
        # The part of an installation that registers entry points; the folder is in PYTHONPATH.
        setup = "import setuptools; setuptools.setup()"
        subprocess.run([sys.executable, "-W", "ignore", "-c", setup, "-q", "egg_info"], check=True)
        importlib.invalidate_caches()
        return ""
    assert program == "logicgen", line
    from logicgen.cli.group import group

    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        status = group.main(arguments, standalone_mode=False) or 0
    assert status in (0, 1), f"{line}: exit status {status}"  # 1: the answer is wrong
    return shown.getvalue()


def run_page(page: Path) -> None:
    """Run the blocks of a page. Raises AssertionError if an output differs."""
    compare = doctest.OutputChecker().check_output
    names: dict[str, object] = {}
    for language, title, block in BLOCK.findall(page.read_text()):
        if title:
            Path(title).write_text(block)
        elif language == "console":
            for command, expected in commands(block):
                output = run_command(command)
                assert not expected or compare(expected, output, OUTPUT), f"{command}\n{output}"
        else:
            assert language == "pycon", f"{page}: a block of {language} without a title"
            test = doctest.DocTestParser().get_doctest(block, names, page.name, None, 0)
            runner = doctest.DocTestRunner(optionflags=OUTPUT)
            report = io.StringIO()
            result = runner.run(test, out=report.write, clear_globs=False)
            assert not result.failed, report.getvalue()
            names = test.globs


if __name__ == "__main__":
    run_page(Path(sys.argv[1]))
