"""Texts of others in cards: they stay the paragraph, heading or YAML value that they are."""

from __future__ import annotations

import pytest
import yaml
from markdown_it import MarkdownIt

from logicgen import recipes
from logicgen.data.cards import card, one_line, plain, yaml_text
from logicgen.data.opening import read_data_recipe
from logicgen.data.recipe import DataRecipe
from logicgen.model.recipe import read_model_recipe
from tests.data.corpora import automaton_recipe, opened

BLOCKS = ["---", "===", "# heading", "- item", "+ item", "* * *", "___", "> quote", "```python"]
BLOCKS += ["~~~", "1. item", "12) item", "    code", "| a |\n| --- |", "<!-- rest", "<?php"]
LINKS = ["<https://example.org>", "![](https://example.org/x.png)", "[text](javascript:alert(1))"]
LINKS += ["[text][1]", r"\[text](https://example.org) \<b>"]
VALUES = ["*alias", "true", "Null", "1e5", "2026-01-01", "0x1F", "~", "", "grüne Wörter, 漢字, 🐈"]
HOSTILE = [
    *(*BLOCKS, *LINKS, *VALUES),
    "<script>alert(1)</script>",
    "x\n---\nlicense: other\n---\n# Other heading",
    "x\r\n\r\n# Other heading",
    "x\u2028# y\u0085z\x00\x1b[31m\x0b",
    "\u202eright to left",
    "name: [x, {y: &z !!python/object:os.system",
    "\"quoted\" 'twice' %TAG @x `y` : # z",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_paragraph_stays_one(text):
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(f"before\n\n{plain(text)}\n\nafter")
    paragraphs = [token for token in tokens if token.type == "inline"]
    assert {token.type for token in tokens} == {"paragraph_open", "inline", "paragraph_close"}
    assert len(paragraphs) == (3 if text else 2)
    if text:
        kinds = {part.type for part in paragraphs[1].children}
        assert not kinds & {"html_inline", "link_open", "image", "softbreak", "hardbreak"}
        shown = "".join(part.content for part in paragraphs[1].children)
        assert [c for c in shown if c.isalnum()] == [c for c in one_line(text) if c.isalnum()]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_value_stays_one(text):
    assert yaml.safe_load(f"before: 1\nname: {yaml_text(text)}\nafter: 2") == {
        "before": 1,
        "name": one_line(text),
        "after": 2,
    }


@pytest.mark.parametrize("text", HOSTILE)
def test_cards_of_data(text, tmp_path):
    recipe = DataRecipe.model_validate(
        {
            "task": "copying",
            "description": text,
            "region": {"symbols": [1, 2], "length": [1, 3]},
            "sizes": {"train": 3},
        }
    )
    split = {"examples": 3, "cells": 3, "cells_short": 0, "cells_empty": 0}
    described = {
        "name": text,
        "seed": 0,
        "versions": {"logicgen": "0"},
        "distinct": {"up to": "equality"},
        "splits": {"train": split},
    }
    _, header, body = card(recipe, described).split("---\n", 2)
    assert yaml.safe_load(header)["pretty_name"] == one_line(text)
    assert set(yaml.safe_load(header)) == {
        "pretty_name",
        "license",
        "size_categories",
        "tags",
        "configs",
    }
    assert [line for line in body.splitlines() if line.startswith("#")] == [f"# {plain(text)}"]


def test_the_card_of_a_corpus(tmp_path):
    text = "a\n# Other heading\n<b>"
    recipe = automaton_recipe().model_copy(update={"description": text})
    body = (opened(recipe, tmp_path / "c").folder / "README.md").read_text()
    assert "\n\na # Other heading \\<b>\n\n" in body


@pytest.mark.parametrize("name", recipes.names("datasets", ".toml"))
def test_shipped_data_recipes_are_written_as_they_are(name):
    description = read_data_recipe(name).description
    assert description
    assert (plain(description), plain(name), yaml_text(name)) == (description, name, name)


@pytest.mark.parametrize("name", recipes.names("models", ".toml"))
def test_shipped_model_recipes_are_written_as_they_are(name):
    description = read_model_recipe(name).description
    assert (plain(description), plain(name)) == (description, name)
