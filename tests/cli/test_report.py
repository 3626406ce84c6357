"""`logicgen report` and `logicgen list --html`."""

from __future__ import annotations

import shutil

import pytest

from tests.cli.test_commands import refused, run
from tests.data.data_sets import make
from tests.report.pages import LTL_TRIPLES, evaluated, held_by


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "set"
    make(folder)
    return folder


def test_a_report_of_an_evaluation_and_where_it_is(tmp_path):
    folder = evaluated(tmp_path / "run" / "grid", "ltl", LTL_TRIPLES)
    result = run("report", folder)
    assert result.returncode == 0, result.stderr
    assert f"report: {folder / 'report.html'}" in result.stderr
    first = (folder / "report.html").read_bytes()
    assert run("report", folder, "-o", tmp_path / "a page.html", "--workers", 2).returncode == 0
    assert (tmp_path / "a page.html").read_bytes() == first
    refused(run("report", tmp_path / "run"), "no predictions.parquet", f"did you mean {folder}?")


def test_a_report_of_a_data_set_does_no_harm_to_it(data, tmp_path):
    folder = tmp_path / "set"
    shutil.copytree(data, folder)
    assert run("report", folder).returncode == 0
    assert (folder / "report.html").is_file()
    # The data can still be opened and are still whole: the same recipe makes nothing anew.
    make(folder)
    assert run("report", folder, "-o", tmp_path / "again.html").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nothing",), ["nothing", "no such folder"]),
        ((".",), ["neither an evaluation", "nor a data set", "logicgen evaluate or"]),
        ((".", "-o", "page.txt"), ["page.txt", "ends in .html"]),
        ((".", "-o", "page.html", "--workers", "0"), ["--workers"]),
    ],
)
def test_what_has_no_report(tmp_path, arguments, words):
    refused(run("report", *arguments, cwd=tmp_path), *words)


def test_a_report_of_a_corpus(tmp_path):
    corpus = tmp_path / "corpus"
    assert run("generate", "big-cat-small-dog", "-o", corpus).returncode == 0
    assert run("report", corpus).returncode == 0
    page = held_by(corpus / "report.html")
    assert {*page["rows"]["text"]} == {"<start> big cat", "<start> small dog"}
    assert {*page["rows"]["split"]} == {"train", "validation", "test"}
    # It is still whole, and made no more.
    assert run("generate", "big-cat-small-dog", "-o", corpus).returncode == 0


def test_a_damaged_evaluation_is_one_line(tmp_path):
    folder = evaluated(tmp_path / "grid", "ltl", LTL_TRIPLES)
    path = folder / "predictions.parquet"
    path.write_bytes(path.read_bytes()[:200])
    said = refused(run("report", folder), "damaged", "run logicgen evaluate again")
    assert len(said.strip().splitlines()) == 1
    refused(run("report", evaluated(tmp_path / "empty", "ltl", [])), "holds no answers")


def test_a_page_that_cannot_be_written_is_one_line(tmp_path):
    folder = evaluated(tmp_path / "grid", "ltl", LTL_TRIPLES)
    refused(run("report", folder, "-o", "/proc/nowhere/page.html"), "/proc/nowhere")


@pytest.mark.slow
def test_the_gallery_has_every_recipe(tmp_path):
    from logicgen import recipes

    path = tmp_path / "gallery.html"
    result = run("list", "--html", path)
    assert result.returncode == 0, result.stderr
    text = path.read_text()
    for name in recipes.names("datasets", ".toml"):
        assert f'<th scope="row">{name}</th>' in text
    refused(run("list", "tasks", "--html", path), "leave KIND out")
