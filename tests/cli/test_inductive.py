"""`logicgen measure grammar`, and the studies of inductive Transformers."""

from __future__ import annotations

import shutil

import pytest

from logicgen.experiments.teachers import load_grammar
from logicgen.productions import read_grammar
from tests.cli.test_commands import refused, run

GRAMMAR = ("measure", "grammar")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a data set and a model that has learnt it."""
    folder = tmp_path_factory.mktemp("a folder")
    for arguments in (
        ("generate", "three-sentences", "-o", folder / "data"),
        ("train", "inductive", "--data", folder / "data", "-o", folder / "run"),
    ):
        result = run(*arguments)
        assert result.returncode == 0, result.stderr
    return folder


@pytest.mark.slow
def test_show_prints_the_rules_and_draws_them(trained, tmp_path):
    result = run(*GRAMMAR, "show", trained / "run", "-o", tmp_path)
    assert result.returncode == 0, result.stderr
    assert "emits small 1.000; then dog 1.000" in result.stdout
    assert (tmp_path / "weights.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "weights.svg").read_text()[:1000]


def test_cut_takes_one_rule_out_and_generate_never_says_it_again(trained):
    result = run(*GRAMMAR, "cut", trained / "run", "big", "dog")
    assert result.returncode == 0, result.stderr
    assert "big dog" in result.stdout
    left = trained / "run" / "cut-big-dog"
    assert (left / "cut.png").read_bytes().startswith(b"\x89PNG")
    said = run(*GRAMMAR, "generate", left, "--prompt", "big", "--count", 200)
    assert said.returncode == 0, said.stderr
    assert set(said.stdout.splitlines()) == {"big cat"}
    before = run(*GRAMMAR, "generate", trained / "run", "--prompt", "big", "--count", 200)
    counts = [before.stdout.splitlines().count(each) for each in ("big cat", "big dog")]
    assert sum(counts) >= 198
    assert min(counts) > 50
    exact = run(*GRAMMAR, "generate", trained / "run", "--prompt", "_ cat", "--exact")
    assert exact.stdout.splitlines()[0].endswith("big cat")
    shown = run(*GRAMMAR, "show", left)
    assert "big (active in" in shown.stdout


def test_the_model_is_evaluated_and_completes_as_any_other(trained):
    result = run("evaluate", trained / "run", "--data", trained / "data")
    assert result.returncode == 0, result.stderr
    assert "bits above the truth" in result.stdout
    said = run("complete", trained / "run", "<start> small", "--count", 5)
    assert said.stdout.count('"dog"') == 5, said.stderr


def test_what_is_wrong_is_named(trained, tmp_path):
    model = trained / "run"
    refused(run(*GRAMMAR, "cut", model, "small", "cat"), "no connection small -> cat")
    refused(run(*GRAMMAR, "cut", model, "big", "dgo"), "did you mean dog?")
    refused(run(*GRAMMAR, "generate", model, "--prompt", "bgi"), "'bgi'", "did you mean big?")
    refused(run(*GRAMMAR, "generate", model, "--prompt", "big cat dog"), "3 words", "at most 2")
    refused(run(*GRAMMAR, "show", tmp_path), "no trained model, no grammar file")
    refused(identify("teacher=automaton-5"), "another task")
    file = tmp_path / "g.toml"
    file.write_text("[[layer]]\na = { tokens = { x = 0.5 } }\n")
    refused(run(*GRAMMAR, "show", file), "g.toml: layer 1: unit a: tokens: sums to 0.5")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("precious")
    refused(run(*GRAMMAR, "cut", model, "big", "cat", "-o", tmp_path / "full"), "thesis.txt")
    refused(run(*GRAMMAR, "cut", trained / "data", "big", "cat", "-o", trained / "data"), "holds")
    shutil.copy(trained / "data" / "grammar.toml", tmp_path / "grammar.toml")
    mine = (tmp_path / "grammar.toml").read_bytes()
    cut = run(*GRAMMAR, "cut", "grammar.toml", "big", "cat", "-o", ".", cwd=tmp_path)
    refused(cut, "holds")
    assert (tmp_path / "grammar.toml").read_bytes() == mine
    refused(run(*GRAMMAR, "cut", model, "big", "cat", "-o", file), "cannot be written")
    refused(identify("teacher=big-cat-smal-dog"), "did you mean big-cat-small-dog?")
    data = run("generate", "production-3", "-o", tmp_path / "longer")
    assert data.returncode == 0
    refused(
        run("train", "inductive", "--data", tmp_path / "longer", "-o", tmp_path / "r"),
        "sentences have 3 words, and the model has 2 layers",
    )
    refused(
        run("evaluate", model, "--data", tmp_path / "longer"),
        "give a corpus of the same recipe",
    )


def test_grammar_files_and_data_sets_are_shown_as_well(trained, tmp_path):
    file = tmp_path / "g.toml"
    shutil.copy(trained / "data" / "grammar.toml", file)
    for what in (file, trained / "data"):
        grammar, least = load_grammar(what)
        assert least == 0
        assert grammar.words == read_grammar(file).words
        assert run(*GRAMMAR, "show", what, "-o", tmp_path).returncode == 0


def identify(*changes, out=None):
    """Run the study of identifiability with other settings."""
    options = [option for each in changes for option in ("--set", each)]
    return run("study", "inductive-identify", *options, *(["-o", out] if out else []))


@pytest.mark.slow
def test_identify_says_how_far_students_are_from_their_teacher(tmp_path):
    few = ("students=5", "lesson.steps=300")
    result = identify(*few, out=tmp_path / "i")
    assert result.returncode == 0, result.stderr
    assert "| that found the teacher | 5 |" in result.stdout
    lines = (tmp_path / "i" / "weights.csv").read_text().splitlines()
    assert "1:big -> 2:cat,1.0," in "\n".join(lines)
    again = identify(*few, out=tmp_path / "i")  # from what is there
    assert again.stdout == result.stdout
    name = "`logicgen study inductive-identify --set students=5 --set lesson.steps=300`"
    assert name in (tmp_path / "i" / "results.md").read_text()

    # Other arguments belong into another folder.
    refused(
        identify(*few, "seed=3", out=tmp_path / "i"), "students: made with another recipe", "-o"
    )
    other = identify(*few, "seed=3", out=tmp_path / "j")
    assert other.returncode == 0, other.stderr
    assert "| that found the teacher | 5 |" in other.stdout
    assert "--set seed=3`" in (tmp_path / "j" / "results.md").read_text()


def test_changes_that_are_wrong_are_refused():
    refused(identify("students"), "--set: 'students': give KEY=VALUE")
    refused(identify("studnts=5"), "unknown key 'studnts'; did you mean students")
    refused(identify("lesson.steps=many"), "inductive-identify.toml: lesson.steps", "not 'many'")
    refused(identify("lesson=[1"), "--set: lesson=[1: not TOML")
    refused(identify("students.one=1"), "students is a value, not a table with keys")


def test_a_point_that_fails_is_said_and_no_report_is_written(tmp_path):
    grammar = """
    [[layer]]
    x = { tokens = { a = 1.0 }, below = { z = 1.0 } }
    y = { tokens = { b = 1.0 }, below = { z = 1.0 } }

    [[layer]]
    z = { tokens = { a = 1.0 } }
    """
    (tmp_path / "g.toml").write_text(grammar)
    said = refused(
        identify(f"teacher={tmp_path / 'g.toml'}", out=tmp_path / "out"),
        "1 of 1 trials failed",
    )
    assert "students failed: the layers of this grammar have different numbers of units" in said
    assert not (tmp_path / "out" / "results.md").exists()
