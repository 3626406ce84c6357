"""`logicgen complete`: what it writes where, and what it refuses."""

from __future__ import annotations

import json
import re

import pytest

from logicgen.model.checkpoint import save_model
from logicgen.tokens import Tokens
from tests.cli.test_commands import refused, run
from tests.languages import characters, counted, untrained

LINE = "cat.\ndog.\n"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    text = LINE * 20
    names = Tokens("names", ["<end>", "north", "south"])
    made = {
        "text": counted(characters([text]), [text], 3),
        "names": untrained(names, "automaton"),
    }
    for name, model in made.items():
        (folder / name).mkdir()
        save_model(model, folder / name, steps=1, fingerprint="0")
    return folder


def said(*arguments, stdin=None):
    result = run("complete", *arguments, stdin=stdin)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_a_continuation(runs):
    assert said(runs / "text", "c", "--tokens", 4, "--greedy") == "at.\n\n"
    assert said(runs / "text", "c", "--greedy", "--until", ".") == "at\n"
    assert said(runs / "text", "--greedy", "--until", "\n", stdin="d\n") == "og.\n"
    again = [said(runs / "text", "c", "--temperature", 2, "--seed", 3) for _ in range(2)]
    assert again[0] == again[1] != said(runs / "text", "c", "--temperature", 2, "--seed", 4)


def test_several_are_lines_of_json(runs):
    options = "--count", 3, "--tokens", 6, "--top-k", 2, "--top-p", 0.9
    rows = [json.loads(line) for line in said(runs / "names", "north", *options).splitlines()]
    assert [list(row) for row in rows] == [["text", "log_probability"]] * 3
    assert all(row["log_probability"] < 0 for row in rows)
    assert all(set(row["text"].split()) <= {"north", "south"} for row in rows)


def test_beams(runs):
    asked = runs / "text", "c", "--tokens", 4
    assert said(*asked, "--beams", 3) == said(*asked, "--greedy")
    rows = [json.loads(line) for line in said(*asked, "--beams", 4, "--count", 3).splitlines()]
    assert rows[0]["text"] == "at.\n"
    totals = [row["log_probability"] for row in rows]
    assert totals == sorted(totals, reverse=True)
    assert len(set(totals)) == 3


def test_votes(runs):
    asked = runs / "text", "\n", "--until", ".", "--count", 15
    texts = [json.loads(line)["text"] for line in said(*asked).splitlines()]
    result = run("complete", *asked, "--vote")
    winner = result.stdout.removesuffix("\n")
    assert texts.count(winner) == max(map(texts.count, texts))
    assert result.stderr.startswith(f"{texts.count(winner)} of 15 texts (")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["text", ""], "prompt is empty"),
        (["names", "west"], "'west' is not a token"),
        (["text", "c", "--greedy", "--top-k", 2], "--greedy and --top-k"),
        (["text", "c", "--greedy", "--count", 2], "--greedy and --count 2"),
        (["text", "c", "--beams", 2, "--greedy"], "--beams and --greedy"),
        (["text", "c", "--beams", 2, "--top-k", 2], "--beams and --top-k"),
        (["text", "c", "--beams", 2, "--count", 2, "--vote"], "--beams and --vote"),
        (["text", "c", "--beams", 2, "--count", 3], "--count 3: 2 beams"),
        (["text", "c", "--vote"], "--vote: .*--count"),
        (["text", "c", "--until", ""], "--until: is empty"),
        (["nothing", "c"], "no trained model here"),
    ],
)
def test_refused(runs, arguments, message):
    line = refused(run("complete", runs / arguments[0], *arguments[1:]))
    assert re.search(message, line)
    assert line.count("\n") == 1


def test_another_model_and_bytes_that_are_no_text(runs):
    refused(run("complete", "ltl", "a"), "not a language model", "logicgen solve --model")
    refused(run("complete", runs / "text", stdin=b"a\xff"), "not UTF-8 at byte 1")
