"""The results in docs/ are what `logicgen study` makes of their records, without computing any."""

from __future__ import annotations

import json
import re
import shutil
from unittest import mock

import pytest

from logicgen import recipes
from logicgen.callbacks import no_bars, no_progress
from logicgen.data.recipe import DataRecipe
from logicgen.study.engine import run_study
from logicgen.study.plan import open_study
from logicgen.study.records import FILE
from tests.study.deciphering_tables import perplexities
from tests.study.made_results import RESULTS, ROOT, on_page_markdown, read_lines, read_sums, sums
from tests.study.page_controls import GUESSES, controls_of, guessed, measured
from tests.study.page_tables import MADE, MARKER, PAGES, marked
from tests.study.study_tables import made, measures, paired, quoted, tables

# `commands` holds records of commands that are no studies.
STUDIES = sorted(
    folder for folder in RESULTS.iterdir() if folder.is_dir() and folder.name != "commands"
)


def test_every_study_has_its_records_and_the_pictures_that_pages_show():
    names = recipes.names("studies", ".toml")
    assert [folder.name for folder in STUDIES] == names
    pages = [*RESULTS.parent.glob("*.md"), *RESULTS.parent.glob("tasks/*.md"), ROOT / "README.md"]
    shown = {
        picture
        for page in pages
        for picture in re.findall(r"results/([\w-]+/[\w-]+\.png)", page.read_text("utf-8"))
    }
    held = {
        path.relative_to(RESULTS).as_posix()
        for folder in STUDIES
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert held == shown | {f"{name}/{FILE}" for name in names}
    committed, listed = sums(RESULTS), read_sums()
    assert {path: committed[path] for path in shown} == {path: listed[path] for path in shown}


@pytest.mark.parametrize("name", ["ltl", "propositional"])
def test_the_study_of_a_shipped_model_has_the_recipe_of_its_card(name):
    """A study loads only weights. So its recipe must repeat what changes the answers."""
    record = read_lines(RESULTS / f"{name}-shipped")[f"{name}-0"]
    measured = record["arguments"]["model"]
    card = json.loads((ROOT / "models" / "weights" / name / "model.json").read_text("utf-8"))
    for key in ("network", "embedding", "loss", "canonical", "answer_form"):
        assert measured.get(key) == card["recipe"].get(key), key


@pytest.fixture(autouse=True, scope="module")
def shared_tables(tmp_path_factory, worker_id):
    """Make the tables of each study once for all processes of a test run."""
    folder = tmp_path_factory.getbasetemp()
    folder = (folder if worker_id == "master" else folder.parent) / "tables"
    folder.mkdir(exist_ok=True)
    with mock.patch("tests.study.study_tables.scratch", return_value=folder):
        yield


def listed(study):
    """Return the committed sum of each file of a study's report, by its path."""
    return {
        path.partition("/")[2]: digest
        for path, digest in read_sums().items()
        if path.startswith(f"{study}/")
    }


@pytest.mark.slow
@pytest.mark.parametrize("study", [folder.name for folder in STUDIES])
def test_tables_follow_from_records(study):
    """`python -m tests.study.made_results` renews the sums of a report that has changed."""
    found, known = sums(made(study)), listed(study)
    assert set(found) == set(known)
    for name, digest in found.items():
        assert name.endswith(".png") or digest == known[name], name


@pytest.mark.slow
@pytest.mark.parametrize("folder", STUDIES, ids=lambda folder: folder.name)
def test_a_study_with_all_records_computes_nothing_and_draws_the_pictures(folder, tmp_path):
    shutil.copy(folder / FILE, tmp_path)
    study = open_study(folder.name)
    assert set(study.trials) == set(read_lines(folder)), "points without a record would be computed"
    shown = {"bars": no_bars, "trial_bar": no_bars, "put": no_progress, "say": no_progress}
    run_study(study, tmp_path, 1, "cpu", **shown)
    assert (tmp_path / FILE).read_bytes() == (folder / FILE).read_bytes()
    (tmp_path / FILE).unlink()
    assert sums(tmp_path) == listed(folder.name), "there is no runs/: none computed"


def test_each_table_has_one_place():
    names = marked()
    assert len(names) == len(set(names))
    assert set(MADE) <= set(names)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_marked_table_is_made_from_the_records(page):
    """`python -m tests.study.page_tables` prints the tables."""
    source = page.read_text(encoding="utf-8")
    made_here, written = (tables(text) for text in (on_page_markdown(source), source))
    assert len(made_here) == len(written) + len(MARKER.findall(source))
    assert all(table.count("\n") > 1 for table in made_here)


def test_a_page_holds_no_table_of_figures_but_the_comparison_with_published_claims():
    for page in PAGES:
        heads = {table.splitlines()[0] for table in tables(page.read_text(encoding="utf-8"))}
        claims = {"| published | here | agrees | control |"}
        assert heads == (claims if page.name == "results.md" else set()), page.name


def test_paired_differences_belong_to_the_same_seed():
    accuracies = {"a": (0.5, 0.6, 0.7), "b": (0.4, 0.4, 0.6)}  # differences 10, 20 and 10 points
    records = {
        f"{point}-{seed}": {
            "point": f"{point}-{seed}",
            "arguments": {"seed": seed},
            "found": {
                "measures": {"test": {"score": {"accuracy": each, "verified_accuracy": each / 2}}}
            },
        }
        for point, values in accuracies.items()
        for seed, each in reversed(list(enumerate(values)))
    }
    with mock.patch("tests.study.study_tables.read_lines", return_value=records):
        line = paired("made-up").splitlines()[-1]
    # Student's t is 4 with two degrees of freedom: p = 1 - 4 / sqrt(18) = 0.057.
    assert line == "| `a` minus `b` | +13.3 (p = 0.057) | +6.7 (p = 0.057) |"


@pytest.mark.slow
def test_every_table_of_accuracies_has_a_control():
    """Controls are columns of the table, or the sentence below it names the best control."""
    for name in marked():
        study = name.partition(" ")[0]
        if name in MADE or study in (GUESSES, "paired"):  # `paired`: differences, not accuracies
            continue
        known = guessed()
        assert all(each in known for each in measured(study)), (study, measured(study))
        assert bool(controls_of(study)) == bool(measured(study)), study
        trainings = [each.training for each in open_study(study).trials.values() if each.training]
        asked = [each for training in trainings for each in training.measures]
        if any(getattr(each.measure, "controls", None) for each in asked):
            assert "control" in quoted(name), study
        # No other measure of answers to problems is left without a control.
        for each in asked:
            own = getattr(each.measure, "controls", None)
            if isinstance(each.data.recipe, DataRecipe) and not own:
                split = getattr(each.measure, "split", None)
                assert (each.data.name.removesuffix("-full"), split) in known, study
    assert "`rule` 100.0%" in controls_of("ltl-baselines")
    assert measured("ltl-temporal-baselines") == []  # it has columns with controls


def test_the_pages_name_every_study():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for name in recipes.names("studies", ".toml"):
        assert f"(results/{name}/results.md)" in text


SHARE = re.compile(r"(\d+\.\d%)( ± \d+\.\d)?(\s\[-?\d+\.\d, -?\d+\.\d\])?")


@pytest.mark.slow
def test_figures_in_the_text_are_those_of_tables():
    """Shares with an interval or a deviation, wherever the text does not say *no record*."""
    known = set()
    for folder in STUDIES:
        report = (made(folder.name) / "results.md").read_text(encoding="utf-8")
        for share, deviation, interval in SHARE.findall(report):
            known |= {share + deviation, share + interval, share + deviation + interval}
    text = "\n\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    for paragraph in re.split(r"\n\n|\n(?=\|)", text):
        if "*no record*" not in paragraph:
            for figure in SHARE.finditer(paragraph):
                if figure[2] or figure[3]:
                    assert re.sub(r"\s", " ", figure[0]) in known, paragraph


def test_positions_of_a_curve_begin_with_one_token_before():
    """The first value is of the token with one token before it."""
    assert perplexities([1, 2, 3, 4], [(1, 1), (2, 3), (4, 4)]) == [2, 2**2.5, 16]
    found = perplexities(
        measures("lexinvariant-text", "learned")["python"]["means"]["counter_bits"], [(1, 7)]
    )
    assert f"{found[0]:.1f}" == "66.3"
