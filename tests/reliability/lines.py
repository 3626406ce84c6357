"""Lines of `solve --in` and `verify --in`: each gets one row, whatever stands on it."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from functools import partial
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from logicgen.cli.judge import run_bulk
from logicgen.errors import LogicgenError
from logicgen.solvers import Status, Verdict
from logicgen.tasks import TASKS
from logicgen.tasks.lines import ERROR, judge_line, read_lines
from tests.reliability.mutation import JSON_VALUES, ODD, mutated
from tests.reliability.problems import ANSWER_TEXTS, PROBLEM_TEXTS
from tests.reliability.target import Target, refused

NESTED = st.builds(
    lambda opening, depth, key: f'{{"{key}": ' + opening * depth,
    st.sampled_from(["[", '{"a":']),
    st.sampled_from([10, 500, 100_000]),
    st.sampled_from(["problem", "other"]),
)
CLOSED = st.sampled_from([10, 300, 900]).map(
    lambda depth: '{"problem": "a", "answer": "a", "x": ' + "[" * depth + "]" * depth + "}"
)
LONG = st.sampled_from(["a", "(", "{", '{"', "0", "! ", "a & "]).map(lambda text: text * 20_000)
NUMBERS = st.sampled_from(["1" * 5000, "1e999", "-0", "NaN", "Infinity"]).map(
    lambda number: f'{{"problem": "a", "answer": "a=1", "n": {number}}}'
)


def rows(task: str) -> SearchStrategy[str]:
    """Return JSON lines with a problem, an answer and further keys, some of a wrong type."""
    problems, answers = PROBLEM_TEXTS[task], ANSWER_TEXTS[task]
    fields = st.fixed_dictionaries(
        {},
        optional={
            "problem": st.one_of(problems, problems, mutated(problems), JSON_VALUES),
            "answer": st.one_of(answers, answers, mutated(answers), JSON_VALUES),
            "status": JSON_VALUES,
            "verdict": JSON_VALUES,
            "id": JSON_VALUES,
        },
    )
    return st.one_of(fields, JSON_VALUES).map(json.dumps)


def lines(task: str) -> SearchStrategy[str]:
    """Return lines, JSON or plain, well-formed or not."""
    return st.one_of(
        rows(task),
        rows(task),
        mutated(rows(task), ["{", "}", "[", '"', "NaN", "\\ud800", "1e999"]),
        PROBLEM_TEXTS[task],
        st.text(alphabet=st.sampled_from(ODD + "ab"), max_size=8),
        NESTED,
        CLOSED,
        LONG,
        NUMBERS,
    )


def check_line(decide: Callable[[str], dict[str, Any]], key: str, line: str) -> None:
    """A line gets a row with a known verdict, which can be written as JSON."""
    row = decide(line)
    assert row[key] in ([*Status] if key == "status" else [*Verdict, ERROR])
    # As others read JSON lines: NaN is no JSON.
    assert json.loads(json.dumps(row, allow_nan=False)) == row


def check_file(content: bytes) -> None:
    """A file of lines is refused as a whole, or gives one row for each line that is not blank."""
    with tempfile.TemporaryDirectory() as folder, redirect_stderr(io.StringIO()):
        source, target = Path(folder, "in"), Path(folder, "out")
        source.write_bytes(content)
        rows = _rows(source)
        try:
            run_bulk(rows, str(target), "status", "solving")
        except LogicgenError as error:
            refused(error)
            assert not target.exists()
            return
        text = content.decode("utf-8-sig")
        written = target.read_text(encoding="utf-8").split("\n")
        assert len(written) - 1 == sum(bool(line.strip()) for line in text.split("\n"))


def _rows(source: Path) -> Iterator[dict[str, Any]]:
    decide = judge_line("propositional", None, verify=False)
    yield from (decide(line) for line in read_lines(str(source)) if line.strip())


def _targets() -> list[Target]:
    found = []
    for task in TASKS:
        for verify, key in ((False, "status"), (True, "verdict")):
            decide = judge_line(task, None, verify)
            name = f"{task}-lines-to-{'verify' if verify else 'solve'}"
            found.append(Target(name, lines(task), partial(check_line, decide, key)))
    content = st.one_of(
        st.lists(lines("propositional"), max_size=4).map(
            lambda each: "\n".join(each).encode("utf-8", "surrogatepass")
        ),
        st.binary(max_size=40),
    )
    return [*found, Target("files-of-lines", content, check_file)]


TARGETS = _targets()
