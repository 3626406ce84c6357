"""Messages where Spot cannot be used: not installed, hidden by another package, broken, too old."""

from __future__ import annotations

import os
import subprocess
import sys
from types import ModuleType

import pytest

from logicgen.solvers import Status
from logicgen.solvers.spot import NEEDED, SpotSolver
from logicgen.syntax import Trace, ltl


def module(**attributes):
    made = ModuleType("spot")
    made.__dict__.update(attributes)
    return made


def of_version(version):
    return module(**dict.fromkeys(NEEDED, print) | {"version": lambda: version})


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (None, ["Spot is not installed"]),
        (module(__file__="/else/spot.py"), ["another package of the name spot", "/else/spot.py"]),
        (module(__path__=["/here/spot"]), ["another package of the name spot", "/here/spot"]),
        (module(translate=print, version="1.0"), ["another package of the name spot"]),
        (of_version("2.9.8"), ["Spot 2.9.8 is too old", "2.10"]),
        (of_version("1.99"), ["Spot 1.99 is too old"]),
    ],
)
def test_what_is_missing_is_said_in_one_line(monkeypatch, found, words):
    monkeypatch.setitem(sys.modules, "spot", found)
    said = SpotSolver.missing()
    for word in [*words, "conda-forge", "distribution", "source", "https://spot.lre.epita.fr"]:
        assert word in said
    assert "\n" not in said


@pytest.mark.parametrize("version", ["2.10", "2.10.6", "2.12.1", "2.12.1.dev", "2.14", "3.0"])
def test_versions_from_2_10_are_taken(monkeypatch, version):
    monkeypatch.setitem(sys.modules, "spot", of_version(version))
    assert SpotSolver.missing() is None


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def wag(): pass", "another package of the name spot"),
        ("print 'for Python 2'", "cannot be imported (SyntaxError"),
        ("import nothing_of_this_name", "cannot be imported (No module named"),
        ("raise RuntimeError('two\\nlines')", "cannot be imported (RuntimeError: two)"),
    ],
)
def test_another_package_of_its_name_is_not_taken_for_it(tmp_path, source, words):
    (tmp_path / "spot.py").write_text(source)
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    code = (
        "from logicgen.errors import LogicgenError\n"
        "from logicgen.solvers import load_solver\n"
        "try: load_solver('spot', 'ltl')\n"
        "except LogicgenError as error: print(error)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("solver spot is not available here: ")
    assert words in result.stdout
    assert len(result.stdout.splitlines()) == 1


class Word:
    """What Spot returns: it is written as text, and simplified in place."""

    text = "cycle{p0 & p1}"

    def simplify(self):
        self.text = "cycle{p1}"

    def __str__(self):
        return self.text


@pytest.mark.parametrize(
    ("word", "status", "witness"),
    [(Word(), Status.SAT, "{b}"), (None, Status.UNSAT, None), (RuntimeError, Status.UNKNOWN, None)],
)
def test_words_of_spot_become_solutions(monkeypatch, word, status, witness):
    asked = []

    def accepting_word():
        if word is RuntimeError:
            raise RuntimeError("Too many acceptance sets used.\nMore text.")
        return word

    automaton = ModuleType("automaton")
    automaton.accepting_word = accepting_word
    made = module(
        formula=asked.append, make_bdd_dict=dict, translate=lambda formula, dict: automaton
    )
    monkeypatch.setitem(sys.modules, "spot", made)
    solution = SpotSolver().solve(ltl().read("a U b"))
    assert asked == ["p0 U p1"]
    assert solution.status is status
    assert solution.witness == (Trace.read(witness) if witness else None)
    if word is RuntimeError:
        assert solution.reason == "Spot: Too many acceptance sets used."
