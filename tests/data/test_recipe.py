"""Recipes: what is wrong with one is said with file, key and remedy."""

from __future__ import annotations

import pytest

from logicgen import recipes
from logicgen.data.recipe import DataRecipe
from logicgen.errors import LogicgenError

GOOD = """
task = "propositional"
[problem]
operators = { "!" = 1, "&" = 1 }
[region]
symbols = [1, 3]
length = [1, 9]
[sizes]
train = 80
validation = 10
test = 10
[grid]
symbols = [1, 4]
length = [1, 9]
per_cell = 20
"""


def recipe(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return DataRecipe.read(str(path))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "symbols = [1, 3]",
            "symbol = [1, 3]",
            r"unknown key 'region.symbol'; did you mean symbols",
        ),
        ("symbols = [1, 3]", "symbols = [3, 1]", r"region.symbols: the range \[3, 1\] is empty"),
        ("symbols = [1, 3]", "symbols = [1, 3, 5]", "region.symbols"),
        ("symbols = [1, 3]", "", "'region.symbols' is missing"),
        ("length = [1, 9]\n[sizes]", "length = [0, 9]\n[sizes]", "region.length.0: .* not 0"),
        ("train = 80", 'train = "many"', "sizes.train: .* not 'many'"),
        ("train = 80", "train = true", "sizes.train: .* not True"),
        ("symbols = [1, 3]", 'symbols = ["1", 3]', "region.symbols.0: .* not '1'"),
        ("symbols = [1, 4]", "symbols = [1, 500000]", "grid: 4,500,000 cells"),
        ('"&" = 1', '"U" = 1', "problem: 'U' is not a token of propositional"),
        ("[problem]", 'solver = "pisat"\n[problem]', "solver: .*did you mean pysat"),
        ("[problem]", 'verifier = "x"\n[problem]', "verifier: no solver is called 'x'"),
        ("train = 80", "train = -1", "sizes.train: .* greater than or equal to 0"),
        ("per_cell = 20", "per_cell = 0", "grid.per_cell"),
        ('"&" = 1', '"&" = -1', "problem.operators.&"),
        ("[problem]", "[problem]\ncolour = 1", "unknown key 'problem.colour'.*operators"),
        (
            'task = "propositional"',
            'task = "proposition"',
            "task: no task .* did you mean proposit",
        ),
        ('task = "propositional"', "", "'task' is missing"),
        ('task = "propositional"', 'task = "propositional"\nnames = "odd"', "names: .*perturbed"),
        ("[sizes]", "[sizes", "not TOML"),
        ("[problem]", 'unsatisfiable = "0.1"\n[problem]', "unsatisfiable: .* not '0.1'"),
        ("[problem]", "unsatisfiable = 1.5\n[problem]", "unsatisfiable: .* less than or equal"),
        ("[problem]", "unsatisfiable = 0.1\n[problem]", "task propositional has no answer for an"),
    ],
)
def test_bad_recipes_are_refused(tmp_path, old, new, message):
    assert old in GOOD
    with pytest.raises(LogicgenError, match=message) as error:
        recipe(tmp_path, GOOD.replace(old, new, 1))
    assert str(error.value).startswith(str(tmp_path / "mine.toml"))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        (
            "lookup-128",
            "[region]",
            "[problem]\nkeys = 200\n[region]",
            "region: 200 different keys .* only 128: raise symbols or lower problem.keys",
        ),
        ("lookup-mini", "step = 3\nbalance", "balance", "region: no look-up .* 9 tokens, but 5, 8"),
        ("lookup-mini", "[2, 16]", "[1, 16]", "grid: 1 different key .* 2 symbols, .* only 1"),
        (
            "lookup-128-characters",
            "[grid]\nsymbols = [128, 128]",
            "[grid]\nsymbols = [128, 200]",
            "grid: problem.frequencies = 'characters' has 128 symbols, fewer than 200",
        ),
        ("permutation-mini", "size = 3", "size = 9", "region: no permutation .* has 12 to 19 tok"),
        ("permutation-mini", "[2, 8]", "[0, 8]", "region: there are no symbols to permute"),
        ("copying-mini", "task", 'names = "drawn"\ntask', "names: .* copying does not: give"),
    ],
)
def test_what_cannot_exist_is_refused(tmp_path, name, old, new, message):
    path = tmp_path / "mine.toml"
    good = recipes.find("datasets", ".toml", name).read_text()
    assert old in good
    path.write_text(good.replace(old, new, 1))
    with pytest.raises(LogicgenError, match=message) as error:
        DataRecipe.read(str(path))
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


def test_a_corner_that_cannot_exist_is_left_empty(tmp_path):
    """Few symbols in long problems, where every number and every length exists somewhere."""
    assert recipe(
        tmp_path,
        'task = "lookup"\n[problem]\nrepeat = false\n[region]\nsymbols = [2, 9]\n'
        "length = [5, 20]\nstep = 3\n[sizes]\ntrain = 9",
    )


def test_patterns_take_no_operators(tmp_path):
    path = tmp_path / "patterns.toml"
    good = recipes.find("datasets", ".toml", "ltl-patterns").read_text()
    path.write_text(good.replace('"patterns"', '"patterns"\ndistribution = "tree"'))
    with pytest.raises(LogicgenError, match="distribution cannot be given with source patterns"):
        DataRecipe.read(str(path))


def test_unknown_names_and_files():
    with pytest.raises(LogicgenError, match="did you mean copying-mini"):
        DataRecipe.read("copying-mni")
    with pytest.raises(LogicgenError, match="no such file"):
        DataRecipe.read("nowhere/some.toml")


def test_resizing_keeps_proportions_and_thins_the_grid(tmp_path):
    good = recipe(tmp_path, GOOD)
    small = good.resized(11)
    assert small.sizes.model_dump() == {"train": 9, "validation": 1, "test": 1}
    assert small.grid.per_cell == 2
    large = good.resized(1000)
    assert sum(large.sizes.model_dump().values()) == 1000
    assert large.grid.per_cell == 20
