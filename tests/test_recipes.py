"""TOML files of any content: tables, or one clear error."""

from __future__ import annotations

import re

import pytest

from logicgen import recipes
from logicgen.automata.automaton_file import read_automaton
from logicgen.data.recipe import DataRecipe
from logicgen.errors import LogicgenError
from logicgen.model.recipe import read_model_recipe
from logicgen.productions.grammar_file import read_grammar
from logicgen.recipes import read_toml
from logicgen.study.plan import open_study

HOSTILE = {
    "deep list": ("x = " + "[" * 3000 + "]" * 3000, "nested more than 100 deep"),
    "deep table": ("x = " + "{a=" * 3000 + "1" + "}" * 3000, "nested more than 100 deep"),
    "deep key": ("x." * 3000 + "y = 1", "x: nested more than 100 deep"),
    "deep header": (f"[{'x.' * 3000}y]", "x: nested more than 100 deep"),
    "decimal": ("y = 1\nx = " + "1" * 5000, "line 2: a whole number that is too large"),
    "hexadecimal": ("[a]\nx = 0x" + "f" * 5000, r"a\.x: a whole number that is too large"),
    "in a list": (f"x = [1, {2**63}]", r"x\.1: a whole number that is too large; TOML allows"),
    "bytes": (b"x = '\xff'", "not UTF-8 at byte 5"),
    "NUL": ("x = '\0'", "not TOML"),
    "long value": ("task = 1\nname = '" + "x" * 10**6 + "'", "name|task"),
    "long key": ("x" * 10**6 + " = 1", "unknown key 'xxx|missing|task"),
}


@pytest.mark.parametrize(("text", "reason"), HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize(
    "read", [DataRecipe.read, read_model_recipe, open_study, read_automaton, read_grammar]
)
def test_hostile_files_are_refused_in_one_line(tmp_path, read, text, reason):
    path = tmp_path / "hostile.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(LogicgenError, match=re.escape(str(path))) as caught:
        read(str(path))
    said = str(caught.value)
    assert "\n" not in said
    assert len(said) <= 2000
    if read is DataRecipe.read:
        caught.match(reason)


def test_the_largest_numbers_and_nests_that_are_read(tmp_path):
    path = tmp_path / "some.toml"
    path.write_text(f"x = [{2**63 - 1}, {-(2**63)}]\ny = {'[' * 99}1{']' * 99}\n")
    assert read_toml(path)["x"] == [2**63 - 1, -(2**63)]


@pytest.mark.parametrize(
    "name",
    ["x" * 300, "x" * 300 + ".toml", "./" + "x" * 5000, "a\0b", "a\0b.toml", "x" * 10**6 + "/"],
)
def test_names_that_no_file_can_have(name):
    with pytest.raises(LogicgenError, match=r"no data-set recipe is called|no such file") as caught:
        recipes.find("datasets", ".toml", name)
    assert len(str(caught.value)) < 2000


def test_studies_in_folders_are_found_by_their_names():
    paths = list(recipes.folder("studies").glob("*/*.toml"))
    assert sorted(path.stem for path in paths) == recipes.names("studies", ".toml")
    for path in paths:
        assert recipes.find("studies", ".toml", path.stem) == path
