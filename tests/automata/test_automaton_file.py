"""Automata as files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicgen.automata import Automaton, allsum, read_automaton, write_automaton
from logicgen.errors import LogicgenError
from tests.automata.small import shrinking

GOOD = """
symbols = ["a", "b"]
states = ["start", "loop"]
initial = {start = 1}
final = {loop = 0.5}
transitions = [
  {from = "start", symbol = "a", to = "loop", weight = 1.0},
  {from = "loop", symbol = "b", to = "loop", weight = 0.5},
]
"""


def test_read(tmp_path):
    path = tmp_path / "good.toml"
    path.write_text(GOOD)
    automaton = read_automaton(path)
    assert automaton.symbols == ("a", "b")
    assert automaton.arcs() == [("start", "a", "loop", 1.0), ("loop", "b", "loop", 0.5)]
    assert allsum(automaton) == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('to = "loop", weight = 1.0', 'to = "lop", weight = 1.0',
         "transition 1 (start --a--> lop): 'lop' is not a state; did you mean loop?"),
        ('symbol = "b"', 'symbol = "c"', "transition 2 (loop --c--> loop): 'c' is not a symbol"),
        ("weight = 0.5", "weight = -0.5", "transition 2 (loop --b--> loop): weight: "),
        ("weight = 0.5", "weight = nan", "transition 2 (loop --b--> loop): weight: "),
        ("weight = 0.5", 'weight = "0.5"', "transition 2 (loop --b--> loop): weight: "),
        ("weight = 0.5", "wieght = 0.5", "unknown key 'wieght'; did you mean weight?"),
        ("weight = 0.5", "weight = 1.0",
         "the weights of all strings add up to infinity: the cycles through loop have spectral"
         " radius 1"),
        ("weight = 1.0", "weight = 0.0",
         "every string weighs 0: no final state (loop) can be reached from an initial state"),
        ("final = {loop = 0.5}", "final = {}", "every string weighs 0: it has no final state"),
        ("final = {loop = 0.5}", "final = {loop = -1}", "final.loop: "),
        ("final = {loop = 0.5}", "final = {lop = 1}", "final: 'lop' is not a state; did you mean"),
        ("final = {loop = 0.5}", "", "key 'final' is missing"),
        ('symbols = ["a", "b"]', 'symbols = ["a", "b", "a"]', "symbols: 'a' occurs twice"),
        ('symbols = ["a", "b"]', "symbols = []", "symbols: "),
        ("initial = {start = 1}", "initial = {start = true}", "initial.start: "),
        ("transitions = [", "transitions = [1,", "transition 1: "),
        ("transitions = [", "transitions = [[", "not TOML"),
        ("transitions", "transition", "unknown key 'transition'; did you mean transitions"),
        ('from = "loop", symbol = "b"', 'from = "start", symbol = "a"',
         "transition 2 (start --a--> loop): occurs twice"),
    ],
)  # fmt: skip
def test_one_clear_line(tmp_path, old, new, message):
    path = tmp_path / "bad.toml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(LogicgenError) as error:
        read_automaton(path)
    text = str(error.value)
    assert message in text
    assert text.startswith(f"{path}: ")
    assert "\n" not in text.replace(str(path), "")


def test_no_file(tmp_path):
    with pytest.raises(LogicgenError, match="cannot be read"):
        read_automaton(tmp_path / "none.toml")


@given(automaton=shrinking(), names=st.lists(st.text(min_size=1), min_size=5, unique=True))
def test_written_and_read(tmp_path_factory, automaton, names):
    if not allsum(automaton):
        return
    n = len(automaton.states)
    named = Automaton(
        tuple(names[n : n + len(automaton.symbols)]),
        tuple(names[:n]),
        automaton.initial,
        automaton.final,
        automaton.transitions,
    )
    path = tmp_path_factory.mktemp("automata") / "a.toml"
    write_automaton(named, path, 'a "description"')
    again = read_automaton(path)
    assert again.symbols == named.symbols
    assert again.states == named.states
    assert again.arcs() == named.arcs()
    assert (again.initial == named.initial).all()
    assert (again.final == named.final).all()
