"""Training, evaluating and the demo from the command line, with what can go wrong."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from logicgen import library
from logicgen.cli import demo as demo_command
from logicgen.cli.evaluate import decoding_of
from logicgen.errors import LogicgenError
from logicgen.nn.samples import Sampling
from tests.cli.test_commands import appeared, interrupted, refused, run
from tests.conftest import save_no_pictures

pytestmark = pytest.mark.needs("torch", "matplotlib")


def quick_demo(folder):
    result = run("demo", "--quick", "--train", "-o", folder)
    assert result.returncode == 0, result.stderr
    return folder, result


@pytest.fixture(scope="module")
def whole_demo(tmp_path_factory):
    """A finished quick demo: data sets, runs of models that are trained, and evaluations."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo_command, "QUICK_STEPS", 5)
        return quick_demo(tmp_path_factory.mktemp("a folder") / "demo")


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The two parts of a quick demo that later tests use: one task of strings, one of logic."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo_command, "PARTS", demo_command.PARTS[-1:])
        patch.setattr(demo_command, "TRAINED", demo_command.TRAINED[:1])
        patch.setattr(demo_command, "QUICK_STEPS", 3)
        save_no_pictures(patch)
        return quick_demo(tmp_path_factory.mktemp("a folder") / "demo")


@pytest.mark.slow
def test_the_demo_leaves_pictures_tables_and_numbers(whole_demo):
    folder, result = whole_demo
    results = json.loads((folder / "results.json").read_text())
    models = {
        "propositional-35": "propositional",
        "ltl-35": "ltl",
        "propositional-rare": "propositional",
        "ltl-temporal": "ltl",
        "propositional-100-hard": "propositional",
        "ltl-100-hard": "ltl",
        "copying-20": "copying-interchangeable",
        "propositional-mini": "propositional-interchangeable",
        "ltl-mini": "ltl-interchangeable",
    }
    assert list(results) == list(models)
    literature = ("propositional-35", "ltl-35")
    table = (folder / "results.md").read_text()
    for name, summary in results.items():
        split = "test" if name.endswith("-100-hard") else "grid"
        scores = folder / name / models[name] / split
        shipped = models[name] in ("propositional", "ltl")
        picture = "difficulty" if shipped and name not in literature else "heatmap"
        assert (scores / f"{picture}.png").read_bytes().startswith(b"\x89PNG")
        assert (scores / f"{picture}.svg").is_file()
        assert json.loads((scores / "summary.json").read_text()) == summary
        assert f"]({name}/{models[name]}/{split}/{picture}.png)" in table
        assert str(scores / f"{picture}.png") in result.stdout
        assert ("verified_accuracy" in summary["overall"]) == shipped
        assert (f"| {name}, verified |" in table) == ("verified_accuracy" in summary["overall"])
    for line in result.stdout.splitlines():
        if line.startswith("  logicgen solve"):
            break
    else:
        pytest.fail("the demo does not say what to try next")


@pytest.mark.slow
def test_the_demo_goes_on_where_it_stopped(whole_demo, monkeypatch):
    folder, _ = whole_demo
    monkeypatch.setattr(demo_command, "PARTS", demo_command.PARTS[-2:])
    again = run("demo", "--quick", "--train", "-o", folder)
    assert again.returncode == 0, again.stderr


def test_evaluate_says_what_it_found_and_repeats_over_embedding_seeds(demo, tmp_path):
    folder, _ = demo
    data, model = folder / "copying-20" / "data", folder / "copying-20" / "copying-interchangeable"
    result = run(
        *("evaluate", model, "--data", data, "--split", "test", "--embedding-seeds", 2),
        *("-o", tmp_path / "e", "--limit", 5),
    )
    assert result.returncode == 0, result.stderr
    assert re.search(r"overall +[\d.]+% (± [\d.]+ )?\[[\d.]+, [\d.]+\] right of 5", result.stdout)
    for name in ("heatmap", "symbols", "lengths"):
        assert str(tmp_path / "e" / f"{name}.png") in result.stderr
        assert (tmp_path / "e" / f"{name}.png").is_file()
    summary = json.loads((tmp_path / "e" / "summary.json").read_text())
    assert summary["embedding_seeds"] == 2
    assert summary["overall"]["examples"] == 5


