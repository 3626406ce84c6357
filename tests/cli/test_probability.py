"""`logicgen measure probability`: what it prints, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from logicgen.measures.text_probability import text_probability
from logicgen.model.checkpoint import save_model
from logicgen.tokens import Tokens
from tests.cli.test_commands import refused
from tests.cli.test_commands import run as cli
from tests.languages import counted

pytestmark = pytest.mark.usefixtures("undrawn")

TEXT = "the other, then the heather; "


@pytest.fixture(scope="module")
def model():
    return counted(Tokens.of_byte_pairs([TEXT * 4], 275), [TEXT] * 5, 2)


@pytest.fixture(scope="module")
def run(model, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    save_model(model, folder, steps=1, fingerprint="0")
    return folder


PROBABILITY = ("measure", "probability")


def printed(*arguments: object, stdin: str | None = None) -> dict[str, str]:
    result = cli(*PROBABILITY, *arguments, stdin=stdin)
    assert result.returncode == 0, result.stderr
    return dict(line.split(maxsplit=1) for line in result.stdout.splitlines())


def test_a_short_text(run, model):
    found = text_probability(model, " heather", after="the", whole=True)
    said = printed(run, " heather", "--after", "the", "--whole")
    assert said == {
        "tokenizations": str(found.tokenizations),
        "canonical": f"{found.canonical:.4f}",
        "marginal": f"{found.marginal:.4f}",
        "difference": f"{found.marginal - found.canonical:.4f}",
    }
    assert printed(run, stdin="the\n") == printed(run, "the") != printed(run, "the\n")


def test_a_long_text(run, model):
    found = text_probability(model, TEXT * 2, samples=50, seed=3)
    said = printed(run, TEXT * 2, "--samples", 50, "--seed", 3)
    error = f"(standard error {found.standard_error:.4f})"
    assert said["marginal"] == f"{found.marginal:.4f} {error}"
    refused(cli(*PROBABILITY, run, TEXT * 2), "give --samples 1000")
    refused(cli(*PROBABILITY, run, TEXT, "--samples", 1), "--samples")
