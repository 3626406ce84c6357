"""Rounds: fresh problems, the model's own answers, verdicts, and their files."""

from __future__ import annotations

import json
from concurrent.futures import Future
from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from logicgen.data.generate import generate as make_any
from logicgen.data.opening import load_dataset
from logicgen.data.recipe import DataRecipe
from logicgen.errors import LogicgenError
from logicgen.model.checkpoint import load_model
from logicgen.model.kinds import new_model, training_data
from logicgen.model.recipe_tables import RewardTable
from logicgen.nn.linear import bfloat16_products
from logicgen.processes.worker import Failure
from logicgen.solvers import Verdict
from logicgen.tasks import load_task
from logicgen.tasks.controls import load_control
from logicgen.tasks.problems import alpha_class_of
from logicgen.training.attempts import Attempt, Attempts, Round
from logicgen.training.curriculum import Curriculum
from logicgen.training.rounds import Rounds
from tests.data.data_sets import make
from tests.training.conftest import TABLES, recipe_with


def with_difficulty(data, **ranges):
    """Return a data set whose recipe has a table of difficulty."""
    other = copy(data)
    other.recipe = data.recipe.model_copy(update={"difficulty": ranges})
    return other


def with_region(data, **ranges):
    """Return a data set whose recipe has another training region."""
    other = copy(data)
    region = data.recipe.region.model_copy(update=ranges)
    other.recipe = data.recipe.model_copy(update={"region": region})
    return other


@pytest.fixture
def rounds(learnt, tmp_path):
    """Return a function that makes rounds of a small trained model."""
    opened = []

    def begin(folder=tmp_path, held_out=(), data=(learnt.data,), seed=3, workers=1, **keys):
        table = RewardTable(**{"problems": 40, "draws": 4, **keys})
        model = load_model(learnt.run, "cpu")
        how = {"seed": seed, "held_out": held_out, "workers": workers}
        opened.append(Rounds(model, table, data, folder, **how))
        return opened[-1]

    yield begin
    for each in opened:
        each.close()


def test_a_round_is_judged_by_the_verifier(rounds):
    found = rounds().round(0)
    task = load_task("propositional")
    assert len(found.asked) == 40
    for asked in found.asked:
        assert len({each.answer for each in asked.attempts}) == len(asked.attempts) <= 4
        problem = task.decode_problem(asked.problem)
        for each in asked.attempts:
            assert task.check(problem, task.decode_answer(each.answer)) == each.verdict
    assert {each.verdict for asked in found.asked for each in asked.attempts} >= {
        Verdict.CORRECT,
        Verdict.INCORRECT,
    }


def test_a_round_depends_on_seed_weights_and_number_alone(rounds, tmp_path):
    first, again = rounds(tmp_path / "a"), rounds(tmp_path / "b")
    for number in range(3):
        assert first.round(number) == again.round(number)
    assert first.path(2).read_bytes() == again.path(2).read_bytes()
    assert first.round(0).asked != first.round(1).asked
    assert rounds(tmp_path / "c", seed=4).round(0).asked != first.round(0).asked
    # From the files alone, whatever the model has become meanwhile.
    assert rounds(tmp_path / "a", draws=2).round(1) == first.round(1)


def test_problems_that_are_drawn_ahead_are_the_same(rounds, tmp_path):
    alone, together = rounds(tmp_path / "a"), rounds(tmp_path / "b", workers=2)
    for number in range(3):
        assert alone.round(number) == together.round(number)
    texts = together.fresh.texts(70)
    task, samples = alone.task, alone.samples[0]
    assert [next(texts) for _ in range(70)] == [task.encode(samples[n]) for n in range(70, 140)]


def test_problems_that_cannot_be_drawn_stop_a_round(rounds, tmp_path):
    for workers in (1, 2):
        drawn = rounds(tmp_path, symbols=(4, 4), length=(2, 3), workers=workers)
        with pytest.raises(LogicgenError, match="draws found no problem of 4 symbols"):
            drawn.round(0)


def test_answers_are_drawn_in_float32_while_training_is_in_bfloat16(rounds, tmp_path):
    exact = rounds(tmp_path / "a", problems=8).round(0)
    with bfloat16_products():
        drawn = rounds(tmp_path / "b", problems=8).round(0)
    assert drawn == exact


