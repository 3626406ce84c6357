"""The two-lines-per-example text format, there and back."""

from __future__ import annotations

from random import Random

import pytest

from logicgen.data.two_lines import compact, read_two_lines, spread, write_two_lines
from logicgen.errors import LogicgenError
from logicgen.syntax import ltl
from logicgen.syntax.sampler import FormulaSampler
from logicgen.tasks import load_task

TASK = load_task("ltl")


def test_the_notation():
    assert compact("U a & b X ! a") == "Ua&bX!a"
    assert compact("& a ! b ; 1 ; { | c d ; ! a }") == "&a!b;1;{|cd;!a}"
    assert compact("<-> a -> b c") == "=a>bc"
    assert spread("=a>bc") == "<-> a -> b c"
    with pytest.raises(LogicgenError, match="p0 has several characters"):
        compact("U p0 b")


def test_there_and_back_changes_nothing(tmp_path):
    sampler = FormulaSampler(ltl(), dict.fromkeys(ltl().arity, 1), "tree", 4)
    rng = Random(0)
    examples = []
    while len(examples) < 100:
        formula = sampler.sample(rng, rng.randint(1, 20), "abyz")
        witness = TASK.solve(formula).witness
        examples.append((formula.prefix, "0" if witness is None else witness.prefix))
    assert "0" in {answer for _, answer in examples}
    path = tmp_path / "some.txt"
    assert write_two_lines(examples, path) == 100
    assert list(read_two_lines(path, TASK)) == examples
    again = tmp_path / "again.txt"
    write_two_lines(read_two_lines(path, TASK), again)
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("text", "reason"),
    [("Uab\n", "line 1: a problem without"), ("Ua\n{b}\n", "line 1"), ("a\n{b}\nb\nb\n", "line 4")],
)
def test_bad_files_name_the_line(tmp_path, text, reason):
    path = tmp_path / "bad.txt"
    path.write_text(text)
    with pytest.raises(LogicgenError, match=reason):
        list(read_two_lines(path, TASK))
