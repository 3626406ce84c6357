"""The results in docs/ are what `logicgen study` makes of their records, without computing any."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from logicgen import shipped
from logicgen.cli.study import run_study
from logicgen.study.open_study import open_study
from logicgen.study.record import FILE
from tests.study.conftest import read_lines

RESULTS = Path(__file__).parents[2] / "docs" / "results"


def test_every_study_has_its_results():
    names = shipped.names("studies", ".toml")
    assert sorted(folder.name for folder in RESULTS.iterdir()) == names
    # A few files each, none for every trial.
    assert len([path for path in RESULTS.rglob("*") if path.is_file()]) < 6 * len(names)


@pytest.mark.parametrize("folder", sorted(RESULTS.iterdir()), ids=lambda folder: folder.name)
def test_tables_and_pictures_follow_from_records(folder, tmp_path):
    shutil.copy(folder / FILE, tmp_path)
    study = open_study(folder.name)
    assert set(study.points) == set(read_lines(folder)), "points without a record would be computed"
    run_study(study, tmp_path, 1, "cpu")
    made = sorted(path.name for path in tmp_path.iterdir())
    assert made == sorted(path.name for path in folder.iterdir()), (
        "there is no runs/: none computed"
    )
    for name in made:
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes(), name


QUOTED = [
    *("propositional-35", "copying-positions", "ltl-positions", "ltl-baselines", "perturbation"),
    *("ltl-35", "propositional-baselines", "ltl-100-symbols", "propositional-100-symbols"),
    *("ablation", "stream-ablation", "copying-baselines", "small-data", "propositional-positions"),
    *(
        "lexinvariant-deciphering",
        "lexinvariant-letters",
        "acceptance-ltl",
        "acceptance-methods",
        "acceptance-propositional",
        "propositional-targets",
    ),
]


@pytest.mark.parametrize("name", QUOTED)
def test_the_page_of_results_quotes_the_tables_of_studies(name):
    page = (RESULTS.parent / "results.md").read_text(encoding="utf-8").splitlines()
    text = (RESULTS / name / "results.md").read_text(encoding="utf-8")
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len(table) > 2
    assert set(table) <= set(page)
