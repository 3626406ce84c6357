"""Test the attention that is kept of answers: which examples, which weights, shares of heads."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from logicgen.data.data_recipe import DataRecipe
from logicgen.data.dataset import load_dataset
from logicgen.data.generate import generate
from logicgen.errors import LogicgenError
from logicgen.measures.attention import EXAMPLES, Looks, heads_of, looks
from logicgen.measures.evaluation_files import ATTENTION, read_looks, write_looks
from logicgen.measures.predictions import About, predict_and_verify
from logicgen.model.model import Attended
from logicgen.model.prompted import Prompted
from logicgen.model.sequences import example_tokens
from tests.asking import likeliest
from tests.languages import characters, counted, untrained


@pytest.fixture(scope="module")
def lookup(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "lookup"
    content = {
        "task": "lookup",
        "region": {"symbols": [2, 5], "length": [8, 14], "step": 3},
        "problem": {"queries": 2},
        "sizes": {"train": 0, "validation": 0, "test": 40},
    }
    generate(DataRecipe.model_validate(content), folder, name="lookup")
    return load_dataset(folder)


def answered(model, data, **settings):
    asked = Prompted(model, data)
    about = About.of(asked, "some", data, "test")
    return asked, predict_and_verify(asked, data, about, **settings)


def of_the_task(data):
    return untrained(example_tokens(data.vocabulary, 5), "lookup")


def test_tokens_are_what_the_model_reads(lookup):
    problem = lookup.vocabulary.encode("a -> b b -> c b a ->")
    answer = lookup.vocabulary.encode("c b")
    found = Prompted(of_the_task(lookup), lookup).attended(problem, answer, 5, 0)
    assert " ".join(found.tokens) == "a -> b b -> c b a -> c b"
    assert found.places == list(range(9))
    assert all(each.shape == (2, 10) for each in found.weights.values())
    as_text = Prompted(untrained(characters(["xyzuvw ->;\n"])), lookup)
    found = as_text.attended(problem, answer, 5, 0)
    # "a->b b->c b a->", then "cb"
    assert found.places == [0, 1, 1, 2, None, 3, 4, 4, 5, None, 6, None, 7, 8, 8]
    assert found.tokens[-2:] == [found.tokens[found.places.index(place)] for place in (5, 3)]


def test_weights_are_of_the_token_that_is_to_be_written(lookup):
    """What is attended to while the second token is written does not depend on what it is."""
    asked = Prompted(of_the_task(lookup), lookup)
    problem = lookup.vocabulary.encode("a -> b b -> c b a ->")
    one, other = (
        asked.attended(problem, lookup.vocabulary.encode(text), 5, 0) for text in ("c b", "c a")
    )
    first = asked.attended(problem, lookup.vocabulary.encode("a b"), 5, 0)
    for name, weights in one.weights.items():
        assert np.allclose(weights.sum(axis=1), 1, atol=1e-5)
        assert np.array_equal(weights, other.weights[name])
        assert weights[0, 9] == 0
        assert weights[1, 9] > 0
        assert np.allclose(weights[0], first.weights[name][0], atol=1e-6)
        assert not np.allclose(weights[1], first.weights[name][1], atol=1e-6)


def test_rows_are_those_that_were_answered_with(lookup):
    """The rows of a lexinvariant model are drawn for each problem: the same as for its answer."""
    model = of_the_task(lookup)
    asked = Prompted(model, lookup)
    problem = lookup.vocabulary.encode("a -> b b -> c b a ->")
    seen = []
    reader, attention = model.reader, model.attention
    model.reader = lambda seeds, count=None: seen.append((seeds[0], count)) or reader(seeds, count)
    model.attention = lambda ids, seeds, count: (
        seen.append((seeds[0], count)) or attention(ids, seeds, count)
    )
    likeliest(asked, [problem], 7, 3, 12)
    asked.attended(problem, lookup.vocabulary.encode("c b"), 7, 3)
    assert seen[0] == seen[1]


def test_half_of_the_examples_are_wrong_and_half_right(lookup):
    asked, table = answered(of_the_task(lookup), lookup, embedding_seeds=2)
    found = looks(asked, lookup, table)
    assert len(found) == EXAMPLES
    by_row = {row["row"]: row for row in table.to_pylist() if row["embedding_seed"] == 0}
    assert [each.row for each in found] == sorted({each.row for each in found})
    right = [by_row[each.row]["verdict"] in ("exact", "correct") for each in found]
    there = sum(row["verdict"] in ("exact", "correct") for row in by_row.values())
    assert 0 < sum(right) == min(there, EXAMPLES // 2)
    for each in found:
        row = by_row[each.row]
        assert each.tokens == f"{row['problem']} {row['prediction']}".split()


def test_answers_that_are_no_strings_of_symbols_are_left_out(lookup):
    _, table = answered(of_the_task(lookup), lookup)
    verdicts = ["invalid"] * (len(table) - 3) + ["incorrect", "unknown", "exact"]
    place = table.schema.get_field_index("verdict")
    spoilt = table.set_column(place, table.schema.field("verdict"), [verdicts])
    found = looks(Prompted(of_the_task(lookup), lookup), lookup, spoilt)
    rows = table["row"].to_pylist()
    assert [each.row for each in found] == [rows[-3], rows[-1]]


def test_models_without_attention_say_nothing(lookup):
    tokens = example_tokens(lookup.vocabulary, 5)
    asked, table = answered(counted(tokens, ["a -> b b -> a"], 2, "lookup"), lookup, limit=3)
    assert looks(asked, lookup, table) == []


def test_shares_of_heads_by_hand():
    one = Looks(
        4, list("xyzpq"), [0, None, 1], {"A": [[0, 50, 1, 50], [2, 100]], "B": [[2, 25], []]}
    )
    two = Looks(5, list("xyp"), [0, 1], {"A": [[1, 10]], "B": [[1, 90]]})
    found = heads_of([one, two], {4: [(1,), (0, 1)], 5: [(1,)]})
    assert [head.name for head in found] == ["B", "A"]
    assert [head.share for head in found] == pytest.approx([(0.25 + 0.9) / 3, (1 + 0.1) / 3])
    assert [head.alike for head in found] == [pytest.approx((1 / 3 + 2 / 4 + 1 / 2) / 3)] * 2
    assert {head.tokens for head in found} == {3}
    assert heads_of([one], {}) == []  # of a problem without an answer nothing decides


def test_a_model_that_copies_by_its_cache_is_seen_to(lookup):
    """Weights below 1% are left out; the rest come back from the file."""
    torch.manual_seed(0)

    class Looking:
        task_name, vocabulary, alphabet = "lookup", lookup.vocabulary, 5

        def attended(self, problem, answer, symbols, seed):
            tokens = [lookup.vocabulary.token(each) for each in (*problem, *answer)]
            weights = np.zeros((len(answer), len(tokens) - 1))
            weights[:, 2], weights[:, 5] = 0.996, 0.004
            return Attended(tokens, list(range(len(problem))), {"head": weights})

    _, table = answered(of_the_task(lookup), lookup)
    found = looks(Looking(), lookup, table)
    assert all(each.heads == {"head": [[2, 100], [2, 100]]} for each in found)


def test_looks_are_read_again(tmp_path):
    found = [Looks(4, ["a", "->", "b"], [0, 1], {"layer 1, head 1": [[0, 60, 1, 40]]})]
    write_looks(found, tmp_path)
    assert read_looks(tmp_path) == found
    path = tmp_path / ATTENTION
    text = path.read_text()
    for damaged in (
        "[{}]",
        text[:-5],
        text.replace("[[0,60", "[[0,60,7"),
        text.replace('"b"', '"b","c"'),
    ):
        path.write_text(damaged)
        with pytest.raises(LogicgenError, match=r"attention\.json: damaged; run logicgen evaluate"):
            read_looks(tmp_path)
    write_looks((), tmp_path)
    assert not path.exists()
    assert read_looks(tmp_path) == []
