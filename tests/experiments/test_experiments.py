"""The experiments with inductive Transformers at their smallest."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest

from logicgen.errors import LogicgenError
from logicgen.experiments import identification_map as identification_map_module
from logicgen.experiments import sentences_needed as sentences_needed_module
from logicgen.experiments.controllability import controllability
from logicgen.experiments.identifiability import identify
from logicgen.experiments.identification_map import identification_map
from logicgen.experiments.prompting import LESSON, SETS, ask
from logicgen.experiments.sentences_needed import Training, reached, sentences_needed
from logicgen.productions import Grammar, random_grammar
from logicgen.study import points
from logicgen.train.students import Lesson


def squared(number):
    if number < 0:
        raise LogicgenError("a negative number")
    return {"square": number**2}


def test_points_are_kept_and_computed_again_when_they_change(tmp_path):
    wanted = {"a": {"number": 2}, "b": {"number": 3}}
    found = points.compute(squared, wanted, tmp_path)
    assert [each["found"]["square"] for each in found.values()] == [4, 9]
    file = tmp_path / "points" / "a.json"
    kept = json.loads(file.read_text())
    assert {"machine", "versions", "arguments", "found"} <= kept.keys()
    changed = {**kept, "found": {"square": 5}}
    file.write_text(json.dumps(changed))
    with pytest.raises(LogicgenError, match=r"a.json: damaged: remove it"):
        points.compute(squared, wanted, tmp_path)
    file.write_text(json.dumps({**changed, "sha256": points._digest(changed)}))
    assert points.compute(squared, wanted, tmp_path)["a"]["found"] == {"square": 5}
    wanted["a"] = {"number": 4}
    assert points.compute(squared, wanted, tmp_path)["a"]["found"] == {"square": 16}
    file.write_text("{")
    with pytest.raises(LogicgenError, match=r"a.json: damaged: remove it"):
        points.compute(squared, wanted, tmp_path)
    with pytest.raises(LogicgenError, match="a negative number"):
        points.compute(squared, {"c": {"number": -1}}, tmp_path)
    assert not (tmp_path / "points" / "c.json").exists()


def test_prompting_splits_evenly_where_the_sentences_do():
    found = ask(list(SETS["three"]), 2, 100, 0, asdict(LESSON))["completions"]
    assert found["big cat"]["mean"] == pytest.approx(0.5, abs=0.01)
    assert found["small dog"]["least"] > 0.99
    assert found["big cat"]["said"] + found["big dog"]["said"] == 100


def test_a_student_of_few_sentences_is_further_away():
    teacher = random_grammar(2, 2, 4, np.random.default_rng(0), own_words=True).as_dict()
    lesson = {"steps": 200, "starts": 3, "crispness": 0.3}
    few = identify(teacher, 4, 10, lesson, 0)
    all_of = identify(teacher, 4, None, lesson, 0)
    assert np.mean(all_of["divergences"]) < np.mean(few["divergences"])
    by_name = {each["weight"]: each for each in all_of["weights"]}
    grammar = Grammar.of_dict(teacher)
    assert by_name["start -> 1.1"]["teacher"] == grammar.start[0]
    assert by_name["1:1.1 -> 2:2.2"]["teacher"] == grammar.below[0][1, 0]
    assert by_name["2:2.1 says w3"]["teacher"] == grammar.tokens[1][3, 0]


def test_layers_of_different_width_have_no_students():
    tokens = ([[1.0, 1.0]], [[1.0]])
    grammar = {
        "words": ["a"],
        "units": [["x", "y"], ["z"]],
        "start": [0.5, 0.5],
        "tokens": tokens,
        "below": [[[1.0, 1.0]]],
    }
    with pytest.raises(LogicgenError, match="as many units in each layer"):
        identify(grammar, 1, None, {}, 0)


def test_the_map_and_the_comparison_write_their_reports(tmp_path, monkeypatch):
    # Arguments of points carry these into the worker processes.
    monkeypatch.setattr(identification_map_module, "STARTS", 2)
    monkeypatch.setattr(sentences_needed_module, "LESSON", Lesson(starts=2))
    monkeypatch.setattr(sentences_needed_module, "TRAINING", Training(steps=60))
    said = identification_map(
        tmp_path / "map", teachers=2, sizes=[(2, 2, 3), (3, 2, 2)], sentences=[20, None]
    )
    assert said.count("| 2 | 2 | 3 |") == 3
    assert said.count("| 3 | 2 | 2 |") == 1  # three units cannot each have words of their own
    assert (tmp_path / "map" / "map.png").read_bytes().startswith(b"\x89PNG")
    said = sentences_needed(tmp_path / "needed", teachers=2, sentences=[10, 300])
    assert "| inductive | 93 |" in said
    assert (tmp_path / "needed" / "divergence.png").is_file()
    said = controllability(tmp_path / "control", students=2, grammars=3)
    assert "| wrongly, or wrongly not | 0 |" in said


def test_how_many_sentences_are_needed():
    bits = np.array([[1.0, 0.1, 0.01], [0.05, 0.02, 0.01], [1.0, 0.9, 0.8]])
    found = reached(bits, [10, 100, 1000], 0.1)
    assert found == pytest.approx([100, 10, np.inf])
    assert reached(bits, [10, 100, 1000], 10**-0.5)[0] == pytest.approx(10**1.5)