def test_compare(demo, undrawn, tmp_path):
    folder, _ = demo
    data, model = folder / "copying-20" / "data", folder / "copying-20" / "copying-interchangeable"
    for name in ("a", "b"):
        made = run("evaluate", model, "--data", data, "--limit", 20, "-o", tmp_path / name)
        assert made.returncode == 0, made.stderr
    result = run("report", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "out")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "| right answers | inside | more symbols | other lengths | all |"
    assert [line.split(" | ")[0] for line in lines[3:5]] == [
        f"| {tmp_path / 'a'}",
        f"| {tmp_path / 'b'}",
    ]
    assert lines[5:] == [
        "",
        f"only {tmp_path / 'b'} is right on 0 problems, only {tmp_path / 'a'} on 0 (McNemar p = 1)",
    ]
    for name in ("heatmaps", "differences", "symbols"):
        assert (tmp_path / "out" / f"{name}.png").is_file()
    other = folder / "propositional-mini" / "propositional-interchangeable" / "grid"
    out = ("-o", tmp_path / "no")
    refused(run("report", tmp_path / "a", other, *out), "task propositional", "copying")
    with pytest.raises(LogicgenError, match="two evaluations"):
        library.compare([tmp_path / "a"], tmp_path / "no")
    refused(run("report", tmp_path / "a", *out), "ends in .html")
    local = "give a local path"
    refused(run("report", tmp_path / "a", "s3://b/c", *out), "'EVALUATION|DATA ...'", local)
    refused(run("report", tmp_path / "a", tmp_path / "b", "-o", "s3://b/c"), "'--out'", local)
    refused(run("report", tmp_path / "a", tmp_path / "b"), "missing option '-o' / '--out'")


def test_covariance(demo, tmp_path):
    folder, _ = demo
    data = folder / "propositional-mini" / "data"
    model = folder / "propositional-mini" / "propositional-interchangeable"
    result = run("measure", "covariance", model, "--data", data, "--limit", 3, "-o", tmp_path / "c")
    assert result.returncode == 0, result.stderr
    summary = json.loads((tmp_path / "c" / "covariance.json").read_text())
    assert summary["split"] == "test"
    assert 0 <= summary["overall"]["strings"]["mean"] <= 1
    asked = summary["overall"]["problems"] + summary["without_renamings"]
    assert asked == 3
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines[2:]][: len(summary["by_symbols"]) + 1] == [
        *summary["by_symbols"],
        "all",
    ]
    for file in ("covariance.csv", "covariance.png", "covariance.svg", "renamings.parquet"):
        assert (tmp_path / "c" / file).is_file()
    copying = folder / "copying-20" / "data"
    refused(run("measure", "covariance", model, "--data", copying), "trained for propositional")
    refused(
        run("measure", "covariance", model, "--data", data, "--split", "tset"), "did you mean test"
    )


@pytest.mark.slow
def test_evaluate_decodes_as_it_is_told_and_says_how(demo, undrawn, tmp_path):
    folder, _ = demo
    data = folder / "propositional-mini" / "data"
    model = folder / "propositional-mini" / "propositional-interchangeable"
    few = ("evaluate", model, "--data", data, "--limit", 40)
    result = run(
        *few,
        *("--beams", 3, "--length-normalization", 0.5, "--ensemble", 2),
        *("--verified", 4, "--temperature", 1.5, "-o", tmp_path / "beams"),
    )
    assert result.returncode == 0, result.stderr
    assert "verified" in result.stdout
    assert "draws on average" in result.stdout
    summary = json.loads((tmp_path / "beams" / "summary.json").read_text())
    overall, decoding = summary["overall"], summary["decoding"]
    assert overall["accuracy"] < overall["verified_accuracy"]  # a model of few steps knows little
    assert 1 < overall["draws"] <= 4
    assert (decoding["beams"], decoding["length_normalization"], decoding["ensemble"]) == (
        3,
        0.5,
        2,
    )
    assert decoding["verified"]["sampling"]["temperature"] == 1.5
    for name in ("one", "two"):
        drawn = run(*few, "--sample", "--top-k", 5, "--top-p", 0.9, "-o", tmp_path / name)
        assert drawn.returncode == 0, drawn.stderr
        assert "verified" not in drawn.stdout
    files = [(tmp_path / name / "predictions.parquet").read_bytes() for name in ("one", "two")]
    assert files[0] == files[1]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"sample": True, "beams": 3}, "--sample and --beams"),
        ({"length_normalization": 1.0}, "give --beams"),
        ({"beams": 1, "length_normalization": 1.0}, "give --beams"),
        ({"temperature": 0.5}, "--temperature: nothing is drawn"),
        ({"beams": 2, "top_p": 0.5}, "--top-p: nothing is drawn"),
        ({"verified": 1, "top_k": 5}, "--top-k: nothing is drawn"),
        ({"sample": True, "temperature": float("nan")}, "temperature: nan"),
    ],
)
def test_decodings_that_contradict_themselves(wrong, said):
    with pytest.raises(LogicgenError, match=said) as caught:
        Sampling(**decoding_of(**wrong)[1])
    assert "\n" not in str(caught.value)


def test_evaluate_refuses_a_contradiction_in_one_line(tmp_path):
    options = ("evaluate", tmp_path, "--data", tmp_path, "--sample", "--beams", 3)
    assert len(refused(run(*options), "--sample and --beams").splitlines()) == 1