@pytest.mark.slow
def test_problems_are_new_to_every_held_out_split_and_differ(rounds, learnt, tmp_path):
    make(tmp_path / "other", seed=5)
    other = load_dataset(tmp_path / "other")
    mine = rounds(tmp_path / "run", [other], problems=100, symbols=(1, 3), length=(3, 9))
    asked = [alpha_class_of(each.problem) for n in range(3) for each in mine.round(n).asked]
    for data in (learnt.data, other):
        for split in ("validation", "test", "grid"):
            assert not {*asked} & {*data.table(split)["alpha_class"].to_pylist()}
    assert {*asked} & {*learnt.data.table("train")["alpha_class"].to_pylist()}


def test_problems_lie_in_the_ranges_that_are_asked_for(rounds):
    for asked in rounds(symbols=(2, 4), length=(6, 12), curriculum=False).round(0).asked:
        tokens = asked.problem.split()
        assert 6 <= len(tokens) <= 12
        assert 2 <= len({*tokens} & {*"abcdefgh"}) <= 4


@pytest.mark.parametrize("workers", [1, 2])
def test_several_data_sets_give_new_problems_in_turn(rounds, learnt, workers):
    """Draw problems of two data sets, each in the ranges of its own training region."""
    longer = with_region(learnt.data, symbols=(4, 5), length=(10, 11))
    mine = rounds(data=[learnt.data, longer], workers=workers)
    texts = mine.fresh.texts(70)
    found = [next(texts).split() for _ in range(80)]
    most = learnt.data.recipe.region.length[1]
    assert {len(each) for each in found[::2]} <= {*range(1, most + 1)}
    assert {len(each) for each in found[1::2]} == {10, 11}
    assert most < 10
    draw = mine.task.encode
    drawn = [draw(mine.samples[n % 2][n // 2]).split() for n in range(70, 150)]
    assert found == drawn
    assert {len(each.problem.split()) for each in mine.round(0).asked} > {10, 11}


def test_growing_problems_stay_in_the_ranges_of_their_own_data_set(rounds, learnt):
    """Let only lengths grow: each data set keeps its own numbers of symbols."""
    more = with_region(learnt.data, symbols=(4, 5))
    mine = rounds(data=[learnt.data, more], length=(1, 30), grow=True)
    assert [each.symbols for each in mine.samples] == [learnt.data.recipe.region.symbols, (4, 5)]
    assert {each.length[1] for each in mine.samples} == {learnt.data.recipe.region.length[1]}


def test_problems_that_any_data_set_holds_out_are_not_drawn(rounds, learnt, tmp_path):
    make(tmp_path / "other", seed=5)
    other = load_dataset(tmp_path / "other")
    keys = {*other.table("test")["alpha_class"].to_pylist()}
    assert not keys <= rounds().excluded
    assert keys <= rounds(data=[learnt.data, other]).excluded


def test_an_assignment_may_name_every_symbol(rounds):
    """Stored answers have up to 3 symbols; an answer may have 40."""
    assert rounds(symbols=(1, 40), length=(8, 14)).longest == 80
    growing = rounds(symbols=(1, 4_000), length=(8, 9_000), grow=True)
    assert growing.longest < 80  # as the problems of the first round need, not as the goals


def test_problems_can_be_beyond_a_control(rounds):
    task = load_task("propositional")
    greedy = load_control(task, "greedy")
    drawn = rounds(beyond=["greedy"], problems=10, symbols=(1, 4), length=(8, 14))
    for asked in drawn.round(0).asked:
        problem, (answer,) = task.decode_problem(asked.problem), greedy.answers(asked.problem, 1)
        assert not task.check(problem, task.decode_answer(answer)).is_right
        assert task.solve(problem).status == "sat"


def test_problems_beyond_a_control_may_have_no_answer(rounds):
    task = load_task("propositional")
    drawn = rounds(beyond=["greedy"], unsatisfiable=0.25, length=(8, 14)).samples[0]
    found = [task.solve(drawn[number]).status for number in range(40)]
    assert 4 <= found.count("unsat") <= 16  # 10 are expected
    assert found.count("sat") == 40 - found.count("unsat")


def test_rounds_of_hard_data_have_the_share_without_an_answer_of_the_data(rounds, learnt):
    task, hard = load_task("propositional"), with_difficulty(learnt.data, beyond=["greedy"])
    hard.recipe = hard.recipe.model_copy(update={"unsatisfiable": 0.25})
    for keys, share in (({}, 0.25), ({"unsatisfiable": 0.5}, 0.5), ({"beyond": ["greedy"]}, 0)):
        drawn = rounds(data=[hard], length=(8, 14), **keys).samples[0]
        assert drawn.satisfiable == 1 - share
    found = [task.solve(drawn[number]).status for number in range(20)]
    assert found == ["sat"] * 20
    with pytest.raises(LogicgenError, match=r"reward.unsatisfiable: without reward.beyond, and"):
        rounds(unsatisfiable=0.5)


def test_problems_are_as_difficult_as_the_recipe_of_the_data_says(rounds, learnt):
    hard = with_difficulty(learnt.data, satisfying=[0, 0.2])
    task = load_task("propositional")
    drawn = rounds(data=[hard], length=(8, 14)).samples[0]
    for number in range(20):
        assert task.difficulty_of("satisfying", drawn[number], None) <= 0.2
        assert task.solve(drawn[number]).status == "sat"
    with pytest.raises(LogicgenError, match=r"^\[reward\]: beyond: 'greed'"):
        rounds(data=[hard], beyond=["greed"])


def test_the_controls_of_the_recipe_have_to_fail_too(rounds, learnt):
    task = load_task("propositional")
    data = with_difficulty(learnt.data, beyond=["greedy"])
    for more in (None, ["all-true"]):
        drawn = rounds(data=[data], beyond=more, symbols=(1, 4), length=(8, 14)).samples[0]
        controls = [load_control(task, name) for name in ("greedy", *(more or ()))]
        for number in range(10):
            problem = drawn[number]
            assert task.solve(problem).status == "sat"
            for control in controls:
                (answer,) = control.answers(task.encode(problem), 1)
                assert not task.check(problem, task.decode_answer(answer)).is_right


def test_a_control_that_does_not_exist_is_refused(rounds):
    with pytest.raises(LogicgenError, match=r"^\[reward\]: beyond: 'greed'.*did you mean greedy"):
        rounds(beyond=["greed"])


@pytest.mark.slow
def test_ranges_without_new_problems_are_refused_in_a_line(rounds):
    with pytest.raises(
        LogicgenError, match=r"held-out problems.*widen reward\.symbols or reward\.len"
    ):
        rounds(symbols=(1, 1), length=(1, 2)).round(0)


def test_more_symbols_than_the_model_has_rows_for_are_refused(learnt, tmp_path):
    table = RewardTable(symbols=(1, 9))
    rows = {"method": "learned", "normalize_rows": True, "max_symbols": 3}
    recipe = recipe_with(embedding={**dict.fromkeys(TABLES["embedding"]), **rows})
    model = new_model(recipe, training_data(recipe, learnt.data))
    with pytest.raises(LogicgenError, match=r"reward\.symbols: .*up to 9 .*rows for 3: lower it"):
        Rounds(model, table, [learnt.data], tmp_path)


def test_the_first_round_needs_a_right_answer(rounds, monkeypatch):
    mine = rounds()
    wrong = [("1 1", 0.0)]
    monkeypatch.setattr(mine, "_answers", lambda problems, number: [wrong for _ in problems])
    with pytest.raises(LogicgenError, match=r"none of 40 answers.*right.*reward\.curriculum"):
        mine.round(0)
    assert not mine.path(0).exists()


def test_a_damaged_file_is_refused_in_a_line(rounds):
    mine = rounds()
    mine.round(0)
    whole = json.loads(mine.path(0).read_text())
    texts = {"problems": [[1, []]]}, {"problems": [["a", [[2, -1.0, "correct"]]]]}
    numbers = {"problems": [["a", [["a", "x", "correct"]]]]}, {"known": [[1, 2, 3, "x", 0]]}
    counts = ({"following": "x"},)
    tokens = {"problems": [["a %", []]]}, {"problems": [["a", [["a !!", -1.0, "correct"]]]]}
    wrong = [json.dumps(whole | part) for part in (*texts, *numbers, *counts, *tokens)]
    cut = '{"round": 0, "following": 1, "known": [[1]]}'
    for content in ("", "{}", '{"round": 0}', cut, *wrong):
        mine.path(0).write_text(content)
        with pytest.raises(LogicgenError, match="damaged; remove the run and train again"):
            mine.round(1)


def test_what_the_verifier_cannot_judge_is_unknown(rounds, monkeypatch):
    def too_late(items, seconds):
        results = Future()
        results.set_result([Failure(f"time limit of {seconds:g} s") for _ in items])
        return results

    mine = rounds(problems=4)
    monkeypatch.setattr(mine.judges, "submit_all", too_late)
    monkeypatch.setattr(mine, "path", lambda number: mine.folder / "none")
    with pytest.raises(LogicgenError, match="none of"):
        mine.round(0)
    found = mine._made(0, 0, Curriculum())
    assert found.measures()["unknown"] == 1
    assert found.measures()["accepted"] == 0


def attempt(answer, probability, verdict):
    """Return an attempt of a probability."""
    return Attempt(answer, float(np.log(probability)), verdict)


def test_shares_weigh_answers_by_their_probabilities():
    right, wrong, unknown = Verdict.CORRECT, Verdict.INCORRECT, Verdict.UNKNOWN
    asked = Attempts("a", [attempt("a 0", 0.6, wrong), attempt("a 1", 0.2, right)])
    assert asked.share == pytest.approx(0.25)
    assert asked.worth == pytest.approx(0.75)
    twice = replace(asked, attempts=[*asked.attempts, attempt("a 1", 0.2, right)])
    assert twice.share == pytest.approx(0.25)  # the same answer
    also = replace(asked, attempts=[*asked.attempts, attempt("b 1", 0.2, unknown)])
    assert also.share == pytest.approx(0.25)
    for attempts in ([], [attempt("a 1", 0.5, right)], [attempt("a 0", 0.5, wrong)]):
        assert Attempts("a", attempts).worth == 0
    tiny = Attempts("a", [Attempt("a 1", -2000.0, right), Attempt("a 0", -2000.0, wrong)])
    assert tiny.share == pytest.approx(0.5)


def test_measures_of_a_round():
    right, wrong = Verdict.CORRECT, Verdict.INCORRECT
    asked = [
        Attempts("| a ! a", [attempt("", 0.5, right), attempt("a 1", 0.25, right)]),
        Attempts("& a b", [attempt("a 1", 0.5, wrong), attempt("a 1 b 1", 0.5, right)]),
        Attempts("& a ! a", [attempt("a 1", 1.0, wrong)]),
        Attempts("b", [attempt("b 1", 0.5, right)]),
    ]
    found = Round(0, asked, 9, Curriculum()).measures()
    assert found["accepted"] == 0.5
    assert found["solved"] == 0.75
    assert found["different"] == pytest.approx(4 / 3)
    assert found["length"] == pytest.approx((0 + 2 + 4 + 2) / 4)
    assert found["symbolless"] == 0.25
    assert found["commonest"] == pytest.approx(2 / 3)  # `a 1` and `b 1` are one up to renaming
    assert found["entropy"] == pytest.approx(-3 * np.log(0.5) / 4)
    both = [Attempts("| a b", [attempt("a 1", 0.5, right), attempt("b 1", 0.5, right)])]
    assert Round(0, both, 1, Curriculum()).measures()["commonest"] == 1
    assert Round(0, [], 0, Curriculum()).measures()["accepted"] == 0


def test_the_file_of_a_round_tells_it(rounds):
    mine = rounds()
    found = mine.round(0)
    told = json.loads(mine.path(0).read_text())
    assert told["measures"] == found.measures()
    assert told["problems"][0][0] == found.asked[0].problem
    assert [each[0] for each in told["problems"][0][1]] == [
        each.answer for each in found.asked[0].attempts
    ]


def test_a_task_whose_check_needs_no_solver(tmp_path):
    """Judge answers of an untrained model to problems of copying, where comparing is checking."""
    tables = {
        "task": "copying",
        "region": {"symbols": [1, 4], "length": [1, 4]},
        "sizes": {"train": 200, "validation": 0, "test": 20},
    }
    make_any(DataRecipe.model_validate(tables), tmp_path / "data", name="copying")
    data = load_dataset(tmp_path / "data")
    recipe = recipe_with()
    model = new_model(recipe, training_data(recipe, data))
    table = RewardTable(problems=30, symbols=(1, 5), length=(1, 5))
    mine = Rounds(model, table, [data], tmp_path)
    found = mine._made(0, 0, Curriculum())
    mine.close()
    held_out = {*data.table("test")["problem"].to_pylist()}
    for asked in found.asked:
        assert asked.problem not in held_out
        for each in asked.attempts:
            assert each.verdict.is_right == (each.answer == asked.problem)
