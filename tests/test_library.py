"""What the command line does, from Python."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import logicgen
from logicgen import library, recipes
from logicgen.errors import LogicgenError

# No `__main__` guard: whatever starts workers must not run the script again.
SCRIPT = """
import logicgen
data = logicgen.generate("propositional-mini", "data", size=200, workers=2)
print(data.splits["train"], logicgen.load_dataset("data").name)
run = logicgen.train("propositional-symbol-invariant", "data", "run", steps=2, device="cpu")
print(run, type(logicgen.load_model(run, "cpu")).__name__)
scores = logicgen.evaluate(run, "data", split="test", limit=1, workers=2, device="cpu")
print(scores["overall"]["examples"])
print(logicgen.score("ltl", ["a U b"], ["<answer>{b}</answer>"], workers=2)[0].reward)
print(logicgen.solve("ltl", "a U b", timeout=60).witness)
"""


@pytest.mark.slow
@pytest.mark.needs("torch", "matplotlib")
@pytest.mark.parametrize("way", ["script", "input"])
def test_all_of_it_runs_without_a_main_guard(way, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    arguments = ["script.py"] if way == "script" else ["-"]
    done = subprocess.run(
        [sys.executable, *arguments], input=SCRIPT, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stdout.splitlines() == [
        "198 propositional-mini",
        "run SymbolInvariantModel",
        "1",
        "1.0",
        "{b}",
    ], done.stderr
    assert (tmp_path / "run" / "test" / "heatmap.png").is_file()


def test_no_package_has_the_name_of_a_function():
    there = {path.stem for path in Path(logicgen.__file__).parent.iterdir()} - {"__init__"}
    assert not there & set(logicgen.__all__)
    judged = logicgen.score("propositional", ["a"], ["<answer>a=1</answer>"])
    assert judged[0].reward == 1.0


def test_every_function_is_documented_and_typed():
    for name in logicgen.__all__:
        thing = getattr(library, name, None) or getattr(logicgen, name)
        assert inspect.getdoc(thing), name
        if inspect.isfunction(thing):
            assert inspect.signature(thing).return_annotation is not inspect.Signature.empty


@pytest.mark.slow
def test_a_language_model_is_loaded_like_any_other(tmp_path):
    recipe = tmp_path / "few.toml"
    text = recipes.find("datasets", ".toml", "automaton-5").read_text()
    recipe.write_text(re.sub(r"(train|validation|test) = [\d_]+", r"\1 = 20", text))
    logicgen.generate(recipe, tmp_path / "data", workers=1)
    run = logicgen.train("language-trigram", tmp_path / "data", tmp_path / "run")
    assert type(logicgen.load_model(run, "cpu")).__name__ == "NGramModel"
    scores = logicgen.evaluate(run, tmp_path / "data", tmp_path / "scores", limit=4, context=16)
    assert scores["overall"]["perplexity"] > 1


def test_errors_are_one_line(tmp_path):
    with pytest.raises(LogicgenError, match="no-such"):
        logicgen.generate("no-such", tmp_path / "data")
    with pytest.raises(LogicgenError):
        logicgen.train("no-such", tmp_path, tmp_path / "run")
    with pytest.raises(AttributeError, match="no attribute 'sovle'"):
        logicgen.sovle  # noqa: B018


def test_formulas_go_to_sympy_and_back():
    import sympy

    a, b = sympy.symbols("a b")
    formula = logicgen.task("propositional").read("!(a & b)")
    assert sympy.simplify_logic(logicgen.to_sympy(formula)) == ~a | ~b
    assert logicgen.from_sympy(a >> b) == logicgen.task("propositional").read("a -> b")


def test_what_there_is_to_use_is_listed():
    assert {"solve", "task", "Scorer", "evaluate"} <= set(dir(logicgen))