def test_train_refuses(demo, tmp_path):
    folder, _ = demo
    data = folder / "copying-20" / "data"
    mini = ["train", "copying-interchangeable", "--data", data, "-o"]
    refused(run(*mini, folder / "copying-20" / "copying-interchangeable"), "--resume")
    refused(run("train", "copying-interchangable", "--data", data), "did you mean")
    refused(run("train", "copying-interchangeable", "--data", tmp_path), "not a data set")
    refused(run(*mini, tmp_path / "r", "--device", "cuda"), "CUDA", "--device cpu")
    refused(run(*mini, tmp_path / "r", "--steps", 0), "steps")
    refused(run(*mini, tmp_path / "r", "--set", "training.step=1"), "did you mean steps")
    refused(run(*mini, tmp_path / "r", "--set", "steps"), "--set: 'steps': give KEY=VALUE")
    tree = run("train", "ltl-interchangeable-published", "--data", data, "-o", tmp_path / "r")
    assert len(refused(tree, "'tree' needs", "copying", "rotary").splitlines()) == 1
    assert not (tmp_path / "r").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("precious")
    refused(run(*mini, tmp_path / "mine"), "not empty and not a run")
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "precious"


def test_train_and_generate_change_values_of_recipes(tmp_path):
    small = ("sizes.train=20", "sizes.validation=0", "sizes.test=5", "grid.per_cell=1")
    changes = [each for change in small for each in ("--set", change)]
    generated = run("generate", "copying-mini", *changes, "-o", tmp_path / "data", "--workers", 1)
    assert generated.returncode == 0, generated.stderr
    changes = ["--set", "network.width=32", "--set", "training.steps=1"]
    options = ["--data", tmp_path / "data", "-o", tmp_path / "run", *changes]
    trained = run("train", "copying-learned", *options, "--resume")
    assert trained.returncode == 0, trained.stderr
    assert "no training to resume, so a new one begins" in trained.stderr
    card = json.loads((tmp_path / "run" / "model.json").read_text())
    assert (card["steps"], card["recipe"]["network"]["width"]) == (1, 32)


def test_evaluate_refuses(demo, tmp_path):
    folder, _ = demo
    model = folder / "copying-20" / "copying-interchangeable"
    copying, logic = folder / "copying-20" / "data", folder / "propositional-mini" / "data"
    refused(run("evaluate", model, "--data", logic), "trained for copying", "propositional")
    refused(run("evaluate", tmp_path, "--data", copying), "no trained model")
    refused(run("evaluate", model, "--data", copying, "--split", "grd"), "did you mean grid")
    refused(run("evaluate", model, "--data", copying, "--device", "cuda"), "CUDA")
    shutil.copytree(model, tmp_path / "interrupted")
    (tmp_path / "interrupted" / "model.json").unlink()
    refused(run("evaluate", tmp_path / "interrupted", "--data", copying), "--resume")
    shutil.copytree(model, tmp_path / "damaged")
    weights = tmp_path / "damaged" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-7])
    refused(run("evaluate", tmp_path / "damaged", "--data", copying), "model.safetensors", "sha256")
    shutil.copytree(copying, tmp_path / "data")
    shard = next((tmp_path / "data" / "grid").glob("*.parquet"))
    shard.write_bytes(shard.read_bytes()[:-7])
    refused(run("evaluate", model, "--data", tmp_path / "data"), shard.name, "checksum")


@pytest.mark.slow
def test_ctrl_c_while_training_says_how_to_go_on(demo, tmp_path):
    folder, _ = demo
    data = folder / "copying-20" / "data"
    out = tmp_path / "run"
    arguments = ["train", "copying-interchangeable", "--data", data, "-o", out]
    status, said = interrupted(arguments, lambda _: any(out.glob("logs/events*")), tmp_path)
    assert status == 130
    assert "Traceback" not in said
    assert "--resume" in said
    result = run(*arguments, "--resume", "--steps", 30)
    assert result.returncode == 0, result.stderr
    assert (out / "model.json").is_file()


@pytest.mark.slow
def test_a_model_that_is_trained_on_stays_usable(demo, tmp_path):
    folder, _ = demo
    data = folder / "copying-20" / "data"
    shutil.copytree(folder / "copying-20" / "copying-interchangeable", tmp_path / "run")
    before = (tmp_path / "run" / "model.json").read_bytes()
    arguments = ["train", "copying-interchangeable", "--data", data, "-o", tmp_path / "run"]
    arguments += ["--resume", "--steps", 100_000]
    logs = tmp_path / "run" / "logs"
    events = len(list(logs.rglob("events*")))
    # Training writes a new file of events when it has begun.
    status, _ = interrupted(arguments, lambda _: appeared(logs, "events*") > events, tmp_path)
    assert status == 130
    assert (tmp_path / "run" / "model.json").read_bytes() == before
    assert run("evaluate", tmp_path / "run", "--data", data, "--limit", 3).returncode == 0
