"""Training data: what a model knows of them, and several data sets as one."""

from __future__ import annotations

import pytest

from logicgen.data.opening import load_dataset
from logicgen.errors import LogicgenError
from logicgen.library import train
from logicgen.model.checkpoint import load_model
from logicgen.model.recipe import ModelRecipe
from logicgen.model.training_data import problem_data
from logicgen.syntax.answers import Trace
from logicgen.tasks.problems import alpha_class_of
from logicgen.training.fit import training_data
from tests.data import data_sets

LONGER = {
    "problem": {"operators": {"!": 1, "|": 1}},
    "region": {"symbols": [2, 4], "length": [6, 12]},
    "sizes": {"train": 100, "test": 30},
    "grid": {"symbols": [1, 3], "length": [1, 9], "per_cell": 20},
}


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Return two data sets of formulas, many of which are in both."""
    folder = tmp_path_factory.mktemp("two")
    data_sets.make(folder / "a")
    data_sets.make(folder / "b", LONGER | {"problem": data_sets.RECIPE["problem"]}, seed=1)
    return load_dataset(folder / "a"), load_dataset(folder / "b")


def problems(data):
    """Return the training problems of training data, as texts."""
    return [data.vocabulary.decode(row.tolist()) for row in data.train.problems]


def classes(data, *splits):
    return {row for split in splits for row in data.table(split)["alpha_class"].to_pylist()}


def test_several_data_sets_are_one_without_what_another_one_holds_out(two):
    a, b = two
    found = problem_data(a, b)
    kept = [
        row["problem"]
        for mine, other in ((a, b), (b, a))
        for row in mine.table("train").to_pylist()
        if row["alpha_class"] not in classes(other, *(set(other.splits) - {"train"}))
    ]
    assert problems(found) == kept
    assert len(a.table("train")) < len(kept) < len(a.table("train")) + len(b.table("train"))
    held = classes(a, "validation", "test", "grid") | classes(b, "test", "grid")
    assert not held & {*map(alpha_class_of, kept)}


def test_a_model_of_several_data_sets_knows_the_ranges_of_all(two):
    found, first = problem_data(*two), problem_data(two[0])
    assert (found.region.symbols, found.region.length) == ((1, 4), (1, 12))
    assert found.region.tokens == ("!", "&", "^")
    assert found.train.alphabet == 4
    assert found.datasets == tuple(two)
    assert found.folders == (two[0].folder, two[1].folder)
    assert len(found.validation) == len(first.validation) == 40
    prints = {found.fingerprint, first.fingerprint, problem_data(*reversed(two)).fingerprint}
    assert len(prints) == 3


def test_equal_problems_are_held_out_where_renamings_are_different_problems(tmp_path):
    strings = {"task": "copying", "region": {"symbols": [2, 2], "length": [1, 5]}}
    a, b = (
        data_sets.opened(tmp_path / name, strings | {"distinct": "exact", "sizes": sizes})
        for name, sizes in (("a", {"train": 20}), ("b", {"train": 1, "test": 12}))
    )
    held = {*b.table("test")["problem"].to_pylist()}
    own = [*a.table("train")["problem"].to_pylist(), *b.table("train")["problem"].to_pylist()]
    assert held & {*own}
    assert problems(problem_data(a, b)) == [each for each in own if each not in held]


def test_renamings_are_held_out_if_one_of_the_data_sets_holds_them_for_the_same(tmp_path):
    strings = {"task": "copying", "region": {"symbols": [1, 3], "length": [1, 6]}}
    made = [
        data_sets.opened(tmp_path / name, strings | {"distinct": distinct, "sizes": sizes})
        for name, distinct, sizes in (
            ("exact", "exact", {"train": 300}),
            ("alpha", "alpha", {"train": 30, "test": 9}),
        )
    ]
    for order in (made, made[::-1]):
        kept = problems(problem_data(*order))
        assert not {*map(alpha_class_of, kept)} & classes(made[1], "test")
        assert len(kept) < sum(len(each.table("train")) for each in made)


def test_data_that_cannot_be_one_are_refused(two, tmp_path):
    copying = {"task": "copying", "region": {"symbols": [1, 2], "length": [1, 4]}}
    strings = data_sets.opened(tmp_path / "copying", copying | {"sizes": {"train": 5, "test": 2}})
    with pytest.raises(LogicgenError, match="copying: holds problems of copying, and"):
        problem_data(two[0], strings)
    untrained = data_sets.opened(tmp_path / "test", copying | {"sizes": {"test": 5}})
    with pytest.raises(LogicgenError, match="test: has no training examples"):
        problem_data(strings, untrained)
    kind = {"kind": "n-gram", "order": 2}
    counted = ModelRecipe.model_validate({"network": kind})
    with pytest.raises(LogicgenError, match="--data: an n-gram learns from one data set"):
        training_data(counted, *two)


def test_a_command_trains_on_several_data_sets(two, tmp_path):
    folders = [each.folder for each in two]
    small = ["width=16", "heads=2", "encoder_layers=1", "decoder_layers=1", "feed_forward=16"]
    changes = [*(f"network.{each}" for each in small), "training.batch_size=8"]
    how = {"changes": changes, "steps": 2, "device": "cpu"}
    said = []
    run = train("propositional-learned", folders, tmp_path / "a run", say=said.append, **how)
    assert said == [f"{run}: try logicgen evaluate '{run}' --data {folders[0]}"]
    assert load_model(run, "cpu").region.length == (1, 12)
    with pytest.raises(LogicgenError, match="another data"):
        train("propositional-learned", folders[0], run, resume=True, **how)


def test_what_a_model_learns_is_changed_before_the_keys_that_need_it(two, tmp_path):
    recipe, changes = "propositional-symbol-invariant-deep", ["training.right_answers=2"]
    with pytest.raises(LogicgenError, match="right_answers: is for learn = 'right'"):
        train(recipe, two[0].folder, tmp_path / "run", changes=changes)
    with pytest.raises(LogicgenError, match="data: no folder"):
        train(recipe, [], tmp_path / "run", changes=changes, learn="right")


def test_a_model_knows_how_many_positions_the_traces_of_its_training_had(tmp_path):
    region = {"symbols": [1, 2], "length": [6, 9]}
    content = {"task": "ltl", "region": region, "sizes": {"train": 60}, "unsatisfiable": 0.2}
    nested = {"problem": {"operators": {"X": 3, "&": 1, "!": 1}}}
    data = data_sets.opened(tmp_path / "ltl", content | nested)
    answers = map(data.task.decode_answer, data.table("train", ["answer"])[0].to_pylist())
    counts = {len(each.positions) for each in answers if isinstance(each, Trace)}
    assert len(counts) > 1
    assert problem_data(data).region.positions == (1, max(counts))
    copying = {"task": "copying", "region": region, "sizes": {"train": 9}}
    other = data_sets.opened(tmp_path / "copying", copying)
    assert problem_data(other).region.positions == ()
