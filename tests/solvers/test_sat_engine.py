"""SAT engines under Ctrl-C and with an effort, and the solvers that use them."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from random import Random

import pytest

import logicgen
from logicgen.solvers import Status, Verdict
from logicgen.solvers.bounded import word_of_shape
from logicgen.solvers.embedded import EmbeddedSolver
from logicgen.solvers.ltl_graph import Graph
from logicgen.solvers.pysat import PySATSolver, solve_clauses
from logicgen.solvers.sat_engine import Effort, EffortError, SatEngine
from logicgen.syntax import Assignment, ltl, propositional
from logicgen.syntax.answers import Trace
from logicgen.syntax.clauses import formula_of
from logicgen.syntax.sampling import FormulaSampler
from logicgen.tokens import symbol_name
from tests.solvers.ltl_families import counter


def pigeons(holes):
    """Clauses that say: one more pigeon than holes, and no two in one; exponentially hard."""
    place = {(p, h): p * holes + h + 1 for p in range(holes + 1) for h in range(holes)}
    housed = [[place[p, h] for h in range(holes)] for p in range(holes + 1)]
    alone = [
        [-place[p, h], -place[q, h]]
        for h in range(holes)
        for p, q in combinations(range(holes + 1), 2)
    ]
    return housed + alone


def formula(holes):
    return formula_of(pigeons(holes), lambda number: symbol_name(number - 1))


def in_graph(holes):
    graph = Graph()
    return word_of_shape(graph, graph.add(formula(holes)), 1, 1)


HARD = {
    "engine": lambda: SatEngine(pigeons(12)).solve(),
    "clauses": lambda: solve_clauses(pigeons(12)),
    "pysat": lambda: PySATSolver().solve(formula(12)),
    "pysat check": lambda: PySATSolver().check(~formula(12), Assignment()),
    "embedded": lambda: EmbeddedSolver().solve(formula(12)),
    "embedded check": lambda: EmbeddedSolver().check(
        ltl().read("F p"), Trace((), (formula(12) | ltl().read("p"),))
    ),
    "shape": lambda: in_graph(12),
}


@pytest.mark.parametrize("search", HARD.values(), ids=HARD)
def test_ctrl_c_ends_a_native_search(search):
    # Another process does, again and again: what is raised in a callback (of a weak reference, or
    # of a collection of garbage) is lost. PySAT's own way out crashed or hung in some of these.
    press = subprocess.Popen(["sh", "-c", f"while sleep 1; do kill -INT {os.getpid()}; done"])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            search()
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        press.kill()
        press.wait()
        signal.signal(signal.SIGINT, before)


INTERRUPTED = """
import os, signal, subprocess
from tests.solvers.test_sat_engine import HARD

signal.signal(signal.SIGINT, signal.default_int_handler)
for _ in range(2):
    subprocess.Popen(["sh", "-c", f"sleep 0.5; kill -INT {os.getpid()}"])
    try:
        HARD["engine"]()
    except KeyboardInterrupt:
        print("ended", flush=True)
os.kill(os.getpid(), signal.SIGINT)
"""


def test_a_second_ctrl_c_finds_all_in_order():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True)
    assert done.stdout == "ended\nended\n"
    assert done.stderr.endswith("\nKeyboardInterrupt\n")


def test_no_other_engine_is_made():
    users = [
        path.name
        for path in Path(logicgen.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pysat")
    ]
    assert users == ["sat_engine.py"]


@pytest.mark.parametrize("solver", [PySATSolver, EmbeddedSolver])
def test_a_hard_problem_is_given_up_after_so_many_steps(solver):
    for effort in (0, 1, 500):
        found = solver(effort=effort).solve(formula(9))
        assert found.status is Status.UNKNOWN
        assert found.reason == f"more than {effort} steps of search"
        assert found.witness is None
    assert solver(effort=10**30).solve(formula(4)).status is Status.UNSAT


def test_a_check_is_given_up_as_well():
    assert PySATSolver(effort=500).check(~formula(9), Assignment()) is Verdict.UNKNOWN
    assert PySATSolver(effort=10**6).check(~formula(4), Assignment()) is Verdict.CORRECT
    anything = Trace((), (ltl().read("1"),))
    assert EmbeddedSolver(effort=500).check(~formula(9), anything) is Verdict.UNKNOWN
    assert EmbeddedSolver(effort=10**6).check(~formula(4), anything) is Verdict.CORRECT


def test_a_problem_takes_the_same_effort_every_time():
    problem, enough = ltl().read(counter(3)), 1
    whole = EmbeddedSolver().solve(problem)
    while EmbeddedSolver(effort=enough).solve(problem).status is Status.UNKNOWN:
        enough *= 2
    few = enough // 2
    while enough - few > 1:
        middle = (few + enough) // 2
        unknown = EmbeddedSolver(effort=middle).solve(problem).status is Status.UNKNOWN
        few, enough = (middle, enough) if unknown else (few, middle)
    for _ in range(3):
        assert EmbeddedSolver(effort=enough).solve(problem) == whole
        assert EmbeddedSolver(effort=enough - 1).solve(problem).status is Status.UNKNOWN


@pytest.mark.parametrize(
    ("language", "solver"), [(ltl, EmbeddedSolver), (propositional, PySATSolver)]
)
def test_easy_problems_have_the_same_answers_within_an_effort(language, solver):
    sampler = FormulaSampler(language(), dict.fromkeys(language().arity, 1), "tree", 5)
    rng = Random(1)
    limited, unlimited = solver(effort=10_000), solver()
    for _ in range(300):
        problem = sampler.sample(rng, rng.randint(1, 25), "abcde")
        assert limited.solve(problem) == unlimited.solve(problem)


def test_conflicts_are_spent_to_the_last():
    effort = Effort(10**6)
    with SatEngine(pigeons(6), effort=effort) as engine:
        assert not engine.solve()
        taken = effort.steps - effort.left
        assert taken == 1 + engine.accum_stats()["conflicts"] > 100
    for steps, enough in ((taken, True), (taken - 1, False)):
        with SatEngine(pigeons(6), effort=Effort(steps)) as engine:
            if enough:
                assert not engine.solve()
            else:
                with pytest.raises(EffortError):
                    engine.solve()
