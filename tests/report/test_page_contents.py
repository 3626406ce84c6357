"""What pages hold: sizes, samples, odd and damaged input, the live reports."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet
import pytest

from logicgen.data.opening import load_dataset
from logicgen.data.opening import make as make_data
from logicgen.data.recipe import DataRecipe
from logicgen.errors import LogicgenError
from logicgen.measures.evaluation import (
    read_predictions,
    write_evaluation_page,
    write_predictions,
)
from logicgen.measures.evaluation_page import evaluation_document
from logicgen.report.dataset_page import dataset_document, write_dataset_page
from logicgen.report.document import rendered
from logicgen.report.rows import explanations, shown_answers
from logicgen.tasks import load_task
from tests.data.data_sets import make
from tests.report.live_reports import FOLDER, renewed
from tests.report.pages import LTL_TRIPLES, evaluated, held_by, keys


def test_of_many_answers_the_wrong_ones_come_first_and_the_page_says_so(tmp_path, visit):
    triples = [LTL_TRIPLES[i % len(LTL_TRIPLES)] for i in range(60)]
    folder = evaluated(tmp_path / "many", "ltl", triples)
    table, about = read_predictions(folder)
    wrong = sum(v not in ("exact", "correct") for v in table["verdict"].to_pylist())
    document = evaluation_document(table, about, most=wrong + 3)
    verdicts = document.data["rows"]["verdict"]
    assert len(verdicts) == wrong + 3
    assert sum(v in ("exact", "correct") for v in verdicts) == 3
    path = tmp_path / "some.html"
    path.write_text(rendered(document))
    page = visit(path)
    assert page.inner_text("#found") == (
        f"{wrong + 3} examples of {wrong + 3} on this page, from 60: first the answers that"
        " are not right, then right answers at random"
    )
    # The map counts all.
    counted = page.evaluate(
        "[...document.querySelectorAll('.map td button')].map(b => b.ariaLabel)"
    )
    assert sum(int(re.search(r"(\d+) examples", each)[1]) for each in counted) == 60


@pytest.mark.slow
def test_an_example_takes_at_most_500_bytes(tmp_path):
    make(tmp_path / "data", {
        "task": "ltl", "solver": None, "verifier": None, "grid": None,
        "problem": {"operators": {"1": 1, "0": 1, "!": 1, "&": 1, "X": 1, "U": 1}},
        "region": {"symbols": [1, 10], "length": [40, 50], "balance": "length"},
        "sizes": {"train": 600},
    })  # fmt: skip
    document = dataset_document(load_dataset(tmp_path / "data"))
    bare = len(rendered(replace(document, data={**document.data, "rows": {"key": []}})))
    assert (len(rendered(document)) - bare) / 600 < 500


def test_difficulty_can_be_filtered(tmp_path):
    make(tmp_path / "data", {
        "task": "ltl", "solver": None, "verifier": None, "grid": None,
        "problem": {"source": "obligations"},
        "region": {"symbols": [2, 2], "length": [14, 16], "balance": "length"},
        "sizes": {"train": 12},
    })  # fmt: skip
    data = dataset_document(load_dataset(tmp_path / "data")).data
    facets = {each["name"] for each in data["columns"] if each.get("facet")}
    assert {"positions", "depth", "controls"} <= facets
    rows = load_dataset(tmp_path / "data").table("train").to_pylist()
    by_row = {row: place for place, row in enumerate(data["rows"]["row"])}
    for number, row in enumerate(rows):
        assert data["rows"]["positions"][by_row[number]] == row["positions"]
        assert data["rows"]["controls"][by_row[number]] == (row["controls"] or "no control")


def test_what_is_no_evaluation_is_refused(tmp_path, reports):
    with pytest.raises(LogicgenError, match="holds no answers"):
        write_evaluation_page(evaluated(tmp_path / "empty", "ltl", []))
    with pytest.raises(LogicgenError, match=r"no predictions\.parquet; run logicgen evaluate"):
        write_evaluation_page(tmp_path)
    cut = tmp_path / "cut"
    shutil.copytree(reports["ltl"].parent, cut)
    whole = (cut / "predictions.parquet").read_bytes()
    (cut / "predictions.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(LogicgenError, match="damaged, or of another version"):
        write_evaluation_page(cut)
    older = pa.table({"problem": ["a"], "prediction": ["a"]})
    pa.parquet.write_table(older, cut / "predictions.parquet")
    with pytest.raises(LogicgenError, match="damaged, or of another version"):
        write_evaluation_page(cut)


def test_data_whose_cells_have_several_lengths(tmp_path):
    recipe = DataRecipe.read("lookup-mini").resized(300)
    make_data(recipe, tmp_path / "data", name="lookup-mini", workers=1)
    path = write_dataset_page(load_dataset(tmp_path / "data"), tmp_path / "page.html")
    maps = held_by(path)["maps"]
    assert {cells["title"] for cells in maps} >= {"train: examples", "grid: examples"}
    assert all(" planned" in says for cells in maps for *_, says in cells["cells"])
    (tmp_path / "data" / "cells.csv").write_text("split,symbols,length\ntrain,x,8-10\n")
    with pytest.raises(LogicgenError, match=r"cells\.csv: damaged"):
        write_dataset_page(load_dataset(tmp_path / "data"), path)


@pytest.mark.parametrize(
    ("task", "problem", "answer", "verdict"),
    [
        ("ltl", "& a ! a", "0", "incorrect"),
        ("ltl", "a", "{ & a ! a }", "correct"),
        ("propositional", "a", "a 1 a 0", "correct"),
        ("propositional", "& & & constructor __proto__", "a 1", "correct"),
        ("lookup", "a -> b c ->", "b", "unknown"),
    ],
)
def test_a_verdict_that_the_solver_contradicts_costs_no_page(task, problem, answer, verdict):
    ((shown, found),) = explanations(load_task(task), [(problem, answer, verdict)])
    assert shown
    assert found is None or len(found) == 5


def test_no_answer_is_not_explained_as_the_empty_assignment():
    task, problem = load_task("propositional"), "| a ! a"
    none, empty = explanations(task, [(problem, "", "invalid"), (problem, "", "correct")])
    assert none == ("", ["no answer was found", "", None, None, ""])
    assert empty[0] == "1"
    assert shown_answers(task, ["", ""], ["invalid", "correct"]) == ["", "1"]
    assert shown_answers(task, [""]) == ["1"]


def test_several_embedding_seeds_are_answers_not_examples(tmp_path, visit):
    folder = evaluated(tmp_path / "seeds", "ltl", LTL_TRIPLES)
    table, _ = read_predictions(folder)
    one = pa.array([1] * len(table), pa.int32())
    other = table.set_column(table.schema.get_field_index("embedding_seed"), "embedding_seed", one)
    both = pa.concat_tables([table, other.cast(table.schema)])
    write_predictions(both, folder)
    page = visit(write_evaluation_page(folder))
    assert page.inner_text("#found") == "12 answers of 12"
    assert keys(page)[-1] == "5"
    cell = page.locator('.map td button[data-place="2 7"]')
    assert "2 examples, 4 answers: incorrect 4" in cell.get_attribute("aria-label")
    page.evaluate("location.hash = 'example=5-1'")
    page.locator("#example h3:text-is('Example 5-1')").wait_for()
    write_predictions(other.cast(table.schema), folder)  # seed 1 without seed 0
    with pytest.raises(LogicgenError, match="damaged"):
        write_evaluation_page(folder)


def test_pages_hold_what_is_said_of_them(reports):
    for path in reports.values():
        data = held_by(path)
        lengths = {len(values) for values in data["rows"].values()}
        assert len(lengths) == 1
        named = {column["name"] for column in data["columns"]}
        assert named <= set(data["rows"])
        assert {
            name
            for a in data["answers"]
            for k, name in a.items()
            if k in ("text", "verdict", "explanation", "tokens")
        } <= set(data["rows"])


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.html")), ids=lambda path: path.stem)
def test_live_reports_of_the_documentation_are_of_this_version(path, visit):
    text = path.read_text(encoding="utf-8")
    assert text == renewed(text), "python -m tests.report.live_reports writes them anew"
    assert visit(path).locator("h1").count() == 1
